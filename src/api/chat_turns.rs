//! The turns of requests of the other APIs as turns of chat completions.

use super::answer::of_blocks;
use super::reading::{text_part, url_part};
use crate::chat;
use crate::error::{Error, Result};
use crate::record::{Object, quote};

/// The parameter of a tool that takes a text, as a function.
pub(super) const TEXT_PARAMETER: &str = "input";

/// The beginning of the result of a tool that failed: chat completions have no other sign of it.
const FAILED: &str = "Error";

/// The blocks of an assistant that chat completions have, and its reasoning, which only its own provider can use.
const ASSISTANT_BLOCKS: [&str; 4] = ["text", "tool_use", "thinking", "redacted_thinking"];

/// The error for a part of a request without a counterpart in chat completions.
pub(super) fn unsayable(what: &str) -> Error {
    Error::new(format!("{what}: the model's provider has only chat completions, which cannot say it"))
        .hint("leave it out, or name a model whose provider has the API of the request")
}

pub(super) fn text_of(object: &Object, name: &str) -> String {
    object.text(name).ok().flatten().unwrap_or_default()
}

/// Turns as they are added. The result of a tool has only text there: its other parts become the user's,
/// after the results of all calls of its turn, which must follow the turn.
#[derive(Default)]
struct Turns {
    turns: Vec<Object>,
    /// The parts that wait for the end of the results.
    from_tools: Vec<Object>,
}

impl Turns {
    fn push(&mut self, turn: Object) {
        self.end_results();
        self.turns.push(turn);
    }

    /// Adds a turn of the user's. The results of tools come before the words.
    fn push_user(&mut self, parts: Vec<Object>) {
        let mut all = std::mem::take(&mut self.from_tools);
        all.extend(parts);
        if all.is_empty() {
            return;
        }
        let mut turn = message("user");
        match all.as_slice() {
            [only] if only.get("type") == Some("\"text\"") => {
                turn.set("content", only.get("text").unwrap_or("\"\""));
            }
            parts => turn.set("content", chat::array(parts)),
        }
        self.turns.push(turn);
    }

    /// Adds a turn whose content is a JSON string.
    fn push_plain(&mut self, role: &str, content: &str) {
        if role == "user" {
            let mut part = text_part("");
            part.set("text", content);
            return self.push_user(vec![part]);
        }
        let mut turn = message(role);
        turn.set("content", content);
        self.push(turn);
    }

    /// Adds the result of a call: its texts, and its other parts.
    fn push_result(&mut self, call: &str, texts: &[String], others: Vec<Object>) {
        let mut result = message("tool");
        result.set_text("tool_call_id", call);
        result.set_text("content", &texts.join("\n"));
        self.turns.push(result);
        if !others.is_empty() {
            self.from_tools.push(text_part(&format!("Returned by the tool call {call}:")));
            self.from_tools.extend(others);
        }
    }

    /// The last turn, if it is the assistant's and no result has come after it.
    fn last_assistant(&mut self) -> Option<&mut Object> {
        self.turns.last_mut().filter(|turn| turn.get("role") == Some("\"assistant\""))
    }

    fn end_results(&mut self) {
        self.push_user(Vec::new());
    }

    fn finish(mut self) -> Vec<Object> {
        self.end_results();
        self.turns
    }
}

fn message(role: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message
}

/// The turns of a request for Messages. Errors name the part without a counterpart.
pub(super) fn of_messages(body: &Object) -> Result<Vec<Object>> {
    let mut turns = Turns::default();
    if let Some(json) = body.get("system").filter(|json| *json != "null") {
        let mut system = message("system");
        system.set("content", json);
        let text = chat::text(&system);
        system.set_text("content", &text);
        turns.push(system);
    }
    for (at, turn) in body.objects("messages")?.unwrap_or_default().iter().enumerate() {
        add_message(turn, &mut turns).map_err(|error| error.at(format_args!("messages[{at}]")))?;
    }
    Ok(turns.finish())
}

fn add_message(turn: &Object, turns: &mut Turns) -> Result<()> {
    let role = text_of(turn, "role");
    let content = turn.get("content").unwrap_or("\"\"");
    if !content.starts_with('[') {
        turns.push_plain(&role, content);
        return Ok(());
    }
    let blocks = turn.objects("content")?.unwrap_or_default();
    match role.as_str() {
        "assistant" => turns.push(assistant_turn(&blocks)?),
        "user" => add_user_blocks(&blocks, turns)?,
        role => {
            let mut plain = message(role);
            plain.set("content", content);
            let text = chat::text(&plain);
            plain.set_text("content", &text);
            turns.push(plain);
        }
    }
    Ok(())
}

