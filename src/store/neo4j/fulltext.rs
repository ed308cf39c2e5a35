//! The text of a record in the server's full-text index, and the queries to that index.
//!
//! The indexed text is the collection of a record, its words, and their stems in the languages that it may be
//! in, so that a match in the index is a match of the search.

use crate::ranking::bm25::Corpus;
use crate::ranking::query_token::QueryToken;
use crate::text::Languages;
use crate::text::fold::fold;
use crate::text::languages::Stem;
use crate::text::terms::{self, Occur};
use std::collections::BTreeSet;

/// The greatest depth of nested clauses in a query, and their greatest number: Lucene takes 1024
/// (`maxClauseCount`), and a word and its stem in two versions are four.
const MAX_DEPTH: usize = 3;
const MAX_CLAUSES: usize = 250;

/// The words of a record in the index. A change of them, or of what they follow from, brings a migration
/// (`changes/reindex.rs`).
pub(super) struct IndexedText {
    /// `@` and the number of its collection, its stems in English, those in the other languages that it may
    /// be in with the language's code (`_de_haus`), each preceded by `_`, and its words.
    pub(super) words: String,
    /// Those in English.
    pub(super) stems: BTreeSet<String>,
    /// The number of its words.
    pub(super) length: i64,
}

impl IndexedText {
    /// That of the text of a record of a collection.
    pub(super) fn of(collection: i64, text: &str) -> IndexedText {
        let folded = fold(text);
        let words: Vec<&str> = terms::words(&folded).collect();
        let foreign = Languages::of_words(&words);
        let distinct: BTreeSet<&str> = words.iter().copied().collect();
        let stems = stems_of(&distinct, |word| Languages::ENGLISH.stems(word));
        let foreign = stems_of(&distinct, |word| foreign.foreign_stems(word).collect());
        let of_both = stems.iter().chain(&foreign).map(|stem| format!("_{stem}"));
        let all = std::iter::once(format!("@{collection}")).chain(of_both);
        let all: Vec<String> = all.chain(distinct.into_iter().map(str::to_owned)).collect();
        IndexedText { words: all.join(" "), stems, length: words.len() as i64 }
    }
}

/// The names of the stems of words, of those that begin with their stem.
fn stems_of(words: &BTreeSet<&str>, stems: impl Fn(&str) -> Vec<Stem>) -> BTreeSet<String> {
    let each = words.iter().flat_map(|word| stems(word).into_iter().map(move |stem| (word, stem)));
    each.filter(|(word, stem)| stem.is_of(word)).map(|(_, stem)| stem.key().into_owned()).collect()
}

/// The number of the collection and the English stems in an indexed text.
pub(super) fn indexed_stems(indexed: &str) -> Option<(i64, Vec<&str>)> {
    let collection = indexed.strip_prefix('@')?.split(' ').next()?.parse().ok()?;
    let stems = indexed.split(' ').filter_map(|word| word.strip_prefix('_'));
    Some((collection, stems.filter(|stem| !stem.contains('_')).collect()))
}

/// The stem of a token that is English alone and begins with it: every record that holds the token holds that
/// stem. None for a token whose earlier form some records have.
pub(super) fn whole_stem(token: &QueryToken) -> Option<&str> {
    match earlier_pattern(token) {
        Some(_) => None,
        None => own_stem(token),
    }
}

fn own_stem(token: &QueryToken) -> Option<&str> {
    let [stem] = &token.stems[..] else { return None };
    (stem.is_english() && stem.is_of(&token.text)).then_some(stem.text())
}

/// The clause for a token. It needs no escaping, since tokens consist of letters and digits.
pub(super) fn pattern(token: &QueryToken) -> String {
    let own = own_pattern(token);
    match earlier_pattern(token) {
        Some(earlier) => format!("({own} OR {earlier})"),
        None => own,
    }
}

fn own_pattern(token: &QueryToken) -> String {
    pattern_of(&token.text, &token.stems, own_stem(token).is_some())
}

/// The clause for a token in the records whose words are of the version before, if it is another. That
/// version had the stems of English.
fn earlier_pattern(token: &QueryToken) -> Option<String> {
    let text = &token.earlier.as_ref()?.text;
    let stems = if token.stems.is_empty() { Vec::new() } else { Languages::ENGLISH.stems(text) };
    let is_whole = stems.iter().any(|stem| stem.is_of(text));
    Some(pattern_of(text, &stems, is_whole)).filter(|earlier| *earlier != own_pattern(token))
}

