//! The types of OpenAI's Responses, by the names of its reference, as far as requests and answers are
//! translated.

use crate::api::answer_parts::{AnswerEnd, AnswerHead, AnswerPart};
use crate::api::completions::types::CompletionUsage;
use crate::api::lenient::{Lenient, Raw, Tokens};
use crate::record::Object;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The parameter of a tool that takes a text, as a function.
const TEXT_PARAMETER: &str = "input";

/// An item of a request or of an answer, of any type: it has the members of its type.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseItem<'a> {
    pub(super) r#type: Lenient<String>,
    pub(super) role: Lenient<String>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    pub(super) call_id: Lenient<String>,
    pub(super) name: Lenient<String>,
    pub(super) arguments: Lenient<String>,
    pub(super) input: Lenient<String>,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
}

/// A part of an item.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseContent<'a> {
    pub(super) r#type: Lenient<String>,
    pub(super) text: Lenient<String>,
    pub(super) refusal: Lenient<String>,
    pub(super) image_url: Lenient<String>,
    #[serde(borrow)]
    pub(super) detail: Raw<'a>,
}

/// The arguments of a function that stands for a tool of texts.
#[derive(Serialize)]
pub(super) struct TextArguments<'a> {
    pub(super) input: &'a str,
}

/// The text that a function that stands for a tool of texts was called with.
pub(super) fn text_argument(arguments: &str) -> String {
    match Object::parse(arguments) {
        Ok(object) if object.is_empty() => String::new(),
        Ok(object) => object.valid_text(TEXT_PARAMETER).unwrap_or_else(|| arguments.to_owned()),
        Err(_) => arguments.to_owned(),
    }
}

/// A response: the answer to a request.
#[derive(Serialize)]
pub(super) struct Response<'a> {
    id: String,
    object: &'static str,
    created_at: &'a RawValue,
    pub(super) status: &'static str,
    pub(super) error: Option<ResponseError<'a>>,
    incomplete_details: Option<IncompleteDetails>,
    model: &'a RawValue,
    output: &'a [OutputItem],
    #[serde(flatten)]
    repeated: Option<&'a RepeatedMembers>,
    pub(super) usage: Option<ResponseUsage>,
}

/// The members of a request that its answer repeats.
#[derive(Clone, Debug, Serialize)]
pub(in crate::api) struct RepeatedMembers {
    pub(super) parallel_tool_calls: Box<RawValue>,
    pub(super) tool_choice: Box<RawValue>,
    pub(super) tools: Box<RawValue>,
}

#[derive(Serialize)]
pub(super) struct ResponseError<'a> {
    pub(super) code: &'static str,
    pub(super) message: &'a str,
}

#[derive(Serialize)]
struct IncompleteDetails {
    reason: &'static str,
}

/// An item of an answer.
#[derive(Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputItem {
    Message { id: String, status: &'static str, role: &'static str, content: Vec<OutputContent> },
    FunctionCall { id: String, status: &'static str, call_id: String, name: String, arguments: String },
    CustomToolCall { id: String, status: &'static str, call_id: String, name: String, input: String },
}

/// A part of an item of an answer.
#[derive(Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputContent {
    OutputText { text: String, annotations: [(); 0] },
    Refusal { refusal: String },
}

