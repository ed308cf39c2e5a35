//! Requests of the other APIs as requests for chat completions, for providers that have no other. Members
//! that only tune the model are left out, and so are tools that another provider would run itself; a member
//! that changes the question and has no counterpart is an error that names it.

use super::chat_turns::{self, TEXT_PARAMETER, text_of, unsayable};
use super::protocol::Api;
use crate::chat;
use crate::error::Result;
use crate::record::{Object, quote};

/// Members of a request without which it is another question, or gets another answer.
const UNSAYABLE_RESPONSES_MEMBERS: [&str; 5] =
    ["previous_response_id", "conversation", "prompt", "background", "top_logprobs"];
const UNSAYABLE_MESSAGES_MEMBERS: [&str; 3] = ["mcp_servers", "container", "inference_geo"];
/// The `include` value of Responses that chat completions lack; the others concern tools that the provider
/// runs, or its reasoning.
const UNSAYABLE_INCLUDED: &str = "message.output_text.logprobs";

/// The parameters of a tool that takes a text, as a function.
const TEXT_PARAMETERS: &str =
    r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;

/// The parts of a translated request that its answer depends on.
#[derive(Clone, Debug)]
pub struct Translation {
    pub(super) api: Api,
    /// The names of the tools that take a text instead of an object.
    pub(super) text_tools: Vec<String>,
    /// The members of a request for Responses that its answer repeats.
    pub(super) asked: Object,
    /// The approximate tokens of the request.
    pub(super) prompt_tokens: usize,
}

impl Translation {
    /// Of a request of an API with this many tokens.
    pub fn new(api: Api, body: &Object, prompt_tokens: usize) -> Translation {
        let mut asked = Object::default();
        let repeated = [("parallel_tool_calls", "true"), ("tool_choice", "\"auto\""), ("tools", "[]")];
        for (name, usual) in repeated.into_iter().filter(|_| api == Api::Responses) {
            let json = body.get(name).filter(|json| *json != "null").unwrap_or(usual);
            asked.set(name, json);
        }
        Translation { api, text_tools: text_tools(body), asked, prompt_tokens }
    }
}

/// A request in the shape of chat completions; `length_member` is the member that bounds the answer. Errors
/// name the member without a counterpart.
pub fn to_chat(api: Api, body: &Object, length_member: &str) -> Result<Object> {
    let mut request = Object::default();
    for name in ["model", "temperature", "top_p", "stream"] {
        copy(body, name, &mut request, name);
    }
    if body.get("stream") == Some("true") {
        request.set("stream_options", "{\"include_usage\":true}");
    }
    let messages = match api {
        Api::Chat => return Ok(body.clone()),
        Api::Messages => {
            refuse(body, &UNSAYABLE_MESSAGES_MEMBERS)?;
            copy(body, "max_tokens", &mut request, length_member);
            copy(body, "stop_sequences", &mut request, "stop");
            copy_effort(body, "output_config", &mut request);
            chat_turns::of_messages(body)?
        }
        Api::Responses => {
            refuse(body, &UNSAYABLE_RESPONSES_MEMBERS)?;
            if body.get("include").is_some_and(|included| included.contains(UNSAYABLE_INCLUDED)) {
                return Err(unsayable(UNSAYABLE_INCLUDED));
            }
            copy(body, "max_output_tokens", &mut request, length_member);
            copy_effort(body, "reasoning", &mut request);
            chat_turns::of_responses(body)?
        }
    };
    request.set("messages", chat::array(&messages));
    add_tools(api, body, &mut request)?;
    if let Some(format) = response_format(body)? {
        request.set("response_format", format);
    }
    Ok(request)
}

/// The names of the tools of a request that take a text instead of an object.
fn text_tools(body: &Object) -> Vec<String> {
    let tools = body.objects("tools").ok().flatten().unwrap_or_default();
    let custom =
        tools.iter().filter(|tool| tool.get("type") == Some("\"custom\"") && !tool.has("input_schema"));
    custom.filter_map(|tool| tool.text("name").ok().flatten()).collect()
}

/// The text that a function that stands for a tool of texts was called with.
pub(super) fn text_argument(arguments: &str) -> String {
    match Object::parse(arguments) {
        Ok(object) if object.is_empty() => String::new(),
        Ok(object) => object.text(TEXT_PARAMETER).ok().flatten().unwrap_or_else(|| arguments.to_owned()),
        Err(_) => arguments.to_owned(),
    }
}

