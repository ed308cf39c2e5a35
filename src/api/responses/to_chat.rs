//! A request for Responses as one for chat completions. Errors name the part without a counterpart.

use super::types::{ResponseContent, ResponseItem, TextArguments};
use crate::api::completions::request::{self, unsayable, unsayable_type};
use crate::api::completions::turns::{Turns, texts_and_others};
use crate::api::completions::types::{
    ContentPart, ImageUrl, MessageContent, MessageOfAnswer, MessageOfRequest, ToolCall,
};
use crate::api::lenient::{members, objects, raw};
use crate::error::Result;
use crate::record::{Object, invalid, not_objects, unexpected};
use serde_json::value::RawValue;

/// Members of a request without which it is another question, or gets another answer.
const UNSAYABLE_MEMBERS: [&str; 5] =
    ["previous_response_id", "conversation", "prompt", "background", "top_logprobs"];
/// The value of `include` that chat completions lack; the others concern tools that the provider runs, or its
/// reasoning.
const UNSAYABLE_INCLUDED: &str = "message.output_text.logprobs";

/// The parameters of a tool that takes a text, as a function.
const TEXT_PARAMETERS: &str =
    r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;

/// The request for chat completions; `length_member` is the member that bounds the answer.
pub(super) fn to_chat(body: &Object, length_member: &str) -> Result<Object> {
    let mut request = request::begin(body, &UNSAYABLE_MEMBERS)?;
    if body.get("include").is_some_and(|included| included.contains(UNSAYABLE_INCLUDED)) {
        return Err(unsayable(UNSAYABLE_INCLUDED));
    }
    request::copy(body, "max_output_tokens", &mut request, length_member);
    request::copy_effort(body, "reasoning", &mut request);
    request::finish(request, body, &turns(body)?, |tool| match tool.r#type.text() {
        "function" => Some(tool.parameters),
        "custom" => Some(Some(raw(TEXT_PARAMETERS))),
        _ => None,
    })
}

fn turns(body: &Object) -> Result<Vec<MessageOfRequest<'_>>> {
    let mut turns = Turns::default();
    if let Some(instructions) = body.valid_text("instructions") {
        turns.push(MessageOfRequest::new("system", MessageContent::Text(instructions)));
    }
    let json = body.get("input").unwrap_or("\"\"");
    if json.starts_with('"') {
        turns.push_plain("user", MessageContent::Raw(raw(json)));
        return Ok(turns.finish());
    }
    for (at, item) in members(body, "input")?.iter().enumerate() {
        add_item(item, &mut turns).map_err(|error| error.at(format_args!("input[{at}]")))?;
    }
    Ok(turns.finish())
}

fn add_item<'a>(item: &ResponseItem<'a>, turns: &mut Turns<'a>) -> Result<()> {
    match item.r#type.text() {
        "" | "message" => add_message(item, turns)?,
        "function_call" => {
            // Not every provider reads an empty text.
            let arguments = Some(item.arguments.text()).filter(|arguments| !arguments.trim().is_empty());
            turns.push_call(ToolCall::new(item.call_id.text(), item.name.text(), arguments.unwrap_or("{}")));
        }
        "custom_tool_call" => {
            let arguments = Object::of_value(&TextArguments { input: item.input.text() }).to_json();
            turns.push_call(ToolCall::new(item.call_id.text(), item.name.text(), &arguments));
        }
        "function_call_output" | "custom_tool_call_output" => add_output(item, turns)?,
        "reasoning" => {}
        other => return Err(unsayable(&format!("an item of type {other}"))),
    }
    Ok(())
}

fn add_output<'a>(item: &ResponseItem<'a>, turns: &mut Turns<'a>) -> Result<()> {
    let output = item.output.json_or("\"\"");
    let (texts, others) = match parts_of(output) {
        Some(parts) => texts_and_others(parts.into_iter().map(content_part))?,
        None if output.starts_with('"') => {
            (vec![serde_json::from_str(output).unwrap_or_default()], Vec::new())
        }
        None => (vec![output.to_owned()], Vec::new()),
    };
    turns.push_result(item.call_id.text(), &texts, others);
    Ok(())
}

