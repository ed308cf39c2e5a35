//! The actions of the turns of a request: the calls whose results it has.

use super::actions;
use super::calls::{calls, text};
use super::reading::FAILED;
use super::tool_errors::ToolOutcome;
use crate::chat;
use crate::record::{Action, Object};

/// The most actions of one request: a turn of Responses has all its calls side by side.
const MAX_ACTIONS: usize = 128;

/// The actions of the last calls of turns, in their order. `is_one_turn` says that all calls of an answer are
/// in one.
pub(super) fn actions(turns: &[Object], is_one_turn: bool) -> Vec<Action> {
    let mut results: Vec<&Object> = Vec::new();
    // Newest first.
    let mut found: Vec<Action> = Vec::new();
    for turn in turns.iter().rev() {
        if found.len() >= MAX_ACTIONS {
            break;
        }
        if is_result(turn) {
            if is_one_turn && !found.is_empty() {
                break;
            }
            results.push(turn);
            continue;
        }
        for called in calls(turn).into_iter().rev() {
            let is_of = |result: &&&Object| text(result, "tool_call_id") == called.id;
            let Some(result) = results.iter().find(is_of) else { continue };
            let failed = result.get(FAILED).map(|json| json == "true");
            let text = if failed == Some(false) { String::new() } else { chat::text(result) };
            found.extend(actions::action(None, &called, Some(&ToolOutcome { text, failed })));
        }
    }
    found.reverse();
    found
}

/// The actions of the calls whose results are the end of turns of chat completions.
pub(super) fn late(turns: &[Object]) -> Vec<Action> {
    if turns.last().is_some_and(is_result) { actions(turns, true) } else { Vec::new() }
}

fn is_result(turn: &Object) -> bool {
    turn.word("role") == Some("tool")
}
