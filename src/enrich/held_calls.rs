//! The calls of tools that a request holds, whose actions are not recalled.

use crate::api::Request;
use crate::record::{ACTION, Action, DraftDefaults, StoredRecord};
use std::collections::HashMap;

/// The least length in bytes of an id that no other session has: shorter ones are counted, as `call_1`.
const MIN_UNIQUE_BYTES: usize = 16;

/// The calls of a request.
pub(super) struct HeldCalls {
    /// By their ids.
    calls: HashMap<String, Vec<Action>>,
}

impl HeldCalls {
    pub(super) fn of(request: &Request) -> HeldCalls {
        let mut calls: HashMap<String, Vec<Action>> = HashMap::new();
        for action in request.called_actions() {
            calls.entry(action.call.clone()).or_default().push(action);
        }
        HeldCalls { calls }
    }

    /// Whether the call of a stored action is among them: one of the same id, and of the same purpose if
    /// others may have the id too.
    pub(super) fn have(&self, action: &StoredRecord) -> bool {
        let Some(call) = action.lookup_key() else { return false };
        let Some(held) = self.calls.get(&call) else { return false };
        call.len() >= MIN_UNIQUE_BYTES
            || held.iter().any(|held| purpose_as_stored(held).is_some_and(|held| held == action.purpose()))
    }
}

/// The purpose of an action as a store has it, which shortens it.
fn purpose_as_stored(action: &Action) -> Option<String> {
    // An action that a store would refuse is none of those that it has.
    let draft = (ACTION.read)(action.to_line()).ok()?;
    let fill = DraftDefaults { trace_id: "held".to_owned(), ..DraftDefaults::default() };
    Some(draft.complete(&fill).ok()?.purpose())
}