fn copy(from: &Object, name: &str, to: &mut Object, new: &str) {
    if let Some(json) = from.get(name).filter(|json| *json != "null") {
        to.set(new, json);
    }
}

/// Copies the effort that the model is to make.
fn copy_effort(body: &Object, name: &str, request: &mut Object) {
    if let Ok(Some(settings)) = body.object(name) {
        copy(&settings, "effort", request, "reasoning_effort");
    }
}

fn refuse(body: &Object, names: &[&str]) -> Result<()> {
    let said =
        |name: &&&str| body.get(name).is_some_and(|json| !["null", "false", "[]", "0"].contains(&json));
    match names.iter().find(said) {
        Some(name) => Err(unsayable(name)),
        None => Ok(()),
    }
}

/// Adds the tools that the caller runs, and how they may be called.
fn add_tools(api: Api, body: &Object, request: &mut Object) -> Result<()> {
    let offered = body.objects("tools")?.unwrap_or_default();
    let functions: Vec<Object> = offered.iter().filter_map(|tool| function(api, tool)).collect();
    let choice = tool_choice(body, &functions)?;
    if functions.is_empty() {
        return match choice.as_deref() {
            Some("\"required\"") if !offered.is_empty() => {
                Err(unsayable("tool_choice, where every tool is the provider's own"))
            }
            _ => Ok(()),
        };
    }
    let tools = functions
        .iter()
        .map(|function| format!("{{\"type\":\"function\",\"function\":{}}}", function.to_json()));
    request.set("tools", format!("[{}]", tools.collect::<Vec<_>>().join(",")));
    if let Some(choice) = choice {
        request.set("tool_choice", choice);
    }
    copy(body, "parallel_tool_calls", request, "parallel_tool_calls");
    let choice = body.object("tool_choice").ok().flatten().unwrap_or_default();
    if choice.get("disable_parallel_tool_use") == Some("true") {
        request.set("parallel_tool_calls", "false");
    }
    Ok(())
}

/// A tool as a function; `None` for an offer of the other provider's, which the model need not take.
fn function(api: Api, tool: &Object) -> Option<Object> {
    let mut function = Object::default();
    function.set_text("name", &text_of(tool, "name"));
    copy(tool, "description", &mut function, "description");
    match (api, text_of(tool, "type").as_str()) {
        (Api::Messages, "" | "custom") => copy(tool, "input_schema", &mut function, "parameters"),
        (Api::Responses, "function") => copy(tool, "parameters", &mut function, "parameters"),
        (Api::Responses, "custom") => function.set("parameters", TEXT_PARAMETERS),
        _ => return None,
    }
    copy(tool, "strict", &mut function, "strict");
    Some(function)
}

fn tool_choice(body: &Object, functions: &[Object]) -> Result<Option<String>> {
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
            let name = quote(&text_of(&choice, "name"));
            if !functions.iter().any(|function| function.get("name") == Some(&name)) {
                return Err(unsayable(&format!("tool_choice of the tool {name}")));
            }
            format!("{{\"type\":\"function\",\"function\":{{\"name\":{name}}}}}")
        }
        other => return Err(unsayable(&format!("tool_choice of type {other}"))),
    }))
}

/// The form of the answer: a schema, or JSON.
fn response_format(body: &Object) -> Result<Option<String>> {
    let of = |name| {
        body.object(name).ok().flatten().and_then(|settings: Object| settings.object("format").ok()?)
    };
    let format = of("text").or_else(|| of("output_config")).or_else(|| body.object("output_format").ok()?);
    let Some(format) = format else { return Ok(None) };
    match text_of(&format, "type").as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some("{\"type\":\"json_object\"}".to_owned())),
        "json_schema" => {
            let mut schema = Object::default();
            let name = format.text("name").ok().flatten();
            schema.set_text("name", name.as_deref().unwrap_or("answer"));
            for name in ["description", "schema", "strict"] {
                copy(&format, name, &mut schema, name);
            }
            Ok(Some(format!("{{\"type\":\"json_schema\",\"json_schema\":{}}}", schema.to_json())))
        }
        other => Err(unsayable(&format!("an answer in the format {other}"))),
    }
}
