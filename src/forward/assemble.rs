//! Assembles the chunks of a streamed answer into the response that it would have been without streaming.

use crate::api::{CallPiece, KnownCall, is_repeated, reported_error};
use crate::chat::GrowingText;
use crate::chat::array;
use crate::record::{Object, quote};

/// Gathers chunks.
pub(super) struct Assembler {
    /// The members other than the choices, as JSON text.
    head: Vec<(String, String)>,
    choices: Vec<Choice>,
    /// The number of choices that were asked for.
    asked: usize,
    /// The number of bytes of JSON that may still be gathered; `None` if nothing is to be gathered.
    remaining: Option<usize>,
    /// Whether the limit was reached, so that a part is missing.
    truncated: bool,
    done: bool,
    /// Whether a chunk has the member `finish_reason`, if only with null.
    names_reasons: bool,
    error: Option<Object>,
}

struct Choice {
    index: i64,
    message: Vec<(String, GrowingValue)>,
    /// finish_reason, logprobs and all other members.
    more: Vec<(String, GrowingValue)>,
}

/// A value that grows.
enum GrowingValue {
    /// The last value.
    Json(String),
    Text(GrowingText),
    Members(Vec<(String, GrowingValue)>),
    /// Tool calls, which grow themselves, or the elements of another array.
    List(Vec<GrowingValue>),
}

/// Members that are not concatenated, since some providers repeat them in each chunk.
const UNREPEATED_MEMBERS: [&str; 6] = ["id", "type", "role", "name", "index", "finish_reason"];
/// Members of the head whose first value is kept; of the others, the last.
const FIRST_KEPT_MEMBERS: [&str; 3] = ["id", "model", "created"];

impl Assembler {
    /// Gathers at most `remaining` bytes; with `None`, only the end of the answer is detected. The request
    /// asks for this many choices.
    pub(super) fn new(asked: usize, remaining: Option<usize>) -> Assembler {
        Assembler {
            head: Vec::new(),
            choices: Vec::new(),
            asked,
            remaining,
            truncated: false,
            done: false,
            names_reasons: false,
            error: None,
        }
    }

    /// Records the provider's end of the stream.
    pub(super) fn done(&mut self) {
        self.done = true;
    }

    /// Whether the answer came to its end: every choice has a reason why it finished. The end of the stream
    /// alone is enough only if the provider names no reasons: gateways end a stream in the same way when it
    /// broke off. Fewer choices than were asked for are all if the stream ended: not every provider gives
    /// more than one.
    pub(super) fn is_finished(&self) -> bool {
        let finished = |choice: &Choice| choice.more.iter().any(|(name, _)| name == "finish_reason");
        let are_ended = self.choices.iter().all(finished) || self.done && !self.names_reasons;
        let are_all = self.done || self.choices.len() >= self.asked;
        self.error.is_none() && !self.choices.is_empty() && are_ended && are_all
    }

    /// Whether the provider ended the stream.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether it was longer than the limit.
    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The error that the provider reported in mid-stream.
    pub(super) fn error(&self) -> Option<&Object> {
        self.error.as_ref()
    }

    /// Treats a chunk as an error, regardless of its content.
    pub(super) fn fail(&mut self, chunk: &Object) {
        self.error.get_or_insert_with(|| chunk.clone());
    }

    /// Adds a chunk.
    pub(super) fn add(&mut self, chunk: &Object) {
        if let Some(error) = reported_error(chunk) {
            self.fail(&error);
        }
        for (name, json) in chunk.iter().filter(|(name, _)| !["choices", "object", "rsv"].contains(name)) {
            match self.head.iter_mut().find(|(known, _)| known == name) {
                None => self.head.push((name.to_owned(), json.to_owned())),
                Some((_, known)) if known != "null" && FIRST_KEPT_MEMBERS.contains(&name) => {}
                Some((_, known)) if json != "null" => json.clone_into(known),
                Some(_) => {}
            }
        }
        for choice in chunk.valid_objects("choices").unwrap_or_default() {
            self.choice(&choice);
        }
    }

