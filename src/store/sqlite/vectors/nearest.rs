//! Finds the records nearest to a vector: scans all codes, and computes exact cosines for the records that
//! may be among the best.

use super::code_cache::{CacheKey, CodeCache};
use super::code_page::{CodeBlock, CodeMeta};
use super::code_scope::CodeScope;
use super::embedding;
use super::measure::Measure;
use crate::record::{Hit, Scopes};
use crate::store::select::Select;
use crate::store::sqlite::collections::{self, CollectionRow, Within};
use crate::store::sqlite::filter::{Admission, Filter};
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::wal;
use crate::vector::QuantizedQuery;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use std::cmp::Ordering;

/// Comparing at most this many vectors of a subtree one by one takes less time than to scan the codes of a
/// large store.
const MAX_COMPARED: i64 = 1000;

/// The number of candidates at which the worse ones are dropped.
const MAX_CANDIDATES: usize = 4096;

/// A record and its exact cosine.
pub(crate) struct ExactScore {
    pub(crate) n: i64,
    pub(crate) timestamp: i64,
    pub(crate) score: f64,
}

/// Orders by score, best first; ties by time, newest first.
pub(crate) fn by_score(a: &ExactScore, b: &ExactScore) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| b.timestamp.cmp(&a.timestamp))
}

/// Runs a search by the codes of a model on one snapshot. `search` sets its flag to false if it finds the
/// codes damaged: then the codes of the collections that `within` gives are rebuilt, and the search runs
/// again. Fails if the file cannot be read, or the codes not be written.
pub(crate) fn with_repair<T>(
    connection: &mut Connection,
    model: i64,
    within: impl Fn(&Connection) -> rusqlite::Result<Vec<CollectionRow>>,
    mut search: impl FnMut(&Connection, &mut bool) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    for repaired in [false, true] {
        let snapshot = connection.unchecked_transaction()?;
        let mut sound = true;
        let found = search(connection, &mut sound)?;
        snapshot.finish()?;
        if sound || repaired {
            return Ok(found);
        }
        let transaction = wal::begin_write(connection)?;
        embedding::rebuild(&transaction, model, &within(&transaction)?)?;
        transaction.commit()?;
    }
    Err(rusqlite::Error::QueryReturnedNoRows)
}

/// A search for the records of a selection that are nearest to a vector.
pub(crate) struct Nearest<'a> {
    /// The number of the model.
    pub(crate) model: i64,
    pub(crate) query: QuantizedQuery,
    pub(crate) which: &'a Select,
    pub(crate) limit: usize,
}

impl Nearest<'_> {
    /// The best hits. Fails as `with_repair` does.
    pub(crate) fn find(
        &self,
        connection: &mut Connection,
        cache: &mut CodeCache,
        kept: Option<&RecordCache>,
    ) -> rusqlite::Result<Vec<Hit>> {
        let of_selection = |connection: &Connection| collections::list(connection, self.which);
        with_repair(connection, self.model, of_selection, |connection, sound| {
            let scored = match self.index_of_few(connection)? {
                _ if self.limit == 0 => Vec::new(),
                Some(index) => self.by_vectors(connection, index)?,
                None => {
                    let (scored, whole) = self.by_codes(connection, cache)?;
                    *sound = whole;
                    scored
                }
            };
            self.hits(connection, kept, scored)
        })
    }

    /// The index that finds the records of the selection, if they are few: those of a trace, or of a small
    /// subtree.
    fn index_of_few(&self, connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
        if self.which.trace_id.is_some() {
            return Ok(Some("record_trace"));
        }
        if self.which.below.as_ref().is_none_or(|below| below.only_prefix().is_none()) {
            return Ok(None);
        }
        let below = Select { below: self.which.below.clone(), ..Select::records(Vec::new(), Scopes::All) };
        let filter = Filter::new(&below);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM record INDEXED BY record_key WHERE 1{} LIMIT {})",
            filter.sql,
            MAX_COMPARED + 1
        );
        let count: i64 =
            connection.prepare_cached(&sql)?.query_row(params_from_iter(filter.values), |row| row.get(0))?;
        Ok((count <= MAX_COMPARED).then_some("record_key"))
    }

    /// Compares all records of the selection, which an index finds.
    fn by_vectors(&self, connection: &Connection, index: &str) -> rusqlite::Result<Vec<ExactScore>> {
        let mut filter = Filter::new(self.which);
        filter.within("record", &Within::resolve(connection, self.which)?);
        let sql = format!(
            "SELECT record.n, record.timestamp, embedding.vector FROM record INDEXED BY {index} \
             CROSS JOIN embedding ON embedding.record = record.n AND embedding.model = {} WHERE 1{}",
            self.model, filter.sql
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(filter.values), |row| {
            let score = self.query.cosine(row.get_ref(2)?.as_blob()?);
            Ok(ExactScore { n: row.get(0)?, timestamp: row.get(1)?, score })
        })?;
        rows.collect()
    }

    fn by_codes(
        &self,
        connection: &Connection,
        cache: &mut CodeCache,
    ) -> rusqlite::Result<(Vec<ExactScore>, bool)> {
        let mut scan = Scan {
            query: &self.query,
            admission: Admission::resolve(connection, self.which)?,
            best: TopCandidates::above(f64::NEG_INFINITY, self.limit, MAX_CANDIDATES),
            products: Vec::new(),
        };
        let scope = CodeScope::resolve(connection, self.model, self.which)?;
        let key = CacheKey { model: self.model, scope };
        let sound = cache.visit(connection, &key, |block| scan.scan_block(block))?;
        let mut statement =
            connection.prepare_cached("SELECT vector FROM embedding WHERE record = ? AND model = ?")?;
        let (scored, existing) = scan.best.compare(usize::MAX, |n| {
            let cosine = |row: &rusqlite::Row| Ok(self.query.cosine(row.get_ref(0)?.as_blob()?));
            statement.query_row([n, self.model], cosine).optional()
        })?;
        Ok((scored, sound && existing))
    }

    /// Reads the records of the best ones; of equals that do not all fit, reads every one.
    fn hits(
        &self,
        connection: &Connection,
        kept: Option<&RecordCache>,
        mut scored: Vec<ExactScore>,
    ) -> rusqlite::Result<Vec<Hit>> {
        scored.sort_unstable_by(by_score);
        let last = self.limit.checked_sub(1).and_then(|last| scored.get(last));
        let end = last.map_or(scored.len(), |last| scored.partition_point(|one| by_score(one, last).is_le()));
        let (mut hits, mut none) = (Vec::new(), Measure::by(connection, kept, None)?);
        for ExactScore { n, score, .. } in &scored[..end] {
            if let Some(record) = none.nth(connection, *n)? {
                hits.push(Hit::by_meaning(record, *score));
            }
        }
        Ok(Hit::best(hits, self.limit))
    }
}

