//! Which messages are nearest to a vector: all codes are looked at, and what may be among the best is
//! compared exactly.

use super::super::cosine::Query;
use super::super::{Cosines, Select};
use super::Sqlite;
use super::chunk::{Block, Head};
use super::held::Whose;
use super::select::{Filter, Wanted};
use super::{embedding, read};
use crate::record::{Hit, Message};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params, params_from_iter};
use std::cmp::Ordering;

/// So many candidates are held before the worse ones are dropped.
const HELD: usize = 4096;

/// A message and its exact cosine.
pub(super) struct Scored {
    pub(super) n: i64,
    pub(super) timestamp: i64,
    pub(super) score: f64,
}

/// The best first; of equals the newest.
pub(super) fn by_score(a: &Scored, b: &Scored) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| b.timestamp.cmp(&a.timestamp))
}

/// Reads messages from rows of COLUMNS and VECTOR, and tells how near each is to a vector, if there is one.
pub(super) struct Measure {
    query: Option<(i64, Query)>,
    pub(super) cosines: Cosines,
}

/// The vector of a record; the parameter is `Measure::model`.
pub(super) const VECTOR: &str = "(SELECT vector FROM embedding WHERE record = record.n AND model = ?)";

impl Measure {
    /// By a vector of a model, as far as the model is known and has vectors of that length.
    pub(super) fn by(connection: &Connection, meant: Option<(&str, &[f32])>) -> rusqlite::Result<Measure> {
        let mut query = None;
        if let Some((name, vector)) = meant {
            let model = embedding::model(connection, name)?.filter(|(_, dim)| *dim == vector.len() as i64);
            query = model.map(|(model, _)| (model, Query::of(vector)));
        }
        Ok(Measure { query, cosines: Vec::new() })
    }

    pub(super) fn model(&self) -> Option<i64> {
        self.query.as_ref().map(|(model, _)| *model)
    }

    pub(super) fn message(&mut self, row: &rusqlite::Row) -> rusqlite::Result<Message> {
        let message = read::message(row)?;
        if let (Some((_, query)), ValueRef::Blob(vector)) = (&self.query, row.get_ref(read::AFTER)?) {
            self.cosines.push((message.id.clone(), query.cosine(vector)));
        }
        Ok(message)
    }
}

impl Sqlite {
    /// The hits, or the dimension of the model if it is another than that of the vector.
    pub(super) fn find_nearest(
        &mut self,
        model: &str,
        vector: &[f32],
        which: &Select,
        limit: usize,
    ) -> rusqlite::Result<Result<Vec<Hit>, i64>> {
        // Whoever writes does not map the file by itself.
        self.connection.pragma_update(None, "mmap_size", super::MAPPED)?;
        let Some((model, dim)) = embedding::model(&self.connection, model)? else {
            return Ok(Ok(Vec::new()));
        };
        if dim != vector.len() as i64 {
            return Ok(Err(dim));
        }
        let query = Query::of(vector);
        let scopes = self.scope_numbers(&which.scopes)?;
        let scopes = scopes.as_deref();
        let hits = self.trusted(model, scopes, |store, sound| {
            let scored = match which.trace_id {
                _ if limit == 0 => Vec::new(),
                Some(_) => store.by_vectors(model, &query, which, scopes)?,
                None => {
                    let (scored, whole) = store.by_codes(model, &query, which, scopes, limit)?;
                    *sound = whole;
                    scored
                }
            };
            store.hits(scored, limit)
        })?;
        Ok(Ok(hits))
    }

    /// What is found by the codes of some scopes, at one instant. Codes that are not as they must be are made
    /// anew, and it is looked for again; `look` tells whether they were.
    pub(super) fn trusted<T>(
        &mut self,
        model: i64,
        scopes: Option<&[i64]>,
        mut look: impl FnMut(&Sqlite, &mut bool) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        for mended in [false, true] {
            let snapshot = self.connection.unchecked_transaction()?;
            let mut sound = true;
            let found = look(self, &mut sound)?;
            snapshot.finish()?;
            if sound || mended {
                return Ok(found);
            }
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let all = match scopes {
                Some(scopes) => scopes.to_vec(),
                None => embedding::rows(&transaction, "scope")?,
            };
            embedding::index(&transaction, model, &all)?;
            transaction.commit()?;
        }
        Err(rusqlite::Error::QueryReturnedNoRows)
    }

    /// The cosines of a vector with those that some messages have of a model.
    pub(super) fn cosines(
        &self,
        model: &str,
        vector: &[f32],
        ids: &[&str],
    ) -> rusqlite::Result<Vec<(String, f64)>> {
        let query = Query::of(vector);
        let sql = "SELECT embedding.vector FROM record JOIN embedding ON embedding.record = record.n
                   AND embedding.model = (SELECT n FROM model WHERE name = ? AND dim = ?) WHERE record.id = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut found = Vec::new();
        for id in ids {
            let row = params![model, vector.len() as i64, id];
            let cosine = |row: &rusqlite::Row| Ok(query.cosine(row.get_ref(0)?.as_blob()?));
            found.extend(
                statement.query_row(row, cosine).optional()?.map(|cosine| ((*id).to_owned(), cosine)),
            );
        }
        Ok(found)
    }

    /// All messages of a trace, which are few.
    fn by_vectors(
        &self,
        model: i64,
        query: &Query,
        which: &Select,
        scopes: Option<&[i64]>,
    ) -> rusqlite::Result<Vec<Scored>> {
        let mut filter = Filter::of(which);
        filter.add_scopes("record", scopes);
        let sql = format!(
            "SELECT record.n, record.timestamp, embedding.vector FROM record INDEXED BY record_trace \
             CROSS JOIN embedding ON embedding.record = record.n AND embedding.model = {model} \
             WHERE record.kind = 'message'{}",
            filter.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(filter.values), |row| {
            let score = query.cosine(row.get_ref(2)?.as_blob()?);
            Ok(Scored { n: row.get(0)?, timestamp: row.get(1)?, score })
        })?;
        rows.collect()
    }

