//! Anthropic's Messages.

mod events;
mod read;
mod to_chat;
mod types;

use super::answer_parts::{AnswerEnd, AnswerHead, AnswerPart};
use super::dialect::{Dialect, EventWriter, Names, Translation, TurnDialect};
use super::lenient::{member, members};
use super::reading::{Reading, UserPlace};
use super::usage::Usage;
use crate::error::Result;
use crate::record::Object;
use events::MessageEventWriter;
use serde::Serialize;
use types::{ContentBlock, Message, MessageError, MessageStreamEvent, MessageUsage};

pub(super) use read::{with_text, without_blocks};
pub(super) use to_chat::text_of_blocks;

/// The API at `POST /v1/messages`.
#[derive(Debug)]
pub(super) struct Messages;

/// The body of an error.
#[derive(Serialize)]
#[serde(tag = "type", rename = "error")]
struct MessageErrorBody<'a> {
    error: MessageError<'a>,
}

impl Dialect for Messages {
    fn names(&self) -> &'static Names {
        &Names { name: "messages", path: "messages", turns: "messages", text_type: "text", answer: "content" }
    }

    fn is_answer(&self, answer: &Object) -> bool {
        answer.word("type") == Some("message")
    }

    fn message(&self, answer: &Object, keep_tools: bool) -> Result<Object> {
        let mut message = to_chat::message_of(&members(answer, "content")?);
        message.tool_calls.retain(|_| keep_tools);
        Ok(Object::of_value(&message))
    }

    fn mark_broken(&self, answer: &mut Object) {
        answer.set("stop_reason", "null");
    }

    fn usage(&self, answer: &Object) -> Option<Usage> {
        let usage: MessageUsage = member(answer, "usage")?;
        let cached = usage.cache_read_input_tokens.0;
        let read = [cached, usage.cache_creation_input_tokens.0].into_iter().flatten();
        let prompt = read.fold(usage.input_tokens.0?, usize::saturating_add);
        Some(Usage { prompt, cached, completion: usage.output_tokens.0 }).filter(|usage| usage.prompt > 0)
    }

    fn error_body(&self, kind: &str, _code: &str, message: &str) -> String {
        let error = MessageError { r#type: kind, message };
        Object::of_value(&MessageErrorBody { error }).into_json() + "\n"
    }

    fn error_event(&self, kind: &str, code: &str, message: &str) -> String {
        format!("\n\nevent: error\ndata: {}\n\n", self.error_body(kind, code, message).trim_end())
    }

    fn is_error_event(&self, name: &str, event: &Object) -> bool {
        name == "error" && event.word("type") == Some("error")
    }

    fn turns(&self) -> Option<&'static dyn TurnDialect> {
        Some(&Messages)
    }
}

impl TurnDialect for Messages {
    fn joins_calls(&self) -> bool {
        true
    }

    fn names_session(&self, _body: &Object) -> bool {
        true
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

    fn answer(
        &self,
        _translation: &Translation,
        head: &AnswerHead,
        parts: &[AnswerPart],
        end: &AnswerEnd,
    ) -> Object {
        let usage = MessageUsage::from(&head.usage.clone().unwrap_or_default());
        let message = Message::new(head, parts.iter().map(ContentBlock::of).collect(), usage);
        Object::of_value(&Message { stop_reason: Some(end.stop_reason), ..message })
    }

    fn event_writer(&self, translation: Translation) -> Box<dyn EventWriter> {
        Box::new(MessageEventWriter::new(translation.prompt_tokens))
    }
}

/// The event by which the stream of a message ends.
pub fn message_stop() -> Object {
    Object::of_value(&MessageStreamEvent::MessageStop)
}
