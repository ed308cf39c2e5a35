//! A request of another API as one for chat completions, for providers that have no other. Members that only tune the
//! model are left out, and so are tools that another provider would run itself; a member that changes the question and
//! has no counterpart is an error that names it.

use super::types::{
    FunctionDefinition, FunctionName, JsonSchema, MessageOfRequest, NamedToolChoice, ResponseFormat,
    StreamOptions, Tool, ToolChoice,
};
use crate::api::lenient::Lenient;
use crate::error::{Error, Result};
use crate::record::{Object, quote};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The error for a part of a request without a counterpart in chat completions.
pub(in crate::api) fn unsayable(what: &str) -> Error {
    Error::new(format!("{what}: the model's provider has only chat completions, which cannot say it"))
        .hint("leave it out, or name a model whose provider has the API of the request")
}

/// Settings of a request: those of its answer's text, or of the effort that the model is to make.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputSettings<'a> {
    #[serde(borrow)]
    effort: Option<&'a RawValue>,
    #[serde(borrow)]
    format: Lenient<OutputFormat<'a>>,
}

/// The form that an answer is to have.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputFormat<'a> {
    r#type: Lenient<String>,
    name: Lenient<String>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    #[serde(borrow)]
    strict: Option<&'a RawValue>,
}

/// The choice among the tools of a request of either API.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolChoiceParam {
    r#type: Lenient<String>,
    name: Lenient<String>,
    disable_parallel_tool_use: Lenient<bool>,
}

/// A request for chat completions, of the members that have the same name in all APIs. Errors if `body` has one of the
/// `unsayable` members.
pub(in crate::api) fn begin(body: &Object, unsayable_members: &[&str]) -> Result<Object> {
    let says =
        |name: &&&str| body.get(name).is_some_and(|json| !["null", "false", "[]", "0"].contains(&json));
    if let Some(name) = unsayable_members.iter().find(says) {
        return Err(unsayable(name));
    }
    let mut request = Object::default();
    for name in ["model", "temperature", "top_p", "stream"] {
        copy(body, name, &mut request, name);
    }
    if body.get("stream") == Some("true") {
        request.set_value("stream_options", &StreamOptions { include_usage: true });
    }
    Ok(request)
}

/// Copies a member under another name.
pub(in crate::api) fn copy(from: &Object, name: &str, to: &mut Object, new: &str) {
    if let Some(json) = from.get(name).filter(|json| *json != "null") {
        to.set(new, json);
    }
}

/// Copies the effort that the model is to make, from a member with settings.
pub(in crate::api) fn copy_effort(body: &Object, name: &str, request: &mut Object) {
    if let Some(effort) = settings(body, name).and_then(|settings| settings.effort) {
        request.set("reasoning_effort", effort.get());
    }
}

fn settings<'a>(body: &'a Object, name: &str) -> Option<OutputSettings<'a>> {
    body.decode(name, "an object").ok().flatten()
}

/// Adds the messages, the form of the answer, and the tools that the caller runs, each by `function`; that gives nothing
/// for an offer of the other provider's, which the model need not take.
pub(in crate::api) fn finish<'a, T: Deserialize<'a>>(
    mut request: Object,
    body: &'a Object,
    messages: &[MessageOfRequest],
    function: impl FnMut(T) -> Option<FunctionDefinition<'a>>,
) -> Result<Object> {
    request.set_value("messages", &messages);
    let offered: Vec<T> = body.decode("tools", "an array of objects")?.unwrap_or_default();
    let is_offered = !offered.is_empty();
    let functions: Vec<FunctionDefinition> = offered.into_iter().filter_map(function).collect();
    add_tools(body, functions, is_offered, &mut request)?;
    if let Some(format) = response_format(body)? {
        request.set_value("response_format", &format);
    }
    Ok(request)
}

/// Adds tools, and how they may be called.
fn add_tools(
    body: &Object,
    functions: Vec<FunctionDefinition>,
    is_offered: bool,
    request: &mut Object,
) -> Result<()> {
    let choice = tool_choice(body, &functions)?;
    if functions.is_empty() {
        return match choice {
            Some(ToolChoice::Mode(mode)) if mode == "required" && is_offered => {
                Err(unsayable("tool_choice, where every tool is the provider's own"))
            }
            _ => Ok(()),
        };
    }
    let tools: Vec<Tool> = functions.into_iter().map(|function| Tool::Function { function }).collect();
    request.set_value("tools", &tools);
    if let Some(choice) = choice {
        request.set_value("tool_choice", &choice);
    }
    copy(body, "parallel_tool_calls", request, "parallel_tool_calls");
    if choice_param(body).is_some_and(|choice| choice.disable_parallel_tool_use.0 == Some(true)) {
        request.set("parallel_tool_calls", "false");
    }
    Ok(())
}

fn choice_param(body: &Object) -> Option<ToolChoiceParam> {
    body.decode("tool_choice", "an object").ok().flatten()
}

fn tool_choice(body: &Object, functions: &[FunctionDefinition]) -> Result<Option<ToolChoice>> {
    if let Ok(mode) = body.text("tool_choice") {
        return Ok(mode.map(ToolChoice::Mode));
    }
    let choice: ToolChoiceParam = body.decode("tool_choice", "an object")?.unwrap_or_default();
    Ok(Some(match choice.r#type.text() {
        kind @ ("auto" | "none") => ToolChoice::Mode(kind.to_owned()),
        "any" => ToolChoice::Mode("required".to_owned()),
        "tool" | "function" | "custom" => {
            let name = choice.name.text().to_owned();
            if !functions.iter().any(|function| function.name == name) {
                return Err(unsayable(&format!("tool_choice of the tool {}", quote(&name))));
            }
            ToolChoice::Named(NamedToolChoice::Function { function: FunctionName { name } })
        }
        other => return Err(unsayable(&format!("tool_choice of type {other}"))),
    }))
}

/// The form of the answer: a schema, or JSON.
fn response_format(body: &Object) -> Result<Option<ResponseFormat<'_>>> {
    let of = |name| settings(body, name).and_then(|settings| settings.format.0);
    let alone = || body.decode("output_format", "an object").ok().flatten();
    let Some(format) = of("text").or_else(|| of("output_config")).or_else(alone) else { return Ok(None) };
    match format.r#type.text() {
        "text" => Ok(None),
        "json_object" => Ok(Some(ResponseFormat::JsonObject)),
        "json_schema" => {
            let OutputFormat { name, description, schema, strict, .. } = format;
            let name = name.0.unwrap_or_else(|| "answer".to_owned());
            Ok(Some(ResponseFormat::JsonSchema {
                json_schema: JsonSchema { name, description, schema, strict },
            }))
        }
        other => Err(unsayable(&format!("an answer in the format {other}"))),
    }
}