    fn choice(&mut self, choice: &Object) {
        // A provider that gives one choice may leave its index out.
        let index = choice.valid_integer("index").unwrap_or(0);
        let at = self.choices.iter().position(|known| known.index == index).unwrap_or_else(|| {
            self.choices.push(Choice { index, message: Vec::new(), more: Vec::new() });
            self.choices.len() - 1
        });
        self.names_reasons |= choice.has("finish_reason");
        // Some providers have an empty one in every chunk, or one that is no text.
        let is_reason = |reason: &&str| reason.starts_with('"') && *reason != "\"\"";
        if let Some(finish) = choice.get("finish_reason").filter(is_reason) {
            merge(&mut self.choices[at].more, "finish_reason", finish);
        }
        let Some(remaining) = &mut self.remaining else { return };
        let delta = choice.valid_object("delta");
        let delta = delta.or_else(|| choice.valid_object("message")).unwrap_or_default();
        let own = |name: &str| ["index", "delta", "message", "finish_reason"].contains(&name);
        let more = choice.iter().filter(|(name, _)| !own(name));
        let Choice { message, more: members, .. } = &mut self.choices[at];
        let parts = delta.iter().map(|part| (true, part)).chain(more.map(|part| (false, part)));
        for (in_message, (name, json)) in parts {
            match remaining.checked_sub(json.len()) {
                Some(left) if !self.truncated => *remaining = left,
                _ => self.truncated = true,
            }
            if !self.truncated {
                merge(if in_message { message } else { members }, name, json);
            }
        }
    }

    /// The response; `None` if there was no choice. It has the members that parsers need even if it broke
    /// off.
    pub(super) fn finish(mut self) -> Option<Object> {
        if self.choices.is_empty() || self.remaining.is_none() {
            return None;
        }
        self.choices.sort_by_key(|choice| choice.index);
        let choices: Vec<Object> = self.choices.into_iter().map(Choice::finish).collect();
        let mut response = Object::default();
        let known = |name: &str| self.head.iter().find(|(known, _)| known == name);
        for name in ["id", "object", "created", "model", "choices", "usage"] {
            match name {
                "object" => response.set_text(name, "chat.completion"),
                "choices" => response.set(name, array(&choices)),
                _ => {
                    if let Some((_, json)) = known(name) {
                        response.set(name, json);
                    }
                }
            }
        }
        let rest = self.head.iter().filter(|(name, _)| !response.has(name)).collect::<Vec<_>>();
        for (name, json) in rest {
            response.set(name, json);
        }
        Some(response)
    }
}

impl Choice {
    fn finish(self) -> Object {
        let mut message = Object::default();
        message.set_text("role", "assistant");
        message.set("content", "null");
        for (name, part) in self.message {
            message.set(&name, part.finish(&name));
        }
        let mut choice = Object::default();
        choice.set("index", self.index.to_string());
        choice.set("message", message.to_json());
        choice.set("finish_reason", "null");
        for (name, part) in self.more {
            choice.set(&name, part.finish(&name));
        }
        choice
    }
}

impl GrowingValue {
    /// The beginning of a value. `json` is valid, since it is a member of an object that was parsed.
    fn new(json: &str) -> GrowingValue {
        match json.as_bytes().first() {
            Some(b'"') => {
                let mut text = GrowingText::default();
                text.push_json(json);
                GrowingValue::Text(text)
            }
            Some(b'{') => {
                let mut members = Vec::new();
                for (name, json) in Object::parse(json).unwrap_or_default().iter() {
                    merge(&mut members, name, json);
                }
                GrowingValue::Members(members)
            }
            Some(b'[') => {
                GrowingValue::List(elements(json).map(|element| GrowingValue::new(&element)).collect())
            }
            _ => GrowingValue::Json(json.to_owned()),
        }
    }

    /// The value as JSON text. `name` is the member's name.
    fn finish(self, name: &str) -> String {
        match self {
            GrowingValue::Json(json) => json,
            GrowingValue::Text(text) => quote(&text.into_text()),
            GrowingValue::List(mut parts) => {
                if name == "tool_calls" {
                    drop_repeated(&mut parts);
                }
                let parts: Vec<String> = parts.into_iter().map(|part| part.finish(name)).collect();
                format!("[{}]", parts.join(","))
            }
            GrowingValue::Members(members) => {
                let mut object = Object::default();
                // The index of a call only serves to assemble the call.
                let members = members.into_iter().filter(|(n, _)| name != "tool_calls" || n != "index");
                for (name, part) in members {
                    object.set(&name, part.finish(&name));
                }
                object.to_json()
            }
        }
    }

