//! The patterns by which a sentence of a user's is known as a statement to remember.

use super::error::DistillError;
use crate::error::{Context, Result};
use crate::record::unexpected;
use std::path::Path;

/// The patterns that come with rsv: English, German, Spanish, French, Chinese and Japanese.
const BUILT_IN: &str = include_str!("patterns.txt");

/// The categories of extracted memories.
pub(super) const CATEGORIES: [&str; 6] = ["profile", "preference", "entity", "event", "case", "pattern"];
/// The category of statements that a user asks to remember and that match no other pattern.
const OTHER: &str = "entity";
/// The name of patterns whose gap is matched by the other patterns.
const REMEMBER: &str = "remember";
/// Stands for some words.
const GAP: &str = "...";
/// The greatest length of words between two pieces of a pattern, in characters: more are another sentence.
const MAX_GAP_CHARS: usize = 60;

/// Patterns in their order.
pub struct Patterns(Vec<Pattern>);

struct Pattern {
    /// `None` for one that asks to remember.
    category: Option<&'static str>,
    /// The words before, between and after the gaps; empty at a gap at an end.
    pieces: Vec<String>,
}

impl Patterns {
    /// Reads the patterns of a file, if one is given, which go before those that come with rsv. Errors name
    /// the file.
    pub fn load(file: Option<&Path>) -> Result<Patterns> {
        let Some(file) = file else { return Patterns::parse("") };
        let read = std::fs::read_to_string(file).context("cannot be read");
        let name = file.display();
        read.and_then(|text| Patterns::parse(&text)).map_err(|error| error.at(format_args!("{name}")))
    }

    /// Reads patterns, one a line, which go before those that come with rsv. Errors name the line.
    pub fn parse(text: &str) -> Result<Patterns> {
        let mut patterns = Vec::new();
        for (at, line) in text.lines().chain(BUILT_IN.lines()).enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                patterns.push(Pattern::parse(line).map_err(|error| error.at(at + 1))?);
            }
        }
        Ok(Patterns(patterns))
    }

    /// The category of a sentence; `None` if it is no statement to remember.
    pub(super) fn category(&self, sentence: &str) -> Option<&'static str> {
        let folded = fold(sentence);
        let (pattern, gap) = self.0.iter().find_map(|pattern| Some((pattern, pattern.matched(&folded)?)))?;
        if pattern.category.is_some() {
            return pattern.category;
        }
        let others = self.0.iter().filter(|pattern| pattern.category.is_some());
        let inner = others.into_iter().find(|pattern| pattern.matched(gap.trim()).is_some());
        Some(inner.and_then(|pattern| pattern.category).unwrap_or(OTHER))
    }
}

impl Pattern {
    fn parse(line: &str) -> Result<Pattern> {
        let (name, words) = line.split_once(':').ok_or(DistillError::PatternShape)?;
        let category = CATEGORIES.into_iter().find(|category| *category == name.trim());
        if category.is_none() && name.trim() != REMEMBER {
            return Err(unexpected("category", &format!("{}, {REMEMBER}", CATEGORIES.join(", ")), name));
        }
        let pieces: Vec<String> = words.split(GAP).map(|piece| fold(piece).trim().to_owned()).collect();
        if pieces.len() < 2 || pieces.iter().all(String::is_empty) {
            return Err(DistillError::Pattern { gap: GAP }.into());
        }
        Ok(Pattern { category, pieces })
    }

    /// The words in the last gap that is not empty, if a folded sentence matches.
    fn matched<'a>(&self, sentence: &'a str) -> Option<&'a str> {
        let (first, others) = self.pieces.split_first()?;
        let mut rest = sentence.strip_prefix(first.as_str())?;
        if is_inside_word(first, rest) {
            return None;
        }
        let mut gap = "";
        for (at, piece) in others.iter().enumerate() {
            let is_last = at + 1 == others.len();
            let place = match (is_last, piece.is_empty()) {
                (true, true) => rest.len(),
                (true, false) => rest.strip_suffix(piece.as_str())?.len(),
                (false, _) => find_words(rest, piece)?,
            };
            let (words, after) = rest.split_at(place);
            if words.trim().is_empty() || !is_last && words.chars().count() > MAX_GAP_CHARS {
                return None;
            }
            gap = words;
            rest = &after[piece.len()..];
        }
        Some(gap)
    }
}