/// The parts of a content or an output; none if it is no array of objects.
fn parts_of(json: &str) -> Option<Vec<&RawValue>> {
    let parts: Vec<&RawValue> = serde_json::from_str::<Option<_>>(json).ok()?.unwrap_or_default();
    parts.iter().all(|part| part.get().starts_with('{')).then_some(parts)
}

/// A part of the content of an item.
fn content_part(json: &RawValue) -> Result<ContentPart<'_>> {
    let part: ResponseContent = serde_json::from_str(json.get()).unwrap_or_default();
    match (part.r#type.text(), part.image_url.as_ref()) {
        ("input_text" | "output_text" | "text", _) => Ok(ContentPart::text(part.text.text())),
        ("refusal", _) => Ok(ContentPart::text(part.refusal.text())),
        ("input_image", Some(url)) => {
            Ok(ContentPart::ImageUrl { image_url: ImageUrl { url: url.clone(), detail: part.detail.0 } })
        }
        // It is the same in both.
        ("input_audio", _) => Ok(ContentPart::Raw(json)),
        ("input_image", None) => match Object::parse(json.get())?.get("image_url") {
            Some(url) if url != "null" => Err(unexpected("image_url", "a string", url)),
            _ => Err(unsayable("a part of type input_image without image_url")),
        },
        _ => Err(unsayable_type("a part of type", &part.r#type, "type")),
    }
}

fn add_message<'a>(item: &ResponseItem<'a>, turns: &mut Turns<'a>) -> Result<()> {
    let role = match item.role.text() {
        "developer" => "system",
        "" => return Err(invalid("role", "expected a string")),
        role => role,
    };
    let json = item.content.0.unwrap_or(raw("\"\""));
    let content = if json.get().starts_with('[') {
        let parts = parts_of(json.get())
            .ok_or_else(|| not_objects("content", json.get()))?
            .into_iter()
            .map(content_part)
            .collect::<Result<Vec<ContentPart>>>()?;
        if role == "user" {
            turns.push_user(parts);
            return Ok(());
        }
        MessageContent::Text(texts_of(&parts, role)?)
    } else {
        MessageContent::Raw(json)
    };
    match turns.last_assistant().filter(|turn| role == "assistant" && !turn.tool_calls.is_empty()) {
        Some(turn) => {
            // The results of its calls have to follow it.
            let texts = [turn.content.text(), content.text()].into_iter().filter(|text| !text.is_empty());
            turn.content = MessageContent::Text(texts.collect::<Vec<_>>().join("\n"));
        }
        None => turns.push_plain(role.to_owned(), content),
    }
    Ok(())
}

/// The texts of parts of another role than the user's, which has nothing else.
fn texts_of(parts: &[ContentPart], role: &str) -> Result<String> {
    let text = |part: &ContentPart| match part {
        ContentPart::Text { text } => Ok(text.text()),
        ContentPart::ImageUrl { .. } => {
            Err(unsayable(&format!("a part of type input_image of the role {role}")))
        }
        ContentPart::Raw(_) => Err(unsayable(&format!("a part of type input_audio of the role {role}"))),
    };
    Ok(parts.iter().map(text).collect::<Result<Vec<String>>>()?.join("\n"))
}

/// The items of an answer as a message of chat completions.
pub(super) fn message_of(items: &[ResponseItem]) -> MessageOfAnswer {
    let mut message = MessageOfAnswer::default();
    for item in items {
        match item.r#type.text() {
            "message" => {
                let mut follows = false;
                let parts: Option<Vec<ResponseContent>> = objects(item.content.json_or("[]"));
                for part in parts.unwrap_or_default() {
                    if let Some(text) = part.text.as_ref() {
                        message.add_text(text, follows);
                        follows = true;
                    }
                    message.refusal = message.refusal.take().or(part.refusal.0);
                }
            }
            kind @ ("function_call" | "custom_tool_call") => {
                let arguments = if kind == "function_call" { &item.arguments } else { &item.input };
                let call = ToolCall::new(item.call_id.text(), item.name.text(), arguments.text());
                message.tool_calls.push(call);
            }
            _ => {}
        }
    }
    message
}

/// The text of the items of a whole answer.
pub(in crate::api) fn text_of_items(answer: &Object) -> String {
    message_of(&members(answer, "output").unwrap_or_default()).content
}
