//! A request of another API as one for chat completions, for providers that have no other. Members that only
//! tune the model are left out, and so are tools that another provider would run itself; a member that
//! changes the question and has no counterpart is an error that names it.

use super::types::{
    FunctionDefinition, FunctionName, JsonSchema, MessageOfRequest, ResponseFormat, StreamOptions, Tool,
    ToolChoice,
};
use crate::api::lenient::{Lenient, member, members};
use crate::error::{Error, Result, failures};
use crate::record::{Object, invalid, quote, unexpected};
use serde::Deserialize;
use serde_json::value::RawValue;

failures! { enum ConversionError {
    Unsayable { part: String } ("{part}: the model's provider has only chat completions, which cannot say it")
        => "leave it out, or name a model whose provider has the API of the request",
} }

/// The error for a part of a request without a counterpart in chat completions.
pub(in crate::api) fn unsayable(part: &str) -> Error {
    ConversionError::Unsayable { part: part.to_owned() }.into()
}

/// The error for a part without a counterpart, by its type: `what` ends before that, and `member` has it.
pub(in crate::api) fn unsayable_type(what: &str, kind: &Lenient<String>, member: &'static str) -> Error {
    match kind.text() {
        "" => invalid(member, "expected a string"),
        kind => unsayable(&format!("{what} {kind}")),
    }
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

/// A tool that the model may call: a function, or an offer of the other provider's.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::api) struct ToolParam<'a> {
    pub(in crate::api) r#type: Lenient<String>,
    pub(in crate::api) name: Lenient<String>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    /// The parameters in Messages.
    #[serde(borrow)]
    pub(in crate::api) input_schema: Option<&'a RawValue>,
    /// The parameters in Responses.
    #[serde(borrow)]
    pub(in crate::api) parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    strict: Option<&'a RawValue>,
}

impl ToolParam<'_> {
    /// Whether it takes a text instead of an object.
    pub(in crate::api) fn is_text_tool(&self) -> bool {
        self.r#type.text() == "custom" && self.input_schema.is_none()
    }
}

/// The choice among the tools of a request of either API.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolChoiceParam {
    r#type: Lenient<String>,
    name: Lenient<String>,
    disable_parallel_tool_use: Lenient<bool>,
}

/// A request for chat completions, of the members that have the same name in all APIs. Errors if `body` has
/// one of the `unsayable` members.
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
    if let Some(effort) = member(body, name).and_then(|settings: OutputSettings| settings.effort) {
        request.set("reasoning_effort", effort.get());
    }
}

/// Adds the messages, the form of the answer, and the tools that the caller runs. `parameters` finds those of
/// a tool, if it has any; `None` for an offer of the other provider's, which the model need not take.
pub(in crate::api) fn finish<'a>(
    mut request: Object,
    body: &'a Object,
    messages: &[MessageOfRequest],
    parameters: impl Fn(&ToolParam<'a>) -> Option<Option<&'a RawValue>>,
) -> Result<Object> {
    request.set_value("messages", &messages);
    let offered: Vec<ToolParam> = members(body, "tools")?;
    let is_offered = !offered.is_empty();
    let function = |tool: ToolParam<'a>| {
        let (parameters, name) = (parameters(&tool)?, tool.name.0.unwrap_or_default());
        Some(FunctionDefinition { name, description: tool.description, parameters, strict: tool.strict })
    };
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
    let tools: Vec<_> = functions.into_iter().map(|function| Tool::Function { function }).collect();
    request.set_value("tools", &tools);
    if let Some(choice) = choice {
        request.set_value("tool_choice", &choice);
    }
    copy(body, "parallel_tool_calls", request, "parallel_tool_calls");
    let choice: ToolChoiceParam = member(body, "tool_choice").unwrap_or_default();
    if choice.disable_parallel_tool_use.0 == Some(true) {
        request.set("parallel_tool_calls", "false");
    }
    Ok(())
}

fn tool_choice(body: &Object, functions: &[FunctionDefinition]) -> Result<Option<ToolChoice>> {
    if let Ok(mode) = body.text("tool_choice") {
        return Ok(mode.map(ToolChoice::Mode));
    }
    let json = body.get("tool_choice").unwrap_or_default();
    let choice = member(body, "tool_choice").ok_or_else(|| unexpected("tool_choice", "an object", json))?;
    let choice: ToolChoiceParam = choice;
    Ok(Some(match choice.r#type.text() {
        kind @ ("auto" | "none") => ToolChoice::Mode(kind.to_owned()),
        "any" => ToolChoice::Mode("required".to_owned()),
        "tool" | "function" | "custom" => {
            let name = choice.name.text().to_owned();
            if !functions.iter().any(|function| function.name == name) {
                return Err(unsayable(&format!("tool_choice of the tool {}", quote(&name))));
            }
            ToolChoice::Named(Tool::Function { function: FunctionName { name } })
        }
        _ => return Err(unsayable_type("tool_choice of type", &choice.r#type, "tool_choice.type")),
    }))
}

/// The form of the answer: a schema, or JSON.
fn response_format(body: &Object) -> Result<Option<ResponseFormat<'_>>> {
    let of = |name| member(body, name).and_then(|settings: OutputSettings| settings.format.0);
    let alone = || member(body, "output_format");
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
        _ => Err(unsayable_type("an answer in the format", &format.r#type, "format.type")),
    }
}
