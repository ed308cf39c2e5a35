//! Compactions: the part of a session before one is carried over, from the first request after it to the end
//! of the next turn that the user begins.
//!
//! The text follows from the records of the session before the time of the compaction, which the account of
//! each such request names: so another process makes the same, and it has nothing that was forgotten.

mod outline;
mod points;
mod work;

use super::options::Options;
use super::turn::Turn;
use super::turn_cache;
use crate::api;
use crate::chat::fence;
use crate::error::Result;
use crate::recall_rules::RecallRules;
use crate::record::{
    ACCOUNT, ACTION, Account, Action, CarriedPart, MESSAGE, Object, Role, Scope, Scopes, StoredRecord,
};
use crate::store::{Select, Store};
use crate::tokens::Counter;
use outline::{Outline, Past, outline};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// The greatest number of tokens of the text with its fence.
const MAX_TOKENS: usize = 1500;

/// The same of the content of its archive.
const MAX_ARCHIVE_TOKENS: usize = 6000;

/// The number of accounts that are read at a time, and the most that are read.
const ACCOUNTS: usize = 512;
const MAX_ACCOUNTS: usize = 16 * ACCOUNTS;

/// The most actions and messages of the part, and the most bytes of the newest messages that are searched for
/// decisions.
const MAX_RECORDS: usize = 8192;
const MAX_SAID_BYTES: usize = 1 << 20;

/// The text that a request carries.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// In its fence.
    pub(super) block: String,
    pub(super) part: CarriedPart,
    pub(super) cut: CutPart,
    /// The compaction, if the text goes to the end of its summary.
    pub(super) after_summary: Option<api::Compaction>,
    /// The last turn of the session, which continues if the user has not begun another.
    pub(super) trace_id: Option<String>,
}

/// A part of a session before a compaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CutPart {
    /// The session of a client's program.
    session: String,
    /// The times of its first account and of the compaction, in milliseconds since 1970, UTC.
    since: i64,
    pub before: i64,
}

/// The records of a part of a session.
pub struct CutContent {
    /// The traces of its turns.
    pub traces: HashSet<String>,
    /// Actions and words, oldest first.
    records: Vec<StoredRecord>,
}

impl CutPart {
    /// Its content in a store, of a scope. Fails if the store cannot be read.
    pub fn content(&self, store: &mut dyn Store, scope: &Scope) -> Result<CutContent> {
        let accounts = accounts_of(store, scope, &self.session, |_| Some(self.since))?;
        let traces = self.traces(&accounts);
        let records = records(store, scope, &traces, self.since..self.before)?;
        Ok(CutContent { traces: traces.into_iter().map(str::to_owned).collect(), records })
    }

    fn traces<'a>(&self, accounts: &'a [(StoredRecord, Account)]) -> HashSet<&'a str> {
        let times = self.since..self.before;
        let own = accounts.iter().filter(|(record, _)| times.contains(&record.timestamp));
        own.map(|(record, _)| record.trace_id.as_str()).collect()
    }
}

impl CutContent {
    /// The text of an archive of some of the turns: decisions, open points, and what was done; empty if there
    /// is nothing to tell. With the ids of the records that it is made of.
    pub fn archived(mut self, traces: &HashSet<&str>) -> (String, Vec<String>) {
        self.records.retain(|record| traces.contains(record.trace_id.as_str()));
        let counter = Counter::heuristic("");
        let text = outline_of(&self.records, "", MAX_ARCHIVE_TOKENS, &counter).0.text;
        (text, self.records.into_iter().map(|record| record.id).collect())
    }
}

/// The text about some actions and messages.
fn outline_of(records: &[StoredRecord], summary: &str, most: usize, counter: &Counter) -> (Outline, usize) {
    let of_kind = |kind| records.iter().filter(move |record| record.kind == kind);
    let actions: Vec<Action> = of_kind(&ACTION).map(Action::from_record).collect();
    let mut bytes = 0;
    let mut said: Vec<String> = of_kind(&MESSAGE)
        .rev()
        .take_while(|message| {
            bytes += message.text.len();
            bytes <= MAX_SAID_BYTES
        })
        .map(|message| fence::remove(&message.text))
        .collect();
    said.reverse();
    let past = Past { actions: &actions, said: &said, summary };
    (outline(&past, most, &|line| counter.text(&format!("> {line}\n"))), actions.len())
}

