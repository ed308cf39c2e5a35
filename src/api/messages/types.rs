//! The types of Anthropic's Messages, by the names of its reference, as far as requests and answers are
//! translated.

use crate::api::answer_parts::{AnswerHead, AnswerPart, Call};
use crate::api::completions::types::CompletionUsage;
use crate::api::lenient::{Lenient, Raw, Tokens, raw};
use crate::record::Object;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message of a request.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageParam<'a> {
    pub(super) role: Lenient<String>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
}

/// A block of a message of any type: it has the members of its type.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentBlockParam<'a> {
    pub(super) r#type: Lenient<String>,
    pub(super) text: Lenient<String>,
    #[serde(borrow)]
    pub(super) source: Lenient<Source<'a>>,
    pub(super) title: Lenient<String>,
    pub(super) context: Lenient<String>,
    pub(super) id: Lenient<String>,
    pub(super) name: Lenient<String>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    pub(super) tool_use_id: Lenient<String>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    pub(super) is_error: Lenient<bool>,
}

/// The source of an image or a document.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Source<'a> {
    pub(super) r#type: Lenient<String>,
    pub(super) media_type: Lenient<String>,
    pub(super) data: Lenient<String>,
    pub(super) url: Lenient<String>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
}

/// A message of the model: the answer to a request.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub(super) id: String,
    pub(super) r#type: &'static str,
    pub(super) role: &'static str,
    pub(super) model: &'a RawValue,
    pub(super) content: Vec<ContentBlock<'a>>,
    pub(super) stop_reason: Option<&'static str>,
    pub(super) stop_sequence: Option<&'static str>,
    pub(super) usage: MessageUsage,
}

/// A block of an answer.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentBlock<'a> {
    Text { text: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: ToolInput<'a> },
}

/// The input of a call: an object, or a text of arguments that are no JSON.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolInput<'a> {
    Object(Box<RawValue>),
    Text(&'a str),
}

/// The tokens of an answer; `input_tokens` are those that were neither read from the provider's cache nor
/// written to it.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MessageUsage {
    #[serde(skip_serializing_if = "Tokens::is_absent")]
    pub(super) input_tokens: Tokens,
    #[serde(skip_serializing_if = "Tokens::is_absent")]
    pub(super) cache_creation_input_tokens: Tokens,
    #[serde(skip_serializing_if = "Tokens::is_absent")]
    pub(super) cache_read_input_tokens: Tokens,
    #[serde(skip_serializing_if = "Tokens::is_absent")]
    pub(super) output_tokens: Tokens,
}

/// An event of a streamed answer.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum MessageStreamEvent<'a> {
    MessageStart { message: Message<'a> },
    ContentBlockStart { index: usize, content_block: ContentBlock<'a> },
    ContentBlockDelta { index: usize, delta: ContentBlockDelta<'a> },
    ContentBlockStop { index: usize },
    MessageDelta { delta: MessageDelta, usage: MessageUsage },
    MessageStop,
    Error { error: MessageError<'a> },
}

/// The text that an event adds to a block.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentBlockDelta<'a> {
    TextDelta { text: &'a str },
    InputJsonDelta { partial_json: &'a str },
}

/// The end of a message.
#[derive(Serialize)]
pub(super) struct MessageDelta {
    pub(super) stop_reason: Option<&'static str>,
    pub(super) stop_sequence: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct MessageError<'a> {
    pub(super) r#type: &'a str,
    pub(super) message: &'a str,
}

impl Source<'_> {
    /// The address of data in base64.
    pub(super) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type.text(), self.data.text())
    }
}

impl<'a> Message<'a> {
    /// An answer of these blocks.
    pub(super) fn new(head: &'a AnswerHead, content: Vec<ContentBlock<'a>>, usage: MessageUsage) -> Self {
        Message {
            id: head.id("msg_"),
            r#type: "message",
            role: "assistant",
            model: head.model(),
            content,
            stop_reason: None,
            stop_sequence: None,
            usage,
        }
    }
}

impl<'a> ContentBlock<'a> {
    /// A part of an answer as a block.
    pub(super) fn of(part: &'a AnswerPart) -> ContentBlock<'a> {
        match part {
            AnswerPart::Text(text) | AnswerPart::Refusal(text) => ContentBlock::Text { text },
            AnswerPart::Call(call) => {
                ContentBlock::ToolUse { id: &call.id, name: &call.name, input: ToolInput::of(call) }
            }
        }
    }
}

impl<'a> ToolInput<'a> {
    fn of(call: &'a Call) -> ToolInput<'a> {
        match Object::parse(&call.arguments) {
            Ok(input) => ToolInput::Object(raw(&input.to_json()).to_owned()),
            Err(_) => ToolInput::Text(&call.arguments),
        }
    }
}

impl From<&CompletionUsage> for MessageUsage {
    fn from(usage: &CompletionUsage) -> MessageUsage {
        let (prompt, cached) = (usage.prompt_tokens.0.unwrap_or(0), usage.cached_tokens());
        MessageUsage {
            input_tokens: Tokens(Some(prompt.saturating_sub(cached.unwrap_or(0)))),
            cache_creation_input_tokens: Tokens(None),
            cache_read_input_tokens: Tokens(cached),
            output_tokens: Tokens(Some(usage.completion_tokens.0.unwrap_or(0))),
        }
    }
}
