//! Which units are near each other: by the vectors of their messages, or, if most have none, by their words.

use super::sample::Sample;
use crate::text::topic_words;
use std::collections::HashMap;

/// The number of nearest units of each that are noted.
const NEIGHBOURS: usize = 4;

/// The least similarity (the cosine, less the common mean) of neighbours among 30 units, and how much it
/// rises with the logarithm of their number: the more there are, the nearer the nearest are by chance. Found
/// by looking at conversations of 30 to 1500 turns: below it are units that nobody would call related.
const MIN_SIMILARITY: f32 = 0.1;
const MIN_SIMILARITY_RISE: f32 = 0.05;

/// The numbers of a vector that is made from words.
const WORD_DIM: usize = 512;

/// The mean of few vectors says more of each than of what they have in common; it counts as if this many more
/// vectors had the mean 0.
const MEAN_PRIOR: f32 = 10.0;

/// The least similarity of neighbours among this many units.
pub(super) fn min_similarity(units: usize) -> f32 {
    MIN_SIMILARITY + MIN_SIMILARITY_RISE * (units as f32 / 30.0).max(1.0).ln()
}

/// Two units that are near each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Near {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) similarity: f32,
}

/// The vectors by which messages are compared.
pub(super) struct Vectors {
    by: Source,
    mean: Vec<f32>,
    dim: usize,
}

/// The source of a vector.
enum Source {
    /// A model's vector of the message.
    Model,
    /// The words of the message, each with its weight.
    Words(HashMap<String, f32>),
}

impl Vectors {
    /// Decides how the messages of a sample are compared.
    pub(super) fn new(sample: &Sample) -> Vectors {
        let dims = || sample.briefs.iter().filter_map(|brief| brief.vector.as_ref().map(Vec::len));
        let (by, dim) = match dims().next() {
            Some(dim) if dims().count() * 2 >= sample.briefs.len() => (Source::Model, dim),
            _ => (Source::Words(word_weights(sample)), WORD_DIM),
        };
        let mut vectors = Vectors { by, mean: vec![0.0; dim], dim };
        let units: Vec<Vec<f32>> =
            (0..sample.units.len()).filter_map(|unit| vectors.of_unit(sample, unit)).collect();
        for unit in &units {
            add(&mut vectors.mean, unit, 1.0 / (units.len() as f32 + MEAN_PRIOR));
        }
        vectors
    }

    /// The length of each vector.
    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// The vector of a message, less the mean, of length 1; `None` if it has none.
    pub(super) fn of(&self, text: &str, vector: Option<&[f32]>) -> Option<Vec<f32>> {
        let vector = match &self.by {
            Source::Model => vector.filter(|vector| vector.len() == self.dim)?.to_vec(),
            Source::Words(weights) => of_words(text, weights),
        };
        let mut vector = unit_length(vector)?;
        add(&mut vector, &self.mean, -1.0);
        unit_length(vector)
    }

    /// The vector of a unit, of length 1.
    pub(super) fn of_unit(&self, sample: &Sample, unit: usize) -> Option<Vec<f32>> {
        let mut sum = vec![0.0; self.dim];
        for brief in sample.units[unit].iter().map(|message| &sample.briefs[*message]) {
            if let Some(vector) = self.of(&brief.text, brief.vector.as_deref()) {
                add(&mut sum, &vector, 1.0);
            }
        }
        unit_length(sum)
    }
}

/// The nearest of each of some vectors of length 1, among comparable ones, if near enough; in their order.
pub(super) fn neighbours(
    vectors: &[Option<Vec<f32>>],
    min_similarity: f32,
    is_comparable: impl Fn(usize, usize) -> bool,
) -> Vec<Near> {
    let mut best: Vec<Vec<(f32, usize)>> = vec![Vec::with_capacity(NEIGHBOURS + 1); vectors.len()];
    for (one, vector) in vectors.iter().enumerate() {
        let Some(vector) = vector else { continue };
        for (other, second) in vectors[..one].iter().enumerate() {
            let Some(second) = second else { continue };
            let similarity = dot(vector, second);
            if similarity >= min_similarity && is_comparable(one, other) {
                keep_best(&mut best[one], similarity, other);
                keep_best(&mut best[other], similarity, one);
            }
        }
    }
    let mut near: Vec<Near> = { best.iter().enumerate() }
        .flat_map(|(one, best)| best.iter().map(move |(similarity, other)| (one, *other, *similarity)))
        .map(|(a, b, similarity)| Near { one: a.min(b), other: a.max(b), similarity })
        .collect();
    near.sort_by_key(|near| (near.one, near.other));
    near.dedup();
    near
}

/// Keeps the nearest, best first; of equally near ones the first.
fn keep_best(best: &mut Vec<(f32, usize)>, similarity: f32, unit: usize) {
    if best.len() == NEIGHBOURS && best[NEIGHBOURS - 1].0 >= similarity {
        return;
    }
    let at = best.iter().position(|(least, _)| *least < similarity).unwrap_or(best.len());
    best.insert(at, (similarity, unit));
    best.truncate(NEIGHBOURS);
}

/// The inverse document frequency of each word that stands in more than one unit.
fn word_weights(sample: &Sample) -> HashMap<String, f32> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for unit in &sample.units {
        let texts = unit.iter().flat_map(|message| topic_words(&sample.briefs[*message].text));
        let mut keys: Vec<String> = texts.map(|word| word.key).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            *counts.entry(key).or_default() += 1;
        }
    }
    let units = sample.units.len() as f32;
    let frequent = counts.into_iter().filter(|(_, count)| *count > 1);
    frequent.map(|(key, count)| (key, (1.0 + units / count as f32).ln())).collect()
}

/// The words of a text as a vector of `WORD_DIM` numbers, each word at the place, and with the sign, of its
/// hash (feature hashing, Weinberger 2009).
fn of_words(text: &str, weights: &HashMap<String, f32>) -> Vec<f32> {
    let mut vector = vec![0.0; WORD_DIM];
    let mut keys: Vec<String> = topic_words(text).into_iter().map(|word| word.key).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let hash = fnv(key.as_bytes());
        let sign = if hash & 1 == 0 { 1.0 } else { -1.0 };
        // A word without a weight is in one unit alone, and makes it like no other.
        vector[(hash >> 1) as usize % WORD_DIM] += sign * weights.get(&key).copied().unwrap_or_default();
    }
    vector
}

/// FNV-1a of 64 bits: the same on every machine, unlike the hashes of the standard library.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn add(sum: &mut [f32], vector: &[f32], factor: f32) {
    sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += factor * x);
}

/// A vector scaled to length 1; `None` if it is zero.
pub(super) fn unit_length(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = dot(&vector, &vector).sqrt();
    if !length.is_finite() || length < 1e-6 {
        return None;
    }
    for x in &mut vector {
        *x /= length;
    }
    Some(vector)
}

/// The dot product of two vectors of one dimension, in lanes that a processor adds at once.
pub(super) fn dot(one: &[f32], other: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest: f32 = ones.remainder().iter().zip(others.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in ones.zip(others) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}
