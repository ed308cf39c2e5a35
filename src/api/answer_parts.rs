//! An answer of chat completions, whole or in chunks, as the parts from which those of the other APIs are
//! made.

use super::completions::types::{Choice, CompletionUsage, ToolCallDelta};
use super::lenient::{member, members, raw};
use crate::chat::{self, GrowingText};
use crate::record::Object;
use serde_json::value::RawValue;

/// The members of an answer, apart from its choices.
#[derive(Default)]
pub(super) struct AnswerHead {
    id: Option<String>,
    model: Option<Box<RawValue>>,
    created: Option<Box<RawValue>>,
    /// None if the provider sent none.
    pub(super) usage: Option<CompletionUsage>,
}

impl AnswerHead {
    /// Reads the members of an answer or of its next chunk. Providers repeat them, and may change them: the
    /// first counts, of the usage the last.
    pub(super) fn read(&mut self, chunk: &Object) {
        let known = |name| chunk.get(name).filter(|json| *json != "null");
        let id = || chunk.valid_text("id");
        self.id = self.id.take().or_else(id);
        for (member, name) in [(&mut self.model, "model"), (&mut self.created, "created")] {
            *member = member.take().or_else(|| known(name).map(|json| raw(json).to_owned()));
        }
        if let Some(json) = known("usage") {
            self.usage = Some(serde_json::from_str(json).unwrap_or_default());
        }
    }

    /// The id with another beginning.
    pub(super) fn id(&self, begin: &str) -> String {
        format!("{begin}{}", self.id.as_deref().unwrap_or("0"))
    }

    /// The model, a text.
    pub(super) fn model(&self) -> &RawValue {
        self.model.as_deref().unwrap_or(raw("\"\""))
    }

    /// The time of the answer, in seconds.
    pub(super) fn created(&self) -> &RawValue {
        self.created.as_deref().unwrap_or(raw("0"))
    }
}

/// The choices of an answer, or of a chunk of one.
pub(super) fn choices(answer: &Object) -> Vec<Choice> {
    members(answer, "choices").unwrap_or_default()
}

/// The reason why the first choice of an answer ended; empty if it has none.
pub(super) fn first_reason(answer: &Object) -> String {
    choices(answer).first().map(|choice| choice.finish_reason.text().to_owned()).unwrap_or_default()
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub(super) enum AnswerPart {
    Text(String),
    /// A text by which the model refuses.
    Refusal(String),
    Call(Call),
}

impl AnswerPart {
    /// Its words, or the arguments of a call.
    pub(super) fn text(&self) -> &str {
        match self {
            AnswerPart::Text(text) | AnswerPart::Refusal(text) => text,
            AnswerPart::Call(call) => &call.arguments,
        }
    }

    pub(super) fn text_mut(&mut self) -> &mut String {
        match self {
            AnswerPart::Text(text) | AnswerPart::Refusal(text) => text,
            AnswerPart::Call(call) => &mut call.arguments,
        }
    }
}

/// A call of a tool.
#[derive(Clone, Default, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// As the provider sent them; they may be no JSON.
    pub(super) arguments: String,
}

impl Call {
    /// Sets its id to the provider's. If that is empty, or an `earlier` call has it, it gets a unique one.
    pub(super) fn set_id(&mut self, id: &str, head: &AnswerHead, earlier: &[&str]) {
        let at = earlier.len();
        self.id = match id {
            "" => format!("{}_{at}", head.id("call_")),
            id if earlier.contains(&id) => format!("{id}_{at}"),
            id => id.to_owned(),
        };
    }

    /// Whether a growing call has none so far.
    pub(super) fn may_lack_arguments(&self) -> bool {
        "null".starts_with(self.arguments.trim())
    }

    /// Gives it an object for arguments if it has none.
    pub(super) fn complete(&mut self) {
        if ["", "null"].contains(&self.arguments.trim()) {
            self.arguments = "{}".to_owned();
        }
    }
}

/// The parts of a message: its text, its refusal, its calls; an empty text if it has none of them.
pub(super) fn parts_of(head: &AnswerHead, message: &Object) -> Vec<AnswerPart> {
    let mut text = GrowingText::default();
    push_content(message, &mut text);
    let mut refusal = GrowingText::default();
    refusal.push_json(message.get("refusal").unwrap_or("null"));
    let (text, refusal) = (text.into_text(), refusal.into_text());
    let calls = calls_of(head, message);
    let mut parts = Vec::new();
    if !text.is_empty() || refusal.is_empty() && calls.is_empty() {
        parts.push(AnswerPart::Text(text));
    }
    if !refusal.is_empty() {
        parts.push(AnswerPart::Refusal(refusal));
    }
    parts.extend(calls.into_iter().map(AnswerPart::Call));
    parts
}

/// Appends the text of a message of chat completions, or of a piece of one.
pub fn push_content(message: &Object, to: &mut GrowingText) {
    match message.get("content") {
        Some(json) if json.starts_with('"') => to.push_json(json),
        _ => to.push_text(&chat::text(message)),
    }
}

/// The calls in a message of chat completions, or the pieces of calls in a part of one: those of an array,
/// and the one of old servers.
pub(super) fn call_pieces(message: &Object) -> Vec<ToolCallDelta<'_>> {
    let mut calls: Vec<ToolCallDelta> = members(message, "tool_calls").unwrap_or_default();
    calls.extend(member(message, "function_call").map(ToolCallDelta::of));
    calls
}

fn calls_of(head: &AnswerHead, message: &Object) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for piece in call_pieces(message) {
        let mut arguments = GrowingText::default();
        push_arguments(&piece, &mut arguments);
        let (name, arguments) = (piece.name().to_owned(), arguments.into_text());
        let mut call = Call { id: String::new(), name, arguments };
        let earlier: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        call.set_id(piece.id.text(), head, &earlier);
        call.complete();
        calls.push(call);
    }
    calls
}

/// Appends the arguments of a piece: a text, or the object that Ollama's own form has in its place.
pub(super) fn push_arguments(piece: &ToolCallDelta, to: &mut GrowingText) {
    match piece.arguments() {
        Some(json) if json.starts_with('"') => to.push_json(json),
        Some(json) => to.push_text(json),
        None => {}
    }
}

/// The status of a complete answer or item.
pub(super) const COMPLETED: &str = "completed";

/// How an answer ended.
pub(super) struct AnswerEnd {
    /// Anthropic's reason.
    pub(super) stop_reason: &'static str,
    /// Why a response is incomplete.
    pub(super) incomplete: Option<&'static str>,
}

impl AnswerEnd {
    /// For the `finish_reason` of an answer with these parts. The reason alone makes no call.
    pub(super) fn new<'a>(reason: &str, parts: impl IntoIterator<Item = &'a AnswerPart>) -> AnswerEnd {
        let (mut has_call, mut has_refusal) = (false, false);
        for part in parts {
            has_call |= matches!(part, AnswerPart::Call(_));
            has_refusal |= matches!(part, AnswerPart::Refusal(_));
        }
        let (stop_reason, incomplete) = match reason {
            "length" | "model_length" => ("max_tokens", Some("max_output_tokens")),
            "content_filter" => ("refusal", Some("content_filter")),
            _ if has_refusal => ("refusal", None),
            _ if has_call => ("tool_use", None),
            _ => ("end_turn", None),
        };
        AnswerEnd { stop_reason, incomplete }
    }

    /// The status of a response, and of its last item.
    pub(super) fn status(&self) -> &'static str {
        if self.incomplete.is_some() { "incomplete" } else { COMPLETED }
    }
}
