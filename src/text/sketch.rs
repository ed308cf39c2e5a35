//! Sketches of texts, which tell how nearly one text equals another.

use super::fold::fold;
use super::terms::{self, is_unspaced};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of words in a run.
const RUN: usize = 3;
/// The most runs of a text that a sketch has: those with the smallest hashes, which are a sample of all.
const MAX_RUNS: usize = 64;
/// The longest text that has a sketch, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// The least share of the runs of two texts that both have, if they are nearly equal.
const NEARLY_EQUAL: f64 = 0.8;

/// The runs of three words in a text, without case, accents and marks, and its numbers. Of a text of more
/// than 66 words it is a sample (bottom-k of MinHash: Broder, "On the resemblance and containment of
/// documents", 1997).
#[derive(PartialEq, Debug)]
pub struct Sketch {
    /// Hashes in ascending order.
    runs: Box<[u64]>,
    /// A hash of the words with digits.
    numbers: u64,
}

impl Sketch {
    /// `None` for a text without letters and digits, and for a long one.
    pub fn of(text: &str) -> Option<Sketch> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let mut runs = BTreeSet::new();
        // The second time, a run is another one: a text that is said twice is not the same.
        let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
        let mut add = |last: &[u64; RUN]| {
            let hash = hash_of(last);
            let count = counts.entry(hash).or_default();
            *count += 1;
            runs.insert(hash_of(&(hash, *count)));
            if runs.len() > MAX_RUNS {
                runs.pop_last();
            }
        };
        let mut numbers = BTreeSet::new();
        let mut last: [u64; RUN] = [0; RUN];
        let mut words = 0;
        let folded = fold(text);
        for word in pieces(&folded) {
            let hash = hash_of(word);
            if word.contains(|c: char| c.is_numeric()) {
                numbers.insert(hash);
            }
            last.rotate_left(1);
            last[RUN - 1] = hash;
            words += 1;
            if words >= RUN {
                add(&last);
            }
        }
        match words {
            0 => return None,
            words if words < RUN => add(&last),
            _ => {}
        }
        Some(Sketch { runs: runs.into_iter().collect(), numbers: hash_of(&numbers) })
    }

    /// Whether two texts have the same numbers and share four in five of their runs.
    pub fn nearly_equals(&self, other: &Sketch) -> bool {
        if self.numbers != other.numbers {
            return false;
        }
        // Of a sample, only the smallest of the union are sampled in both.
        let is_sample = self.runs.len() == MAX_RUNS || other.runs.len() == MAX_RUNS;
        let most = if is_sample { MAX_RUNS } else { usize::MAX };
        let (mut own, mut others) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        let (mut compared, mut shared) = (0, 0);
        while compared < most {
            let Some(least) = own.peek().into_iter().chain(others.peek()).min().map(|least| **least) else {
                break;
            };
            let is_in_both =
                own.next_if(|run| **run == least).is_some() & others.next_if(|run| **run == least).is_some();
            shared += usize::from(is_in_both);
            compared += 1;
        }
        shared as f64 >= NEARLY_EQUAL * compared as f64
    }
}

/// The words of folded text; in a script without spaces, each two characters.
fn pieces(folded: &str) -> impl Iterator<Item = &str> {
    terms::words(folded)
        .flat_map(|word| if word.contains(is_unspaced) { terms::pieces(word) } else { vec![word] })
}

/// The same in each process.
fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearly_equal(one: &str, other: &str) -> bool {
        Sketch::of(one).zip(Sketch::of(other)).is_some_and(|(one, other)| one.nearly_equals(&other))
    }

    #[test]
    fn texts_that_share_four_in_five_runs_are_nearly_equal() {
        let text = "The owls of the old barn hunt at night, hear the mice below the snow from far away, and \
            come back to their young ones before the sun rises over the hills";
        let long =
            format!("{text}. {}", "Then they sleep. It rains again, and the barn is still. ".repeat(20));
        for (other, is_near) in [
            (text.to_uppercase(), true),
            (text.replace(", ", " - "), true),
            (text.replace("old", "ancient"), true),
            (text.replace("old", "ancient").replace("snow", "leaves"), false),
            (format!("{text} at 6"), false),
            (text[..60].to_owned(), false),
        ] {
            assert_eq!(nearly_equal(text, &other), is_near, "{other}");
        }
        assert!(nearly_equal(&long, &long.replace("barn hunt", "barn hunted")));
        assert!(!nearly_equal("The owl hunts.", "The owl hunts. The owl hunts."));
        assert!(nearly_equal("Yes!", "yes") && !nearly_equal("Yes.", "No."));
        assert!(nearly_equal("猫は夜に狩りをします。", "猫は夜に狩りをします"));
        assert!(!nearly_equal("The port is 8080", "The port is 8081"));
        assert_eq!(Sketch::of("\u{1f44d}"), None);
    }
}