/// A scan of all codes.
struct Scan<'a> {
    query: &'a QuantizedQuery,
    admission: Admission,
    best: TopCandidates,
    products: Vec<[i32; 1]>,
}

impl Scan<'_> {
    fn admits(&self, meta: &CodeMeta) -> bool {
        self.admission.admits(meta.n, meta.timestamp, meta.role)
    }

    fn scan_block(&mut self, block: &CodeBlock) {
        if !block.metas.iter().any(|meta| self.admits(meta)) {
            return;
        }
        QuantizedQuery::products([self.query], block.codes, &mut self.products);
        for (meta, [product]) in block.metas.iter().zip(&self.products) {
            let (near, error_bound) = self.query.estimate(*product, meta.scale);
            if near + error_bound >= self.best.min_similarity && self.admits(meta) {
                self.best.add(CodeCandidate::new(meta, near, error_bound));
            }
        }
    }
}

/// A record, and the bounds of its cosine.
pub(crate) struct CodeCandidate {
    n: i64,
    timestamp: i64,
    low: f32,
    high: f32,
}

impl CodeCandidate {
    /// A record whose cosine is `near` ± `error_bound`.
    pub(crate) fn new(meta: &CodeMeta, near: f32, error_bound: f32) -> CodeCandidate {
        CodeCandidate {
            n: meta.n,
            timestamp: meta.timestamp,
            low: near - error_bound,
            high: near + error_bound,
        }
    }
}

/// Every record that may be among the best `limit`.
pub(crate) struct TopCandidates {
    limit: usize,
    /// The least cosine of a candidate: `limit` candidates are known to be at least as near.
    pub(crate) min_similarity: f32,
    candidates: Vec<CodeCandidate>,
    /// The number of candidates at which those below `min_similarity` are dropped; and its least value.
    capacity: usize,
    min_capacity: usize,
}

impl TopCandidates {
    /// An empty set for candidates with a cosine of at least `min_similarity`. At `capacity` candidates the
    /// worse ones are dropped.
    pub(crate) fn above(min_similarity: f64, limit: usize, capacity: usize) -> TopCandidates {
        TopCandidates {
            limit,
            min_similarity: min_similarity as f32,
            candidates: Vec::new(),
            capacity,
            min_capacity: capacity,
        }
    }

    pub(crate) fn add(&mut self, candidate: CodeCandidate) {
        self.candidates.push(candidate);
        if self.candidates.len() >= self.capacity && self.candidates.len() > self.limit {
            let (_, worst, _) =
                self.candidates.select_nth_unstable_by(self.limit - 1, |a, b| b.low.total_cmp(&a.low));
            self.min_similarity = self.min_similarity.max(worst.low);
            self.candidates.retain(|candidate| candidate.high >= self.min_similarity);
            self.capacity = self.min_capacity.max(2 * self.candidates.len());
        }
    }

    /// Computes exact cosines of the candidates, most promising first, until the others cannot be among the
    /// best; at most `max_compared`. Also returns whether every candidate has a vector, as its code implies.
    pub(crate) fn compare(
        mut self,
        max_compared: usize,
        mut cosine: impl FnMut(i64) -> rusqlite::Result<Option<f64>>,
    ) -> rusqlite::Result<(Vec<ExactScore>, bool)> {
        self.candidates.sort_unstable_by(|a, b| {
            b.high.total_cmp(&a.high).then(b.timestamp.cmp(&a.timestamp)).then(b.n.cmp(&a.n))
        });
        let (mut scored, mut existing) = (Vec::new(), true);
        // The best scores so far, in order.
        let mut scores: Vec<f64> = Vec::new();
        for CodeCandidate { n, timestamp, high, .. } in self.candidates.into_iter().take(max_compared) {
            if scores.get(self.limit - 1).is_some_and(|worst| f64::from(high) < *worst) {
                break;
            }
            let Some(score) = cosine(n)? else {
                existing = false;
                continue;
            };
            let place = scores.partition_point(|other| *other >= score);
            if place < self.limit {
                scores.truncate(self.limit - 1);
                scores.insert(place, score);
            }
            scored.push(ExactScore { n, timestamp, score });
        }
        Ok((scored, existing))
    }
}
