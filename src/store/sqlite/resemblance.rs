//! Which records of a collection resemble each other: many vectors at once are compared with the codes of all.

use super::super::cosine::Query;
use super::super::select::Collection;
use super::super::synapses::{Compare, Compared, Near};
use super::code_page::{self, CodeBlock, CodeMeta};
use super::collections::{CollectionRow, Within};
use super::nearest::{Best, Candidate, Scored, by_score, trusted};
use super::record_row::numbers;
use super::synapse;
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::thread;

/// Of records that are equally near by their codes, so many times the limit are compared exactly: small talk
/// comes in thousands of equals.
const COMPARED_PER_SYNAPSE: usize = 4;

/// So many candidates are held for each record before the worse ones are dropped: there are many records.
const MAX_CANDIDATES: usize = 256;

/// A thread has so many vectors to compare at least.
const MIN_VECTORS_PER_THREAD: usize = 64;

/// So many vectors are compared with all askers at once at least.
const MIN_BLOCK_VECTORS: usize = 512;

/// A record that is compared with others.
struct Asker {
    n: i64,
    id: String,
    timestamp: i64,
    version: i64,
    query: Query,
    best: Best,
}

/// Who may be compared with whom: each two once.
struct Turns {
    /// Records whose turn comes later.
    later: FxHashSet<i64>,
    /// The records whose turn it is: each is compared with those of lower numbers.
    now: FxHashSet<i64>,
}

impl Turns {
    /// The askers with greater numbers than this are compared with the record.
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

/// A search for what resembles the records of a collection.
pub(super) struct Resemblance<'a> {
    pub(super) model: &'a str,
    pub(super) collection: &'a Collection,
    pub(super) which: Compare,
    /// The least cosine.
    pub(super) floor: f64,
    pub(super) limit: usize,
}

impl Resemblance<'_> {
    pub(super) fn find(&self, connection: &mut Connection) -> rusqlite::Result<Vec<Compared>> {
        let Some((model, n)) = synapse::numbers(connection, self.model, self.collection)? else {
            return Ok(Vec::new());
        };
        let of_it = |_: &Connection| Ok(vec![CollectionRow { n, kind: self.collection.kind }]);
        trusted(connection, model, of_it, |connection, sound| {
            let within = Within::Listed(vec![n]);
            let mut askers = self.askers(connection, model, n)?;
            if self.limit > 0 && !askers.is_empty() {
                let turns = turns(connection, model, n, &askers)?;
                let threads = match askers.len() / MIN_VECTORS_PER_THREAD {
                    0 | 1 => 1,
                    shares => thread::available_parallelism().map_or(1, usize::from).min(shares),
                };
                let mut gathered = Gathered::default();
                let mut compare = |block: &CodeBlock| compare_all(&mut askers, &turns, block, threads);
                let mut look = |block: &CodeBlock| gathered.add(block, &mut compare);
                *sound = code_page::visit(connection, model, &within, &mut look)?;
                gathered.hand_on(&mut compare);
            }
            let mut seen = FxHashMap::default();
            let mut found = Vec::new();
            for asker in askers {
                let (compared, there) = self.near(connection, model, asker, &mut seen)?;
                *sound &= there;
                found.push(compared);
            }
            Ok(found)
        })
    }

    /// The records that are to be compared, by their numbers.
    fn askers(&self, connection: &Connection, model: i64, collection: i64) -> rusqlite::Result<Vec<Asker>> {
        let (tables, filter, version, count) = match self.which {
            Compare::Unlinked(count) => (
                "unlinked JOIN record ON n = unlinked.record",
                "unlinked.model = ?1 AND unlinked.collection = ?2",
                "version",
                count as i64,
            ),
            Compare::All => ("record INDEXED BY record_number", "record.collection = ?2", "0", -1),
        };
        let sql = format!(
            "SELECT n, id, timestamp, {version}, vector FROM {tables} \
             JOIN embedding ON embedding.record = n AND embedding.model = ?1 \
             WHERE {filter} ORDER BY n LIMIT ?3"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map([model, collection, count], |row| {
            Ok(Asker {
                n: row.get(0)?,
                id: row.get(1)?,
                timestamp: row.get(2)?,
                version: row.get(3)?,
                query: Query::of(&numbers(row.get_ref(4)?.as_blob()?)),
                best: Best::above(self.floor, self.limit, MAX_CANDIDATES.max(2 * self.limit)),
            })
        })?;
        rows.collect()
    }

    /// What a record resembles, by exact cosines; and whether all that it was compared with is there. Records
    /// that resemble one mostly resemble others: `seen` keeps what was read of them.
    fn near(
        &self,
        connection: &Connection,
        model: i64,
        asker: Asker,
        seen: &mut FxHashMap<i64, Option<Seen>>,
    ) -> rusqlite::Result<(Compared, bool)> {
        let Asker { n, id, timestamp, version, query, best } = asker;
        let most = self.limit.saturating_mul(COMPARED_PER_SYNAPSE);
        let (mut scored, there) = best.compare(most, |n| {
            let seen = match seen.entry(n) {
                Entry::Occupied(seen) => seen.into_mut(),
                Entry::Vacant(new) => new.insert(read_vector(connection, model, n)?),
            };
            Ok(seen.as_ref().map(|seen| query.cosine(&seen.vector)))
        })?;
        scored.retain(|one| one.score >= self.floor);
        scored.sort_unstable_by(by_score);
        scored.truncate(self.limit);
        let near = scored.into_iter().filter_map(|Scored { n, timestamp, score }| {
            let id = seen.get(&n)?.as_ref()?.id.clone();
            Some(Near { id, timestamp, score, n })
        });
        Ok((Compared { id, timestamp, near: near.collect(), n, version }, there))
    }
}

