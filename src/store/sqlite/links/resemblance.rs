//! Finds the records of some collections that resemble each other: compares many vectors with all codes in
//! one pass.

use super::synapse;
use crate::store::select::Collection;
use crate::store::sqlite::collections::{self, CollectionRow, Part, Within};
use crate::store::sqlite::record_row::numbers;
use crate::store::sqlite::vectors::code_page::{self, CodeBlock, CodeMeta};
use crate::store::sqlite::vectors::code_scope::CodeScope;
use crate::store::sqlite::vectors::nearest::{
    CodeCandidate, ExactScore, TopCandidates, by_score, with_repair,
};
use crate::store::synapses::{Compare, Compared, Near};
use crate::vector::QuantizedQuery;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Of records that are equally near by their codes, at most this many times the limit are compared exactly:
/// small talk makes thousands of equal records.
const COMPARED_PER_SYNAPSE: usize = 4;

/// The number of candidates of each record at which the worse ones are dropped. It is small, since there are
/// many records.
const MAX_CANDIDATES: usize = 256;

/// The least number of vectors for a thread to compare.
const MIN_VECTORS_PER_THREAD: usize = 64;

/// The least number of codes that are compared with all query records at a time.
const MIN_BLOCK_VECTORS: usize = 512;

/// A record that is compared with others.
struct QueryRecord {
    n: i64,
    id: String,
    timestamp: i64,
    version: i64,
    query: QuantizedQuery,
    best: TopCandidates,
}

/// The order of comparisons, in which each pair of records is compared once.
struct ComparisonOrder {
    /// The records that are compared in a later batch.
    later: FxHashSet<i64>,
    /// The records of this batch: each is compared with those of lower numbers.
    now: FxHashSet<i64>,
}

impl ComparisonOrder {
    /// The query records with greater numbers than this are compared with the record.
    fn min_query(&self, n: i64) -> i64 {
        if self.later.contains(&n) {
            i64::MAX
        } else if self.now.contains(&n) {
            n
        } else {
            i64::MIN
        }
    }
}

/// A search for the records that resemble each other in some collections.
pub(crate) struct Resemblance<'a> {
    pub(crate) model: &'a str,
    pub(crate) collections: &'a [Collection],
    pub(crate) which: Compare,
    /// The least cosine.
    pub(crate) min_similarity: f64,
    pub(crate) limit: usize,
}