/// The place of whole words in a text, not at its beginning.
fn find_words(text: &str, words: &str) -> Option<usize> {
    text.match_indices(words).map(|(at, _)| at).find(|at| {
        let before = &text[..*at];
        let begins_inside = is_spaced(words.chars().next()) && is_spaced(before.chars().next_back());
        let ends_inside = is_inside_word(words, &text[at + words.len()..]);
        !before.trim().is_empty() && !begins_inside && !ends_inside
    })
}

/// Whether a word continues after the last word of some.
fn is_inside_word(words: &str, rest: &str) -> bool {
    is_spaced(words.chars().next_back()) && is_spaced(rest.chars().next())
}

/// Whether a character is a letter or a digit of a script with spaces between words.
fn is_spaced(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() && !matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'))
}

/// A sentence in lower case, with simple apostrophes, single spaces, and no signs around it.
fn fold(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let folded = words.join(" ").to_lowercase().replace('\u{2019}', "'");
    let is_sign =
        |c: char| c.is_whitespace() || matches!(c, '.' | '!' | '\u{3002}' | '\u{ff01}' | '"' | '*' | '-');
    folded.trim_matches(is_sign).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_in_six_languages() {
        let patterns = Patterns::parse("").unwrap();
        for (sentence, wanted) in [
            ("My name is Ada.", Some("profile")),
            ("I prefer tea to coffee!", Some("preference")),
            ("Remember that my sister is called Eve", Some("entity")),
            ("Please remember that I prefer tea.", Some("preference")),
            ("my dog's name is Rex", Some("entity")),
            ("We decided to use SQLite.", Some("event")),
            ("The problem was a missing index.", Some("case")),
            ("Every time it rains, the cellar floods.", Some("pattern")),
            ("I don\u{2019}t like olives.", Some("preference")),
            ("Myself is who?", None),
            ("This is fine.", None),
            ("Remember that", None),
            ("Ich hei\u{df}e Ada.", Some("profile")),
            ("Meine Schwester ist \u{c4}rztin.", Some("entity")),
            ("Ich mag keine Oliven.", Some("preference")),
            ("Me llamo Ada.", Some("profile")),
            ("Prefiero el t\u{e9}.", Some("preference")),
            ("Je pr\u{e9}f\u{e8}re le th\u{e9}.", Some("preference")),
            ("Mon chien est vieux.", Some("entity")),
            ("\u{6211}\u{53eb}\u{674e}\u{96f7}\u{3002}", Some("profile")),
            ("\u{6211}\u{559c}\u{6b22}\u{8336}\u{3002}", Some("preference")),
            ("\u{79c1}\u{306e}\u{540d}\u{524d}\u{306f}\u{30a2}\u{30c0}", Some("profile")),
            ("\u{304a}\u{8336}\u{304c}\u{597d}\u{304d}\u{3067}\u{3059}\u{3002}", Some("preference")),
        ] {
            assert_eq!(patterns.category(sentence), wanted, "{sentence}");
        }
    }

    #[test]
    fn patterns_of_a_user_go_first_and_bad_ones_are_named() {
        let patterns = Patterns::parse("# mine\ncase: i prefer ...\npreference: giv me ...\n").unwrap();
        assert_eq!(patterns.category("I prefer tea"), Some("case"));
        assert_eq!(patterns.category("Giv me tea"), Some("preference"));
        for (text, wanted) in [
            ("\nmood: i feel ...", "2: category: expected"),
            ("entity my ... is", "1: expected a category"),
            ("entity: my dog", "1: the pattern has no words, or no ..."),
            ("entity: ...", "1: the pattern has no words, or no ..."),
        ] {
            let error = Patterns::parse(text).err().unwrap().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