fn turns(connection: &Connection, model: i64, collection: i64, askers: &[Asker]) -> rusqlite::Result<Turns> {
    let last = askers.last().map_or(i64::MAX, |asker| asker.n);
    let now: FxHashSet<i64> = askers.iter().map(|asker| asker.n).collect();
    let sql = "SELECT record FROM unlinked WHERE model = ? AND collection = ? AND record > ?";
    let mut statement = connection.prepare_cached(sql)?;
    let later = statement.query_map([model, collection, last], |row| row.get(0))?;
    Ok(Turns { later: later.collect::<Result<_, _>>()?, now })
}

fn read_vector(connection: &Connection, model: i64, n: i64) -> rusqlite::Result<Option<Seen>> {
    let sql = "SELECT id, vector FROM record JOIN embedding ON embedding.record = n AND embedding.model = ?
               WHERE n = ?";
    let seen = |row: &rusqlite::Row| Ok(Seen { id: row.get(0)?, vector: row.get(1)? });
    connection.prepare_cached(sql)?.query_row([model, n], seen).optional()
}

/// What is read of a record that others resemble.
struct Seen {
    id: String,
    vector: Vec<u8>,
}

/// Blocks put together, until they are worth the threads that compare them.
#[derive(Default)]
struct Gathered {
    metas: Vec<CodeMeta>,
    codes: Vec<u8>,
}

impl Gathered {
    fn add(&mut self, block: &CodeBlock, compare: &mut impl FnMut(&CodeBlock)) {
        self.metas.extend_from_slice(block.metas);
        self.codes.extend_from_slice(block.codes);
        if self.metas.len() >= MIN_BLOCK_VECTORS {
            self.hand_on(compare);
        }
    }

    fn hand_on(&mut self, compare: &mut impl FnMut(&CodeBlock)) {
        compare(&CodeBlock { metas: &self.metas, codes: &self.codes });
        self.metas.clear();
        self.codes.clear();
    }
}

/// Compares the askers with the vectors of a block, on some threads.
fn compare_all(askers: &mut [Asker], turns: &Turns, block: &CodeBlock, threads: usize) {
    let gates: Vec<i64> = block.metas.iter().map(|meta| turns.gate(meta.n)).collect();
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
        if let Some(share) = own {
            compare_some(share, gates, block);
        }
    });
}

fn compare_some(askers: &mut [Asker], gates: &[i64], block: &CodeBlock) {
    let (mut products, mut one) = (Vec::new(), Vec::new());
    for askers in askers.chunks_mut(4) {
        if let [a, b, c, d] = askers {
            Query::products([&a.query, &b.query, &c.query, &d.query], block.codes, &mut products);
        } else {
            products.clear();
            products.resize(block.metas.len(), [0; 4]);
            for (at, asker) in askers.iter().enumerate() {
                Query::products([&asker.query], block.codes, &mut one);
                for (products, [product]) in products.iter_mut().zip(&one) {
                    products[at] = *product;
                }
            }
        }
        for (at, Asker { n, query, best, .. }) in askers.iter_mut().enumerate() {
            for ((meta, gate), products) in block.metas.iter().zip(gates).zip(&products) {
                let (near, error_bound) = query.estimate(products[at], meta.scale);
                if near + error_bound >= best.floor && *n > *gate {
                    best.add(Candidate::of(meta, near, error_bound));
                }
            }
        }
    }
}
