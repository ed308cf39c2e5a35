//! Answers of chat completions as answers of the other APIs.

use super::protocol::Api;
use super::to_chat::text_argument;
use crate::chat;
use crate::error::Result;
use crate::record::{Object, quote};

/// The answer of a request that was sent as one for chat completions, in the shape of the API of its client.
/// `text_tools` are the names of the tools that take a text.
pub fn from_chat(api: Api, answer: &Object, text_tools: &[String]) -> Result<Object> {
    let message = chat::answer(answer)?;
    let choice = answer.objects("choices")?.unwrap_or_default().into_iter().next().unwrap_or_default();
    let reason = choice.text("finish_reason").ok().flatten().unwrap_or_default();
    Ok(match api {
        Api::Chat => answer.clone(),
        Api::Messages => message_of(answer, &message, &reason),
        Api::Responses => response_of(answer, &message, &reason, text_tools),
    })
}

/// A call of a tool.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The calls in a message of chat completions.
pub(super) fn calls_of(message: &Object) -> Vec<Call> {
    let calls = message.objects("tool_calls").ok().flatten().unwrap_or_default();
    let calls = calls.iter().enumerate().map(|(at, call)| {
        let function = call.object("function").ok().flatten().unwrap_or_default();
        let text = |object: &Object, name| object.text(name).ok().flatten();
        // Ollama's own form has an object.
        let arguments = text(&function, "arguments")
            .or_else(|| function.get("arguments").map(str::to_owned))
            .unwrap_or_default();
        let id = text(call, "id").filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{at}"));
        Call { id, name: text(&function, "name").unwrap_or_default(), arguments }
    });
    calls.collect()
}

/// The reason of Anthropic's for an end of chat completions.
pub(super) fn stop_reason(reason: &str, has_calls: bool) -> &'static str {
    match reason {
        "length" => "max_tokens",
        "content_filter" => "refusal",
        "tool_calls" | "function_call" => "tool_use",
        _ if has_calls => "tool_use",
        _ => "end_turn",
    }
}

/// The usage in the names of another API, `{"input_tokens","output_tokens"}`.
pub(super) fn usage_of(api: Api, answer: &Object) -> String {
    let usage = answer.object("usage").ok().flatten().unwrap_or_default();
    let number = |name| usage.integer(name).ok().flatten().unwrap_or(0);
    let (input, output) = (number("prompt_tokens"), number("completion_tokens"));
    match api {
        Api::Responses => format!(
            "{{\"input_tokens\":{input},\"input_tokens_details\":{{\"cached_tokens\":0}},\"output_tokens\":{output},\
             \"output_tokens_details\":{{\"reasoning_tokens\":0}},\"total_tokens\":{}}}",
            input.saturating_add(output)
        ),
        _ => format!("{{\"input_tokens\":{input},\"output_tokens\":{output}}}"),
    }
}

/// The id of an answer with another beginning.
pub(super) fn id_of(begin: &str, answer: &Object) -> String {
    format!("{begin}{}", answer.text("id").ok().flatten().unwrap_or_else(|| "0".to_owned()))
}

/// A block of text, and that of a call, whose arguments must be an object there.
pub(super) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

fn call_block(call: &Call) -> String {
    let input = Object::parse(&call.arguments).map_or_else(|_| "{}".to_owned(), |input| input.to_json());
    let (id, name) = (quote(&call.id), quote(&call.name));
    format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}")
}

fn message_of(answer: &Object, message: &Object, reason: &str) -> Object {
    let (text, calls) = (chat::text(message), calls_of(message));
    let text = Some(text).filter(|text| !text.is_empty() || calls.is_empty());
    let blocks: Vec<String> =
        text.iter().map(|text| text_block(text)).chain(calls.iter().map(call_block)).collect();
    let mut new = Object::default();
    new.set_text("id", &id_of("msg_", answer));
    new.set_text("type", "message");
    new.set_text("role", "assistant");
    new.set("model", answer.get("model").unwrap_or("\"\""));
    new.set("content", format!("[{}]", blocks.join(",")));
    new.set_text("stop_reason", stop_reason(reason, !calls.is_empty()));
    new.set("stop_sequence", "null");
    new.set("usage", usage_of(Api::Messages, answer));
    new
}

/// A message as an item of Responses.
pub(super) fn message_item(id: &str, text: &str) -> String {
    let (id, text) = (quote(id), quote(text));
    format!(
        "{{\"type\":\"message\",\"id\":{id},\"status\":\"completed\",\"role\":\"assistant\",\"content\":\
         [{{\"type\":\"output_text\",\"text\":{text},\"annotations\":[]}}]}}"
    )
}

/// A call as an item of Responses.
pub(super) fn call_item(call: &Call, text_tools: &[String]) -> String {
    let (id, call_id, name) = (quote(&format!("fc_{}", call.id)), quote(&call.id), quote(&call.name));
    if text_tools.contains(&call.name) {
        let input = quote(&text_argument(&call.arguments));
        return format!(
            "{{\"type\":\"custom_tool_call\",\"id\":{id},\"status\":\"completed\",\"call_id\":{call_id},\
             \"name\":{name},\"input\":{input}}}"
        );
    }
    let arguments = quote(&call.arguments);
    format!(
        "{{\"type\":\"function_call\",\"id\":{id},\"status\":\"completed\",\"call_id\":{call_id},\"name\":{name},\
         \"arguments\":{arguments}}}"
    )
}

fn response_of(answer: &Object, message: &Object, reason: &str, text_tools: &[String]) -> Object {
    let (text, calls) = (chat::text(message), calls_of(message));
    let text = Some(text).filter(|text| !text.is_empty() || calls.is_empty());
    let items: Vec<String> = text
        .iter()
        .map(|text| message_item(&id_of("msg_", answer), text))
        .chain(calls.iter().map(|call| call_item(call, text_tools)))
        .collect();
    response(answer, &items, reason)
}

/// A response with these items.
pub(super) fn response(answer: &Object, items: &[String], reason: &str) -> Object {
    let mut new = Object::default();
    new.set_text("id", &id_of("resp_", answer));
    new.set_text("object", "response");
    new.set("created_at", answer.get("created").unwrap_or("0"));
    let is_cut = reason == "length";
    new.set_text("status", if is_cut { "incomplete" } else { "completed" });
    new.set("error", "null");
    new.set("incomplete_details", if is_cut { "{\"reason\":\"max_output_tokens\"}" } else { "null" });
    new.set("model", answer.get("model").unwrap_or("\"\""));
    new.set("output", format!("[{}]", items.join(",")));
    new.set("parallel_tool_calls", "true");
    new.set_text("tool_choice", "auto");
    new.set("tools", "[]");
    new.set("usage", usage_of(Api::Responses, answer));
    new
}
