//! The actions of the turns of a request: the calls whose results it has.

use super::actions::{self, CalledTool, ToolOutcome};
use super::reading::FAILED;
use crate::chat;
use crate::record::{Action, Object};

/// The most actions of one request: a turn of Responses has all its calls side by side.
const MAX_ACTIONS: usize = 128;

/// The actions of the last calls of turns, in their order. `is_one_turn` says that all calls of an answer are in one.
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
    turn.get("role") == Some("\"tool\"")
}

/// The calls in a turn of the assistant: those of a message of chat completions, the blocks of one of Messages, or the
/// item of Responses.
fn calls(turn: &Object) -> Vec<CalledTool> {
    let called = |id: String, name: String, arguments: String| CalledTool { id, name, arguments };
    if let Ok(Some(calls)) = turn.objects("tool_calls") {
        let function = |call: &Object| {
            let function = call.object("function").ok().flatten()?;
            Some(called(text(call, "id"), text(&function, "name"), text(&function, "arguments")))
        };
        return calls.iter().filter_map(function).collect();
    }
    let parts = turn.objects("content").ok().flatten().unwrap_or_default();
    let of_part = |part: &Object| match text(part, "type").as_str() {
        "tool_use" => {
            let input = part.get("input").unwrap_or("{}").to_owned();
            Some(called(text(part, "id"), text(part, "name"), input))
        }
        "function_call" => Some(called(text(part, "call_id"), text(part, "name"), text(part, "arguments"))),
        "custom_tool_call" => Some(called(text(part, "call_id"), text(part, "name"), text(part, "input"))),
        _ => None,
    };
    parts.iter().filter_map(of_part).collect()
}

fn text(object: &Object, name: &str) -> String {
    object.text(name).ok().flatten().unwrap_or_default()
}