    fn by_codes(
        &self,
        model: i64,
        query: &Query,
        which: &Select,
        scopes: Option<&[i64]>,
        limit: usize,
    ) -> rusqlite::Result<(Vec<Scored>, bool)> {
        let mut scan = Scan {
            query,
            wanted: Wanted::of(&self.connection, which)?,
            best: Best::above(f64::NEG_INFINITY, limit, HELD),
            products: Vec::new(),
        };
        let whose = Whose { model, scopes: scopes.map(<[i64]>::to_vec) };
        let sound = self.held.borrow_mut().visit(&self.connection, &whose, |block| scan.look_at(block))?;
        let mut statement =
            self.connection.prepare_cached("SELECT vector FROM embedding WHERE record = ? AND model = ?")?;
        let (scored, there) = scan.best.compare(usize::MAX, |n| {
            let cosine = |row: &rusqlite::Row| Ok(query.cosine(row.get_ref(0)?.as_blob()?));
            statement.query_row([n, model], cosine).optional()
        })?;
        Ok((scored, sound && there))
    }

    /// The best of them, with their messages; of equals that do not all fit, every one is looked at.
    fn hits(&self, mut scored: Vec<Scored>, limit: usize) -> rusqlite::Result<Vec<Hit>> {
        scored.sort_unstable_by(by_score);
        let end = match scored.get(limit - 1) {
            Some(last) => scored.partition_point(|one| by_score(one, last).is_le()),
            None => scored.len(),
        };
        let (mut hits, mut none) = (Vec::new(), Measure::by(&self.connection, None)?);
        for Scored { n, score, .. } in &scored[..end] {
            if let Some(message) = self.nth(*n, &mut none)? {
                hits.push(Hit::by("similarity", message, *score));
            }
        }
        Ok(Hit::best(hits, limit))
    }
}

/// A look at all codes.
struct Scan<'a> {
    query: &'a Query,
    wanted: Wanted,
    best: Best,
    products: Vec<[i32; 1]>,
}

impl Scan<'_> {
    fn admits(&self, head: &Head) -> bool {
        self.wanted.admits(head.n, head.timestamp, head.role)
    }

    fn look_at(&mut self, block: &Block) {
        if !block.heads.iter().any(|head| self.admits(head)) {
            return;
        }
        Query::products([self.query], block.codes, &mut self.products);
        for (head, [product]) in block.heads.iter().zip(&self.products) {
            let (near, off) = self.query.estimate(*product, head.step);
            if near + off >= self.best.floor && self.admits(head) {
                self.best.add(Candidate::of(head, near, off));
            }
        }
    }
}

/// A message, and between what its cosine lies.
pub(super) struct Candidate {
    n: i64,
    timestamp: i64,
    low: f32,
    high: f32,
}

impl Candidate {
    /// A message whose cosine is `near`, give or take `off`.
    pub(super) fn of(head: &Head, near: f32, off: f32) -> Candidate {
        Candidate { n: head.n, timestamp: head.timestamp, low: near - off, high: near + off }
    }
}

/// Every message that may be among the best `limit`.
pub(super) struct Best {
    limit: usize,
    /// So near must one be, or are `limit` of them at least.
    pub(super) floor: f32,
    held: Vec<Candidate>,
    /// When so many are held, those below the floor are dropped; and how many that is at least.
    room: usize,
    least: usize,
}

impl Best {
    /// None yet; what is below a cosine is not wanted. So many are held before the worse ones are dropped.
    pub(super) fn above(floor: f64, limit: usize, room: usize) -> Best {
        Best { limit, floor: floor as f32, held: Vec::new(), room, least: room }
    }

    pub(super) fn add(&mut self, candidate: Candidate) {
        self.held.push(candidate);
        if self.held.len() >= self.room && self.held.len() > self.limit {
            let (_, worst, _) =
                self.held.select_nth_unstable_by(self.limit - 1, |a, b| b.low.total_cmp(&a.low));
            self.floor = self.floor.max(worst.low);
            self.held.retain(|candidate| candidate.high >= self.floor);
            self.room = self.least.max(2 * self.held.len());
        }
    }

    /// The exact cosines of the candidates, likeliest first, as far as they may be among the best; `most` of them
    /// are looked at. And whether each has a vector, as its code says.
    pub(super) fn compare(
        mut self,
        most: usize,
        mut cosine: impl FnMut(i64) -> rusqlite::Result<Option<f64>>,
    ) -> rusqlite::Result<(Vec<Scored>, bool)> {
        self.held.sort_unstable_by(|a, b| {
            b.high.total_cmp(&a.high).then(b.timestamp.cmp(&a.timestamp)).then(b.n.cmp(&a.n))
        });
        let (mut scored, mut there) = (Vec::new(), true);
        // The best scores so far, in order.
        let mut scores: Vec<f64> = Vec::new();
        for Candidate { n, timestamp, high, .. } in self.held.into_iter().take(most) {
            if scores.get(self.limit - 1).is_some_and(|worst| f64::from(high) < *worst) {
                break;
            }
            let Some(score) = cosine(n)? else {
                there = false;
                continue;
            };
            let place = scores.partition_point(|other| *other >= score);
            if place < self.limit {
                scores.truncate(self.limit - 1);
                scores.insert(place, score);
            }
            scored.push(Scored { n, timestamp, score });
        }
        Ok((scored, there))
    }
}
