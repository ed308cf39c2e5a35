//! The question of a request to memory, with what is recalled for it without a search: the messages that are
//! recalled always, and the last ones of the request's instance.

use super::candidate::{Candidate, Recalled};
use super::duplicate_filter::DuplicateFilter;
use super::options::Options;
use super::schedule::RecallStep;
use super::turn::Turn;
use crate::api;
use crate::chat::{self, fence};
use crate::error::Result;
use crate::recall_rules::RecallRules;
use crate::record::{MEMORY, Object, Role, Scopes, StoredRecord, kinds};
use crate::store::{Select, Store};
use std::time::Duration;

/// A question to memory, as far as it needs no search.
pub(super) struct Question {
    /// The messages that are recalled always, the last one that was pinned first.
    pinned: Vec<StoredRecord>,
    /// The last messages of the instance, newest first.
    recent: Vec<StoredRecord>,
    pub(super) rules: RecallRules,
    /// Whether there is anything to search for, by the words.
    pub(super) is_open: bool,
    /// Whether memories are recalled, and there are any within the reach.
    pub(super) has_memories: bool,
}

impl Question {
    /// Looks up the pinned and the last messages. `message` is the user's last one. Fails if the store does.
    pub(super) fn begin(
        store: &mut dyn Store,
        message: &Object,
        turn: &Turn,
        options: &Options,
    ) -> Result<Question> {
        let rules = RecallRules::read(store, &options.reach.around(turn.scope))?;
        let mut which = turns(Scopes::One(turn.scope.clone()));
        which.except.ids.extend(rules.never().cloned());
        // Those of a session are turns of the request already.
        let last = if options.session { 0 } else { options.recent };
        let mut recent = store.last_of(&which, last)?;
        recent.reverse();
        if options.selective {
            recent.truncate(sitting(&recent, turn.clock.now(), options.recent_gap).max(MIN_RECENT));
        }
        let pinned = pinned(store, &rules, turn, options)?;
        let is_open = !text_of(message).trim().is_empty() && has_any(store, turn, options)?;
        let has_memories = is_open && options.memories > 0 && store.count(&memories(turn, options), 1)? > 0;
        Ok(Question { pinned, recent, rules, is_open, has_memories })
    }

    /// The recall without a search: the pinned and the last messages, and the steps that are missing.
    pub(super) fn unsearched(&self, request: &api::Request, options: &Options) -> Recalled {
        let duplicates = DuplicateFilter::new(request, options.redactor.as_ref());
        let known = Recalled { candidates: self.known(&duplicates), ..Recalled::default() };
        self.without(known, &STEPS, options)
    }

    /// The same recall, with those of some steps as missing that the options ask for.
    pub(super) fn without(&self, mut known: Recalled, steps: &[RecallStep], options: &Options) -> Recalled {
        let is_asked = |step: &&RecallStep| match step {
            RecallStep::Memories => self.has_memories,
            RecallStep::Documents => options.archives || options.documents > 0,
            RecallStep::Actions => options.actions,
            _ => options.similar > 0,
        };
        steps.iter().filter(is_asked).for_each(|step| known.add_missing(*step));
        known
    }

    /// The pinned and then the last messages that the request does not hold, each once.
    pub(super) fn known(&self, duplicates: &DuplicateFilter) -> Vec<Candidate> {
        let passes = |record: &&StoredRecord| duplicates.passes(record);
        let mut known: Vec<Candidate> =
            self.pinned.iter().filter(passes).cloned().map(Candidate::pinned).collect();
        let is_pinned = |record: &&StoredRecord| self.pinned.iter().any(|pinned| pinned.id == record.id);
        let recent = self.recent.iter().filter(|record| !is_pinned(record)).filter(passes).cloned();
        known.extend(recent.map(|record| Candidate::new(record, None, 0)));
        known
    }
}

/// The user's own words in a message.
pub(super) fn text_of(message: &Object) -> String {
    fence::remove(&chat::text(message))
}

/// The steps with a search, in their order.
pub(super) const STEPS: [RecallStep; 5] = [
    RecallStep::Messages,
    RecallStep::Links,
    RecallStep::Memories,
    RecallStep::Documents,
    RecallStep::Actions,
];

/// Whether there is anything to find.
fn has_any(store: &mut dyn Store, turn: &Turn, options: &Options) -> Result<bool> {
    let which = options.searched(turn.scope);
    Ok(!which.kinds.is_empty() && store.count(&which, 1)? > 0)
}

/// The turns of the user and the assistant in some scopes.
pub(super) fn turns(scopes: Scopes) -> Select {
    let recalled_kinds = kinds().into_iter().filter(|kind| kind.recalled).collect();
    Select { roles: vec![Role::User, Role::Assistant], ..Select::records(recalled_kinds, scopes) }
}

/// The greatest number of messages that are recalled always: those that were pinned last.
const MAX_PINNED: usize = 100;

/// The messages within the reach that are recalled always, the last one that was pinned first.
fn pinned(
    store: &mut dyn Store,
    rules: &RecallRules,
    turn: &Turn,
    options: &Options,
) -> Result<Vec<StoredRecord>> {
    let ids: Vec<&str> = rules.always().iter().take(MAX_PINNED).map(String::as_str).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = store.get(&ids, &turns(options.reach.around(turn.scope)))?;
    found.sort_by_key(|record| ids.iter().position(|id| *id == record.id));
    Ok(found)
}

/// The memories within the reach.
pub(super) fn memories(turn: &Turn, options: &Options) -> Select {
    Select::records(vec![&MEMORY], options.reach.around(turn.scope))
}

/// The number of recent messages that are recalled where the sitting has just begun: the last question and
/// its answer.
const MIN_RECENT: usize = 2;

/// The number of messages that belong to the present sitting, which began after the last pause longer than
/// `gap`. `recent` is sorted by time, newest first; `now` is in milliseconds since 1970, UTC.
fn sitting(recent: &[StoredRecord], now: i64, gap: Duration) -> usize {
    let mut later = now;
    let continues = |record: &&StoredRecord| {
        let pause = later.saturating_sub(record.timestamp).max(0).unsigned_abs();
        later = record.timestamp;
        Duration::from_millis(pause) <= gap
    };
    recent.iter().take_while(continues).count()
}
