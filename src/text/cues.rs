//! The phrases that tell a change, and those that tell that a clause is no fact about the same thing, by
//! language.

use super::clause_tokens::{Token, tokens};
use super::fold::fold;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The table: `KIND LANGUAGE: PHRASE; PHRASE`.
const TABLE: &str = include_str!("cues.txt");

/// The most words that a gap in a phrase stands for.
const MAX_GAP: usize = 4;

/// The meaning of a phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CueKind {
    /// Something is otherwise now.
    Change,
    Never,
    Negation,
    /// It is supposed, wished or considered.
    Supposed,
    /// It is so beside something else.
    Added,
    /// It is about somebody else, or somebody else says so.
    Others,
    /// It happened once.
    Event,
    /// The value after it is the one before the change.
    From,
}

impl CueKind {
    fn named(name: &str) -> Option<CueKind> {
        Some(match name {
            "change" => CueKind::Change,
            "never" => CueKind::Never,
            "negation" => CueKind::Negation,
            "supposed" => CueKind::Supposed,
            "added" => CueKind::Added,
            "others" => CueKind::Others,
            "event" => CueKind::Event,
            "from" => CueKind::From,
            _ => return None,
        })
    }
}

/// A phrase in a clause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cue {
    pub(super) kind: CueKind,
    /// The number of the token after it.
    pub(super) end: usize,
}

#[derive(Debug)]
enum Word {
    Whole(String),
    Beginning(String),
    Ending(String),
    Gap,
}

struct Phrase {
    kind: CueKind,
    code: &'static str,
    words: Vec<Word>,
}

/// The phrases by the first letter of their first word, and those whose first word may begin with any letter.
struct Phrases {
    by_letter: FxHashMap<char, Vec<Phrase>>,
    others: Vec<Phrase>,
}

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let mut phrases = Phrases { by_letter: FxHashMap::default(), others: Vec::new() };
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    for (kind, code, list) in rows.filter_map(|line| {
        let (head, list) = line.split_once(": ")?;
        let (kind, code) = head.split_once(' ')?;
        Some((CueKind::named(kind)?, code, list))
    }) {
        for text in list.split("; ") {
            let words: Vec<Word> = text.split(' ').flat_map(parse).collect();
            let first = match words.first() {
                Some(Word::Whole(word) | Word::Beginning(word)) => word.chars().next(),
                _ => None,
            };
            let phrase = Phrase { kind, code, words };
            match first {
                Some(letter) => phrases.by_letter.entry(letter).or_default().push(phrase),
                None => phrases.others.push(phrase),
            }
        }
    }
    phrases
});

/// A word of the table; in a script without spaces, its characters.
fn parse(word: &str) -> Vec<Word> {
    if word == "..." {
        return vec![Word::Gap];
    }
    if let Some(ending) = word.strip_prefix("...") {
        return vec![Word::Ending(fold(ending))];
    }
    match word.strip_suffix('*') {
        Some(beginning) => vec![Word::Beginning(fold(beginning))],
        None => tokens(word).into_iter().map(|token| Word::Whole(token.text)).collect(),
    }
}

/// The phrases in the tokens of a clause, of those languages that `includes` admits.
pub(super) fn cues(tokens: &[Token], includes: impl Fn(&str) -> bool) -> Vec<Cue> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let by_letter = token.text.chars().next().and_then(|letter| PHRASES.by_letter.get(&letter));
        let phrases = by_letter.into_iter().flatten().chain(&PHRASES.others);
        for Phrase { kind, code, words } in phrases {
            if let Some(length) = matched(words, &tokens[at..])
                && includes(code)
            {
                found.push(Cue { kind: *kind, end: at + length });
            }
        }
    }
    found
}

/// The number of tokens at the beginning that some words match.
fn matched(words: &[Word], tokens: &[Token]) -> Option<usize> {
    let Some((word, rest)) = words.split_first() else { return Some(0) };
    if let Word::Gap = word {
        let lengths = 1..=MAX_GAP.min(tokens.len());
        return lengths.into_iter().find_map(|length| Some(length + matched(rest, &tokens[length..])?));
    }
    let (token, after) = tokens.split_first()?;
    let is_it = match word {
        Word::Whole(whole) => token.text == *whole,
        Word::Beginning(beginning) => token.text.starts_with(beginning),
        Word::Ending(ending) => token.text.ends_with(ending),
        Word::Gap => false,
    };
    if is_it { Some(1 + matched(rest, after)?) } else { None }
}

/// Words that tell two things of a kind apart, in rows of columns.
static SIDES: LazyLock<FxHashMap<String, (usize, usize)>> = LazyLock::new(|| {
    let mut all = FxHashMap::default();
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("sides ")?.split_once(": "));
    for (row, columns) in rows.flat_map(|(_, list)| list.split("; ")).enumerate() {
        for (column, words) in columns.split(" | ").enumerate() {
            all.extend(words.split(' ').map(|word| (fold(word), (row, column))));
        }
    }
    all
});

/// Which of two things of a kind some tokens are about: the numbers of the kind and of the thing.
pub(super) fn sides(tokens: &[Token]) -> Vec<(usize, usize)> {
    let single = tokens.iter().filter_map(|token| SIDES.get(&token.text).copied());
    let pairs =
        tokens.windows(2).filter_map(|pair| SIDES.get(&format!("{}{}", pair[0].text, pair[1].text)).copied());
    single.chain(pairs).collect()
}
