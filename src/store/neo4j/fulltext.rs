//! The text of a record in the server's full-text index, and the queries to that index.
//!
//! The indexed text is the collection of a record, its words, and their stems in the languages that it may be in, so that
//! a match in the index is a match of the search.

use crate::ranking::bm25::{Corpus, QueryToken};
use crate::text::Languages;
use crate::text::terms::Occur;
use std::collections::BTreeSet;

/// The greatest depth of nested clauses in a query, and their greatest number: Lucene takes 1024 (`maxClauseCount`),
/// and a word and its stem are two.
const MAX_DEPTH: usize = 3;
const MAX_CLAUSES: usize = 400;

/// The English stems of those words that begin with their stem.
pub(super) fn stems(words: &[&str]) -> BTreeSet<String> {
    let each = words
        .iter()
        .flat_map(|word| Languages::ENGLISH.stems(word).into_iter().map(move |stem| (word, stem)));
    each.filter(|(word, stem)| stem.is_of(word)).map(|(_, stem)| stem.key().into_owned()).collect()
}

/// The indexed text of a record: `@` and the number of its collection, its stems in English, those in the other
/// languages that it may be in with the language's code (`_de_haus`), each preceded by `_`, and its words.
pub(super) fn indexed(collection: i64, stems: &BTreeSet<String>, words: &[&str]) -> String {
    let languages = Languages::of_words(words);
    let foreign = words.iter().flat_map(|word| {
        let stems = languages.foreign_stems(word).filter(|stem| stem.is_of(word));
        stems.map(|stem| stem.key().into_owned())
    });
    let foreign: BTreeSet<String> = foreign.collect();
    let words: BTreeSet<&str> = words.iter().copied().collect();
    let stems = stems.iter().chain(&foreign).map(|stem| format!("_{stem}"));
    let collection = std::iter::once(format!("@{collection}"));
    collection.chain(stems).chain(words.into_iter().map(str::to_owned)).collect::<Vec<_>>().join(" ")
}

/// The number of the collection and the English stems in an indexed text.
pub(super) fn indexed_stems(indexed: &str) -> Option<(i64, Vec<&str>)> {
    let collection = indexed.strip_prefix('@')?.split(' ').next()?.parse().ok()?;
    let stems = indexed.split(' ').filter_map(|word| word.strip_prefix('_'));
    Some((collection, stems.filter(|stem| !stem.contains('_')).collect()))
}

/// The stem of a token that is English alone and begins with it: every record that holds the token holds that stem.
pub(super) fn whole_stem(token: &QueryToken) -> Option<&str> {
    let [stem] = &token.stems[..] else { return None };
    (stem.is_english() && stem.is_of(&token.text)).then_some(stem.text())
}

/// The clause for a token. It needs no escaping, since tokens consist of letters and digits.
pub(super) fn pattern(token: &QueryToken) -> String {
    let stems: Vec<String> = token.stems.iter().map(|stem| format!("_{}", stem.key())).collect();
    match whole_stem(token) {
        Some(_) => stems.join(" "),
        None if stems.is_empty() => format!("*{}*", token.text),
        None => format!("({} {})", token.text, stems.join(" ")),
    }
}

/// The query for all of the tokens, or for any.
pub(super) fn joined(tokens: &[QueryToken], occur: Occur) -> String {
    let operator = if occur == Occur::All { " AND " } else { " OR " };
    tokens.iter().map(pattern).collect::<Vec<_>>().join(operator)
}

/// The query for the records whose tokens together have at least the idf `min_idf`; for some more where an exact query
/// would have too many clauses.
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

/// The clauses of such a query, nested up to `depth`; empty if no combination reaches `min_idf`, `None` if it needs
/// more clauses than are left.
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
        let words = ["all", "of", "the", "two", "owls", "2", "painted", "owl"];
        let stems = stems(&words);
        let indexed = indexed(17, &stems, &words);
        assert_eq!(indexed, "@17 _2 _all _of _owl _paint _the _two 2 all of owl owls painted the two");
        assert_eq!(indexed_stems(&indexed), Some((17, vec!["2", "all", "of", "owl", "paint", "the", "two"])));
    }

    #[test]
    fn the_stems_of_other_languages_go_with_the_code() {
        let words = ["wo", "sind", "die", "katzen"];
        let indexed = indexed(1, &stems(&words), &words);
        assert!(indexed.contains(" _de_katz ") && indexed.contains(" _katzen "), "{indexed}");
        assert!(!indexed.contains("_fr_"), "{indexed}");
        assert_eq!(indexed_stems(&indexed).map(|(_, stems)| stems.len()), Some(4));
    }
}