fn assistant_turn(blocks: &[Object]) -> Result<Object> {
    for block in blocks {
        let kind = text_of(block, "type");
        if !ASSISTANT_BLOCKS.contains(&kind.as_str()) {
            return Err(unsayable(&format!("a block of type {kind}")));
        }
    }
    let found = of_blocks(blocks);
    let mut turn = message("assistant");
    if found.text.is_empty() {
        turn.set("content", "null");
    } else {
        turn.set_text("content", &found.text);
    }
    if !found.calls.is_empty() {
        turn.set("tool_calls", chat::array(&found.calls));
    }
    Ok(turn)
}

/// The results of tools first, then what the user says.
fn add_user_blocks(blocks: &[Object], turns: &mut Turns) -> Result<()> {
    let mut said = Vec::new();
    for block in blocks {
        if block.get("type") == Some("\"tool_result\"") {
            add_result(block, turns)?;
        } else {
            said.push(block_part(block)?);
        }
    }
    if !said.is_empty() {
        turns.push_user(said);
    }
    Ok(())
}

fn add_result(block: &Object, turns: &mut Turns) -> Result<()> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    match block.objects("content") {
        Ok(parts) => {
            for part in parts.unwrap_or_default() {
                let part = block_part(&part)?;
                match part.text("text")? {
                    Some(text) => texts.push(text),
                    None => others.push(part),
                }
            }
        }
        Err(_) => texts.push(text_of(block, "content")),
    }
    if block.get("is_error") == Some("true") {
        let failed = match texts.first() {
            Some(text) => format!("{FAILED}: {text}"),
            None => FAILED.to_owned(),
        };
        texts.splice(..texts.len().min(1), [failed]);
    }
    turns.push_result(&text_of(block, "tool_use_id"), &texts, others);
    Ok(())
}

/// A block of a user's as a part.
fn block_part(block: &Object) -> Result<Object> {
    let kind = text_of(block, "type");
    let source = || block.object("source").map(Option::unwrap_or_default);
    match kind.as_str() {
        "text" => Ok(text_part(&text_of(block, "text"))),
        "image" => {
            let source = source()?;
            match text_of(&source, "type").as_str() {
                "base64" => {
                    let (media, data) = (text_of(&source, "media_type"), text_of(&source, "data"));
                    Ok(url_part("image_url", &format!("data:{media};base64,{data}")))
                }
                "url" => Ok(url_part("image_url", &text_of(&source, "url"))),
                other => Err(unsayable(&format!("an image by {other}"))),
            }
        }
        "document" => {
            let data = document_text(&source()?).ok_or_else(|| unsayable("a block of type document"))?;
            let names = ["title", "context"].map(|name| text_of(block, name));
            let texts = names.into_iter().chain([data]).filter(|text| !text.is_empty());
            Ok(text_part(&texts.collect::<Vec<_>>().join("\n")))
        }
        other => Err(unsayable(&format!("a block of type {other}"))),
    }
}

/// The text of a document; `None` if it is more than text.
fn document_text(source: &Object) -> Option<String> {
    match text_of(source, "type").as_str() {
        "text" => Some(text_of(source, "data")),
        "content" => {
            let blocks = source.objects("content").ok().flatten().unwrap_or_default();
            let is_text = blocks.iter().all(|block| block.get("type") == Some("\"text\""));
            is_text.then(|| chat::text(source))
        }
        _ => None,
    }
}

/// The turns of a request for Responses. Errors name the part without a counterpart.
pub(super) fn of_responses(body: &Object) -> Result<Vec<Object>> {
    let mut turns = Turns::default();
    if let Some(instructions) = body.text("instructions").ok().flatten() {
        let mut system = message("system");
        system.set_text("content", &instructions);
        turns.push(system);
    }
    let json = body.get("input").unwrap_or("\"\"");
    if json.starts_with('"') {
        turns.push_plain("user", json);
        return Ok(turns.finish());
    }
    for (at, item) in body.objects("input")?.unwrap_or_default().iter().enumerate() {
        add_item(item, &mut turns).map_err(|error| error.at(format_args!("input[{at}]")))?;
    }
    Ok(turns.finish())
}

