//! Answers of chat completions as answers of the other APIs.

use super::protocol::Api;
use super::to_chat::{Translation, text_argument};
use crate::chat;
use crate::chat::GrowingText;
use crate::error::Result;
use crate::record::{Object, quote};

/// The answer to a translated request, in the shape of its client's API. Errors if it has no message.
pub fn from_chat(translation: &Translation, answer: &Object) -> Result<Object> {
    let message = chat::answer(answer)?;
    let parts = parts_of(answer, &message);
    let end = AnswerEnd::new(&first_reason(answer), &parts);
    Ok(match translation.api {
        Api::Chat => answer.clone(),
        Api::Messages => message_of(answer, &parts, &end),
        Api::Responses => {
            let last = parts.len().saturating_sub(1);
            let items = parts.iter().enumerate().map(|(at, part)| {
                let status = if at == last { end.status() } else { COMPLETED };
                item(answer, at, part, &translation.text_tools, status)
            });
            response(translation, answer, &items.collect::<Vec<_>>(), &end)
        }
    })
}

/// The reason why the first choice of an answer ended; empty if it has none.
pub(super) fn first_reason(answer: &Object) -> String {
    let choices = answer.objects("choices").ok().flatten().unwrap_or_default();
    choices.first().and_then(|choice| choice.text("finish_reason").ok()?).unwrap_or_default()
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub(super) enum AnswerPart {
    Text(String),
    /// A text by which the model refuses.
    Refusal(String),
    Call(Call),
}

impl AnswerPart {
    /// Its words, or the arguments of a call.
    pub(super) fn text(&self) -> &str {
        match self {
            AnswerPart::Text(text) | AnswerPart::Refusal(text) => text,
            AnswerPart::Call(call) => &call.arguments,
        }
    }

    pub(super) fn text_mut(&mut self) -> &mut String {
        match self {
            AnswerPart::Text(text) | AnswerPart::Refusal(text) => text,
            AnswerPart::Call(call) => &mut call.arguments,
        }
    }
}

/// A call of a tool.
#[derive(Clone, Default, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// As the provider sent them; they may be no JSON.
    pub(super) arguments: String,
}

impl Call {
    /// Sets its id to the provider's. If that is empty, or an `earlier` call has it, it gets a unique one.
    pub(super) fn set_id(&mut self, id: &str, answer: &Object, earlier: &[&str]) {
        let at = earlier.len();
        self.id = match id {
            "" => format!("{}_{at}", id_of("call_", answer)),
            id if earlier.contains(&id) => format!("{id}_{at}"),
            id => id.to_owned(),
        };
    }

    /// Whether a growing call has none so far.
    pub(super) fn may_lack_arguments(&self) -> bool {
        "null".starts_with(self.arguments.trim())
    }

    /// Gives it an object for arguments if it has none.
    pub(super) fn complete(&mut self) {
        if ["", "null"].contains(&self.arguments.trim()) {
            self.arguments = "{}".to_owned();
        }
    }
}

/// The parts of a message: its text, its refusal, its calls; an empty text if it has none of them.
pub(super) fn parts_of(answer: &Object, message: &Object) -> Vec<AnswerPart> {
    let mut text = GrowingText::default();
    push_content(message, &mut text);
    let mut refusal = GrowingText::default();
    refusal.push_json(message.get("refusal").unwrap_or("null"));
    let (text, refusal) = (text.into_text(), refusal.into_text());
    let calls = calls_of(answer, message);
    let mut parts = Vec::new();
    if !text.is_empty() || refusal.is_empty() && calls.is_empty() {
        parts.push(AnswerPart::Text(text));
    }
    if !refusal.is_empty() {
        parts.push(AnswerPart::Refusal(refusal));
    }
    parts.extend(calls.into_iter().map(AnswerPart::Call));
    parts
}

/// Appends the text of a message of chat completions, or of a piece of one.
pub fn push_content(message: &Object, to: &mut GrowingText) {
    match message.get("content") {
        Some(json) if json.starts_with('"') => to.push_json(json),
        _ => to.push_text(&chat::text(message)),
    }
}

