//! OpenAI's Responses.

mod events;
mod read;
mod to_chat;
pub(super) mod types;

use super::answer_parts::{AnswerEnd, AnswerHead, AnswerPart, COMPLETED};
use super::completions::ErrorResponse;
use super::completions::request::ToolParam;
use super::dialect::{Dialect, EventWriter, Names, Translation, TurnDialect};
use super::lenient::{member, members, raw};
use super::reading::{Reading, UserPlace};
use super::usage::Usage;
use crate::error::Result;
use crate::record::Object;
use events::ResponseEventWriter;
use types::{OutputItem, RepeatedMembers, Response, ResponseStreamEvent, ResponseUsage};

pub(super) use to_chat::text_of_items;

/// The API at `POST /v1/responses`.
#[derive(Debug)]
pub(super) struct Responses;

/// Whether a whole answer reports its own failure: a response that failed or was cancelled.
pub fn is_failed(answer: &Object) -> bool {
    Responses.is_answer(answer) && matches!(answer.word("status"), Some("failed" | "cancelled"))
}

impl Dialect for Responses {
    fn names(&self) -> &'static Names {
        &Names {
            name: "responses",
            path: "responses",
            turns: "input",
            text_type: "input_text",
            answer: "output",
        }
    }

    fn is_answer(&self, answer: &Object) -> bool {
        answer.word("object") == Some("response")
    }

    fn message(&self, answer: &Object, keep_tools: bool) -> Result<Object> {
        let mut message = to_chat::message_of(&members(answer, "output")?);
        message.tool_calls.retain(|_| keep_tools);
        Ok(Object::of_value(&message))
    }

    fn mark_broken(&self, answer: &mut Object) {
        if !is_failed(answer) {
            answer.set_text("status", "incomplete");
            answer.set("incomplete_details", "null");
        }
    }

    fn usage(&self, answer: &Object) -> Option<Usage> {
        let usage: ResponseUsage = member(answer, "usage")?;
        Some(Usage {
            prompt: usage.input_tokens.0.filter(|tokens| *tokens > 0)?,
            cached: usage.input_tokens_details.as_ref().and_then(|details| details.cached_tokens.0),
            completion: usage.output_tokens.0,
        })
    }

    fn error_body(&self, kind: &str, code: &str, message: &str) -> String {
        ErrorResponse::line(kind, code, message)
    }

    fn error_event(&self, _kind: &str, code: &str, message: &str) -> String {
        let event = Object::of_value(&ResponseStreamEvent::Error { code, message, param: None });
        format!("\n\nevent: error\ndata: {}\n\n", event.to_json())
    }

    fn is_error_event(&self, _name: &str, event: &Object) -> bool {
        matches!(event.word("type"), Some("error" | "response.failed" | "response.cancelled"))
    }

    fn turns(&self) -> Option<&'static dyn TurnDialect> {
        Some(&Responses)
    }
}

impl TurnDialect for Responses {
    fn joins_calls(&self) -> bool {
        false
    }

    fn names_session(&self, body: &Object) -> bool {
        read::names_session(body)
    }

    fn read(&self, body: &Object) -> Result<Reading> {
        read::read(body)
    }

    fn insert(&self, body: Object, user: UserPlace, text: &str) -> Result<Object> {
        read::insert(body, user, text)
    }

    fn to_chat(&self, body: &Object, length_member: &str) -> Result<Object> {
        to_chat::to_chat(body, length_member)
    }

    fn text_tools(&self, body: &Object) -> Vec<String> {
        let tools: Vec<ToolParam> = members(body, "tools").unwrap_or_default();
        let custom = tools.into_iter().filter(|tool| tool.is_text_tool());
        custom.filter_map(|tool| tool.name.0).collect()
    }

    fn repeated(&self, body: &Object) -> Option<RepeatedMembers> {
        let member =
            |name, usual| raw(body.get(name).filter(|json| *json != "null").unwrap_or(usual)).to_owned();
        Some(RepeatedMembers {
            parallel_tool_calls: member("parallel_tool_calls", "true"),
            tool_choice: member("tool_choice", "\"auto\""),
            tools: member("tools", "[]"),
        })
    }

    fn answer(
        &self,
        translation: &Translation,
        head: &AnswerHead,
        parts: &[AnswerPart],
        end: &AnswerEnd,
    ) -> Object {
        let last = parts.len().saturating_sub(1);
        let items = parts.iter().enumerate().map(|(at, part)| {
            let status = if at == last { end.status() } else { COMPLETED };
            OutputItem::new(head, at, part, &translation.text_tools, status)
        });
        let items: Vec<OutputItem> = items.collect();
        Object::of_value(&Response::new(head, &items, translation.repeated.as_ref(), end))
    }

    fn event_writer(&self, translation: Translation) -> Box<dyn EventWriter> {
        Box::new(ResponseEventWriter::new(translation))
    }
}
