//! Requests of the other APIs as requests for chat completions, for providers that have no other. What only tunes the
//! model is left out, and so are tools that another provider would run itself; what changes the question and cannot be
//! said is an error that names it.

use super::answer::of_blocks;
use super::protocol::Api;
use super::reading::{text_part, url_part};
use crate::chat;
use crate::error::{Error, Result};
use crate::record::{Object, quote};

/// Members of a request for Responses without which it is another question.
const UNSAYABLE_MEMBERS: [&str; 4] = ["previous_response_id", "conversation", "prompt", "background"];
const UNSAYABLE_MESSAGES_MEMBERS: [&str; 2] = ["mcp_servers", "container"];

/// The parameter of a tool that takes a text, as a function.
const TEXT_PARAMETER: &str = "input";
const TEXT_PARAMETERS: &str =
    r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;

/// A request in the shape of chat completions. Errors name what cannot be said.
pub fn to_chat(api: Api, body: &Object) -> Result<Object> {
    let mut request = Object::default();
    for name in ["model", "temperature", "top_p", "stream", "parallel_tool_calls"] {
        copy(body, name, &mut request, name);
    }
    if body.get("stream") == Some("true") {
        request.set("stream_options", "{\"include_usage\":true}");
    }
    let messages = match api {
        Api::Chat => return Ok(body.clone()),
        Api::Messages => {
            refuse(body, &UNSAYABLE_MESSAGES_MEMBERS)?;
            copy(body, "max_tokens", &mut request, "max_tokens");
            copy(body, "stop_sequences", &mut request, "stop");
            messages_turns(body)?
        }
        Api::Responses => {
            refuse(body, &UNSAYABLE_MEMBERS)?;
            copy(body, "max_output_tokens", &mut request, "max_tokens");
            responses_turns(body)?
        }
    };
    request.set("messages", chat::array(&messages));
    let tools = tools(api, body)?;
    if !tools.is_empty() {
        request.set("tools", chat::array(&tools));
        if let Some(choice) = tool_choice(body)? {
            request.set("tool_choice", choice);
        }
    }
    if let Some(format) = response_format(body) {
        request.set("response_format", format);
    }
    Ok(request)
}

/// The names of the tools of a request that take a text instead of an object.
pub fn text_tools(body: &Object) -> Vec<String> {
    let tools = body.objects("tools").ok().flatten().unwrap_or_default();
    let custom =
        tools.iter().filter(|tool| tool.get("type") == Some("\"custom\"") && !tool.has("input_schema"));
    custom.filter_map(|tool| tool.text("name").ok().flatten()).collect()
}

/// The text that a function that stands for a tool of texts was called with.
pub(super) fn text_argument(arguments: &str) -> String {
    let parsed = Object::parse(arguments).and_then(|arguments| arguments.text(TEXT_PARAMETER));
    parsed.ok().flatten().unwrap_or_else(|| arguments.to_owned())
}

fn copy(from: &Object, name: &str, to: &mut Object, new: &str) {
    if let Some(json) = from.get(name).filter(|json| *json != "null") {
        to.set(new, json);
    }
}

fn refuse(body: &Object, names: &[&str]) -> Result<()> {
    let said = |name: &&&str| body.get(name).is_some_and(|json| !["null", "false", "[]"].contains(&json));
    match names.iter().find(said) {
        Some(name) => Err(unsayable(name)),
        None => Ok(()),
    }
}

/// The error for a part of a request that chat completions have no words for.
fn unsayable(what: &str) -> Error {
    Error::new(format!("{what}: the model's provider has only chat completions, which cannot say it"))
        .hint("leave it out, or name a model whose provider has the API of the request")
}

fn message(role: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message
}

fn set_parts(message: &mut Object, parts: &[Object]) {
    match parts {
        [only] if only.get("type") == Some("\"text\"") => {
            message.set("content", only.get("text").unwrap_or("\"\""));
        }
        parts => message.set("content", chat::array(parts)),
    }
}

fn function_call(id: &str, name: &str, arguments: &str) -> Object {
    let mut call = Object::default();
    call.set_text("id", id);
    call.set_text("type", "function");
    call.set("function", format!("{{\"name\":{},\"arguments\":{}}}", quote(name), quote(arguments)));
    call
}

fn text_of(object: &Object, name: &str) -> String {
    object.text(name).ok().flatten().unwrap_or_default()
}

