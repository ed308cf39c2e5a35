//! Fills in the missing fields of a draft: scope, trace, time and order.

use super::options::Options;
use crate::chat::fence;
use crate::error::{Error, Result};
use crate::record::{Clock, Draft, DraftDefaults, StoredRecord, id};
use crate::store::Forgotten;

/// Completes drafts, one after the other.
#[derive(Clone)]
pub(super) struct Completion {
    pub(super) options: Options,
    pub(super) clock: Clock,
    /// The timestamp and seq that were given last.
    last: (i64, u32),
}

impl Completion {
    pub(super) fn new(options: Options, clock: Clock) -> Completion {
        Completion { options, clock, last: (i64::MIN, 0) }
    }

    /// The treatment of forgotten records.
    pub(super) fn forgotten(&self) -> Forgotten {
        if self.options.allow_return {
            return Forgotten::Return { at: self.clock.now() };
        }
        Forgotten::KeepOut
    }

    /// Fills in the missing fields of a draft, and removes a recalled block from a turn of a conversation. Errors if
    /// nothing else is left of the turn.
    pub(super) fn complete(&mut self, mut draft: Draft) -> Result<StoredRecord> {
        if draft.role.is_some() {
            draft.set_content(fence::strip(draft.content()));
            if !draft.has_content() {
                return Err(Error::new("content: is empty"));
            }
        }
        let now = self.clock.now();
        let seq = if now == self.last.0 { self.last.1 + 1 } else { 0 };
        if draft.timestamp.is_none() {
            self.last = (now, seq);
        }
        let (partition, instance) = (self.options.partition.clone(), self.options.instance.clone());
        let trace_id = match (&draft.trace_id, &self.options.trace_id) {
            (None, None) if draft.kind.traced => id::fresh(&self.clock, &format!("{seq} {}", draft.text))?,
            (None, Some(trace)) => trace.clone(),
            _ => String::new(),
        };
        draft.complete(&DraftDefaults { partition, instance, trace_id, timestamp: now, seq })
    }
}
