//! Compares unlinked vectors with the others of their collections, or with their nearest neighbours in the
//! vector index.

use crate::store::synapses::{Compare, Compared, Near};
use crate::vector::QuantizedQuery;
use std::collections::HashSet;

/// The error bound of a cosine of 32-bit numbers.
const ERROR_BOUND: f32 = 1e-4;

/// The error bound of a nearness (0 to 1) from the index, whose numbers have 8 bits.
const INDEX_ERROR_BOUND: f64 = 0.01;

/// A record and its vector as a statement lists them: n, id, timestamp, version, numbers, whether it is
/// unlinked.
pub(super) type ListedVector = (i64, String, i64, i64, Vec<f64>, bool);

/// A record and its vector.
pub(super) struct Vector {
    pub(super) n: i64,
    id: String,
    timestamp: i64,
    version: i64,
    unlinked: bool,
    pub(super) numbers: Vec<f32>,
    /// The numbers, normalized to length 1.
    unit: Vec<f32>,
}

impl Vector {
    pub(super) fn new((n, id, timestamp, version, numbers, unlinked): ListedVector) -> Vector {
        let numbers: Vec<f32> = numbers.into_iter().map(|x| x as f32).collect();
        let length = numbers.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let unit = numbers.iter().map(|x| (f64::from(*x) / length.max(f64::MIN_POSITIVE)) as f32).collect();
        Vector { n, id, timestamp, version, unlinked, numbers, unit }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.unit.iter().all(|x| *x == 0.0)
    }
}

/// The vectors of the collections that the index found near a vector, and the nearness (0 to 1) of the last
/// one that it returned.
#[derive(Default)]
pub(super) struct Found {
    pub(super) least: f64,
    pub(super) vectors: Vec<Vector>,
}

/// The approximate cosine of two vectors of length 1, in several partial sums, so that it is vectorized.
fn product(one: &[f32], other: &[f32]) -> f32 {
    let (ones, others) = (one.as_chunks::<16>(), other.as_chunks::<16>());
    let mut sums = [0.0_f32; 16];
    for (a, b) in ones.0.iter().zip(others.0) {
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
            *sum += x * y;
        }
    }
    let rest: f32 = ones.1.iter().zip(others.1).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

/// A vector that is compared with others, and the best so far.
struct Comparison<'a> {
    vector: &'a Vector,
    query: QuantizedQuery,
    near: Vec<Near>,
}

impl Comparison<'_> {
    fn add(&mut self, other: &Vector, min_similarity: f64, limit: usize) {
        if product(&self.vector.unit, &other.unit) < min_similarity as f32 - ERROR_BOUND {
            return;
        }
        let score = self.query.cosine_with(other.numbers.iter().copied());
        if score >= min_similarity {
            let (id, timestamp) = (other.id.clone(), other.timestamp);
            self.near.push(Near { id, timestamp, score, n: other.n });
            if self.near.len() > 4 * limit.max(16) {
                self.keep_best(limit);
            }
        }
    }

    /// Keeps the best; ties by time, newest first.
    fn keep_best(&mut self, limit: usize) {
        self.near.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.timestamp.cmp(&a.timestamp)));
        self.near.truncate(limit);
    }
}

/// Compares unlinked vectors, ordered by number, with the others, or with the neighbours that the index
/// found; `None` if the index may have missed some.
pub(super) fn compare(
    vectors: &[Vector],
    which: Compare,
    min_similarity: f64,
    limit: usize,
    from_index: Option<&[Found]>,
) -> Option<Vec<Compared>> {
    let is_compared = |vector: &&Vector| which == Compare::All || vector.unlinked;
    let mut those: Vec<&Vector> = vectors.iter().filter(is_compared).collect();
    match which {
        Compare::Unlinked(count) => those.truncate(count),
        Compare::Newest(count) => drop(those.drain(..those.len().saturating_sub(count))),
        Compare::All => {}
    }
    let mut compared: Vec<Comparison> = those
        .into_iter()
        .map(|vector| Comparison { vector, query: QuantizedQuery::new(&vector.numbers), near: Vec::new() })
        .collect();
    let now: HashSet<i64> = compared.iter().map(|comparison| comparison.vector.n).collect();
    for (at, comparison) in compared.iter_mut().enumerate().filter(|_| limit > 0) {
        let (least, others) = match from_index {
            Some(found) => (found[at].least, &found[at].vectors[..]),
            None => (f64::NEG_INFINITY, vectors),
        };
        for other in others {
            let counts = if now.contains(&other.n) {
                other.n < comparison.vector.n
            } else {
                which == Compare::All || !other.unlinked
            };
            if counts {
                comparison.add(other, min_similarity, limit);
            }
        }
        comparison.keep_best(limit);
        // Vectors that do not count, of other collections or unlinked, may have displaced some that do.
        if comparison.near.len() < limit && 2.0 * (least + INDEX_ERROR_BOUND) - 1.0 >= min_similarity {
            return None;
        }
    }
    let done = compared.into_iter().map(|Comparison { vector, near, .. }| Compared {
        id: vector.id.clone(),
        timestamp: vector.timestamp,
        near,
        n: vector.n,
        version: if which == Compare::All { 0 } else { vector.version },
    });
    Some(done.collect())
}
