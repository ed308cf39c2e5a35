//! The words of a text and the terms of a question for keyword search. Both are folded in the same way
//! (`fold.rs`).

use super::fold::{self, FOLDING, fold, fold_as};
use super::languages::Languages;
use memchr::memmem::{self, Finder};
use std::borrow::Cow;
use std::collections::HashSet;

/// Words longer than this many characters are indexed as overlapping windows of this length.
const WINDOW_CHARS: usize = 64;
/// The step of the windows: any part up to this length lies whole in one of them.
const WINDOW_STEP: usize = WINDOW_CHARS / 2;

/// The bytes at the beginning of a question whose words are looked up: some ten thousand words. Each word
/// costs memory and a lookup, and longer questions are pasted texts.
const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// A folded text, and its length in words.
pub(crate) struct FoldedText {
    pub(crate) text: String,
    pub(crate) length: usize,
}

impl FoldedText {
    /// Folds a text.
    pub(crate) fn of(text: &str) -> FoldedText {
        FoldedText::from_folded(fold(text))
    }

    /// A text that is folded already.
    pub(crate) fn from_folded(text: String) -> FoldedText {
        FoldedText { length: words(&text).count(), text }
    }
}

/// A text that is looked through for words.
pub(crate) trait ScannedText {
    /// Whether it may contain a piece of a folded word; if not, it does not, which is known sooner.
    fn may_hold(&self, piece: &str) -> bool;

    fn folded(&self) -> &FoldedText;
}

impl ScannedText for FoldedText {
    fn may_hold(&self, _: &str) -> bool {
        true
    }

    fn folded(&self) -> &FoldedText {
        self
    }
}

/// The words of folded text: runs of letters and digits, long ones as overlapping windows.
pub(crate) fn words(folded: &str) -> impl Iterator<Item = &str> {
    let mut runs = runs(folded);
    let mut windows = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if let Some(window) = windows.next() {
            return Some(window);
        }
        let run = runs.next()?;
        if run.len() <= WINDOW_CHARS {
            return Some(run);
        }
        windows = windows_of_long(run).into_iter();
        windows.next()
    })
}

/// A piece of a folded word, prepared to be looked for in many texts.
pub(crate) struct Piece {
    pub(crate) text: String,
    finder: Finder<'static>,
}

impl Piece {
    /// Prepares a piece. An empty one is in every run.
    pub(crate) fn new(text: &str) -> Piece {
        Piece { text: text.to_owned(), finder: Finder::new(text).into_owned() }
    }

    /// The places where it occurs in a folded text.
    pub(crate) fn starts_in(&self, folded: &str) -> impl Iterator<Item = usize> {
        self.finder.find_iter(folded.as_bytes())
    }

    /// The words of the runs that contain it.
    pub(crate) fn words_in<'a>(&'a self, folded: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = folded;
        let runs = std::iter::from_fn(move || {
            let (_, from) = rest.split_at(find_alphanumeric(rest, true)?);
            let at = self.finder.find(from.as_bytes())?;
            let begin = from[..at].trim_end_matches(char::is_alphanumeric).len();
            let end = at + self.text.len();
            let end = end + find_alphanumeric(&from[end..], false).unwrap_or(from.len() - end);
            rest = &from[end..];
            Some(&from[begin..end])
        });
        runs.flat_map(words)
    }
}

/// The runs of letters and digits.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, from) = rest.split_at(find_alphanumeric(rest, true)?);
        let (run, after) = from.split_at(find_alphanumeric(from, false).unwrap_or(from.len()));
        rest = after;
        Some(run)
    })
}

/// The number of words that begin in a part of a folded text, which begins with one. In a script without
/// spaces, each character is a word.
pub(crate) fn count_words(part: &str) -> usize {
    if part.is_ascii() {
        let begins = |pair: &[u8]| !pair[0].is_ascii_alphanumeric() && pair[1].is_ascii_alphanumeric();
        let first = part.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        return usize::from(first) + part.as_bytes().windows(2).filter(|pair| begins(pair)).count();
    }
    runs(part).map(count_words_of_run).sum()
}

fn count_words_of_run(run: &str) -> usize {
    if run.is_ascii() {
        return 1;
    }
    let mut after_spaced = false;
    let begins = move |c: &char| {
        let (was_spaced, is_spaced) = (after_spaced, !is_unspaced(*c));
        after_spaced = is_spaced;
        !(was_spaced && is_spaced || is_within_syllable(*c))
    };
    run.chars().filter(begins).count()
}

