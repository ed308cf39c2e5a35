//! The turns of a conversation: those that are asked, and, of one that continues, those that are stored.
//!
//! A store has no conversations, but the account of a turn says which messages were left out of the recall
//! because the request had them already. So a turn continues the one before it if its request had the answer
//! of that. Where no account says so, as with messages that were imported, it did if the pause between them
//! is no longer than
//! `enrich.recent_gap`.

use super::request::message;
use crate::config::Settings;
use crate::enrich::as_turn;
use crate::error::Result;
use crate::recall_rules::RecallRules;
use crate::record::{ACCOUNT, Account, Object, Role, Scope, Scopes, StoredRecord};
use crate::store::{Select, Store};
use std::collections::HashMap;
use std::time::Duration;

/// The most messages of a stored conversation that are read.
const MAX_MESSAGES: usize = 200;

/// The reason of accounts for which a message that the request contains is left out.
const IN_REQUEST: &str = "in_request";

/// A conversation, from its first turn to its last.
#[derive(Default)]
pub(super) struct Conversation {
    turns: Vec<PastTurn>,
}

/// A turn that was answered.
pub(super) struct PastTurn {
    pub(super) trace_id: String,
    /// The ids of its messages, if these may not be all of their trace.
    pub(super) ids: Vec<String>,
    /// Its messages as a request has them; the first is the user's.
    messages: Vec<Object>,
    /// The text of its first message.
    pub(super) question: String,
    /// The time of its last message, in milliseconds since 1970, UTC.
    pub(super) timestamp: i64,
}

impl Conversation {
    /// The last conversation of a scope; empty if that has no question. Messages of the trace of the next
    /// turn, which is then asked once more, are left out, and those that are never recalled.
    pub(super) fn last_of(
        store: &mut dyn Store,
        scope: &Scope,
        next_trace: Option<&String>,
        settings: &Settings,
    ) -> Result<Conversation> {
        let scopes = Scopes::One(scope.clone());
        let mut which = Select::messages(scopes.clone());
        which.roles = vec![Role::User, Role::Assistant];
        which.except.traces.extend(next_trace.cloned());
        which.except.ids.extend(RecallRules::read(store, &scopes)?.never().cloned());
        let messages = store.last_of(&which, MAX_MESSAGES)?;
        let accounts = store.last_of(&Select::records(vec![&ACCOUNT], scopes), MAX_MESSAGES)?;
        let mut evidence =
            Evidence { accounts: HashMap::new(), gap: settings.duration("enrich.recent_gap"), settings };
        for record in &accounts {
            let of_turn = evidence.accounts.entry(record.trace_id.as_str()).or_default();
            of_turn.push(Account::from_record(record));
        }
        // The turns of an imported conversation may all have its trace.
        let is_of_turn = |before: &StoredRecord, message: &StoredRecord| {
            before.trace_id == message.trace_id && message.role != Some(Role::User)
        };
        let turns: Vec<&[StoredRecord]> = messages.chunk_by(is_of_turn).collect();
        let continues = |pair: &&[&[StoredRecord]]| evidence.continues(pair[1], pair[0]);
        let count = turns.windows(2).rev().take_while(continues).count() + 1;
        let turns = turns[turns.len().saturating_sub(count)..].iter();
        let is_question =
            |turn: &PastTurn| turn.messages.first().is_some_and(|first| first.word("role") == Some("user"));
        let turns = turns.map(|turn| PastTurn::stored(turn));
        Ok(Conversation { turns: turns.skip_while(|turn| !is_question(turn)).collect() })
    }

    /// The messages of all turns, as a request has them.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Object> {
        self.turns.iter().flat_map(|turn| &turn.messages)
    }

    pub(super) fn last(&self) -> Option<&PastTurn> {
        self.turns.last()
    }

    /// Adds an answered question.
    pub(super) fn add(&mut self, trace_id: String, question: &str, answer: &str, timestamp: i64) {
        let mut messages = vec![message("user", question)];
        if !answer.is_empty() {
            messages.push(message("assistant", answer));
        }
        let (ids, question) = (Vec::new(), question.to_owned());
        self.turns.push(PastTurn { trace_id, ids, messages, question, timestamp });
    }

    /// Takes the last turn out.
    pub(super) fn remove_last(&mut self) {
        self.turns.pop();
    }
}

impl PastTurn {
    /// A stored turn, of at least one record.
    fn stored(records: &[StoredRecord]) -> PastTurn {
        let (first, last) = (records.first(), records.last());
        PastTurn {
            trace_id: first.map(|record| record.trace_id.clone()).unwrap_or_default(),
            ids: records.iter().map(|record| record.id.clone()).collect(),
            messages: records.iter().map(as_turn).collect(),
            question: first.map(|record| record.text.clone()).unwrap_or_default(),
            timestamp: last.map(|record| record.timestamp).unwrap_or_default(),
        }
    }
}

/// The signs that a turn continues another.
struct Evidence<'a> {
    /// The accounts of the requests of each turn, by its trace.
    accounts: HashMap<&'a str, Vec<Account>>,
    /// The longest pause within a sitting; `None` for any.
    gap: Option<Duration>,
    settings: &'a Settings,
}

impl Evidence<'_> {
    /// Whether a turn continues the one before it.
    fn continues(&self, turn: &[StoredRecord], before: &[StoredRecord]) -> bool {
        let (Some(first), Some(last)) = (turn.first(), before.last()) else { return false };
        if first.trace_id == last.trace_id {
            return true;
        }
        let accounts = self.accounts.get(first.trace_id.as_str());
        let accounts: Vec<&Account> =
            accounts.into_iter().flatten().filter(|account| self.knows(account)).collect();
        if accounts.is_empty() {
            let pause = first.timestamp.saturating_sub(last.timestamp).max(0).unsigned_abs();
            return self.gap.is_none_or(|gap| Duration::from_millis(pause) <= gap);
        }
        let is_answer =
            |id: &str| before.iter().any(|record| record.role == Some(Role::Assistant) && record.id == id);
        let left_out = accounts.iter().flat_map(|account| &account.left_out);
        left_out.filter(|left| left.reason == IN_REQUEST).any(|left| is_answer(&left.id))
    }

    /// Whether an account names the recent messages that its request had.
    fn knows(&self, account: &Account) -> bool {
        let recalled = self.settings.text("enrich.recall").unwrap_or_default();
        account.reach.is_some()
            && account.degraded.is_none()
            && recalled.split(',').any(|kind| kind == "recent")
            && self.settings.integer("recent_context_size") > Some(0)
    }
}
