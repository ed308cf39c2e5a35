//! A request for Messages as one for chat completions. Errors name the part without a counterpart.

use super::types::{ContentBlockParam, MessageParam, Source};
use crate::api::completions::request::{self, unsayable, unsayable_type};
use crate::api::completions::turns::{Turns, texts_and_others};
use crate::api::completions::types::{
    ContentPart, MessageContent, MessageOfAnswer, MessageOfRequest, ToolCall,
};
use crate::api::lenient::{members, objects, raw};
use crate::error::Result;
use crate::record::{Content, Object, not_objects};
use serde_json::value::RawValue;

/// Members of a request without which it is another question, or gets another answer.
const UNSAYABLE_MEMBERS: [&str; 3] = ["mcp_servers", "container", "inference_geo"];

/// The beginning of the result of a tool that failed: chat completions have no other sign of it.
const FAILED: &str = "Error";

/// The blocks of an assistant that chat completions have, and its reasoning, which only its own provider can
/// use.
const ASSISTANT_BLOCKS: [&str; 4] = ["text", "tool_use", "thinking", "redacted_thinking"];

/// The request for chat completions; `length_member` is the member that bounds the answer.
pub(super) fn to_chat(body: &Object, length_member: &str) -> Result<Object> {
    let mut request = request::begin(body, &UNSAYABLE_MEMBERS)?;
    request::copy(body, "max_tokens", &mut request, length_member);
    request::copy(body, "stop_sequences", &mut request, "stop");
    request::copy_effort(body, "output_config", &mut request);
    request::finish(request, body, &turns(body)?, |tool| match tool.r#type.text() {
        "" | "custom" => Some(tool.input_schema),
        _ => None,
    })
}

fn turns(body: &Object) -> Result<Vec<MessageOfRequest<'_>>> {
    let mut turns = Turns::default();
    if let Some(json) = body.get("system").filter(|json| *json != "null") {
        turns.push(MessageOfRequest::new("system", text_of(json)));
    }
    for (at, message) in members(body, "messages")?.into_iter().enumerate() {
        add_message(message, &mut turns).map_err(|error| error.at(format_args!("messages[{at}]")))?;
    }
    Ok(turns.finish())
}

/// The text of a content, empty if it has none.
fn text_of(json: &str) -> MessageContent<'static> {
    MessageContent::Text(Content::from_json(json).map(Content::into_text).unwrap_or_default())
}

fn add_message<'a>(message: MessageParam<'a>, turns: &mut Turns<'a>) -> Result<()> {
    let role = message.role.0.unwrap_or_default();
    let content = message.content.0.unwrap_or(raw("\"\""));
    if !content.get().starts_with('[') {
        turns.push_plain(role, MessageContent::Raw(content));
        return Ok(());
    }
    let blocks = blocks(content)?;
    match role.as_str() {
        "assistant" => turns.push(assistant_turn(&blocks)?),
        "user" => add_user_blocks(&blocks, turns)?,
        _ => turns.push(MessageOfRequest::new(role, text_of(content.get()))),
    }
    Ok(())
}

fn blocks(content: &RawValue) -> Result<Vec<ContentBlockParam<'_>>> {
    objects(content.get()).ok_or_else(|| not_objects("content", content.get()))
}

fn assistant_turn(blocks: &[ContentBlockParam]) -> Result<MessageOfRequest<'static>> {
    let mut kinds = blocks.iter().map(|block| &block.r#type);
    if let Some(kind) = kinds.find(|kind| !ASSISTANT_BLOCKS.contains(&kind.text())) {
        return Err(unsayable_type("a block of type", kind, "type"));
    }
    let MessageOfAnswer { content, tool_calls, .. } = message_of(blocks);
    let content = if content.is_empty() { MessageContent::Null } else { MessageContent::Text(content) };
    Ok(MessageOfRequest { tool_calls, ..MessageOfRequest::new("assistant", content) })
}

/// The blocks of an answer as a message of chat completions: texts and calls.
pub(super) fn message_of(blocks: &[ContentBlockParam]) -> MessageOfAnswer {
    let mut message = MessageOfAnswer::default();
    let mut follows = true;
    for block in blocks {
        let kind = block.r#type.text();
        if kind == "text" {
            message.add_text(block.text.text(), follows);
        } else if kind == "tool_use" {
            let json = block.input.json_or("{}");
            // Arguments that are no JSON are a text there.
            let input = serde_json::from_str(json).unwrap_or_else(|_| json.to_owned());
            message.tool_calls.push(ToolCall::new(block.id.text(), block.name.text(), &input));
        }
        follows = kind == "text";
    }
    message
}

/// The text of the blocks of a whole answer.
pub(in crate::api) fn text_of_blocks(answer: &Object) -> String {
    message_of(&members(answer, "content").unwrap_or_default()).content
}

/// The results of tools first, then the user's words.
fn add_user_blocks<'a>(blocks: &[ContentBlockParam<'a>], turns: &mut Turns<'a>) -> Result<()> {
    let mut parts = Vec::new();
    for block in blocks {
        if block.r#type.text() == "tool_result" {
            add_result(block, turns)?;
        } else {
            parts.push(block_part(block)?);
        }
    }
    if !parts.is_empty() {
        turns.push_user(parts);
    }
    Ok(())
}

fn add_result<'a>(block: &ContentBlockParam<'a>, turns: &mut Turns<'a>) -> Result<()> {
    let json = block.content.json_or("null");
    let (mut texts, others) = match objects::<ContentBlockParam>(json) {
        Some(parts) => texts_and_others(parts.iter().map(block_part))?,
        None if json == "null" => (Vec::new(), Vec::new()),
        None => (vec![serde_json::from_str(json).unwrap_or_default()], Vec::new()),
    };
    if block.is_error.0 == Some(true) {
        let failed = match texts.first() {
            Some(text) => format!("{FAILED}: {text}"),
            None => FAILED.to_owned(),
        };
        texts.splice(..texts.len().min(1), [failed]);
    }
    turns.push_result(block.tool_use_id.text(), &texts, others);
    Ok(())
}

/// A block of a user's as a part.
fn block_part(block: &ContentBlockParam) -> Result<ContentPart<'static>> {
    let none = Source::default();
    let source = block.source.as_ref().unwrap_or(&none);
    match block.r#type.text() {
        "text" => Ok(ContentPart::text(block.text.text())),
        "image" => match source.r#type.text() {
            "base64" => Ok(ContentPart::image(source.data_url())),
            "url" => Ok(ContentPart::image(source.url.text())),
            _ => Err(unsayable_type("an image by", &source.r#type, "source.type")),
        },
        "document" => {
            let data = document_text(source).ok_or_else(|| unsayable("a block of type document"))?;
            let texts = [block.title.text(), block.context.text(), &data];
            let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            Ok(ContentPart::text(texts.join("\n")))
        }
        _ => Err(unsayable_type("a block of type", &block.r#type, "type")),
    }
}

/// The text of a document; `None` if it is more than text.
fn document_text(source: &Source) -> Option<String> {
    match source.r#type.text() {
        "text" => Some(source.data.text().to_owned()),
        "content" => {
            let json = source.content.json_or("[]");
            let blocks: Vec<ContentBlockParam> = objects(json).unwrap_or_default();
            let is_text = blocks.iter().all(|block| block.r#type.text() == "text");
            is_text.then(|| text_of(json).text())
        }
        _ => None,
    }
}