impl Resemblance<'_> {
    pub(crate) fn find(&self, connection: &mut Connection) -> rusqlite::Result<Vec<Compared>> {
        let Some(model) = synapse::model_number(connection, self.model)? else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        for collection in self.collections {
            let n = collections::number(connection, collection)?;
            rows.extend(n.map(|n| CollectionRow { n, kind: collection.kind }));
        }
        let (scope, numbers) = (CodeScope::of(Within::rows(&rows)), collections::numbers(&rows));
        let part = match rows[..] {
            [row] => Part::One(row.n),
            _ => Part::Many(&numbers),
        };
        with_repair(
            connection,
            model,
            |_| Ok(rows.clone()),
            |connection, sound| {
                let mut queries = self.queries(connection, model, &part)?;
                if self.limit > 0 && !queries.is_empty() {
                    let order = comparison_order(connection, model, &part, &queries)?;
                    let threads = match queries.len() / MIN_VECTORS_PER_THREAD {
                        0 | 1 => 1,
                        shares => thread::available_parallelism().map_or(1, usize::from).min(shares),
                    };
                    let mut buffer = BlockBuffer::default();
                    let mut compare = |block: &CodeBlock| compare_all(&mut queries, &order, block, threads);
                    let mut add = |block: &CodeBlock| buffer.add(block, &mut compare);
                    *sound = code_page::visit(connection, model, &scope, &mut add)?;
                    buffer.flush(&mut compare);
                }
                let mut seen = FxHashMap::default();
                let mut found = Vec::new();
                for query_record in queries {
                    let (compared, existing) = self.near(connection, model, query_record, &mut seen)?;
                    *sound &= existing;
                    found.push(compared);
                }
                Ok(found)
            },
        )
    }

    /// The records to compare, ordered by number.
    fn queries(
        &self,
        connection: &Connection,
        model: i64,
        part: &Part,
    ) -> rusqlite::Result<Vec<QueryRecord>> {
        // The vectors of only these are read.
        let unlinked = |order| {
            format!(
                "WITH first AS MATERIALIZED (SELECT record, version FROM unlinked WHERE model = ?1 AND {} \
                   AND EXISTS (SELECT 1 FROM embedding WHERE record = unlinked.record AND model = ?1) \
                   ORDER BY record {order} LIMIT ?3) \
                 SELECT n, id, timestamp, version, vector FROM first JOIN record ON n = first.record \
                 JOIN embedding ON embedding.record = n AND embedding.model = ?1 ORDER BY n",
                condition(part, "collection")
            )
        };
        let (sql, count) = match self.which {
            Compare::Unlinked(count) => (unlinked("ASC"), count as i64),
            Compare::Newest(count) => (unlinked("DESC"), count as i64),
            Compare::All => {
                let sql = format!(
                    "SELECT n, id, timestamp, 0, vector FROM record INDEXED BY record_number \
                     JOIN embedding ON embedding.record = n AND embedding.model = ?1 \
                     WHERE {} ORDER BY n LIMIT ?3",
                    condition(part, "record.collection")
                );
                (sql, -1)
            }
        };
        let most = MAX_CANDIDATES.max(2 * self.limit);
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![model, part.value(), count], |row| {
            Ok(QueryRecord {
                n: row.get(0)?,
                id: row.get(1)?,
                timestamp: row.get(2)?,
                version: row.get(3)?,
                query: QuantizedQuery::new(&numbers(row.get_ref(4)?.as_blob()?)),
                best: TopCandidates::above(self.min_similarity, self.limit, most),
            })
        })?;
        rows.collect()
    }

    /// The records that a record resembles, by exact cosines; and whether all candidates have vectors. `seen`
    /// caches vectors, since a record that resembles one mostly resembles others too.
    fn near(
        &self,
        connection: &Connection,
        model: i64,
        query_record: QueryRecord,
        seen: &mut FxHashMap<i64, Option<StoredVector>>,
    ) -> rusqlite::Result<(Compared, bool)> {
        let QueryRecord { n, id, timestamp, version, query, best } = query_record;
        let max_compared = self.limit.saturating_mul(COMPARED_PER_SYNAPSE);
        let (mut scored, existing) = best.compare(max_compared, |n| {
            let seen = match seen.entry(n) {
                Entry::Occupied(seen) => seen.into_mut(),
                Entry::Vacant(new) => new.insert(read_vector(connection, model, n)?),
            };
            Ok(seen.as_ref().map(|seen| query.cosine(&seen.vector)))
        })?;
        scored.retain(|one| one.score >= self.min_similarity);
        scored.sort_unstable_by(by_score);
        scored.truncate(self.limit);
        let near = scored.into_iter().filter_map(|ExactScore { n, timestamp, score }| {
            let id = seen.get(&n)?.as_ref()?.id.clone();
            Some(Near { id, timestamp, score, n })
        });
        Ok((Compared { id, timestamp, near: near.collect(), n, version }, existing))
    }
}

/// The condition that a column is one of the collections, whose value is the second of the statement.
fn condition(part: &Part, column: &str) -> String {
    part.condition(column).replace('?', "?2")
}

