//! Words: what keyword search compares. Text and question go through the same folding, so that case,
//! accents and width do not matter.

use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// Words longer than this many characters are indexed as overlapping windows of this length.
const WINDOW: usize = 64;
/// The step of the windows: any part of at most this length is whole in one of them.
const STEP: usize = WINDOW / 2;

/// Lower case, compatibility forms taken apart (NFKD), the accents of Latin, Greek and Cyrillic dropped;
/// the sigma that ends a Greek word is as any other.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .flat_map(char::to_lowercase)
        .map(plain)
        .collect()
}

fn plain(c: char) -> char {
    if c == 'ς' { 'σ' } else { c }
}

/// The words of folded text: runs of letters and digits, long ones as windows.
pub fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()).flat_map(windows)
}

fn windows(run: &str) -> Vec<&str> {
    if run.len() <= WINDOW {
        return vec![run];
    }
    let mut starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    starts.push(run.len());
    let count = starts.len() - 1;
    let firsts = (0..count.saturating_sub(STEP).max(1)).step_by(STEP);
    firsts.map(|first| &run[starts[first]..starts[(first + WINDOW).min(count)]]).collect()
}

/// The stem of a word of English (Porter's second algorithm); of any other writing the word itself.
pub fn stem(word: &str) -> Cow<'_, str> {
    static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
    if word.bytes().all(|b| b.is_ascii_lowercase()) { ENGLISH.stem(word) } else { Cow::Borrowed(word) }
}

/// What every word of a stem begins with: its last letter may be another one in the word (`citi`, `city`).
pub fn beginning(stem: &str) -> &str {
    match stem.char_indices().next_back() {
        Some((end, _)) if stem.len() > 3 => &stem[..end],
        _ => stem,
    }
}

/// One word of a question, as the user separated it by white space: it must occur somewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// The folded text that must occur.
    pub text: String,
    /// The letters and digits in it, each run short enough to lie within one word of the index.
    pub runs: Vec<String>,
}

impl Term {
    /// The terms of a question, each once, in their order.
    pub fn all(question: &str) -> Vec<Term> {
        let folded = fold(question);
        let mut seen = HashSet::new();
        folded.split_whitespace().filter(|text| seen.insert(*text)).map(Term::new).collect()
    }

    fn new(text: &str) -> Term {
        let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
        let runs = runs.map(|run| run.chars().take(STEP).collect()).collect();
        Term { text: text.to_owned(), runs }
    }

    /// Whether the index alone can tell that the term occurs.
    pub fn is_plain(&self) -> bool {
        self.runs.len() == 1 && self.runs[0] == self.text
    }

    /// Whether the term occurs in folded text.
    pub fn occurs_in(&self, folded: &str) -> bool {
        memchr::memmem::find(folded.as_bytes(), self.text.as_bytes()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_width_do_not_matter() {
        assert_eq!(fold("Čapek’s ÉTUDE ＡＢＣ Ёж"), "capek’s etude abc еж");
        assert_eq!(fold("がぎ"), fold("がぎ"));
        assert_ne!(fold("か"), fold("が"));
    }

    #[test]
    fn words_of_one_stem_begin_alike() {
        for (word, other) in [
            ("painted", "painting"),
            ("city", "cities"),
            ("happy", "happiness"),
            ("dogs", "dog"),
            ("ran", "ran"),
        ] {
            assert_eq!(stem(word), stem(other));
            assert!(word.starts_with(beginning(&stem(word))) && other.starts_with(beginning(&stem(word))));
        }
        assert_eq!((stem("über"), stem("3d")), ("über".into(), "3d".into()));
    }

    #[test]
    fn every_short_part_of_a_long_word_lies_in_a_window() {
        let long: String =
            ('a'..='z').cycle().zip(0..1000).map(|(c, i)| if i % 7 == 0 { 'ß' } else { c }).collect();
        let chars: Vec<char> = long.chars().collect();
        let windows: Vec<&str> = words(&long).collect();
        for part in chars.windows(STEP) {
            let part: String = part.iter().collect();
            assert!(windows.iter().any(|w| w.contains(&part)), "{part}");
        }
    }
}
