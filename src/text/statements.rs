//! Reads the statements of a text, clause by clause: the words that may name the subject, the values, and the
//! phrases that tell a change, a supposition, an addition, another person or an event.

use super::clause_tokens::{content_words, tokens};
use super::cues::{Cue, CueKind, cues, sides};
use super::languages::Languages;
use super::questions::asks;
use super::terms::is_unspaced;
use super::values::{Value, values};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The most bytes of a text that are read: longer ones are pasted.
const MAX_BYTES: usize = 2 * 1024;
/// The most clauses of a text.
const MAX_CLAUSES: usize = 24;
/// The most bytes of a sentence that is one question or supposition in all of its clauses.
const SHORT_SENTENCE: usize = 120;
/// The number of values or commas from which on a sentence is a list.
const LIST: usize = 4;

/// A part of a sentence.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The stems of the words that may name the subject.
    pub words: FxHashSet<String>,
    /// Those of the whole sentence.
    pub sentence_words: Arc<FxHashSet<String>>,
    pub values: Vec<Value>,
    /// The number of its sentence in the text.
    pub sentence: usize,
    pub asks: bool,
    pub is_supposed: bool,
    pub tells_change: bool,
    pub says_never: bool,
    pub is_negated: bool,
    pub adds: bool,
    pub is_of_others: bool,
    pub is_event: bool,
    pub is_list: bool,
    /// Which of two things of a kind it is about: the number of the kind, and of the thing.
    pub sides: Vec<(usize, usize)>,
}

/// The clauses of a text. Code between lines of three backticks is none of it.
pub fn statements(text: &str) -> Vec<Clause> {
    let text = without_code(beginning(text));
    let languages = Languages::of_text(&text);
    let mut clauses: Vec<Clause> = Vec::new();
    for (number, sentence) in sentences(&text).into_iter().enumerate() {
        let first = clauses.len();
        let parts = parts(sentence);
        let is_question = asks(sentence);
        let is_list = sentence.matches([',', '、']).count() >= LIST;
        for (at, part) in parts.iter().enumerate() {
            if clauses.len() >= MAX_CLAUSES {
                return clauses;
            }
            let tokens = tokens(part);
            let cues = cues(&tokens, |code| speaks(languages, code, part));
            let has = |kind| cues.iter().any(|cue: &Cue| cue.kind == kind);
            let content = content_words(&tokens, languages);
            let values = values(&tokens, &content, &cues, languages);
            let last_or_short = at + 1 == parts.len() || sentence.len() < SHORT_SENTENCE;
            clauses.push(Clause {
                words: content.into_iter().map(|(_, word)| word).collect(),
                sentence_words: Arc::default(),
                is_list: is_list || values.len() >= LIST,
                values,
                sentence: number,
                asks: is_question && last_or_short,
                is_supposed: has(CueKind::Supposed),
                tells_change: has(CueKind::Change),
                says_never: has(CueKind::Never),
                is_negated: has(CueKind::Negation),
                adds: has(CueKind::Added),
                is_of_others: has(CueKind::Others),
                is_event: has(CueKind::Event),
                sides: sides(&tokens),
            });
        }
        let of_sentence = &mut clauses[first..];
        let all: Arc<FxHashSet<String>> =
            Arc::new(of_sentence.iter().flat_map(|clause| clause.words.iter().cloned()).collect());
        let is_supposed =
            sentence.len() < SHORT_SENTENCE && of_sentence.iter().any(|clause| clause.is_supposed);
        for clause in of_sentence {
            clause.sentence_words = Arc::clone(&all);
            clause.is_supposed |= is_supposed;
        }
    }
    clauses
}

/// The part of a text that is read for its statements.
pub fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

/// Whether a clause of a text in some languages may be in that of a code: by its characters where that has no
/// stemmer.
fn speaks(languages: Languages, code: &str, clause: &str) -> bool {
    match code {
        "zh" | "ja" => clause.contains(is_unspaced),
        code => languages.includes(code),
    }
}

fn without_code(text: &str) -> String {
    text.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// The sentences of a text. A period ends one only before white space.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut begin = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' | '…' | ';' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            sentences.push(&text[begin..at + c.len_utf8()]);
            begin = at + c.len_utf8();
        }
    }
    sentences.push(&text[begin..]);
    sentences.retain(|sentence| sentence.contains(char::is_alphanumeric));
    sentences
}

/// The words that begin another clause.
#[rustfmt::skip]
const CONJUNCTIONS: &[&str] = &[
    "but", "so", "because", "since", "although", "though", "while", "aber", "weil", "denn", "sondern",
    "pero", "porque", "sino", "mais", "però", "mas", "но", "потому",
];

/// The clauses of a sentence: between commas, colons, brackets and dashes, and before some conjunctions.
fn parts(sentence: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut chars = sentence.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_mark = match c {
            ',' | ';' | ':' | ')' => next.is_none_or(char::is_whitespace),
            '(' | '—' | '–' | '，' | '、' | '：' | '（' | '）' => true,
            _ => false,
        };
        let is_conjunction = || {
            let word = sentence[at + 1..].split(|c: char| !c.is_alphanumeric()).next();
            word.is_some_and(|word| CONJUNCTIONS.iter().any(|one| one.eq_ignore_ascii_case(word)))
        };
        let begins_word = c == ' ' && next.is_some_and(char::is_alphanumeric);
        if is_mark || begins_word && is_conjunction() {
            parts.push(&sentence[begin..at]);
            begin = at + c.len_utf8();
        }
    }
    parts.push(&sentence[begin..]);
    parts.retain(|part| part.contains(char::is_alphanumeric));
    parts
}