/// The part of its session that a request carries over; `None` if it shows no compaction, or nothing of its
/// session is stored. Fails if the store cannot be read.
pub(super) fn carry(
    store: &mut dyn Store,
    request: &api::Request,
    turn: &Turn,
    options: &Options,
) -> Result<Option<Carried>> {
    let Some((compaction, session)) = compacted_session(request, options) else { return Ok(None) };
    let digest = digest(turn.scope, &session, &compaction.summary);
    let of_compaction = |accounts: &[(StoredRecord, Account)]| {
        let carried = accounts.iter().filter_map(|(_, account)| account.carried.as_ref());
        carried.filter(|part| part.digest == digest).min_by_key(|part| part.before).cloned()
    };
    let accounts = accounts_of(store, turn.scope, &session, |accounts| {
        of_compaction(accounts).and_then(|part| part.since)
    })?;
    let decided = of_compaction(&accounts);
    let before = decided.as_ref().map_or(turn.clock.now(), |part| part.before);
    let first = accounts.first().map(|(record, _)| record.timestamp);
    let Some(since) = decided.as_ref().and_then(|part| part.since).or(first) else { return Ok(None) };
    let cut = CutPart { session, since, before };
    let mut records = records(store, turn.scope, &cut.traces(&accounts), since..before)?;
    if let Some(last) = decided.as_ref().and_then(|part| part.last.as_ref()) {
        records.retain(|record| record.position() <= *last);
    }
    let words = records.iter().find(|record| record.role == Some(Role::User));
    if words.is_some_and(|words| compaction.is_answer_to(&words.text)) {
        return Ok(None);
    }
    // Another model of the session gets the same text.
    let model = decided.as_ref().map(|part| part.model.clone());
    let share = (options.limits.window as f64 * options.share) as usize;
    let model = model.unwrap_or_else(|| options.model.clone());
    let counter = Counter::for_model(&model);
    // Not the time of the compaction, which a process that finds no account of it does not know.
    let Some(last) = records.iter().map(StoredRecord::position).max() else { return Ok(None) };
    let enclosed = |text: &str| fence::enclose_text(fence::CARRIED_NOTE, turn.scope, last.timestamp, text);
    let most = MAX_TOKENS.min(share).saturating_sub(counter.text(&enclosed("")));
    let (outline, actions) = outline_of(&records, &compaction.summary, most, &counter);
    if outline.text.is_empty() {
        return Ok(None);
    }
    let block = enclosed(&outline.text);
    let part = CarriedPart {
        digest,
        before,
        since: Some(since),
        last: decided.and_then(|part| part.last).or(Some(last)),
        model,
        actions: actions as u64,
        shown: outline.shown as u64,
        tokens: counter.text(&block) as u64,
    };
    let trace_id =
        accounts.last().map(|(record, _)| record.trace_id.clone()).filter(|_| !compaction.has_turn);
    let after_summary = request.ends_with_summary(&compaction).then_some(compaction);
    if after_summary.is_none() && request.turns.last_user().is_none() {
        return Ok(None);
    }
    Ok(Some(Carried { block, part, cut, after_summary, trace_id }))
}

/// The compaction that a request shows and the session of the client's program that it shortened, if a part
/// of that is to be carried over.
fn compacted_session(request: &api::Request, options: &Options) -> Option<(api::Compaction, String)> {
    if !options.carries || options.recalls_nothing() || request.has_shared_session() {
        return None;
    }
    request.compaction().zip(request.client_session())
}

/// The digest by which a compaction is known.
fn digest(scope: &Scope, session: &str, summary: &str) -> String {
    let mut compaction = Object::default();
    compaction.set_text("session", session);
    compaction.set_text("summary", summary);
    turn_cache::digest(scope, &[Cow::Owned(compaction)])
}

/// The accounts of a session of a client's program, oldest first, back to a time that they may tell.
fn accounts_of(
    store: &mut dyn Store,
    scope: &Scope,
    session: &str,
    since: impl Fn(&[(StoredRecord, Account)]) -> Option<i64>,
) -> Result<Vec<(StoredRecord, Account)>> {
    let mut found: Vec<(StoredRecord, Account)> = Vec::new();
    let mut which = Select::records(vec![&ACCOUNT], Scopes::One(scope.clone()));
    for _ in 0..MAX_ACCOUNTS / ACCOUNTS {
        let read = store.last_of(&which, ACCOUNTS)?;
        let (count, first) = (read.len(), read.first().map(StoredRecord::position));
        let of_session = |record: StoredRecord| {
            let account = Account::from_record(&record);
            (account.client_session.as_deref() == Some(session)).then_some((record, account))
        };
        found.splice(0..0, read.into_iter().filter_map(of_session));
        let is_earlier = |since| first.as_ref().is_some_and(|first| first.timestamp < since);
        if count < ACCOUNTS || since(&found).is_some_and(is_earlier) {
            break;
        }
        which.before = first;
    }
    Ok(found)
}

/// The actions and the words of some turns within some times, oldest first, without messages that are
/// never recalled.
fn records(
    store: &mut dyn Store,
    scope: &Scope,
    traces: &HashSet<&str>,
    times: Range<i64>,
) -> Result<Vec<StoredRecord>> {
    let scopes = Scopes::One(scope.clone());
    let rules = RecallRules::read(store, &scopes)?;
    let which = |kind| Select {
        since: Some(times.start),
        until: Some(times.end - 1),
        ..Select::records(vec![kind], scopes.clone())
    };
    let messages = Select { roles: vec![Role::User, Role::Assistant], ..which(&MESSAGE) };
    let mut found = store.last(&[which(&ACTION), messages], MAX_RECORDS)?.concat();
    found.retain(|record| traces.contains(record.trace_id.as_str()) && !rules.is_never(&record.id));
    Ok(found)
}
