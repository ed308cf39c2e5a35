//! Something that the user asked long ago, and the search that finds it.

use crate::cli::{self, Diagnostics};
use crate::config::Settings;
use crate::error::Result;
use crate::record::{Role, Scopes, StoredRecord};
use crate::search::{Ranking, Request, Searcher};
use crate::store::{Select, Store};
use crate::text;
use std::path::Path;

/// A question of the user.
pub(super) struct PastQuestion {
    /// `in May`, `in May 2024` or `on 3 November`.
    pub(super) when: String,
    pub(super) question: String,
    /// The search that finds it.
    pub(super) command: String,
}

/// The age from which on it is long ago, in milliseconds.
const LONG_AGO: i64 = 30 * 24 * 3600 * 1000;
/// The number of messages that are looked at, and of those that are searched for.
const LOOKED_AT: usize = 500;
const TRIED: usize = 20;
/// The length of a question that is worth to be shown, in characters.
const LENGTH: std::ops::RangeInclusive<usize> = 15..=100;
/// The most words of a search.
const MOST_WORDS: usize = 4;
/// The hits among which it must be.
const HITS: usize = 3;

/// A question of more than a month ago, else the newest one, that a search by some of its words finds.
pub(super) fn find(
    store: &mut dyn Store,
    settings: &Settings,
    now: i64,
    diagnostics: &Diagnostics,
) -> Result<Option<PastQuestion>> {
    let mut searcher = Searcher::new(settings, diagnostics);
    for until in [now - LONG_AGO, now] {
        let asked = Select { roles: vec![Role::User], until: Some(until), ..Select::messages(Scopes::All) };
        let messages = store.last_of(&asked, LOOKED_AT)?;
        let questions = messages.iter().rev().filter(|message| is_question(message.text.trim()));
        for message in questions.take(TRIED) {
            let words = words(&message.text);
            let partition = message.scope.partition.as_str();
            let here = Select::messages(Scopes::to_read(Some(partition), None)?);
            let request =
                Request { ranking: Some(Ranking::Keyword), ..Request::new(words.join(" "), here, HITS) };
            let hits = searcher.run(store, &request)?.hits;
            if words.len() > 1 && hits.iter().any(|hit| hit.record.id == message.id) {
                return Ok(Some(question(message, &words, now)));
            }
        }
    }
    Ok(None)
}

/// Whether a text is one line that asks something, as people do, and not a command or what a program wrote.
fn is_question(text: &str) -> bool {
    let is_plain = text.starts_with(char::is_alphabetic) && !text.contains(['\n', '<', '{', '`', '[']);
    is_plain && LENGTH.contains(&text.chars().count()) && text::asks(text)
}

/// The first words of a text that tell its topic, each once.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<text::TopicWord> = Vec::new();
    for word in text::topic_words(text) {
        if words.len() < MOST_WORDS && words.iter().all(|other| other.key != word.key) {
            words.push(word);
        }
    }
    words.into_iter().map(|word| word.word).collect()
}

fn question(message: &StoredRecord, words: &[String], now: i64) -> PastQuestion {
    let (asked, now) = (cli::in_user_zone(message.timestamp), cli::in_user_zone(now));
    let is_long_ago = message.timestamp <= now.timestamp().as_millisecond() - LONG_AGO;
    let when = match (is_long_ago, asked.year() == now.year()) {
        (false, _) => asked.strftime("on %-d %B"),
        (true, true) => asked.strftime("in %B"),
        (true, false) => asked.strftime("in %B %Y"),
    };
    let partition = &message.scope.partition;
    let is_plain = partition.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    let quoted = if is_plain { partition.clone() } else { cli::quoted(Path::new(partition)) };
    let flag = if partition.starts_with('-') { "--partition=" } else { "-p " };
    PastQuestion {
        when: when.to_string(),
        question: message.text.trim().to_owned(),
        command: format!("rsv-search {flag}{quoted} {}", words.join(" ")),
    }
}