    fn member(&self, name: &str) -> Option<&GrowingValue> {
        let GrowingValue::Members(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text of a member; empty if there is none.
    fn text_of(&self, name: &str) -> &str {
        match self.member(name) {
            Some(GrowingValue::Text(text)) => text.text(),
            _ => "",
        }
    }
}

/// Appends a chunk's value of a member to the value so far.
fn merge(members: &mut Vec<(String, GrowingValue)>, name: &str, json: &str) {
    let Some(at) = members.iter().position(|(known, _)| known == name) else {
        let part = match name {
            "tool_calls" => {
                let mut calls = Vec::new();
                merge_calls(&mut calls, json);
                GrowingValue::List(calls)
            }
            // Arguments that are an object come whole.
            "arguments" if json.starts_with('{') => GrowingValue::Json(json.to_owned()),
            _ => GrowingValue::new(json),
        };
        return members.push((name.to_owned(), part));
    };
    match (&mut members[at].1, GrowingValue::new(json)) {
        (_, GrowingValue::Json(json)) if json == "null" => {}
        (GrowingValue::Text(text), GrowingValue::Text(_))
            if UNREPEATED_MEMBERS.contains(&name) && !text.text().is_empty() => {}
        (GrowingValue::Text(text), GrowingValue::Text(_)) => text.push_json(json),
        (GrowingValue::List(calls), GrowingValue::List(_)) if name == "tool_calls" => {
            merge_calls(calls, json)
        }
        (GrowingValue::List(parts), GrowingValue::List(more)) => parts.extend(more),
        // Content of which some comes as text and some as parts.
        (GrowingValue::List(parts), GrowingValue::Text(text)) => parts.push(text_part(text)),
        (known @ GrowingValue::Text(_), GrowingValue::List(mut parts)) => {
            if let GrowingValue::Text(text) = std::mem::replace(known, GrowingValue::List(Vec::new()))
                && !text.text().is_empty()
            {
                parts.insert(0, text_part(text));
            }
            *known = GrowingValue::List(parts);
        }
        (GrowingValue::Members(known), GrowingValue::Members(_)) => {
            for (name, json) in Object::parse(json).unwrap_or_default().iter() {
                merge(known, name, json);
            }
        }
        (known, new) => *known = new,
    }
}

fn text_part(text: GrowingText) -> GrowingValue {
    let mut kind = GrowingText::default();
    kind.push_text("text");
    GrowingValue::Members(vec![
        ("type".into(), GrowingValue::Text(kind)),
        ("text".into(), GrowingValue::Text(text)),
    ])
}

/// Adds the pieces of an array `tool_calls`.
fn merge_calls(calls: &mut Vec<GrowingValue>, json: &str) {
    let known = calls.len();
    for piece in elements(json) {
        merge_call(calls, known, &piece);
    }
}

/// Adds a piece of a tool call to the call that it belongs to; `known` is the number of calls before its
/// array.
fn merge_call(calls: &mut Vec<GrowingValue>, known: usize, json: &str) {
    let Ok(piece) = Object::parse(json) else { return };
    let at = match CallPiece::of(&piece, calls.iter().map(known_call), known) {
        CallPiece::Continues(at) => at,
        CallPiece::Begins => {
            calls.push(GrowingValue::Members(Vec::new()));
            calls.len() - 1
        }
        CallPiece::Nothing => return,
    };
    if let GrowingValue::Members(members) = &mut calls[at] {
        for (name, json) in piece.iter() {
            merge(members, name, json);
        }
    }
}

/// Drops the calls that turned out to be repeated.
fn drop_repeated(calls: &mut Vec<GrowingValue>) {
    let mut at = 0;
    while at < calls.len() {
        if is_repeated(&known_call(&calls[at]), calls[..at].iter().map(known_call)) {
            calls.remove(at);
        } else {
            at += 1;
        }
    }
}

/// The members that distinguish a call from others.
fn known_call(call: &GrowingValue) -> KnownCall<'_> {
    let function = call.member("function");
    KnownCall {
        index: match call.member("index") {
            Some(GrowingValue::Json(index)) => Some(index),
            _ => None,
        },
        id: call.text_of("id"),
        name: function.map_or("", |function| function.text_of("name")),
        arguments: match function.and_then(|function| function.member("arguments")) {
            Some(GrowingValue::Text(arguments)) => arguments.text(),
            Some(GrowingValue::Json(arguments)) if arguments != "null" => arguments,
            _ => "",
        },
    }
}

/// The elements of an array, as JSON text.
fn elements(json: &str) -> impl Iterator<Item = String> {
    let elements: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(json).unwrap_or_default();
    elements.into_iter().map(|element| element.get().to_owned())
}

#[cfg(test)]
mod tests;
