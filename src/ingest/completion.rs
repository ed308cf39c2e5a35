//! Fills in the missing fields of a draft: scope, trace, time and order.

use super::options::Options;
use crate::chat::fence;
use crate::error::Result;
use crate::record::{Clock, Draft, DraftDefaults, Role, Scope, StoredRecord, derived_trace, empty, id};
use crate::store::{Forgotten, WriteRules, WriteSource};
use std::collections::HashMap;

/// Completes drafts, one after the other.
#[derive(Clone)]
pub(super) struct Completion {
    pub(super) options: Options,
    pub(super) clock: Clock,
    /// The timestamp and seq that were given last.
    last: (i64, u32),
    /// The trace of the last question of each scope, in an import.
    questions: HashMap<Scope, String>,
}

impl Completion {
    pub(super) fn new(options: Options, clock: Clock) -> Completion {
        Completion { options, clock, last: (i64::MIN, 0), questions: HashMap::new() }
    }

    /// The rules of a write.
    pub(super) fn write_rules(&self, source: WriteSource) -> WriteRules<'_> {
        let at = self.options.allow_return.then(|| self.clock.now());
        let forgotten = at.map_or(Forgotten::KeepOut, |at| Forgotten::Return { at });
        WriteRules { forgotten, source, import: self.options.undoable.as_ref() }
    }

    /// Fills in the missing fields of a draft, and removes a recalled block from a turn of a conversation.
    /// Errors if nothing else is left of the turn.
    pub(super) fn complete(&mut self, mut draft: Draft) -> Result<StoredRecord> {
        if draft.role.is_some() {
            let content = draft.content();
            if fence::may_be_in(&content) {
                draft.set_content(fence::strip(content));
            }
            if !draft.has_content() {
                return Err(empty("content"));
            }
        }
        // A version is dated when it is taken in.
        if draft.kind.versions.is_some() && self.options.import.is_none() {
            draft.timestamp = None;
        }
        let now = self.clock.now();
        let seq = if now == self.last.0 { self.last.1 + 1 } else { 0 };
        if draft.timestamp.is_none() {
            self.last = (now, seq);
        }
        let (partition, instance) = (self.options.partition.clone(), self.options.instance.clone());
        let trace_id = match (&draft.trace_id, &self.options.trace_id) {
            (None, None) if draft.kind.traced && self.options.import.is_some() => self.turn_trace(&draft)?,
            (None, None) if draft.kind.traced => id::fresh(&self.clock, &format!("{seq} {}", draft.text))?,
            (None, Some(trace)) => trace.clone(),
            _ => String::new(),
        };
        let is_question = draft.role == Some(Role::User);
        let record = draft.complete(&DraftDefaults { partition, instance, trace_id, timestamp: now, seq })?;
        if is_question && self.options.import.is_some() {
            self.questions.insert(record.scope.clone(), record.trace_id.clone());
        }
        Ok(record)
    }

    /// The trace of an imported message or action that has none: that of the question before it in its scope.
    /// A question's own is derived.
    fn turn_trace(&self, draft: &Draft) -> Result<String> {
        let scope = draft.scope(self.options.partition.as_deref(), self.options.instance.as_deref())?;
        let question = self.questions.get(&scope).filter(|_| draft.role != Some(Role::User));
        let derived = || derived_trace(&scope, draft.timestamp.unwrap_or_default(), &draft.text);
        Ok(question.cloned().unwrap_or_else(derived))
    }
}
