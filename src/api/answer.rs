//! Whole answers of any API.

use super::protocol::Api;
use crate::chat;
use crate::error::Result;
use crate::record::{Object, quote};

/// The answer as a message of chat completions: its text, and, with `keep_tools`, its calls of tools; thinking is left
/// out. That of chat completions is as it was sent.
pub fn answer(response: &Object, keep_tools: bool) -> Result<Object> {
    let mut found = match Api::of_answer(response) {
        Api::Chat => return chat::answer(response),
        Api::Messages => of_blocks(&response.objects("content")?.unwrap_or_default()),
        Api::Responses => of_items(&response.objects("output")?.unwrap_or_default()),
    };
    let mut message = Object::default();
    message.set_text("role", "assistant");
    if found.text.is_empty() {
        message.set("content", "null");
    } else {
        message.set_text("content", &found.text);
    }
    if let Some(refusal) = found.refusal.take() {
        message.set_text("refusal", &refusal);
    }
    if keep_tools && !found.calls.is_empty() {
        message.set("tool_calls", chat::array(&found.calls));
    }
    Ok(message)
}

/// The contents of an answer.
#[derive(Default)]
pub(super) struct Found {
    pub(super) text: String,
    pub(super) refusal: Option<String>,
    /// In the shape of chat completions.
    pub(super) calls: Vec<Object>,
}

impl Found {
    /// Adds a text; one that does not follow the last directly begins a line.
    fn add_text(&mut self, text: &str, follows: bool) {
        if !follows && !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// The contents of the blocks of an Anthropic message.
pub(super) fn of_blocks(blocks: &[Object]) -> Found {
    let mut found = Found::default();
    let mut follows = true;
    for block in blocks {
        let text = |name| block.text(name).ok().flatten();
        match text("type").as_deref() {
            Some("text") => {
                found.add_text(&text("text").unwrap_or_default(), follows);
                follows = true;
                continue;
            }
            Some("tool_use") => {
                // Arguments that are no JSON are a text there.
                let input = text("input").unwrap_or_else(|| block.get("input").unwrap_or("{}").to_owned());
                found.calls.push(call(&text("id"), &text("name"), &input));
            }
            _ => {}
        }
        follows = false;
    }
    found
}

/// The contents of the items of an OpenAI response.
pub(super) fn of_items(items: &[Object]) -> Found {
    let mut found = Found::default();
    for item in items {
        let text = |name| item.text(name).ok().flatten();
        match text("type").as_deref() {
            Some("message") => {
                let mut follows = false;
                for part in item.objects("content").ok().flatten().unwrap_or_default() {
                    if let Some(said) = part.text("text").ok().flatten() {
                        found.add_text(&said, follows);
                        follows = true;
                    }
                    let refusal = part.text("refusal").ok().flatten();
                    found.refusal = found.refusal.take().or(refusal);
                }
            }
            Some("function_call") => {
                let arguments = text("arguments").unwrap_or_default();
                found.calls.push(call(&text("call_id"), &text("name"), &arguments));
            }
            Some("custom_tool_call") => {
                let input = text("input").unwrap_or_default();
                found.calls.push(call(&text("call_id"), &text("name"), &input));
            }
            _ => {}
        }
    }
    found
}

fn call(id: &Option<String>, name: &Option<String>, arguments: &str) -> Object {
    let mut call = Object::default();
    call.set_text("id", id.as_deref().unwrap_or_default());
    call.set_text("type", "function");
    let (name, arguments) = (quote(name.as_deref().unwrap_or_default()), quote(arguments));
    call.set("function", format!("{{\"name\":{name},\"arguments\":{arguments}}}"));
    call
}

/// The reasons by which a provider of chat completions says that it gave up: those of Mistral and OpenRouter,
/// of vLLM and SGLang, of DeepSeek, and of Zhipu.
const FAILURES: [&str; 7] = [
    "\"error\"",
    "\"abort\"",
    "\"aborted\"",
    "\"cancelled\"",
    "\"canceled\"",
    "\"insufficient_system_resource\"",
    "\"network_error\"",
];

/// The error that an answer of chat completions, or a chunk of one, reports in place of its end: the object whose
/// member `error` or `message` describes it. It is the answer itself if that has the member `error` or is an object of
/// the kind `error`, as older servers send it; else a choice with such a member, or with one of the reasons `FAILURES`.
pub fn reported_error(answer: &Object) -> Option<Object> {
    let reports = |object: &Object| object.get("error").is_some_and(|error| error != "null");
    if reports(answer) || answer.get("object") == Some("\"error\"") {
        return Some(answer.clone());
    }
    let json = answer.get("choices")?.as_bytes();
    // Few do: the others are not read for it.
    FAILURES.iter().find(|sign| memchr::memmem::find(json, sign.as_bytes()).is_some())?;
    let mut choices = answer.objects("choices").ok().flatten().unwrap_or_default().into_iter();
    let failed =
        |choice: &Object| choice.get("finish_reason").is_some_and(|reason| FAILURES.contains(&reason));
    choices.find(|choice| reports(choice) || failed(choice))
}

/// Whether a whole answer reports its own failure: a response that failed or was cancelled.
pub fn is_failed(answer: &Object) -> bool {
    let is_response = answer.get("object") == Some("\"response\"");
    is_response && matches!(answer.get("status"), Some("\"failed\"" | "\"cancelled\""))
}

/// Removes the marks of completion from an assembled answer.
pub fn mark_broken(answer: &mut Object) {
    match Api::of_answer(answer) {
        Api::Chat => {}
        Api::Messages => answer.set("stop_reason", "null"),
        Api::Responses if is_failed(answer) => {}
        Api::Responses => {
            answer.set_text("status", "incomplete");
            answer.set("incomplete_details", "null");
        }
    }
}