/// The calls in a message of chat completions, or the pieces of calls in a part of one: those of an array, and the one
/// of old servers.
pub(super) fn call_objects(message: &Object) -> Vec<Object> {
    let mut calls = message.objects("tool_calls").ok().flatten().unwrap_or_default();
    if let Some(function) = message.get("function_call").filter(|json| json.starts_with('{')) {
        let mut call = Object::default();
        call.set("function", function);
        calls.push(call);
    }
    calls
}

fn calls_of(answer: &Object, message: &Object) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for object in call_objects(message) {
        let function = object.object("function").ok().flatten().unwrap_or_default();
        let text = |object: &Object, name| object.text(name).ok().flatten().unwrap_or_default();
        let mut arguments = GrowingText::default();
        push_arguments(&function, &mut arguments);
        let arguments = arguments.into_text();
        let mut call = Call { name: text(&function, "name"), arguments, ..Call::default() };
        let earlier: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        call.set_id(&text(&object, "id"), answer, &earlier);
        call.complete();
        calls.push(call);
    }
    calls
}

/// Appends the arguments of a function: a text, or the object that Ollama's own form has in its place.
pub(super) fn push_arguments(function: &Object, to: &mut GrowingText) {
    match function.get("arguments") {
        Some(json) if json.starts_with('"') => to.push_json(json),
        Some(json) if json != "null" => to.push_text(json),
        _ => {}
    }
}

/// The status of a complete answer or item.
pub(super) const COMPLETED: &str = "completed";

/// How an answer ended.
pub(super) struct AnswerEnd {
    stop_reason: &'static str,
    /// Why a response is incomplete.
    incomplete: Option<&'static str>,
}

impl AnswerEnd {
    /// For the `finish_reason` of an answer with these parts. The reason alone makes no call.
    pub(super) fn new<'a>(reason: &str, parts: impl IntoIterator<Item = &'a AnswerPart>) -> AnswerEnd {
        let (mut has_call, mut has_refusal) = (false, false);
        for part in parts {
            has_call |= matches!(part, AnswerPart::Call(_));
            has_refusal |= matches!(part, AnswerPart::Refusal(_));
        }
        let (stop_reason, incomplete) = match reason {
            "length" | "model_length" => ("max_tokens", Some("max_output_tokens")),
            "content_filter" => ("refusal", Some("content_filter")),
            _ if has_refusal => ("refusal", None),
            _ if has_call => ("tool_use", None),
            _ => ("end_turn", None),
        };
        AnswerEnd { stop_reason, incomplete }
    }

    /// Anthropic's reason.
    pub(super) fn stop_reason(&self) -> &'static str {
        self.stop_reason
    }

    /// The status of a response, and of its last item.
    pub(super) fn status(&self) -> &'static str {
        if self.incomplete.is_some() { "incomplete" } else { COMPLETED }
    }
}

/// The usage in the names of another API. Anthropic's input tokens are those that were not in the provider's cache.
pub(super) fn usage_of(api: Api, answer: &Object) -> String {
    let usage = answer.object("usage").ok().flatten().unwrap_or_default();
    let number = |usage: &Object, name| usage.integer(name).ok().flatten().map(|number| number.max(0));
    let detail = |of, name| usage.object(of).ok().flatten().and_then(|details| number(&details, name));
    let input = number(&usage, "prompt_tokens").unwrap_or(0);
    let output = number(&usage, "completion_tokens").unwrap_or(0);
    let cached = detail("prompt_tokens_details", "cached_tokens");
    match api {
        Api::Responses => format!(
            "{{\"input_tokens\":{input},\"input_tokens_details\":{{\"cached_tokens\":{}}},\"output_tokens\":{output},\
             \"output_tokens_details\":{{\"reasoning_tokens\":{}}},\"total_tokens\":{}}}",
            cached.unwrap_or(0),
            detail("completion_tokens_details", "reasoning_tokens").unwrap_or(0),
            input.saturating_add(output)
        ),
        _ => {
            let new = input.saturating_sub(cached.unwrap_or(0)).max(0);
            let cached = cached.map(|cached| format!("\"cache_read_input_tokens\":{cached},"));
            format!("{{\"input_tokens\":{new},{}\"output_tokens\":{output}}}", cached.unwrap_or_default())
        }
    }
}