fn add_item(item: &Object, turns: &mut Turns) -> Result<()> {
    let kind = text_of(item, "type");
    match kind.as_str() {
        "" | "message" => add_message_item(item, turns)?,
        "function_call" | "custom_tool_call" => {
            let arguments = match kind.as_str() {
                "function_call" => text_of(item, "arguments"),
                _ => format!("{{\"{TEXT_PARAMETER}\":{}}}", quote(&text_of(item, "input"))),
            };
            add_call(function_call(&text_of(item, "call_id"), &text_of(item, "name"), &arguments), turns)?;
        }
        "function_call_output" | "custom_tool_call_output" => add_output(item, turns)?,
        "reasoning" => {}
        other => return Err(unsayable(&format!("an item of type {other}"))),
    }
    Ok(())
}

/// A call as chat completions have it. One without arguments has an object without members: not every provider reads
/// an empty text.
fn function_call(id: &str, name: &str, arguments: &str) -> Object {
    let mut call = Object::default();
    call.set_text("id", id);
    call.set_text("type", "function");
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    call.set("function", format!("{{\"name\":{},\"arguments\":{}}}", quote(name), quote(arguments)));
    call
}

/// Adds a call to the turn of the assistant that it belongs to.
fn add_call(call: Object, turns: &mut Turns) -> Result<()> {
    if turns.last_assistant().is_none() {
        let mut turn = message("assistant");
        turn.set("content", "null");
        turns.push(turn);
    }
    if let Some(turn) = turns.last_assistant() {
        let mut calls = turn.objects("tool_calls")?.unwrap_or_default();
        calls.push(call);
        turn.set("tool_calls", chat::array(&calls));
    }
    Ok(())
}

fn add_output(item: &Object, turns: &mut Turns) -> Result<()> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    let output = item.get("output").unwrap_or("\"\"");
    match item.objects("output") {
        Ok(parts) => {
            for part in parts.unwrap_or_default() {
                let part = content_part(&part)?;
                match part.text("text")? {
                    Some(text) => texts.push(text),
                    None => others.push(part),
                }
            }
        }
        Err(_) if output.starts_with('"') => texts.push(text_of(item, "output")),
        Err(_) => texts.push(output.to_owned()),
    }
    turns.push_result(&text_of(item, "call_id"), &texts, others);
    Ok(())
}

/// A part of the content of an item.
fn content_part(part: &Object) -> Result<Object> {
    let kind = text_of(part, "type");
    match kind.as_str() {
        "input_text" | "output_text" | "text" => Ok(text_part(&text_of(part, "text"))),
        "refusal" => Ok(text_part(&text_of(part, "refusal"))),
        "input_image" if part.text("image_url")?.is_some() => {
            let mut image = url_part("image_url", &text_of(part, "image_url"));
            if let (Some(detail), Some(mut url)) = (part.get("detail"), image.object("image_url")?) {
                url.set("detail", detail);
                image.set("image_url", url.to_json());
            }
            Ok(image)
        }
        // It is the same in both.
        "input_audio" => Ok(part.clone()),
        other => Err(unsayable(&format!("a part of type {other}"))),
    }
}

fn add_message_item(item: &Object, turns: &mut Turns) -> Result<()> {
    let role = match text_of(item, "role").as_str() {
        "developer" => "system".to_owned(),
        role => role.to_owned(),
    };
    let mut content = item.get("content").unwrap_or("\"\"").to_owned();
    if content.starts_with('[') {
        let parts = item.objects("content")?.unwrap_or_default();
        let chat_parts = parts.iter().map(content_part).collect::<Result<Vec<Object>>>()?;
        if role == "user" {
            turns.push_user(chat_parts);
            return Ok(());
        }
        if let Some(at) = chat_parts.iter().position(|part| !part.has("text")) {
            let kind = text_of(&parts[at], "type");
            return Err(unsayable(&format!("a part of type {kind} of the role {role}")));
        }
        let texts: Vec<String> = chat_parts.iter().map(|part| text_of(part, "text")).collect();
        content = quote(&texts.join("\n"));
    }
    match turns.last_assistant().filter(|turn| role == "assistant" && turn.has("tool_calls")) {
        Some(turn) => {
            // The results of its calls have to follow it.
            let mut said = message("assistant");
            said.set("content", content);
            let said = [text_of(turn, "content"), text_of(&said, "content")];
            let said = said.into_iter().filter(|text| !text.is_empty());
            turn.set_text("content", &said.collect::<Vec<_>>().join("\n"));
        }
        None => turns.push_plain(&role, &content),
    }
    Ok(())
}
