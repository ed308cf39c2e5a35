//! The positions of the words of a question in a text: whether neighbours are neighbours there too. An index
//! by words does not tell it, so the texts of a few candidates are read.

use super::fold::{fold, fold_beginning};
use super::languages::{Languages, Stem};
use super::terms::words;
use std::collections::{BTreeMap, BTreeSet};

/// The number of words of a long question that count.
const MAX_WORDS: usize = 64;

/// The positions of two neighbouring words, the lower one first.
type Pair = (usize, usize);

/// The words of a question in their order, as stems; case, accents and width do not matter.
pub struct Phrasing {
    /// Of each word those in each of the question's languages.
    stems: Vec<Vec<Stem>>,
    /// The neighbouring words, of which one at least is no stop word.
    pairs: BTreeSet<Pair>,
    /// The words that are no stop words.
    content: BTreeSet<usize>,
}

impl Phrasing {
    /// Reads a question in some languages, of a long one the beginning.
    pub fn of(question: &str, languages: Languages) -> Phrasing {
        let folded = fold_beginning(question);
        let mut phrasing = Phrasing { stems: Vec::new(), pairs: BTreeSet::new(), content: BTreeSet::new() };
        let mut last = None;
        for word in words(&folded).take(MAX_WORDS) {
            let stems = languages.stems(word);
            let is_content = !languages.is_stop_word(word);
            let same = phrasing.stems.iter().position(|known| stems.iter().any(|stem| known.contains(stem)));
            let at = same.unwrap_or_else(|| {
                phrasing.stems.push(stems);
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

    /// The parts of the question that a text has.
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

    /// How rare the words and the pairs of the question are in some texts, of which this is what they have.
    pub fn idf(&self, texts: &[Coverage]) -> Idf {
        let idf = |holders: usize| {
            let (texts, holders) = (texts.len() as f64, holders as f64);
            (1.0 + (texts - holders + 0.5) / (holders + 0.5)).ln()
        };
        let word = |at: &usize| (*at, idf(texts.iter().filter(|one| one.words.contains(at)).count()));
        let pair = |pair: &Pair| (*pair, idf(texts.iter().filter(|one| one.pairs.contains(pair)).count()));
        Idf { words: self.content.iter().map(word).collect(), pairs: self.pairs.iter().map(pair).collect() }
    }

    /// The position of the stem of a word. Most words begin otherwise, and need not be stemmed.
    fn position(&self, word: &str) -> Option<usize> {
        self.stems.iter().position(|stems| stems.iter().any(|stem| stem.is_of(word)))
    }
}

/// The words of a question that a text has, except stop words, and the pairs of neighbours.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Coverage {
    words: BTreeSet<usize>,
    pairs: BTreeSet<Pair>,
}

impl Coverage {
    /// The weight of what it has and another one lacks: 1 for a word, `pair` for a pair of neighbours.
    pub fn weight_beyond(&self, other: &Coverage, pair: f64) -> f64 {
        let words = self.words.difference(&other.words).count() as f64;
        words + pair * self.pairs.difference(&other.pairs).count() as f64
    }

    /// Adds what another one has.
    pub fn add(&mut self, other: &Coverage) {
        self.words.extend(&other.words);
        self.pairs.extend(&other.pairs);
    }
}

/// The rarity of each word, except stop words, and of each pair of a question: their inverse document
/// frequency among some texts, as in BM25.
pub struct Idf {
    words: BTreeMap<usize, f64>,
    pairs: BTreeMap<Pair, f64>,
}

impl Idf {
    /// The share of the words of the question that a text has, from 0 to 1; of a question without words, 0.
    pub fn share_of_words(&self, text: &Coverage) -> f64 {
        share(&self.words, &text.words)
    }

    /// The share of the pairs of neighbouring words of the question that are neighbours in a text, in either
    /// order, from 0 to 1; of a question without pairs, 0.
    pub fn share_of_pairs(&self, text: &Coverage) -> f64 {
        share(&self.pairs, &text.pairs)
    }
}

fn share<T: Ord>(all: &BTreeMap<T, f64>, some: &BTreeSet<T>) -> f64 {
    let sum: f64 = all.values().sum();
    if sum == 0.0 { 0.0 } else { some.iter().filter_map(|one| all.get(one)).sum::<f64>() / sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_question_are_looked_for_in_either_order() {
        let phrasing = Phrasing::of("The garbage collection of Tables", Languages::ENGLISH);
        // No text has an exclusive pair, so that all count alike: of the pairs of the question, "of tables"
        // and "the garbage" count, and "of the" would not.
        let none_is_rare = phrasing.idf(&[]);
        for (text, pairs) in [
            ("", 0.0),
            ("tables of garbage", 0.25),
            ("collecting garbage", 0.25),
            ("garbage, collected", 0.25),
            ("the GARBAGE collection of a table", 0.75),
            ("the garbage collection of tables", 1.0),
        ] {
            assert_eq!(none_is_rare.share_of_pairs(&phrasing.coverage(text)), pairs, "{text}");
        }
        let two_of_three = none_is_rare.share_of_words(&phrasing.coverage("Garbage and a table"));
        assert!((two_of_three - 2.0 / 3.0).abs() < 1e-9, "{two_of_three}");
        assert_eq!(none_is_rare.share_of_words(&phrasing.coverage("of the")), 0.0);
    }

    #[test]
    fn what_few_texts_have_counts_more() {
        let phrasing = Phrasing::of("the class Widget of module shapes", Languages::ENGLISH);
        let texts = ["the class Circle of module shapes", "a class of module shapes", "class Widget"];
        let coverages = texts.map(|text| phrasing.coverage(text));
        let idf = phrasing.idf(&coverages);
        let [circle, _, widget] = &coverages;
        assert!(idf.share_of_pairs(widget) > idf.share_of_pairs(&phrasing.coverage("of module")));
        let [rare, common] = ["widget", "class"].map(|text| idf.share_of_words(&phrasing.coverage(text)));
        assert!(rare > common, "{rare} {common}");
        assert!(idf.share_of_words(circle) < 1.0);
    }

    #[test]
    fn questions_without_words_or_pairs_have_no_share() {
        for question in ["", "?!", "of the", "word"] {
            let phrasing = Phrasing::of(question, Languages::ENGLISH);
            let coverage = phrasing.coverage("of the word");
            assert_eq!(phrasing.idf(&[]).share_of_pairs(&coverage), 0.0, "{question}");
        }
        let (none, phrasing) =
            (Phrasing::of("of the", Languages::ENGLISH), Phrasing::of("pg_stat_clear", Languages::ENGLISH));
        assert_eq!(none.idf(&[]).share_of_words(&none.coverage("of the")), 0.0);
        assert_eq!(phrasing.idf(&[]).share_of_pairs(&phrasing.coverage("see pg_stat_clear()")), 1.0);
    }
}
