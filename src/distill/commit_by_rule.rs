//! A commit by rule: counts, the first and the last turns, and the user's explicit statements.

use super::commit::{Candidate, CommitWords, MAX_ABSTRACT_CHARS, MAX_OVERVIEW_CHARS, line};
use super::conversation::cut;
use super::patterns::Patterns;
use super::uncommitted::{MAX_TURN_CHARS, SessionMessage, UncommittedSession};
use crate::error::Result;
use crate::record::{BY_RULE, Object, Role, time};
use crate::text;
use crate::text::counted;
use std::collections::BTreeSet;

/// The number of first and of last turns in an overview.
const FIRST_TURNS: usize = 3;
const LAST_TURNS: usize = 5;
/// The lengths of the parts of an abstract, in characters.
const TOPIC_CHARS: usize = 50;
const PART_CHARS: usize = 75;
/// The greatest number of addresses that are listed, and the length of each, in characters.
const MAX_REFERENCES: usize = 10;
const MAX_REFERENCE_CHARS: usize = 150;
/// The greatest number of memories of a commit, and the length of each, in characters.
const MAX_MEMORIES: usize = 100;
const MAX_STATEMENT_CHARS: usize = 500;
/// The beginning of a line that begins or ends a block of code.
const CODE_FENCE: &str = "```";

/// The commit line of some messages. Fails if the session's scope makes no address.
pub fn commit_by_rule(session: &UncommittedSession, patterns: &Patterns) -> Result<Object> {
    line(session, words(session, patterns))
}

/// The archive's texts, and the memories.
pub(super) fn words(session: &UncommittedSession, patterns: &Patterns) -> CommitWords {
    let turns_at_ends = turns_at_ends(session);
    CommitWords {
        abstract_: cut_to(&abstract_of(session), MAX_ABSTRACT_CHARS),
        overview: cut_to(&overview(session, &turns_at_ends), MAX_OVERVIEW_CHARS),
        made_by: BY_RULE.to_owned(),
        quoted: quoted(session, &turns_at_ends),
        memories: memories(session, patterns),
    }
}

/// The user's turns and the answers of the overview: the first and the last, in their order.
fn turns_at_ends(session: &UncommittedSession) -> [Vec<&SessionMessage>; 2] {
    let is_turn = |message: &&SessionMessage| {
        matches!(message.role, Role::User | Role::Assistant) && !message.text.is_empty()
    };
    let turns: Vec<&SessionMessage> = session.messages.iter().filter(is_turn).collect();
    let first = turns.len().min(FIRST_TURNS);
    let last = turns.len().saturating_sub(LAST_TURNS).max(first);
    [turns[..first].to_vec(), turns[last..].to_vec()]
}

/// The ids of the messages whose words the texts have.
fn quoted(session: &UncommittedSession, turns_at_ends: &[Vec<&SessionMessage>; 2]) -> Vec<String> {
    let ends = [session.of(Role::User).next(), session.of(Role::User).next_back()];
    let ends = ends.into_iter().chain([session.of(Role::Assistant).next_back(), session.messages.first()]);
    let all = ends.flatten().chain(turns_at_ends.iter().flatten().copied());
    all.map(|message| message.id.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// `topic: intent | result | status`.
fn abstract_of(session: &UncommittedSession) -> String {
    let end = |role| session.of(role).next_back().map(|message| message.line(PART_CHARS)).unwrap_or_default();
    let (intent, result) = (end(Role::User), end(Role::Assistant));
    let status = if is_pending(session) { "waits for an answer" } else { "answered" };
    format!("{}: {intent} | {result} | {status}", session.topic(TOPIC_CHARS))
}

/// Whether the last turn is a user's.
fn is_pending(session: &UncommittedSession) -> bool {
    session.messages.last().is_some_and(|message| message.role == Role::User)
}

fn overview(session: &UncommittedSession, [first, last]: &[Vec<&SessionMessage>; 2]) -> String {
    let count = |role| session.messages.iter().filter(|message| message.role == role).count();
    let begin = session.messages.first().map_or(0, |message| message.timestamp);
    let counts = format!(
        "{}, {} of the user and {}, from {} to {}.",
        counted(session.messages.len() as u64, "message"),
        count(Role::User),
        counted(count(Role::Assistant) as u64, "answer"),
        time::rfc3339(begin),
        time::rfc3339(session.ended_at()),
    );
    let as_list = |turns: &[&SessionMessage]| {
        let turns = turns.iter().map(|turn| format!("- {}: {}", turn.role.name(), turn.line(MAX_TURN_CHARS)));
        turns.collect::<Vec<_>>().join("\n")
    };
    let pending = session.messages.last().filter(|_| is_pending(session));
    let sections = [
        ("First turns", as_list(first)),
        ("Last turns", as_list(last)),
        ("References", references(session)),
        ("Pending", pending.map(|message| message.line(MAX_TURN_CHARS)).unwrap_or_default()),
    ];
    let sections = sections.iter().filter(|(_, text)| !text.is_empty());
    let sections: String = sections.map(|(heading, text)| format!("\n\n## {heading}\n\n{text}")).collect();
    format!("# {}\n\n{counts}{sections}", session.topic(TOPIC_CHARS))
}

/// The addresses that the turns name, each once, as a list.
fn references(session: &UncommittedSession) -> String {
    let mut found: Vec<&str> = Vec::new();
    for word in session.messages.iter().flat_map(|message| message.text.split_whitespace()) {
        let word = word.trim_matches(|c: char| "<>()[]\"'`,;.".contains(c));
        let is_address = ["http://", "https://", "viking://"].iter().any(|scheme| word.starts_with(scheme));
        if is_address && word.chars().count() <= MAX_REFERENCE_CHARS && !found.contains(&word) {
            found.push(word);
            if found.len() == MAX_REFERENCES {
                break;
            }
        }
    }
    found.iter().map(|word| format!("- {word}")).collect::<Vec<_>>().join("\n")
}

/// A memory for each explicit statement of the user, in the user's words.
fn memories(session: &UncommittedSession, patterns: &Patterns) -> Vec<Candidate> {
    let mut found = Vec::new();
    for message in session.of(Role::User) {
        for sentence in statements(&message.text) {
            if let Some(category) = patterns.category(sentence) {
                found.push(Candidate {
                    category: category.to_owned(),
                    title: String::new(),
                    content: sentence.to_owned(),
                    found_in: vec![message.id.clone()],
                    timestamp: message.timestamp,
                });
            }
        }
    }
    found.truncate(MAX_MEMORIES);
    found
}

/// The sentences of a text, without code, quotations, questions, and those too long to be a statement.
fn statements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with(CODE_FENCE) {
            is_code = !is_code;
        } else if !is_code && !line.trim_start().starts_with('>') {
            found.extend(text::sentences(line));
        }
    }
    found.retain(|sentence| !text::asks(sentence) && sentence.chars().nth(MAX_STATEMENT_CHARS).is_none());
    found
}

/// At most this many characters, with the sign that it was cut.
fn cut_to(text: &str, chars: usize) -> String {
    if text.chars().nth(chars).is_none() { text.to_owned() } else { cut(text, chars - 3) }
}