/// The position of the first character that is a letter or a digit if `wanted`, else of the first other one.
fn find_alphanumeric(text: &str, wanted: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let (is_alphanumeric, length) = match BYTES[usize::from(*bytes.get(at)?)] {
            Byte::Alphanumeric => (true, 1),
            Byte::Other => (false, 1),
            Byte::OfMany => {
                let c = text[at..].chars().next()?;
                (c.is_alphanumeric(), c.len_utf8())
            }
        };
        if is_alphanumeric == wanted {
            return Some(at);
        }
        at += length;
    }
}

/// The class of a byte of a text.
#[derive(Clone, Copy)]
enum Byte {
    /// A letter or a digit of ASCII.
    Alphanumeric,
    /// Another character of ASCII.
    Other,
    /// The beginning of a longer character.
    OfMany,
}

static BYTES: [Byte; 256] = {
    let mut bytes = [Byte::OfMany; 256];
    let mut byte = 0;
    while byte < 128 {
        bytes[byte] = if (byte as u8).is_ascii_alphanumeric() { Byte::Alphanumeric } else { Byte::Other };
        byte += 1;
    }
    bytes
};

fn windows_of_long(run: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    starts.push(run.len());
    let count = starts.len() - 1;
    let firsts = (0..count.saturating_sub(WINDOW_STEP).max(1)).step_by(WINDOW_STEP);
    firsts.map(|first| &run[starts[first]..starts[(first + WINDOW_CHARS).min(count)]]).collect()
}

/// Whether a character is of a script without spaces between words, or with long compounds: Thai, Lao,
/// Burmese, Khmer, Korean (whose syllables folding decomposes), kana, and Chinese.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character stands within a Korean syllable, which begins with an initial consonant.
fn is_within_syllable(c: char) -> bool {
    ('\u{1160}'..='\u{11ff}').contains(&c)
}

/// Splits a run into pieces: each two adjacent characters of a script without spaces (bigrams, since most
/// words have two characters), and each part of another script whole.
pub(crate) fn pieces(run: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_unspaced(c) != is_unspaced(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let mut starts: Vec<usize> =
            part.char_indices().filter(|(_, c)| !is_within_syllable(*c)).map(|(at, _)| at).collect();
        starts.push(part.len());
        if is_unspaced(first) && starts.len() > 2 {
            pieces.extend(starts.windows(3).map(|at| &part[at[0]..at[2]]));
        } else {
            pieces.push(part);
        }
        rest = after;
    }
    pieces
}

/// The condition on the terms of a question in a record.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Occur {
    /// Every term.
    All,
    /// At least one.
    Any,
}

/// One word of a question, delimited by white space, or a phrase between quotes: it must occur somewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// The folded text that must occur; a space in it stands for any white space.
    pub text: String,
    /// Its runs of letters and digits, each token short enough to lie within one word of the index.
    pub tokens: Vec<String>,
    /// For each token, the word of the question in the folding before, the longest of several.
    pub(crate) earlier_tokens: Vec<String>,
    /// Whether these are in such an index only where the tokens are in the text.
    pub(crate) are_earlier_exact: bool,
    /// The languages in one of which a word that counts has the stem of a token; if there are none, every
    /// word counts that contains it.
    pub stems: Option<Languages>,
}

impl Term {
    /// The terms of a text for finding related ones, each once, in order: its words, matched whole, by their
    /// stems in some languages; in a script without spaces its `pieces`, matched within words. The end of a
    /// very long text is ignored.
    pub fn content(text: &str, languages: Languages) -> Vec<Term> {
        let question = FoldedQuestion::of(beginning_of_question(text));
        let mut terms = Vec::new();
        for word in question.folded.split_whitespace() {
            if word.contains(is_unspaced) {
                let runs = word.split(|c: char| !c.is_alphanumeric());
                terms.extend(runs.flat_map(pieces).map(|piece| Term::new(&question, piece, None)));
            } else {
                terms.push(Term::new(&question, word, Some(languages)));
            }
        }
        Term::each(terms)
    }

    /// The terms of a question, each once, in their order. Words between double quotes are one term: the
    /// opening quote begins a word, the closing one ends a word. An unpaired quote is literal. The end of a
    /// very long question is ignored.
    pub fn parse(question: &str) -> Vec<Term> {
        let question = FoldedQuestion::of(beginning_of_question(question));
        let mut terms = Vec::new();
        let mut rest = question.folded.trim_start();
        let mut closed = true;
        while !rest.is_empty() {
            let end = if closed && rest.starts_with('"') { quoted(rest) } else { None };
            // If no quote closes this one, none closes a later one.
            closed &= end.is_some() || !rest.starts_with('"');
            let phrase = end.map(|end| spaced(&rest[1..end])).filter(|phrase| !phrase.is_empty());
            let length = match (&phrase, end) {
                (Some(_), Some(end)) => end + 1,
                _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
            };
            terms.push(match phrase {
                Some(text) => Term { text, ..Term::new(&question, &rest[1..length - 1], None) },
                None => Term::new(&question, &rest[..length], None),
            });
            rest = rest[length..].trim_start();
        }
        Term::each(terms)
    }

