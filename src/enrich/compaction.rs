//! Compactions: the part of a session before one is carried over, from the first request after it to the end of the
//! next turn that the user begins.
//!
//! The text follows from the records of the session before the time of the compaction, which the account of each such
//! request names: so another process makes the same, and it has nothing that was forgotten.

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

/// The greatest number of tokens of the text with its fence.
const MAX_TOKENS: usize = 1500;

/// The same of the content of its archive.
const MAX_ARCHIVE_TOKENS: usize = 6000;

/// The number of accounts that are read at a time, and the most that are read.
const ACCOUNTS: usize = 512;
const MAX_ACCOUNTS: usize = 16 * ACCOUNTS;

/// The most actions and messages of the part, and the most bytes of the newest messages that are searched for decisions.
const MAX_RECORDS: usize = 8192;
const MAX_SAID_BYTES: usize = 1 << 20;

/// The text that a request carries.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// In its fence.
    pub(super) block: String,
    pub(super) part: CarriedPart,
    /// The part of the session, in the first request after the compaction.
    pub(super) cut: Option<CutPart>,
    /// The compaction, if the text goes to the end of its summary.
    pub(super) after_summary: Option<api::Compaction>,
    /// The last turn of the session, which goes on if the user has not begun another.
    pub(super) trace_id: Option<String>,
}

/// A part of a session before a compaction.
#[derive(Clone, PartialEq, Debug)]
pub struct CutPart {
    /// The session of a client's program.
    session: String,
    /// The time of the compaction, in milliseconds since 1970, UTC.
    pub before: i64,
}

/// What an archive of a part of a session has.
pub struct CutContent {
    /// The traces of its turns.
    pub traces: HashSet<String>,
    /// Decisions, open points, and what was done; empty if there is nothing to tell.
    pub text: String,
}

impl CutPart {
    /// What its archive has, from a store, of a scope.
    pub fn content(&self, store: &mut dyn Store, scope: &Scope) -> Result<CutContent> {
        let accounts = accounts_of(store, scope, &self.session)?;
        let (traces, records) = self.records(store, scope, &accounts)?;
        let counter = Counter::heuristic("");
        let text = outline_of(&records, "", MAX_ARCHIVE_TOKENS, &counter).0.text;
        Ok(CutContent { traces: traces.into_iter().map(str::to_owned).collect(), text })
    }

    /// Its traces, and its actions and words, oldest first.
    fn records<'a>(
        &self,
        store: &mut dyn Store,
        scope: &Scope,
        accounts: &'a [(StoredRecord, Account)],
    ) -> Result<(HashSet<&'a str>, Vec<StoredRecord>)> {
        let earlier = accounts.iter().map(|(record, _)| record).filter(|one| one.timestamp < self.before);
        let traces: HashSet<&str> = earlier.clone().map(|record| record.trace_id.as_str()).collect();
        let first = earlier.map(|record| record.timestamp).min();
        let Some(first) = first else { return Ok((traces, Vec::new())) };
        let records = records(store, scope, &traces, (first, self.before))?;
        Ok((traces, records))
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

/// The part of its session that a request carries over; `None` if it shows no compaction, or nothing of its session is
/// stored.
pub(super) fn carry(
    store: &mut dyn Store,
    request: &api::Request,
    turn: &Turn,
    options: &Options,
) -> Result<Option<Carried>> {
    if !options.carries || options.recalls_nothing() {
        return Ok(None);
    }
    let Some(compaction) = request.compaction() else { return Ok(None) };
    let Some(session) = request.client_session() else { return Ok(None) };
    let digest = digest(turn.scope, &session, &compaction.summary);
    let accounts = accounts_of(store, turn.scope, &session)?;
    let carried = accounts.iter().filter_map(|(_, account)| account.carried.as_ref());
    let decided = carried.filter(|part| part.digest == digest).min_by_key(|part| part.before).cloned();
    let before = decided.as_ref().map(|part| part.before);
    // Another model of the session gets the same text.
    let model = decided.map(|part| part.model);
    let cut = CutPart { session, before: before.unwrap_or(turn.clock.now()) };
    let (_, records) = cut.records(store, turn.scope, &accounts)?;
    let share = (options.limits.window as f64 * options.share) as usize;
    let model = model.unwrap_or_else(|| options.model.clone());
    let counter = Counter::for_model(&model);
    // Not the time of the compaction, which a process that finds no account of it does not know.
    let Some(last) = records.iter().map(|record| record.timestamp).max() else { return Ok(None) };
    let enclosed = |text: &str| fence::enclose_text(fence::CARRIED_NOTE, turn.scope, last, text);
    let most = MAX_TOKENS.min(share).saturating_sub(counter.text(&enclosed("")));
    let (outline, actions) = outline_of(&records, &compaction.summary, most, &counter);
    if outline.text.is_empty() {
        return Ok(None);
    }
    let block = enclosed(&outline.text);
    let part = CarriedPart {
        digest,
        before: cut.before,
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
    let cut = before.is_none().then_some(cut);
    Ok(Some(Carried { block, part, cut, after_summary, trace_id }))
}

/// The digest by which a compaction is known.
fn digest(scope: &Scope, session: &str, summary: &str) -> String {
    let mut compaction = Object::default();
    compaction.set_text("session", session);
    compaction.set_text("summary", summary);
    turn_cache::digest(scope, &[Cow::Owned(compaction)])
}

/// The accounts of a session of a client's program, oldest first. A session of which none is among many newer ones of
/// others has ended there.
fn accounts_of(store: &mut dyn Store, scope: &Scope, session: &str) -> Result<Vec<(StoredRecord, Account)>> {
    let mut found: Vec<(StoredRecord, Account)> = Vec::new();
    let mut which = Select::records(vec![&ACCOUNT], Scopes::One(scope.clone()));
    for _ in 0..MAX_ACCOUNTS / ACCOUNTS {
        let read = store.last_of(&which, ACCOUNTS)?;
        let (count, first) = (read.len(), read.first().map(StoredRecord::position));
        let of_session = |record: StoredRecord| {
            let account = Account::from_record(&record);
            (account.client_session.as_deref() == Some(session)).then_some((record, account))
        };
        let own: Vec<_> = read.into_iter().filter_map(of_session).collect();
        let has_ended = own.is_empty() && !found.is_empty();
        found.splice(0..0, own);
        if count < ACCOUNTS || has_ended {
            break;
        }
        which.before = first;
    }
    Ok(found)
}

/// The actions and the words of some turns from a time until before another, oldest first, without messages that are
/// never recalled.
fn records(
    store: &mut dyn Store,
    scope: &Scope,
    traces: &HashSet<&str>,
    (since, before): (i64, i64),
) -> Result<Vec<StoredRecord>> {
    let scopes = Scopes::One(scope.clone());
    let rules = RecallRules::read(store, &scopes)?;
    let which = |kind| Select {
        since: Some(since),
        until: Some(before - 1),
        ..Select::records(vec![kind], scopes.clone())
    };
    let messages = Select { roles: vec![Role::User, Role::Assistant], ..which(&MESSAGE) };
    let mut found = store.last(&[which(&ACTION), messages], MAX_RECORDS)?.concat();
    found.retain(|record| traces.contains(record.trace_id.as_str()) && !rules.is_never(&record.id));
    Ok(found)
}