/// The tokens of an answer.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ResponseUsage {
    pub(super) input_tokens: Tokens,
    pub(super) input_tokens_details: Lenient<InputTokensDetails>,
    pub(super) output_tokens: Tokens,
    output_tokens_details: Lenient<OutputTokensDetails>,
    total_tokens: Tokens,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct InputTokensDetails {
    pub(super) cached_tokens: Tokens,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct OutputTokensDetails {
    reasoning_tokens: Tokens,
}

/// An event of a streamed answer.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum ResponseStreamEvent<'a> {
    #[serde(rename = "response.created")]
    Created { sequence_number: usize, response: &'a Response<'a> },
    #[serde(rename = "response.in_progress")]
    InProgress { sequence_number: usize, response: &'a Response<'a> },
    #[serde(rename = "response.completed")]
    Completed { sequence_number: usize, response: &'a Response<'a> },
    #[serde(rename = "response.incomplete")]
    Incomplete { sequence_number: usize, response: &'a Response<'a> },
    #[serde(rename = "response.failed")]
    Failed { sequence_number: usize, response: &'a Response<'a> },
    #[serde(rename = "response.output_item.added")]
    OutputItemAdded { sequence_number: usize, output_index: usize, item: &'a OutputItem },
    #[serde(rename = "response.output_item.done")]
    OutputItemDone { sequence_number: usize, output_index: usize, item: &'a OutputItem },
    #[serde(rename = "response.content_part.added")]
    ContentPartAdded {
        #[serde(flatten)]
        place: PartPlace,
        part: OutputContent,
    },
    #[serde(rename = "response.content_part.done")]
    ContentPartDone {
        #[serde(flatten)]
        place: PartPlace,
        part: OutputContent,
    },
    /// Without `logprobs`, OpenAI's own client does not read it.
    #[serde(rename = "response.output_text.delta")]
    OutputTextDelta {
        #[serde(flatten)]
        place: PartPlace,
        delta: &'a str,
        logprobs: [(); 0],
    },
    #[serde(rename = "response.output_text.done")]
    OutputTextDone {
        #[serde(flatten)]
        place: PartPlace,
        text: &'a str,
        logprobs: [(); 0],
    },
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta {
        #[serde(flatten)]
        place: PartPlace,
        delta: &'a str,
    },
    #[serde(rename = "response.refusal.done")]
    RefusalDone {
        #[serde(flatten)]
        place: PartPlace,
        refusal: &'a str,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    FunctionCallArgumentsDelta {
        #[serde(flatten)]
        place: PartPlace,
        delta: &'a str,
    },
    #[serde(rename = "response.function_call_arguments.done")]
    FunctionCallArgumentsDone {
        #[serde(flatten)]
        place: PartPlace,
        name: &'a str,
        arguments: &'a str,
    },
    #[serde(rename = "response.custom_tool_call_input.delta")]
    CustomToolCallInputDelta {
        #[serde(flatten)]
        place: PartPlace,
        delta: &'a str,
    },
    #[serde(rename = "response.custom_tool_call_input.done")]
    CustomToolCallInputDone {
        #[serde(flatten)]
        place: PartPlace,
        input: &'a str,
    },
    #[serde(rename = "error")]
    Error { code: &'a str, message: &'a str, param: Option<&'a str> },
}

/// The place of an event, and of the part that it is about.
#[derive(Serialize)]
pub(super) struct PartPlace {
    pub(super) sequence_number: usize,
    pub(super) item_id: String,
    pub(super) output_index: usize,
    /// None of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<usize>,
}

impl<'a> Response<'a> {
    /// A response of these items.
    pub(super) fn new(
        head: &'a AnswerHead,
        output: &'a [OutputItem],
        repeated: Option<&'a RepeatedMembers>,
        end: &AnswerEnd,
    ) -> Response<'a> {
        Response {
            id: head.id("resp_"),
            object: "response",
            created_at: head.created(),
            status: end.status(),
            error: None,
            incomplete_details: end.incomplete.map(|reason| IncompleteDetails { reason }),
            model: head.model(),
            output,
            repeated,
            usage: Some(head.usage.as_ref().map_or_else(|| (&CompletionUsage::default()).into(), Into::into)),
        }
    }
}

impl OutputItem {
    /// A part as the item at a place in the output.
    pub(super) fn new(
        head: &AnswerHead,
        at: usize,
        part: &AnswerPart,
        text_tools: &[String],
        status: &'static str,
    ) -> OutputItem {
        let id = item_id(head, at, part);
        match (part, OutputContent::of(part)) {
            (AnswerPart::Call(call), _) if text_tools.contains(&call.name) => {
                let input = text_argument(&call.arguments);
                let (call_id, name) = (call.id.clone(), call.name.clone());
                OutputItem::CustomToolCall { id, status, call_id, name, input }
            }
            (AnswerPart::Call(call), _) => {
                let (call_id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
                OutputItem::FunctionCall { id, status, call_id, name, arguments }
            }
            (_, content) => {
                let content = content.into_iter().collect();
                OutputItem::Message { id, status, role: "assistant", content }
            }
        }
    }
}

impl OutputContent {
    /// A text as the content of an item; `None` for a call.
    pub(super) fn of(part: &AnswerPart) -> Option<OutputContent> {
        match part {
            AnswerPart::Text(text) => Some(OutputContent::OutputText { text: text.clone(), annotations: [] }),
            AnswerPart::Refusal(text) => Some(OutputContent::Refusal { refusal: text.clone() }),
            AnswerPart::Call(_) => None,
        }
    }
}

/// The id of the item at a place in the output of a response.
pub(super) fn item_id(head: &AnswerHead, at: usize, part: &AnswerPart) -> String {
    match part {
        AnswerPart::Text(_) | AnswerPart::Refusal(_) => format!("{}_{at}", head.id("msg_")),
        AnswerPart::Call(call) => format!("fc_{}", call.id),
    }
}

impl From<&CompletionUsage> for ResponseUsage {
    fn from(usage: &CompletionUsage) -> ResponseUsage {
        let tokens = |tokens: Option<usize>| tokens.unwrap_or(0);
        let (input, output) = (tokens(usage.prompt_tokens.0), tokens(usage.completion_tokens.0));
        let details = usage.completion_tokens_details.as_ref();
        let reasoning = tokens(details.and_then(|details| details.reasoning_tokens.0));
        let cached_tokens = Tokens(Some(tokens(usage.cached_tokens())));
        ResponseUsage {
            input_tokens: Tokens(Some(input)),
            input_tokens_details: Lenient(Some(InputTokensDetails { cached_tokens })),
            output_tokens: Tokens(Some(output)),
            output_tokens_details: Lenient(Some(OutputTokensDetails {
                reasoning_tokens: Tokens(Some(reasoning)),
            })),
            total_tokens: Tokens(Some(input.saturating_add(output))),
        }
    }
}
