//! Groups the messages of a request that is too long: those that are dropped together, and those that are
//! never dropped.

use crate::chat::{self, Request};
use crate::record::Object;
use std::collections::HashMap;

/// The messages of a request in units that are dropped whole: a user's messages with all answers to them;
/// after the last user's message, each call of a tool with its results.
pub(super) struct Units {
    /// The unit of each message; `None` for a system message, which stays.
    of: Vec<Option<usize>>,
    /// Whether each unit is never dropped.
    is_kept: Vec<bool>,
}

impl Units {
    pub(super) fn new(request: &Request) -> Units {
        let last_user = request.last_user();
        let mut units = Units { of: Vec::with_capacity(request.messages.len()), is_kept: Vec::new() };
        // The unit in which each tool was called.
        let mut calls: HashMap<String, usize> = HashMap::new();
        let mut before = "";
        for (at, message) in request.messages.iter().enumerate() {
            let role = message.get("role").unwrap_or_default().trim_matches('"');
            if chat::is_system(message) {
                units.of.push(None);
                continue;
            }
            let called = message.valid_text("tool_call_id").and_then(|id| calls.get(&id).copied());
            let begins = match role {
                "user" => before != "user",
                "tool" | "function" => false,
                _ => last_user.is_some_and(|last| at > last),
            };
            if begins || units.is_kept.is_empty() {
                units.is_kept.push(false);
            }
            // A result whose call is not known stays with the messages before it.
            let unit = called.unwrap_or(units.is_kept.len() - 1);
            calls.extend(called_by(message).into_iter().map(|id| (id, unit)));
            units.of.push(Some(unit));
            before = role;
        }
        let last = request.messages.len().checked_sub(1);
        for at in [last_user, last].into_iter().flatten() {
            if let Some(unit) = units.of[at] {
                units.is_kept[unit] = true;
            }
        }
        units
    }

    /// The positions of the messages of each unit that may be dropped, oldest first.
    pub(super) fn removable(&self) -> Vec<Vec<usize>> {
        let mut removable = vec![Vec::new(); self.is_kept.len()];
        for (at, unit) in self.of.iter().enumerate() {
            if let Some(unit) = unit.filter(|unit| !self.is_kept[*unit]) {
                removable[unit].push(at);
            }
        }
        removable.retain(|unit| !unit.is_empty());
        removable
    }
}

/// The ids of the calls that a message makes.
fn called_by(message: &Object) -> Vec<String> {
    let calls = message.valid_objects("tool_calls").unwrap_or_default();
    calls.iter().filter_map(|call| call.valid_text("id")).collect()
}