/// The id of an answer with another beginning.
pub(super) fn id_of(begin: &str, answer: &Object) -> String {
    format!("{begin}{}", answer.text("id").ok().flatten().unwrap_or_else(|| "0".to_owned()))
}

/// A block of text.
pub(super) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

/// A block of a call. Its input is an object; arguments that are no JSON are given as a text.
fn call_block(call: &Call) -> String {
    let input = Object::parse(&call.arguments).map(|input| input.to_json());
    let input = input.unwrap_or_else(|_| quote(&call.arguments));
    let (id, name) = (quote(&call.id), quote(&call.name));
    format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}")
}

fn message_of(answer: &Object, parts: &[AnswerPart], end: &AnswerEnd) -> Object {
    let blocks = parts.iter().map(|part| match part {
        AnswerPart::Text(text) | AnswerPart::Refusal(text) => text_block(text),
        AnswerPart::Call(call) => call_block(call),
    });
    let blocks: Vec<String> = blocks.collect();
    let mut new = Object::default();
    new.set_text("id", &id_of("msg_", answer));
    new.set_text("type", "message");
    new.set_text("role", "assistant");
    new.set("model", answer.get("model").unwrap_or("\"\""));
    new.set("content", format!("[{}]", blocks.join(",")));
    new.set_text("stop_reason", end.stop_reason());
    new.set("stop_sequence", "null");
    new.set("usage", usage_of(Api::Messages, answer));
    new
}

/// The id of the item at a place in the output of a response.
pub(super) fn item_id(answer: &Object, at: usize, part: &AnswerPart) -> String {
    match part {
        AnswerPart::Text(_) | AnswerPart::Refusal(_) => format!("{}_{at}", id_of("msg_", answer)),
        AnswerPart::Call(call) => format!("fc_{}", call.id),
    }
}

/// A text as the content of an item.
pub(super) fn content_part(part: &AnswerPart) -> String {
    match part {
        AnswerPart::Refusal(text) => format!("{{\"type\":\"refusal\",\"refusal\":{}}}", quote(text)),
        AnswerPart::Text(text) => {
            format!("{{\"type\":\"output_text\",\"text\":{},\"annotations\":[]}}", quote(text))
        }
        AnswerPart::Call(_) => String::new(),
    }
}

/// A part as the item at a place in the output of a response.
pub(super) fn item(
    answer: &Object,
    at: usize,
    part: &AnswerPart,
    text_tools: &[String],
    status: &str,
) -> String {
    let head = |kind| {
        format!("{{\"type\":\"{kind}\",\"id\":{},\"status\":\"{status}\"", quote(&item_id(answer, at, part)))
    };
    let AnswerPart::Call(call) = part else {
        return format!("{},\"role\":\"assistant\",\"content\":[{}]}}", head("message"), content_part(part));
    };
    let (call_id, name) = (quote(&call.id), quote(&call.name));
    let names = format!("\"call_id\":{call_id},\"name\":{name}");
    if text_tools.contains(&call.name) {
        let input = quote(&text_argument(&call.arguments));
        return format!("{},{names},\"input\":{input}}}", head("custom_tool_call"));
    }
    format!("{},{names},\"arguments\":{}}}", head("function_call"), quote(&call.arguments))
}

/// A response with these items.
pub(super) fn response(
    translation: &Translation,
    answer: &Object,
    items: &[String],
    end: &AnswerEnd,
) -> Object {
    let mut new = Object::default();
    new.set_text("id", &id_of("resp_", answer));
    new.set_text("object", "response");
    new.set("created_at", answer.get("created").unwrap_or("0"));
    new.set_text("status", end.status());
    new.set("error", "null");
    let details = end.incomplete.map(|reason| format!("{{\"reason\":\"{reason}\"}}"));
    new.set("incomplete_details", details.unwrap_or_else(|| "null".to_owned()));
    new.set("model", answer.get("model").unwrap_or("\"\""));
    new.set("output", format!("[{}]", items.join(",")));
    for (name, json) in translation.asked.iter() {
        new.set(name, json);
    }
    new.set("usage", usage_of(Api::Responses, answer));
    new
}