/// The turns of a request for Messages.
fn messages_turns(body: &Object) -> Result<Vec<Object>> {
    let mut turns = Vec::new();
    if let Some(json) = body.get("system").filter(|json| *json != "null") {
        let mut system = message("system");
        system.set("content", json);
        let text = chat::text(&system);
        system.set_text("content", &text);
        turns.push(system);
    }
    for (at, turn) in body.objects("messages")?.unwrap_or_default().iter().enumerate() {
        let place = |error: Error| error.at(format_args!("messages[{at}]"));
        let role = text_of(turn, "role");
        if !turn.get("content").is_some_and(|json| json.starts_with('[')) {
            let mut plain = message(&role);
            plain.set("content", turn.get("content").unwrap_or("\"\""));
            turns.push(plain);
            continue;
        }
        let blocks = turn.objects("content").map_err(place)?.unwrap_or_default();
        if role == "assistant" {
            turns.push(assistant_turn(&blocks));
        } else {
            user_turns(&role, &blocks, &mut turns).map_err(place)?;
        }
    }
    Ok(turns)
}

fn assistant_turn(blocks: &[Object]) -> Object {
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
    turn
}

/// The results of tools first, then what the user says.
fn user_turns(role: &str, blocks: &[Object], turns: &mut Vec<Object>) -> Result<()> {
    let mut said = Vec::new();
    for block in blocks {
        if block.get("type") != Some("\"tool_result\"") {
            said.push(block_part(block)?);
            continue;
        }
        let mut result = message("tool");
        result.set_text("tool_call_id", &text_of(block, "tool_use_id"));
        let mut texts = Vec::new();
        match block.objects("content") {
            Ok(parts) => {
                for part in parts.unwrap_or_default() {
                    match part.text("text")? {
                        Some(text) => texts.push(text),
                        // The result of a tool has only text there: an image follows it.
                        None => said.push(block_part(&part)?),
                    }
                }
            }
            Err(_) => texts.push(text_of(block, "content")),
        }
        result.set_text("content", &texts.join("\n"));
        turns.push(result);
    }
    if !said.is_empty() {
        let mut turn = message(role);
        set_parts(&mut turn, &said);
        turns.push(turn);
    }
    Ok(())
}

/// A block of a user's as a part.
fn block_part(block: &Object) -> Result<Object> {
    let kind = text_of(block, "type");
    match kind.as_str() {
        "text" => Ok(text_part(&text_of(block, "text"))),
        "image" => {
            let source = block.object("source")?.unwrap_or_default();
            match text_of(&source, "type").as_str() {
                "base64" => {
                    let (media, data) = (text_of(&source, "media_type"), text_of(&source, "data"));
                    Ok(url_part("image_url", &format!("data:{media};base64,{data}")))
                }
                "url" => Ok(url_part("image_url", &text_of(&source, "url"))),
                other => Err(unsayable(&format!("an image by {other}"))),
            }
        }
        "document"
            if block.object("source")?.is_some_and(|source| source.get("type") == Some("\"text\"")) =>
        {
            let source = block.object("source")?.unwrap_or_default();
            Ok(text_part(&text_of(&source, "data")))
        }
        other => Err(unsayable(&format!("a block of type {other}"))),
    }
}

/// The turns of a request for Responses.
fn responses_turns(body: &Object) -> Result<Vec<Object>> {
    let mut turns = Vec::new();
    if let Some(instructions) = body.text("instructions").ok().flatten() {
        let mut system = message("system");
        system.set_text("content", &instructions);
        turns.push(system);
    }
    let json = body.get("input").unwrap_or("\"\"");
    if json.starts_with('"') {
        let mut user = message("user");
        user.set("content", json);
        turns.push(user);
        return Ok(turns);
    }
    for (at, item) in body.objects("input")?.unwrap_or_default().iter().enumerate() {
        add_item(item, &mut turns).map_err(|error| error.at(format_args!("input[{at}]")))?;
    }
    Ok(turns)
}

fn add_item(item: &Object, turns: &mut Vec<Object>) -> Result<()> {
    let kind = text_of(item, "type");
    match kind.as_str() {
        "" | "message" => turns.push(item_turn(item)?),
        "function_call" | "custom_tool_call" => {
            let id = text_of(item, "call_id");
            let arguments = match kind.as_str() {
                "function_call" => text_of(item, "arguments"),
                _ => format!("{{\"{TEXT_PARAMETER}\":{}}}", quote(&text_of(item, "input"))),
            };
            let call = function_call(&id, &text_of(item, "name"), &arguments);
            // Calls that belong together are one turn.
            if turns.last().is_none_or(|turn| turn.get("role") != Some("\"assistant\"")) {
                let mut turn = message("assistant");
                turn.set("content", "null");
                turns.push(turn);
            }
            if let Some(turn) = turns.last_mut() {
                let mut calls = turn.objects("tool_calls")?.unwrap_or_default();
                calls.push(call);
                turn.set("tool_calls", chat::array(&calls));
            }
        }
        "function_call_output" | "custom_tool_call_output" => {
            let mut result = message("tool");
            result.set_text("tool_call_id", &text_of(item, "call_id"));
            let output = item.get("output").unwrap_or("\"\"");
            let mut parts = message("tool");
            parts.set("content", output);
            let text = if output.starts_with(['"', '[']) { chat::text(&parts) } else { output.to_owned() };
            result.set_text("content", &text);
            turns.push(result);
        }
        "reasoning" => {}
        other => return Err(unsayable(&format!("an item of type {other}"))),
    }
    Ok(())
}

