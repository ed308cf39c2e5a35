//! Which messages of a scope resemble each other: many vectors at once are compared with the codes of all.

use super::super::cosine::Query;
use super::super::graph::{Alike, Near, Of};
use super::Sqlite;
use super::chunk::{self, Block, Head};
use super::embedding::numbers;
use super::graph;
use super::nearest::{Best, Candidate, Scored, by_score};
use crate::record::Scope;
use rusqlite::OptionalExtension;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::thread;

/// Of messages that are equally near by their codes, so many times the limit are compared exactly: small talk
/// comes in thousands of equals.
const COMPARED: usize = 4;

/// So many candidates are held for each message before the worse ones are dropped: there are many messages.
const HELD: usize = 256;

/// A thread has so many vectors to compare at least.
const SHARE: usize = 64;

/// So many vectors are compared with all askers at once at least.
const GATHERED: usize = 512;

/// A message that is compared with others.
struct Asker {
    n: i64,
    id: String,
    timestamp: i64,
    mark: i64,
    query: Query,
    best: Best,
}

/// Who may be compared with whom: each two once.
struct Turns {
    /// Messages whose turn comes later.
    later: FxHashSet<i64>,
    /// The messages whose turn it is: each is compared with those of lower numbers.
    now: FxHashSet<i64>,
}

impl Turns {
    /// The askers with greater numbers than this are compared with the message.
    fn gate(&self, n: i64) -> i64 {
        if self.later.contains(&n) {
            i64::MAX
        } else if self.now.contains(&n) {
            n
        } else {
            i64::MIN
        }
    }
}

impl Sqlite {
    pub(super) fn find_alike(
        &mut self,
        model: &str,
        scope: &Scope,
        of: Of,
        floor: f64,
        limit: usize,
    ) -> rusqlite::Result<Vec<Alike>> {
        self.connection.pragma_update(None, "mmap_size", super::MAPPED)?;
        let Some((model, scope)) = graph::numbers(&self.connection, model, scope)? else {
            return Ok(Vec::new());
        };
        self.trusted(model, Some(&[scope]), |store, sound| {
            let mut askers = store.askers(model, scope, of, floor, limit)?;
            if limit > 0 && !askers.is_empty() {
                let turns = store.turns(model, scope, &askers)?;
                let threads = match askers.len() / SHARE {
                    0 | 1 => 1,
                    shares => thread::available_parallelism().map_or(1, usize::from).min(shares),
                };
                let mut gathered = Gathered::default();
                let mut compare = |block: &Block| compare_all(&mut askers, &turns, block, threads);
                let mut look = |block: &Block| gathered.add(block, &mut compare);
                *sound = chunk::visit(&store.connection, model, Some(&[scope]), &mut look)?;
                gathered.hand_on(&mut compare);
            }
            let mut vectors = FxHashMap::default();
            let mut near = |asker| {
                let (alike, there) = store.near(model, asker, floor, limit, &mut vectors)?;
                *sound &= there;
                Ok(alike)
            };
            askers.into_iter().map(&mut near).collect()
        })
    }

