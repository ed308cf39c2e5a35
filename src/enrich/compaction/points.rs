//! Decisions and open points, by rule: sentences with words that tell them.

use crate::text;
use std::collections::HashSet;

/// The sort of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PointKind {
    Decision,
    Open,
}

/// A sentence that tells a decision or an open point.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) kind: PointKind,
    pub(super) text: String,
    /// Whether its words leave little doubt.
    pub(super) is_plain: bool,
}

/// The words of decisions, in lower case: those that leave little doubt, and the others.
#[rustfmt::skip]
const DECISIONS: [&str; 33] = [
    "decid", "decision", "agreed", "settled on", "we chose", "i chose", "choose ", "from now on",
    "instead of", "rather than", "going with", "go with", "stick with", "stick to", "always ", "never ",
    "no longer", "switch to", "switched to", "entschieden", "beschlossen", "statt ", "ab jetzt",
    "decidimos", "decidido", "en lugar de", "décidé", "au lieu de", "决定", "而不是", "決め", "の代わりに",
    "approved",
];
#[rustfmt::skip]
const LIKELY_DECISIONS: [&str; 18] = [
    "let's ", "we use ", "we'll use", "we will ", "must ", "must not", "do not ", "don't ", "prefer",
    "should ", "shall ", "keep ", "use ", "rule:", "convention", "immer ", "nie ", "siempre ",
];

/// The words of open points, in lower case.
#[rustfmt::skip]
const OPEN: [&str; 24] = [
    "todo", "to-do", "fixme", "open point", "open question", "still open", "still to", "still need",
    "still miss", "still has to", "still have to", "not yet", "remains", "remaining", "left to do",
    "next step", "pending", "follow up", "follow-up", "unresolved", "blocked", "noch offen", "pendiente",
    "まだ",
];

/// The shortest and the longest sentence that is one, in characters; a longer one is cut.
const MIN_CHARS: usize = 12;
const MAX_CHARS: usize = 200;

/// The decisions and the open points in some texts, oldest first, each once.
pub(super) fn points<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Point> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for text in texts {
        for sentence in sentences(text) {
            if let Some(point) = point(&sentence)
                && seen.insert(point.text.to_lowercase())
            {
                found.push(point);
            }
        }
    }
    found
}

fn point(sentence: &str) -> Option<Point> {
    if sentence.chars().nth(MIN_CHARS).is_none() || text::asks(sentence) {
        return None;
    }
    let folded = format!("{} ", sentence.to_lowercase().replace('\u{2019}', "'"));
    let has = |words: &[&str]| words.iter().any(|word| begins_word(&folded, word));
    let (kind, is_plain) = if has(&OPEN) {
        (PointKind::Open, true)
    } else if has(&DECISIONS) {
        (PointKind::Decision, true)
    } else if has(&LIKELY_DECISIONS) {
        (PointKind::Decision, false)
    } else {
        return None;
    };
    Some(Point { kind, text: cut(sentence, MAX_CHARS), is_plain })
}

/// Whether a word of a folded text begins so.
fn begins_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(is_letter))
}

/// The sentences of a text, each on one line, without code and quotations, and without the marks of lists.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with(['>', '<', '{', '|']) {
            let line = line.trim_start_matches(['-', '*', '#', ' ', '\u{2022}']);
            found.extend(text::sentences(line).into_iter().map(str::to_owned));
        }
    }
    found
}

/// At most this many characters of a text on one line.
pub(super) fn cut(text: &str, chars: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}\u{2026}", text[..end].trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_and_open_points_are_told_from_other_sentences() {
        let text = "We decided to keep SQLite. It is fast.\n- Use tabs instead of spaces.\nTODO: write the migration.\n\
                    Should we never use it?\n```\nwe decided nothing\n```\n> always\nThe retry is not yet tested.";
        let found: Vec<(PointKind, String)> =
            points([text, text].into_iter()).into_iter().map(|point| (point.kind, point.text)).collect();
        let wanted = [
            (PointKind::Decision, "We decided to keep SQLite."),
            (PointKind::Decision, "Use tabs instead of spaces."),
            (PointKind::Open, "TODO: write the migration."),
            (PointKind::Open, "The retry is not yet tested."),
        ];
        assert_eq!(found, wanted.map(|(kind, text)| (kind, text.to_owned())));
    }
}
