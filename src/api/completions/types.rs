//! The types of OpenAI's chat completions, by the names of its reference, as far as requests and answers are
//! translated.

use crate::api::lenient::{Lenient, Tokens};
use crate::record::Object;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A message of a request.
#[derive(Debug, Serialize)]
pub(in crate::api) struct MessageOfRequest<'a> {
    pub(in crate::api) role: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) tool_call_id: Option<String>,
    pub(in crate::api) content: MessageContent<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::api) tool_calls: Vec<ToolCall>,
}

/// The content of a message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::api) enum MessageContent<'a> {
    Null,
    /// As the client wrote it.
    Raw(&'a RawValue),
    Text(String),
    Parts(Vec<ContentPart<'a>>),
}

/// A part of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::api) enum ContentPart<'a> {
    Text {
        text: MessageContent<'a>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
    /// Another one, which is the same in both APIs.
    #[serde(untagged)]
    Raw(&'a RawValue),
}

#[derive(Debug, Serialize)]
pub(in crate::api) struct ImageUrl<'a> {
    pub(in crate::api) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) detail: Option<&'a RawValue>,
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize)]
pub(in crate::api) struct ToolCall {
    pub(in crate::api) id: String,
    r#type: &'static str,
    pub(in crate::api) function: FunctionCall,
}

#[derive(Clone, Debug, Serialize)]
pub(in crate::api) struct FunctionCall {
    pub(in crate::api) name: String,
    pub(in crate::api) arguments: String,
}

/// A tool that the caller runs, or the choice of one.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::api) enum Tool<F> {
    Function { function: F },
}

#[derive(Serialize)]
pub(in crate::api) struct FunctionDefinition<'a> {
    pub(in crate::api) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) description: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) parameters: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) strict: Option<&'a RawValue>,
}

/// How the tools may be called.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::api) enum ToolChoice {
    /// `auto`, `none` or `required`.
    Mode(String),
    Named(Tool<FunctionName>),
}

#[derive(Serialize)]
pub(in crate::api) struct FunctionName {
    pub(in crate::api) name: String,
}

/// The form of the answer.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::api) enum ResponseFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: JsonSchema<'a> },
}

#[derive(Serialize)]
pub(in crate::api) struct JsonSchema<'a> {
    pub(in crate::api) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) description: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) schema: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) strict: Option<&'a RawValue>,
}

#[derive(Serialize)]
pub(in crate::api) struct StreamOptions {
    pub(in crate::api) include_usage: bool,
}

/// A message of the model: the answer to a request of any API.
#[derive(Default, Serialize)]
#[serde(tag = "role", rename = "assistant")]
pub(in crate::api) struct MessageOfAnswer {
    #[serde(serialize_with = "null_if_empty")]
    pub(in crate::api) content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::api) refusal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::api) tool_calls: Vec<ToolCall>,
}

fn null_if_empty<S: serde::Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    Some(text).filter(|text| !text.is_empty()).serialize(to)
}

/// A choice of an answer, or of a chunk of one.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::api) struct Choice {
    #[serde(default = "first_index")]
    pub(in crate::api) index: Lenient<u64>,
    pub(in crate::api) delta: Lenient<Object>,
    pub(in crate::api) message: Lenient<Object>,
    pub(in crate::api) finish_reason: Lenient<String>,
}

/// The index of a choice that has none.
fn first_index() -> Lenient<u64> {
    Lenient(Some(0))
}

/// A call of a tool in an answer, or a piece of one in a chunk.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::api) struct ToolCallDelta<'a> {
    #[serde(borrow)]
    pub(in crate::api) index: Option<&'a RawValue>,
    pub(in crate::api) id: Lenient<String>,
    #[serde(borrow)]
    pub(in crate::api) function: Lenient<FunctionCallDelta<'a>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::api) struct FunctionCallDelta<'a> {
    pub(in crate::api) name: Lenient<String>,
    /// A text, or the object that stands in its place at some providers.
    #[serde(borrow)]
    pub(in crate::api) arguments: Option<&'a RawValue>,
}

/// The tokens of an answer.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub(in crate::api) struct CompletionUsage {
    pub(in crate::api) prompt_tokens: Tokens,
    pub(in crate::api) completion_tokens: Tokens,
    pub(in crate::api) prompt_tokens_details: Lenient<PromptTokensDetails>,
    pub(in crate::api) completion_tokens_details: Lenient<CompletionTokensDetails>,
    /// DeepSeek's.
    pub(in crate::api) prompt_cache_hit_tokens: Tokens,
}

#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub(in crate::api) struct PromptTokensDetails {
    pub(in crate::api) cached_tokens: Tokens,
}

#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub(in crate::api) struct CompletionTokensDetails {
    pub(in crate::api) reasoning_tokens: Tokens,
}

impl<'a> ToolCallDelta<'a> {
    /// The call of old servers, which have at most one.
    pub(in crate::api) fn of(function: FunctionCallDelta<'a>) -> ToolCallDelta<'a> {
        ToolCallDelta { function: Lenient(Some(function)), ..ToolCallDelta::default() }
    }

    /// The name of its function, empty if it has none.
    pub(in crate::api) fn name(&self) -> &str {
        self.function.as_ref().map_or("", |function| function.name.text())
    }

    /// Its arguments, as JSON text.
    pub(in crate::api) fn arguments(&self) -> Option<&'a str> {
        self.function.as_ref()?.arguments.map(RawValue::get)
    }
}

impl CompletionUsage {
    /// The tokens of the request that were read from the provider's cache.
    pub(in crate::api) fn cached_tokens(&self) -> Option<usize> {
        self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens.0)
    }
}

impl<'a> MessageOfRequest<'a> {
    /// A message without calls.
    pub(in crate::api) fn new(role: impl Into<Cow<'a, str>>, content: MessageContent<'a>) -> Self {
        MessageOfRequest { role: role.into(), tool_call_id: None, content, tool_calls: Vec::new() }
    }
}

impl MessageContent<'_> {
    /// The text of one that is a text; empty for others.
    pub(in crate::api) fn text(&self) -> String {
        match self {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Raw(json) => serde_json::from_str(json.get()).unwrap_or_default(),
            MessageContent::Null | MessageContent::Parts(_) => String::new(),
        }
    }
}

impl ContentPart<'_> {
    /// A text as a part.
    pub(in crate::api) fn text(text: impl Into<String>) -> Self {
        ContentPart::Text { text: MessageContent::Text(text.into()) }
    }

    /// An image at an address as a part.
    pub(in crate::api) fn image(url: impl Into<String>) -> Self {
        ContentPart::ImageUrl { image_url: ImageUrl { url: url.into(), detail: None } }
    }
}

impl ToolCall {
    /// A call of a function with these arguments.
    pub(in crate::api) fn new(id: &str, name: &str, arguments: &str) -> ToolCall {
        let function = FunctionCall { name: name.to_owned(), arguments: arguments.to_owned() };
        ToolCall { id: id.to_owned(), r#type: "function", function }
    }
}

impl MessageOfAnswer {
    /// Adds a text; one that does not follow the last directly begins a line.
    pub(in crate::api) fn add_text(&mut self, text: &str, follows: bool) {
        if !follows && !self.content.is_empty() && !text.is_empty() {
            self.content.push('\n');
        }
        self.content.push_str(text);
    }
}