    /// The messages that are to be compared, by their numbers.
    fn askers(
        &self,
        model: i64,
        scope: i64,
        of: Of,
        floor: f64,
        limit: usize,
    ) -> rusqlite::Result<Vec<Asker>> {
        let (tables, mark, count) = match of {
            Of::Waiting(count) => ("waiting JOIN record ON n = waiting.record", "mark", count as i64),
            Of::All => ("record INDEXED BY record_words", "0", -1),
        };
        let filter = match of {
            Of::Waiting(_) => "waiting.model = ?1 AND waiting.scope = ?2",
            Of::All => "record.kind = 'message' AND record.scope = ?2",
        };
        let sql = format!(
            "SELECT n, id, timestamp, {mark}, vector FROM {tables} \
             JOIN embedding ON embedding.record = n AND embedding.model = ?1 \
             WHERE {filter} ORDER BY n LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([model, scope, count], |row| {
            Ok(Asker {
                n: row.get(0)?,
                id: row.get(1)?,
                timestamp: row.get(2)?,
                mark: row.get(3)?,
                query: Query::of(&numbers(row.get_ref(4)?.as_blob()?)),
                best: Best::above(floor, limit, HELD.max(2 * limit)),
            })
        })?;
        rows.collect()
    }

    fn turns(&self, model: i64, scope: i64, askers: &[Asker]) -> rusqlite::Result<Turns> {
        let last = askers.last().map_or(i64::MAX, |asker| asker.n);
        let now: FxHashSet<i64> = askers.iter().map(|asker| asker.n).collect();
        let sql = "SELECT record FROM waiting WHERE model = ? AND scope = ? AND record > ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let later = statement.query_map([model, scope, last], |row| row.get(0))?;
        Ok(Turns { later: later.collect::<Result<_, _>>()?, now })
    }

    /// What a message resembles, by exact cosines; and whether all that it was compared with is there. Messages
    /// that resemble one mostly resemble others: `seen` keeps what was read of them.
    fn near(
        &self,
        model: i64,
        asker: Asker,
        floor: f64,
        limit: usize,
        seen: &mut FxHashMap<i64, Option<Seen>>,
    ) -> rusqlite::Result<(Alike, bool)> {
        let Asker { n, id, timestamp, mark, query, best } = asker;
        let most = limit.saturating_mul(COMPARED);
        let (mut scored, there) = best.compare(most, |n| {
            let seen = match seen.entry(n) {
                Entry::Occupied(seen) => seen.into_mut(),
                Entry::Vacant(new) => new.insert(self.seen(model, n)?),
            };
            Ok(seen.as_ref().map(|seen| query.cosine(&seen.vector)))
        })?;
        scored.retain(|one| one.score >= floor);
        scored.sort_unstable_by(by_score);
        scored.truncate(limit);
        let near = scored.into_iter().filter_map(|Scored { n, timestamp, score }| {
            let id = seen.get(&n)?.as_ref()?.id.clone();
            Some(Near { id, timestamp, score, n })
        });
        Ok((Alike { id, timestamp, near: near.collect(), n, mark }, there))
    }

    fn seen(&self, model: i64, n: i64) -> rusqlite::Result<Option<Seen>> {
        let sql =
            "SELECT id, vector FROM record JOIN embedding ON embedding.record = n AND embedding.model = ?
                   WHERE n = ?";
        let seen = |row: &rusqlite::Row| Ok(Seen { id: row.get(0)?, vector: row.get(1)? });
        self.connection.prepare_cached(sql)?.query_row([model, n], seen).optional()
    }
}

/// What is read of a message that others resemble.
struct Seen {
    id: String,
    vector: Vec<u8>,
}

/// Blocks put together, until they are worth the threads that compare them.
#[derive(Default)]
struct Gathered {
    heads: Vec<Head>,
    codes: Vec<u8>,
}

impl Gathered {
    fn add(&mut self, block: &Block, compare: &mut impl FnMut(&Block)) {
        self.heads.extend_from_slice(block.heads);
        self.codes.extend_from_slice(block.codes);
        if self.heads.len() >= GATHERED {
            self.hand_on(compare);
        }
    }

    fn hand_on(&mut self, compare: &mut impl FnMut(&Block)) {
        compare(&Block { heads: &self.heads, codes: &self.codes });
        self.heads.clear();
        self.codes.clear();
    }
}

/// Compares the askers with the vectors of a block, on some threads.
fn compare_all(askers: &mut [Asker], turns: &Turns, block: &Block, threads: usize) {
    let gates: Vec<i64> = block.heads.iter().map(|head| turns.gate(head.n)).collect();
    let lowest = gates.iter().min().copied().unwrap_or(i64::MAX);
    let first = askers.partition_point(|asker| asker.n <= lowest);
    let askers = &mut askers[first..];
    let gates = &gates;
    thread::scope(|scope| {
        let mut shares = askers.chunks_mut(askers.len().div_ceil(threads).max(1));
        let own = shares.next();
        for share in shares {
            scope.spawn(move || compare_some(share, gates, block));
        }
        own.into_iter().for_each(|share| compare_some(share, gates, block));
    });
}

fn compare_some(askers: &mut [Asker], gates: &[i64], block: &Block) {
    let (mut products, mut one) = (Vec::new(), Vec::new());
    for askers in askers.chunks_mut(4) {
        if let [a, b, c, d] = askers {
            Query::products([&a.query, &b.query, &c.query, &d.query], block.codes, &mut products);
        } else {
            products.clear();
            products.resize(block.heads.len(), [0; 4]);
            for (at, asker) in askers.iter().enumerate() {
                Query::products([&asker.query], block.codes, &mut one);
                products.iter_mut().zip(&one).for_each(|(products, [product])| products[at] = *product);
            }
        }
        for (at, Asker { n, query, best, .. }) in askers.iter_mut().enumerate() {
            for ((head, gate), products) in block.heads.iter().zip(gates).zip(&products) {
                let (near, off) = query.estimate(products[at], head.step);
                if near + off >= best.floor && *n > *gate {
                    best.add(Candidate::of(head, near, off));
                }
            }
        }
    }
}
