//! The calls of tools in the turns of a request of any API.

use super::actions::CalledTool;
use super::reading::{Unread, opaque, unread};
use crate::record::Object;

/// The calls in a turn of the assistant: those of a message of chat completions, the blocks of one of
/// Messages, or the item of Responses.
pub(super) fn calls(turn: &Object) -> Vec<CalledTool> {
    let called = |id: String, name: String, arguments: String| CalledTool { id, name, arguments };
    if let Ok(Some(calls)) = turn.objects("tool_calls") {
        let function = |call: &Object| {
            let function = call.valid_object("function")?;
            Some(called(text(call, "id"), text(&function, "name"), text(&function, "arguments")))
        };
        return calls.iter().filter_map(function).collect();
    }
    let parts = turn.valid_objects("content").unwrap_or_default();
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

/// The calls in the messages of Messages, or the items of Responses, as the JSON text of their array.
pub(super) fn calls_in(json: &str) -> Vec<CalledTool> {
    let of_element = |element: Unread| match (element.role(), element.role_word()) {
        (_, Some("assistant")) => Object::parse(element.json()).as_ref().map(calls).unwrap_or_default(),
        (None, _) if element.output().is_none() => calls(&opaque("assistant", element.json())),
        _ => Vec::new(),
    };
    unread(json).into_iter().flat_map(of_element).collect()
}

/// A text among the members of an object; empty if there is none.
pub(super) fn text(object: &Object, name: &str) -> String {
    object.valid_text(name).unwrap_or_default()
}
