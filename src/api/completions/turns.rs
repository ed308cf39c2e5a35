//! The turns of a request of another API as they become messages of chat completions.

use super::types::{ContentPart, MessageContent, MessageOfRequest, ToolCall};
use crate::error::Result;
use std::borrow::Cow;

/// Turns as they are added. The result of a tool has only text there: its other parts become the user's,
/// after the results of all calls of its turn, which must follow the turn.
#[derive(Default)]
pub(in crate::api) struct Turns<'a> {
    turns: Vec<MessageOfRequest<'a>>,
    /// The parts that wait for the end of the results.
    from_tools: Vec<ContentPart<'a>>,
}

impl<'a> Turns<'a> {
    pub(in crate::api) fn push(&mut self, turn: MessageOfRequest<'a>) {
        self.end_results();
        self.turns.push(turn);
    }

    /// Adds a turn of the user's. The results of tools come before the words.
    pub(in crate::api) fn push_user(&mut self, parts: Vec<ContentPart<'a>>) {
        let mut all = std::mem::take(&mut self.from_tools);
        all.extend(parts);
        let content = match all.pop() {
            None => return,
            Some(ContentPart::Text { text }) if all.is_empty() => text,
            Some(last) => {
                all.push(last);
                MessageContent::Parts(all)
            }
        };
        self.turns.push(MessageOfRequest::new("user", content));
    }

    /// Adds a turn whose content is a text.
    pub(in crate::api) fn push_plain(&mut self, role: impl Into<Cow<'a, str>>, content: MessageContent<'a>) {
        let role = role.into();
        match &*role {
            "user" => self.push_user(vec![ContentPart::Text { text: content }]),
            _ => self.push(MessageOfRequest::new(role, content)),
        }
    }

    /// Adds the result of a call: its texts, and its other parts.
    pub(in crate::api) fn push_result(&mut self, call: &str, texts: &[String], others: Vec<ContentPart<'a>>) {
        let content = MessageContent::Text(texts.join("\n"));
        let mut result = MessageOfRequest::new("tool", content);
        result.tool_call_id = Some(call.to_owned());
        self.turns.push(result);
        if !others.is_empty() {
            self.from_tools.push(ContentPart::text(format!("Returned by the tool call {call}:")));
            self.from_tools.extend(others);
        }
    }

    /// Adds a call to the turn of the assistant that it belongs to.
    pub(in crate::api) fn push_call(&mut self, call: ToolCall) {
        if self.last_assistant().is_none() {
            self.push(MessageOfRequest::new("assistant", MessageContent::Null));
        }
        if let Some(turn) = self.last_assistant() {
            turn.tool_calls.push(call);
        }
    }

    /// The last turn, if it is the assistant's and no result has come after it.
    pub(in crate::api) fn last_assistant(&mut self) -> Option<&mut MessageOfRequest<'a>> {
        self.turns.last_mut().filter(|turn| turn.role == "assistant")
    }

    fn end_results(&mut self) {
        self.push_user(Vec::new());
    }

    pub(in crate::api) fn finish(mut self) -> Vec<MessageOfRequest<'a>> {
        self.end_results();
        self.turns
    }
}

/// Sorts the parts of a tool's result: their texts, and the others.
pub(in crate::api) fn texts_and_others<'a>(
    parts: impl Iterator<Item = Result<ContentPart<'a>>>,
) -> Result<(Vec<String>, Vec<ContentPart<'a>>)> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match part? {
            ContentPart::Text { text } => texts.push(text.text()),
            other => others.push(other),
        }
    }
    Ok((texts, others))
}