fn comparison_order(
    connection: &Connection,
    model: i64,
    part: &Part,
    queries: &[QueryRecord],
) -> rusqlite::Result<ComparisonOrder> {
    let first = queries.first().map_or(i64::MIN, |query_record| query_record.n);
    let last = queries.last().map_or(i64::MAX, |query_record| query_record.n);
    let now: FxHashSet<i64> = queries.iter().map(|query_record| query_record.n).collect();
    // The batch consists of the first unlinked records, or of the last ones.
    let sql = format!(
        "SELECT record FROM unlinked WHERE model = ?1 AND {} AND (record < ?3 OR record > ?4)",
        condition(part, "collection")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let later = statement.query_map(params![model, part.value(), first, last], |row| row.get(0))?;
    Ok(ComparisonOrder { later: later.collect::<Result<_, _>>()?, now })
}

fn read_vector(connection: &Connection, model: i64, n: i64) -> rusqlite::Result<Option<StoredVector>> {
    let sql = "SELECT id, vector FROM record JOIN embedding ON embedding.record = n AND embedding.model = ?
               WHERE n = ?";
    let seen = |row: &rusqlite::Row| Ok(StoredVector { id: row.get(0)?, vector: row.get(1)? });
    connection.prepare_cached(sql)?.query_row([model, n], seen).optional()
}

/// A record that others resemble, and its vector.
struct StoredVector {
    id: String,
    vector: Vec<u8>,
}

/// Joins small blocks into one that is worth starting threads for.
#[derive(Default)]
struct BlockBuffer {
    metas: Vec<CodeMeta>,
    codes: Vec<u8>,
}

impl BlockBuffer {
    fn add(&mut self, block: &CodeBlock, compare: &mut impl FnMut(&CodeBlock)) {
        self.metas.extend_from_slice(block.metas);
        self.codes.extend_from_slice(block.codes);
        if self.metas.len() >= MIN_BLOCK_VECTORS {
            self.flush(compare);
        }
    }

    fn flush(&mut self, compare: &mut impl FnMut(&CodeBlock)) {
        compare(&CodeBlock { metas: &self.metas, codes: &self.codes });
        self.metas.clear();
        self.codes.clear();
    }
}

/// Compares the query records with the codes of a block, on some threads.
fn compare_all(queries: &mut [QueryRecord], order: &ComparisonOrder, block: &CodeBlock, threads: usize) {
    let min_queries: Vec<i64> = block.metas.iter().map(|meta| order.min_query(meta.n)).collect();
    let lowest = min_queries.iter().min().copied().unwrap_or(i64::MAX);
    let first = queries.partition_point(|query_record| query_record.n <= lowest);
    let queries = &mut queries[first..];
    let min_queries = &min_queries;
    let shares: Vec<_> = queries.chunks_mut(queries.len().div_ceil(threads).max(1)).map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let compare = || {
        while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Only this thread has the share: the lock never waits.
            compare_some(&mut share.lock().unwrap_or_else(PoisonError::into_inner), min_queries, block);
        }
    };
    thread::scope(|scope| {
        for _ in 1..shares.len() {
            // The share of a thread that cannot be started is left to the others.
            let _ = thread::Builder::new().spawn_scoped(scope, compare);
        }
        compare();
    });
}

fn compare_some(queries: &mut [QueryRecord], min_queries: &[i64], block: &CodeBlock) {
    let (mut products, mut one) = (Vec::new(), Vec::new());
    for queries in queries.chunks_mut(4) {
        if let [a, b, c, d] = queries {
            QuantizedQuery::products([&a.query, &b.query, &c.query, &d.query], block.codes, &mut products);
        } else {
            products.clear();
            products.resize(block.metas.len(), [0; 4]);
            for (at, query_record) in queries.iter().enumerate() {
                QuantizedQuery::products([&query_record.query], block.codes, &mut one);
                for (products, [product]) in products.iter_mut().zip(&one) {
                    products[at] = *product;
                }
            }
        }
        for (at, QueryRecord { n, query, best, .. }) in queries.iter_mut().enumerate() {
            for ((meta, min_query), products) in block.metas.iter().zip(min_queries).zip(&products) {
                let (near, error_bound) = query.estimate(products[at], meta.scale);
                if near + error_bound >= best.min_similarity && *n > *min_query {
                    best.add(CodeCandidate::new(meta, near, error_bound));
                }
            }
        }
    }
}