/// The clause for a text: its stem, where that stands for it; else both; without a stem all words that have
/// it.
fn pattern_of(text: &str, stems: &[Stem], is_whole: bool) -> String {
    let names: Vec<String> = stems.iter().map(|stem| format!("_{}", stem.key())).collect();
    match &names[..] {
        [] => format!("*{text}*"),
        names if is_whole => names.join(" "),
        names => format!("({text} {})", names.join(" ")),
    }
}

/// The query for all of the tokens, or for any.
pub(super) fn joined(tokens: &[QueryToken], occur: Occur) -> String {
    let operator = if occur == Occur::All { " AND " } else { " OR " };
    tokens.iter().map(pattern).collect::<Vec<_>>().join(operator)
}

/// The query for the records whose tokens together have at least the idf `min_idf`; for some more where an
/// exact query would have too many clauses.
pub(super) fn with_min_idf(tokens: &[QueryToken], corpus: &Corpus, min_idf: f64) -> String {
    let occurring = tokens.iter().filter(|token| token.doc_freq > 0);
    let clauses: Vec<(String, f64)> =
        occurring.map(|token| (pattern(token), corpus.idf(token.doc_freq))).collect();
    // A part of a word is looked up in all words of the index, which is done only once.
    let deepest = if tokens.iter().all(|token| !token.stems.is_empty()) { MAX_DEPTH } else { 0 };
    let question = |depth| combinations(&clauses, min_idf, depth, &mut MAX_CLAUSES.clone());
    let question = (0..=deepest).rev().find_map(question).filter(|question| !question.is_empty());
    question.unwrap_or_else(|| joined(tokens, Occur::Any))
}

/// The clauses of such a query, nested up to `depth`; empty if no combination reaches `min_idf`, `None` if it
/// needs more clauses than are left.
fn combinations(clauses: &[(String, f64)], min_idf: f64, depth: usize, left: &mut usize) -> Option<String> {
    let mut rest: f64 = clauses.iter().map(|(_, idf)| idf).sum();
    let mut any = Vec::new();
    for (at, (pattern, idf)) in clauses.iter().enumerate() {
        if rest < min_idf {
            break;
        }
        rest -= idf;
        *left = left.checked_sub(1)?;
        if *idf >= min_idf || depth == 0 {
            any.push(pattern.clone());
            continue;
        }
        let others = combinations(&clauses[at + 1..], min_idf - idf, depth - 1, left)?;
        if !others.is_empty() {
            any.push(format!("({pattern} AND ({others}))"));
        }
    }
    Some(any.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_documents_with_enough_idf_are_asked_for() {
        let clauses = [("rare", 5.0), ("some", 3.0), ("many", 1.0)].map(|(text, idf)| (text.to_owned(), idf));
        let question = |min_idf, depth, mut left| combinations(&clauses, min_idf, depth, &mut left);
        let requested = |question: &str| Some(question.to_owned());
        assert_eq!(question(0.0, MAX_DEPTH, 9), requested("rare OR some OR many"));
        assert_eq!(question(4.0, MAX_DEPTH, 9), requested("rare OR (some AND (many))"));
        assert_eq!(question(4.5, MAX_DEPTH, 9), requested("rare"));
        assert_eq!(question(8.5, MAX_DEPTH, 9), requested("(rare AND ((some AND (many))))"));
        assert_eq!(question(8.5, 1, 9), requested("(rare AND (some))"));
        assert_eq!(question(8.5, 0, 9), requested("rare"));
        assert_eq!(question(9.5, MAX_DEPTH, 9), requested(""));
        assert_eq!(question(0.0, MAX_DEPTH, 2), None);
    }

    #[test]
    fn the_stems_of_what_is_indexed_are_read_back() {
        let indexed = IndexedText::of(17, "All of the two owls, 2 painted: owl, owl");
        assert_eq!(indexed.words, "@17 _2 _all _of _owl _paint _the _two 2 all of owl owls painted the two");
        assert_eq!(indexed.length, 9);
        let stems: Vec<&str> = indexed.stems.iter().map(String::as_str).collect();
        assert_eq!(indexed_stems(&indexed.words), Some((17, stems)));
    }

    #[test]
    fn the_stems_of_other_languages_go_with_the_code() {
        let indexed = IndexedText::of(1, "Wo sind die Katzen?").words;
        assert!(indexed.contains(" _de_katz ") && indexed.contains(" _katzen "), "{indexed}");
        assert!(!indexed.contains("_fr_"), "{indexed}");
        assert_eq!(indexed_stems(&indexed).map(|(_, stems)| stems.len()), Some(4));
    }
}