    fn each(mut terms: Vec<Term>) -> Vec<Term> {
        let mut seen = HashSet::new();
        terms.retain(|term| seen.insert(term.text.clone()));
        terms
    }

    /// The term of a part of a question.
    fn new(question: &FoldedQuestion, text: &str, stems: Option<Languages>) -> Term {
        let tokens = text.split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty());
        let tokens: Vec<&str> = tokens.map(beginning_of_token).collect();
        let earlier_tokens: Vec<String> = tokens.iter().map(|token| question.earlier(token)).collect();
        Term {
            text: text.to_owned(),
            are_earlier_exact: tokens
                .iter()
                .zip(&earlier_tokens)
                .all(|(token, earlier)| token == earlier || fold(earlier).contains(token)),
            earlier_tokens,
            tokens: tokens.into_iter().map(str::to_owned).collect(),
            stems,
        }
    }

    /// Whether the index alone proves that the term occurs.
    pub fn is_plain(&self) -> bool {
        self.tokens.len() == 1 && self.tokens[0] == self.text
    }

    /// Whether the term occurs in folded text.
    pub fn occurs_in(&self, folded: &str) -> bool {
        let text: Cow<str> = if self.text.contains(' ') { spaced(folded).into() } else { folded.into() };
        memmem::find(text.as_bytes(), self.text.as_bytes()).is_some()
    }
}

/// A question, and what its folded words were before they were folded.
struct FoldedQuestion<'a> {
    original: &'a str,
    folded: String,
    /// For each byte of the folded question, the bytes of the character that it comes from; none if the
    /// folding before gives the same.
    origins: Vec<(usize, usize)>,
}

impl FoldedQuestion<'_> {
    fn of(original: &str) -> FoldedQuestion<'_> {
        let folded = fold(original);
        let mut origins = Vec::new();
        if fold_as(FOLDING - 1, original) != folded {
            let mut text = String::with_capacity(folded.len());
            for (start, c) in original.char_indices() {
                fold::push(&mut text, c);
                origins.resize(text.len().max(origins.len()), (start, start + c.len_utf8()));
            }
            // Characters that decomposition reorders are not worth more.
            if text != folded {
                origins.clear();
            }
        }
        FoldedQuestion { original, folded, origins }
    }

    /// A token, which is a part of the folded question, by the folding before; the longest of several words.
    fn earlier(&self, token: &str) -> String {
        let begin = token.as_ptr() as usize - self.folded.as_ptr() as usize;
        let ends = (self.origins.get(begin), self.origins.get(begin + token.len() - 1));
        if let (Some((start, _)), Some((_, end))) = ends {
            let earlier = fold_as(FOLDING - 1, &self.original[*start..*end]);
            // Of a character that is folded to several words, each is one.
            if !runs(&earlier).any(|run| run == token)
                && let Some(longest) = runs(&earlier).max_by_key(|run| run.len())
            {
                return beginning_of_token(longest).to_owned();
            }
        }
        token.to_owned()
    }
}

/// The part of a run that lies within one word of an index.
fn beginning_of_token(run: &str) -> &str {
    run.char_indices().nth(WINDOW_STEP).map_or(run, |(end, _)| &run[..end])
}

/// The part of a question that is looked up: all of it, or the whole words at its beginning.
fn beginning_of_question(question: &str) -> &str {
    let question = question.trim_start();
    if question.len() <= MAX_QUESTION_BYTES {
        return question;
    }
    let end = question.floor_char_boundary(MAX_QUESTION_BYTES);
    let last_space = question[..end].rfind(char::is_whitespace);
    &question[..last_space.unwrap_or(end)]
}

/// The position of the quote that closes the one at the beginning of a text: the next that is followed by
/// white space or the end.
fn quoted(text: &str) -> Option<usize> {
    let ends = |at: &usize| text[at + 1..].chars().next().is_none_or(char::is_whitespace);
    memchr::memchr_iter(b'"', text.as_bytes()).skip(1).find(ends)
}

/// Collapses each run of white space into one space, and trims the text.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