fn item_turn(item: &Object) -> Result<Object> {
    let role = text_of(item, "role");
    let mut turn = message(if role == "developer" { "system" } else { &role });
    let content = item.get("content").unwrap_or("\"\"");
    if !content.starts_with('[') {
        turn.set("content", content);
        return Ok(turn);
    }
    let mut parts = Vec::new();
    for part in item.objects("content")?.unwrap_or_default() {
        let kind = text_of(&part, "type");
        parts.push(match kind.as_str() {
            "input_text" | "output_text" | "text" => text_part(&text_of(&part, "text")),
            "refusal" => text_part(&text_of(&part, "refusal")),
            "input_image" if part.text("image_url")?.is_some() => {
                url_part("image_url", &text_of(&part, "image_url"))
            }
            other => return Err(unsayable(&format!("a part of type {other}"))),
        });
    }
    if role == "user" {
        set_parts(&mut turn, &parts);
    } else {
        let texts: Vec<String> = parts.iter().map(|part| text_of(part, "text")).collect();
        turn.set_text("content", &texts.join("\n"));
    }
    Ok(turn)
}

/// The tools that the caller runs, as functions.
fn tools(api: Api, body: &Object) -> Result<Vec<Object>> {
    let mut functions = Vec::new();
    for tool in body.objects("tools")?.unwrap_or_default() {
        let kind = text_of(&tool, "type");
        let mut function = Object::default();
        function.set_text("name", &text_of(&tool, "name"));
        copy(&tool, "description", &mut function, "description");
        match (api, kind.as_str()) {
            (Api::Messages, "" | "custom") => copy(&tool, "input_schema", &mut function, "parameters"),
            (Api::Responses, "function") => {
                copy(&tool, "parameters", &mut function, "parameters");
                copy(&tool, "strict", &mut function, "strict");
            }
            (Api::Responses, "custom") => function.set("parameters", TEXT_PARAMETERS),
            // It is an offer of the other provider's, which the model need not take.
            _ => continue,
        }
        let mut tool = Object::default();
        tool.set_text("type", "function");
        tool.set("function", function.to_json());
        functions.push(tool);
    }
    Ok(functions)
}

fn tool_choice(body: &Object) -> Result<Option<String>> {
    let Some(json) = body.get("tool_choice").filter(|json| *json != "null") else { return Ok(None) };
    if json.starts_with('"') {
        return Ok(Some(json.to_owned()));
    }
    let choice = body.object("tool_choice")?.unwrap_or_default();
    let kind = text_of(&choice, "type");
    Ok(Some(match kind.as_str() {
        "auto" | "none" => quote(&kind),
        "any" => "\"required\"".to_owned(),
        "tool" | "function" | "custom" => {
            format!(
                "{{\"type\":\"function\",\"function\":{{\"name\":{}}}}}",
                quote(&text_of(&choice, "name"))
            )
        }
        other => return Err(unsayable(&format!("tool_choice of type {other}"))),
    }))
}

/// The form of the answer: a schema, or JSON.
fn response_format(body: &Object) -> Option<String> {
    let format = ["text", "output_config"]
        .into_iter()
        .find_map(|name| body.object(name).ok()??.object("format").ok()?)
        .or_else(|| body.object("output_format").ok()?)?;
    match text_of(&format, "type").as_str() {
        "json_object" => Some("{\"type\":\"json_object\"}".to_owned()),
        "json_schema" => {
            let mut schema = Object::default();
            schema
                .set_text("name", &format.text("name").ok().flatten().unwrap_or_else(|| "answer".to_owned()));
            copy(&format, "schema", &mut schema, "schema");
            copy(&format, "strict", &mut schema, "strict");
            Some(format!("{{\"type\":\"json_schema\",\"json_schema\":{}}}", schema.to_json()))
        }
        _ => None,
    }
}
