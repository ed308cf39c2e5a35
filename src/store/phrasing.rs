//! How the words of a question stand in a text: whether neighbours are neighbours there too. An index by words does not
//! tell it, so the texts of a few candidates are read.

use super::question::STOP_WORDS;
use super::terms::{beginning, fold, stem, words};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// The number of words of a long question that count.
const MAX_WORDS: usize = 64;

/// The words of a question in their order, as stems; case, accents and width do not matter.
pub struct Phrasing {
    stems: Vec<String>,
    /// Each stem once, with the beginning that its words share.
    beginnings: Vec<(String, String)>,
    /// The positions of neighbouring words, of which one at least is no stop word.
    pairs: BTreeSet<(usize, usize)>,
    /// The words that are no stop words.
    content: BTreeSet<usize>,
}

impl Phrasing {
    /// Reads a question, of a long one the beginning.
    pub fn of(question: &str) -> Phrasing {
        let folded = fold(question);
        let mut phrasing = Phrasing {
            stems: Vec::new(),
            beginnings: Vec::new(),
            pairs: BTreeSet::new(),
            content: BTreeSet::new(),
        };
        let mut positions: HashMap<String, usize> = HashMap::new();
        let mut last = None;
        for word in words(&folded).take(MAX_WORDS) {
            let stem = stem(word).into_owned();
            let is_content = !STOP_WORDS.split(' ').any(|stop| stop == word);
            let at = *positions.entry(stem.clone()).or_insert_with(|| {
                phrasing.beginnings.push((stem.clone(), beginning(&stem).to_owned()));
                phrasing.stems.push(stem);
                phrasing.stems.len() - 1
            });
            if is_content {
                phrasing.content.insert(at);
            }
            if let Some(before) = last.replace(at)
                && before != at
                && (is_content || phrasing.content.contains(&before))
            {
                phrasing.pairs.insert((before.min(at), before.max(at)));
            }
        }
        phrasing
    }

    /// The share of the pairs of neighbouring words of the question, stop words alone aside, that are neighbours in a
    /// text, in either order; 0 for a question of one word.
    pub fn pairs_in(&self, text: &str) -> f64 {
        share(self.coverage(text).pairs.len(), self.pairs.len())
    }

    /// What a text has of the question.
    pub fn coverage(&self, text: &str) -> Coverage {
        let folded = fold(text);
        let mut coverage = Coverage::default();
        let mut last = None;
        for word in words(&folded) {
            let at = self.position(word);
            coverage.words.extend(at.filter(|at| self.content.contains(at)));
            if let (Some(before), Some(at)) = (last, at) {
                let pair = (at.min(before), at.max(before));
                if self.pairs.contains(&pair) {
                    coverage.pairs.insert(pair);
                }
            }
            last = at;
        }
        coverage
    }

    /// The share of the words of the question, stop words aside, that some texts hold.
    pub fn words_in<'a>(&self, texts: impl Iterator<Item = &'a str>) -> f64 {
        let mut found = BTreeSet::new();
        for text in texts {
            let folded = fold(text);
            found.extend(words(&folded).filter_map(|word| self.position(word)));
        }
        share(found.intersection(&self.content).count(), self.content.len())
    }

    /// The position of the stem of a word. Most words begin otherwise, and need not be stemmed.
    fn position(&self, word: &str) -> Option<usize> {
        let mut own: Option<Cow<str>> = None;
        self.beginnings.iter().position(|(stem_, beginning)| {
            word.starts_with(beginning.as_str()) && *own.get_or_insert_with(|| stem(word)) == *stem_
        })
    }
}

/// The words of a question that a text has, stop words aside, and the pairs of neighbours.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Coverage {
    words: BTreeSet<usize>,
    pairs: BTreeSet<(usize, usize)>,
}

/// The weight of a pair of neighbours, against 1 for a word.
const PAIR_WEIGHT: f64 = 0.4;

impl Coverage {
    /// The weight of what it has and another one lacks.
    pub fn weight_beyond(&self, other: &Coverage) -> f64 {
        let words = self.words.difference(&other.words).count() as f64;
        words + PAIR_WEIGHT * self.pairs.difference(&other.pairs).count() as f64
    }

    /// Adds what another one has.
    pub fn add(&mut self, other: &Coverage) {
        self.words.extend(&other.words);
        self.pairs.extend(&other.pairs);
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_question_are_looked_for_in_either_order() {
        let phrasing = Phrasing::of("The garbage collection of Tables");
        // Of the pairs of the question, "of tables" and "the garbage" count, and "of the" would not.
        for (text, pairs) in [
            ("", 0.0),
            ("tables of garbage", 0.25),
            ("collecting garbage", 0.25),
            ("garbage, collected", 0.25),
            ("the GARBAGE collection of a table", 0.75),
            ("the garbage collection of tables", 1.0),
        ] {
            assert_eq!(phrasing.pairs_in(text), pairs, "{text}");
        }
        assert_eq!(phrasing.words_in(["Garbage", "and a table"].into_iter()), 2.0 / 3.0);
        assert_eq!(phrasing.words_in(["of the"].into_iter()), 0.0);
    }

    #[test]
    fn questions_without_words_or_pairs_have_no_share() {
        for question in ["", "?!", "of the", "word"] {
            assert_eq!(Phrasing::of(question).pairs_in("of the word"), 0.0, "{question}");
        }
        assert_eq!(Phrasing::of("of the").words_in(["of the"].into_iter()), 0.0);
        assert_eq!(Phrasing::of("pg_stat_clear").pairs_in("see pg_stat_clear()"), 1.0);
    }
}
