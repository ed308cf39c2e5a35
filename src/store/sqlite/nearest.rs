//! Which messages are nearest to a vector: all codes are looked at, and what may be among the best is
//! compared exactly.

use super::super::{Except, Select};
use super::Sqlite;
use super::chunk::{self, Block, Head};
use super::cosine::Query;
use super::embedding;
use super::select::{self, Filter};
use crate::record::Hit;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use rustc_hash::FxHashSet;

/// So many candidates are held before the worse ones are dropped.
const HELD: usize = 4096;

/// A message and its exact cosine.
struct Scored {
    n: i64,
    timestamp: i64,
    score: f64,
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
        let snapshot = self.connection.unchecked_transaction()?;
        let hits = match embedding::model(&self.connection, model)? {
            Some((_, dim)) if dim != vector.len() as i64 => Err(dim),
            Some((model, _)) if limit > 0 => {
                let query = Query::of(vector);
                let scopes = self.scope_numbers(&which.scopes)?;
                let scored = match which.trace_id {
                    Some(_) => self.of_trace(model, &query, which, scopes.as_deref())?,
                    None => self.by_codes(model, &query, which, scopes.as_deref(), limit)?,
                };
                Ok(self.hits(scored, limit)?)
            }
            _ => Ok(Vec::new()),
        };
        snapshot.finish()?;
        Ok(hits)
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
    fn of_trace(
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
    ) -> rusqlite::Result<Vec<Scored>> {
        let mut scan = Scan {
            query,
            wanted: Wanted::of(&self.connection, which)?,
            best: Best { limit, floor: f32::NEG_INFINITY, held: Vec::new(), room: HELD },
            products: Vec::new(),
        };
        let mut look = |block: &Block| scan.look_at(block);
        match scopes {
            None => chunk::visit(&self.connection, model, None, &mut look)?,
            Some(scopes) => scopes
                .iter()
                .try_for_each(|scope| chunk::visit(&self.connection, model, Some(*scope), &mut look))?,
        }
        self.compare(model, query, scan.best)
    }

    /// The exact cosines of the candidates, likeliest first, as far as they may be among the best.
    fn compare(&self, model: i64, query: &Query, mut best: Best) -> rusqlite::Result<Vec<Scored>> {
        best.held.sort_unstable_by(|a, b| b.high.total_cmp(&a.high));
        let mut statement =
            self.connection.prepare_cached("SELECT vector FROM embedding WHERE record = ? AND model = ?")?;
        let mut scored = Vec::new();
        // The best scores so far, in order.
        let mut scores: Vec<f64> = Vec::new();
        for candidate in best.held {
            let worst = scores.get(best.limit - 1);
            if worst.is_some_and(|worst| f64::from(candidate.high) < *worst) {
                break;
            }
            let cosine = |row: &rusqlite::Row| Ok(query.cosine(row.get_ref(0)?.as_blob()?));
            let row = params![candidate.n, model];
            if let Some(score) = statement.query_row(row, cosine).optional()? {
                let place = scores.partition_point(|other| *other >= score);
                if place < best.limit {
                    scores.truncate(best.limit - 1);
                    scores.insert(place, score);
                }
                scored.push(Scored { n: candidate.n, timestamp: candidate.timestamp, score });
            }
        }
        Ok(scored)
    }

    /// The best of them, with their messages; of equals that do not all fit, every one is looked at.
    fn hits(&self, mut scored: Vec<Scored>, limit: usize) -> rusqlite::Result<Vec<Hit>> {
        let order =
            |a: &Scored, b: &Scored| b.score.total_cmp(&a.score).then_with(|| b.timestamp.cmp(&a.timestamp));
        scored.sort_unstable_by(order);
        let end = match scored.get(limit - 1) {
            Some(last) => scored.partition_point(|one| order(one, last).is_le()),
            None => scored.len(),
        };
        let mut hits = Vec::new();
        for Scored { n, score, .. } in &scored[..end] {
            if let Some(message) = self.nth(*n)? {
                hits.push(Hit::by("similarity", message, *score));
            }
        }
        Ok(Hit::best(hits, limit))
    }
}

/// The conditions of a selection, as far as what stands beside a code tells them: scope and trace aside.
struct Wanted {
    since: i64,
    until: i64,
    /// The `bit` of each role.
    roles: u8,
    /// Records that are left out by their id or trace, and those of the very time that all must stand before,
    /// which do not.
    without: FxHashSet<i64>,
}

impl Wanted {
    fn of(connection: &Connection, which: &Select) -> rusqlite::Result<Wanted> {
        let mut wanted = Wanted {
            since: which.since.unwrap_or(i64::MIN),
            until: which.until.unwrap_or(i64::MAX),
            roles: which.roles.iter().fold(0, |roles, role| roles | chunk::bit(*role)),
            without: FxHashSet::default(),
        };
        if wanted.roles == 0 {
            wanted.roles = u8::MAX;
        }
        if let Some(before) = &which.before {
            wanted.until = wanted.until.min(before.timestamp);
            let sql = "SELECT n FROM record WHERE timestamp = ? AND (seq, id) >= (?, ?)";
            let mut statement = connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![before.timestamp, before.seq, before.id], |row| row.get(0))?;
            wanted.without = rows.collect::<Result<_, _>>()?;
        }
        let Except { traces, ids } = &which.except;
        if !(traces.is_empty() && ids.is_empty()) {
            let sql = "SELECT n FROM record WHERE trace_id IN (SELECT value FROM json_each(?))
                       OR id IN (SELECT value FROM json_each(?))";
            let mut statement = connection.prepare_cached(sql)?;
            for n in statement.query_map([select::list(traces), select::list(ids)], |row| row.get(0))? {
                wanted.without.insert(n?);
            }
        }
        Ok(wanted)
    }

    fn admits(&self, head: &Head) -> bool {
        head.timestamp >= self.since
            && head.timestamp <= self.until
            && head.role & self.roles != 0
            && (self.without.is_empty() || !self.without.contains(&head.n))
    }
}

/// A look at all codes.
struct Scan<'a> {
    query: &'a Query,
    wanted: Wanted,
    best: Best,
    products: Vec<i32>,
}

impl Scan<'_> {
    fn look_at(&mut self, block: &Block) -> rusqlite::Result<()> {
        if !block.heads()?.any(|head| self.wanted.admits(&head)) {
            return Ok(());
        }
        self.query.products(block.codes()?, &mut self.products);
        for (head, product) in block.heads()?.zip(&self.products) {
            let (near, off) = self.query.estimate(*product, head.step);
            if near + off >= self.best.floor && self.wanted.admits(&head) {
                let Head { n, timestamp, .. } = head;
                self.best.add(Candidate { n, timestamp, low: near - off, high: near + off });
            }
        }
        Ok(())
    }
}

/// A message, and between what its cosine lies.
struct Candidate {
    n: i64,
    timestamp: i64,
    low: f32,
    high: f32,
}

/// Every message that may be among the best `limit`.
struct Best {
    limit: usize,
    /// So near are `limit` of them at least.
    floor: f32,
    held: Vec<Candidate>,
    /// When so many are held, those below the floor are dropped.
    room: usize,
}

impl Best {
    fn add(&mut self, candidate: Candidate) {
        self.held.push(candidate);
        if self.held.len() >= self.room && self.held.len() > self.limit {
            let (_, worst, _) =
                self.held.select_nth_unstable_by(self.limit - 1, |a, b| b.low.total_cmp(&a.low));
            self.floor = worst.low;
            self.held.retain(|candidate| candidate.high >= self.floor);
            self.room = HELD.max(2 * self.held.len());
        }
    }
}
