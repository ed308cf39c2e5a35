//! The turns of a request as its reader found them, before they become those of chat completions.

use super::client_text;
use super::scan::{self, Element};
use crate::chat;
use crate::record::{Content, Object, word};
use std::ops::Range;

/// The turns of a request.
#[derive(Default)]
pub(super) struct Reading {
    /// In the shape of chat completions, oldest first; the user's last turn has the user's own words alone.
    /// Earlier messages without text are left out.
    pub(super) turns: Vec<Object>,
    /// How many messages or items the request has.
    pub(super) len: usize,
    /// The place of the user's last turn among the messages or items of the request.
    pub(super) user: Option<UserPlace>,
    /// That turn in the shape of chat completions, unless results of tools, or words of the program, came
    /// after it.
    pub(super) said: Option<Object>,
    /// The calls before the user's last turn whose results came with it, and these.
    pub(super) late: Vec<Object>,
    /// The conversation that the program of an agent names.
    pub(super) session: Option<String>,
    /// Whether the program asks for something of its own: nothing of it is recalled or stored.
    pub(super) is_side_call: bool,
    /// The approximate tokens outside of all turns: results of tools before the user's last turn, thinking,
    /// images.
    pub(super) unread_tokens: usize,
}

/// A place among the messages or items of a request.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct UserPlace {
    pub(super) number: usize,
    /// In the JSON text of the array.
    pub(super) range: Range<usize>,
}

/// The members of a message or an item that are found before anything is read, of which the first has parts,
/// and those of its parts.
const ELEMENT_MEMBERS: [&str; 5] = ["content", "role", "type", "call_id", "output"];
const PART_MEMBERS: [&str; 4] = ["type", "tool_use_id", "content", FAILED];

/// The member that says of the result of a tool that it failed.
pub(super) const FAILED: &str = "is_error";

/// A message or an item of a request, in the JSON text of their array. Its accessors return JSON text too,
/// except those of words: strings without escapes.
pub(super) struct Unread<'a> {
    json: &'a str,
    element: Element<5>,
    parts: Vec<Element<4>>,
}

/// The messages or items of an array in JSON text.
pub(super) fn unread(json: &str) -> Vec<Unread<'_>> {
    let elements = scan::elements_with_parts(json, ELEMENT_MEMBERS, PART_MEMBERS);
    elements.into_iter().map(|(element, parts)| Unread { json, element, parts }).collect()
}

impl<'a> Unread<'a> {
    /// All of it.
    pub(super) fn json(&self) -> &'a str {
        &self.json[self.range()]
    }

    /// Its place in the text of the array.
    pub(super) fn range(&self) -> Range<usize> {
        self.element.range.clone()
    }

    pub(super) fn content(&self) -> Option<&'a str> {
        self.element.member(self.json, 0)
    }

    pub(super) fn role(&self) -> Option<&'a str> {
        self.element.member(self.json, 1)
    }

    pub(super) fn role_word(&self) -> Option<&'a str> {
        self.role().and_then(word)
    }

    /// The word of its type; empty if it has another type.
    pub(super) fn kind(&self) -> Option<&'a str> {
        self.element.member(self.json, 2).map(|json| word(json).unwrap_or_default())
    }

    /// The call that it is the output of.
    pub(super) fn call(&self) -> Option<&'a str> {
        self.element.member(self.json, 3)
    }

    pub(super) fn output(&self) -> Option<&'a str> {
        self.element.member(self.json, 4)
    }

    /// The parts of its content, if that is an array.
    pub(super) fn parts(&self) -> impl Iterator<Item = UnreadPart<'a>> {
        self.parts.iter().map(|part| UnreadPart {
            json: &self.json[part.range.clone()],
            kind: part.member(self.json, 0).and_then(word),
            call: part.member(self.json, 1),
            content: part.member(self.json, 2),
            failed: part.member(self.json, 3).filter(|json| matches!(*json, "true" | "false")),
        })
    }
}

/// A part of a message or an item; all of it is JSON text, except the word of its type.
pub(super) struct UnreadPart<'a> {
    pub(super) json: &'a str,
    pub(super) kind: Option<&'a str>,
    /// The call that it is the result of.
    pub(super) call: Option<&'a str>,
    pub(super) content: Option<&'a str>,
    /// Whether it is the result of a call that failed; none if it does not say.
    pub(super) failed: Option<&'a str>,
}

/// The approximate bytes of JSON text in a token, as a fraction; programs and their output have fewer than
/// prose.
const BYTES_PER_TOKENS: (usize, usize) = (7, 2);
/// The types of parts that are spoken texts, and of images.
const TEXT_KINDS: [&str; 3] = ["text", "input_text", "output_text"];
const IMAGE_KINDS: [&str; 2] = ["image", "input_image"];
/// The members in which the result of a tool has its parts.
const RESULT_MEMBERS: [&str; 2] = ["content", "output"];
/// The approximate tokens of a turn beyond its content.
const TURN_TOKENS: usize = 4;
/// The approximate tokens of an image: its bytes say nothing.
const IMAGE_TOKENS: usize = 1600;

impl Reading {
    /// Adds a turn before the user's last one: its text is read, the rest only counted.
    pub(super) fn add_earlier(&mut self, earlier: &Unread) {
        let role = earlier.role();
        let mut turn = Object::default();
        turn.set("role", role.unwrap_or("\"assistant\""));
        match earlier.content() {
            Some(text) if text.starts_with('"') => turn.set("content", text),
            Some(parts) if parts.starts_with('[') => {
                let mut texts = Vec::new();
                for part in earlier.parts() {
                    match part.kind {
                        Some(kind) if TEXT_KINDS.contains(&kind) => texts.push(part.json),
                        kind => self.count(part.json, kind),
                    }
                }
                if texts.is_empty() {
                    self.unread_tokens += TURN_TOKENS;
                    return;
                }
                turn.set("content", format!("[{}]", texts.join(",")));
            }
            _ => {
                self.count(earlier.json(), earlier.kind());
                return;
            }
        }
        if role.is_some_and(|role| role.starts_with('"')) {
            self.turns.push(turn);
        }
    }

    /// Counts the tokens of a part or an item outside of all turns, of a kind.
    fn count(&mut self, json: &str, kind: Option<&str>) {
        self.unread_tokens += part_tokens(json, kind);
    }
}

/// The approximate tokens of content that is not read; `json` is a text or an array of parts, as JSON text.
pub fn unread_tokens(json: &str) -> usize {
    if !may_have_image(json) || !json.starts_with('[') {
        return tokens_by_length(json);
    }
    let tokens =
        |part: &Element<1>| part_tokens(&json[part.range.clone()], part.member(json, 0).and_then(word));
    scan::elements(json, ["type"]).iter().map(tokens).sum()
}

/// The tokens of a part of a kind that is not read, with those of the images in it.
fn part_tokens(json: &str, kind: Option<&str>) -> usize {
    let is_image = |kind: &str| IMAGE_KINDS.contains(&kind);
    if kind.is_some_and(is_image) {
        return IMAGE_TOKENS;
    }
    let members = RESULT_MEMBERS.iter().filter(|_| may_have_image(json));
    let parts = members.filter_map(|name| scan::member(json, name)).find(|parts| parts.starts_with('['));
    let Some(parts) = parts else { return tokens_by_length(json) };
    let tokens = |part: &Element<1>| match part.member(parts, 0).and_then(word) {
        Some(kind) if is_image(kind) => IMAGE_TOKENS,
        _ => tokens_by_length(&parts[part.range.clone()]),
    };
    scan::elements(parts, ["type"]).iter().map(tokens).sum()
}

fn may_have_image(json: &str) -> bool {
    memchr::memmem::find(json.as_bytes(), b"image\"").is_some()
}

fn tokens_by_length(json: &str) -> usize {
    json.len() * BYTES_PER_TOKENS.1 / BYTES_PER_TOKENS.0
}

/// A message in the role of the user.
#[derive(Default)]
pub(super) struct UserMessage {
    /// The parts that the user wrote, in the shape of chat completions.
    pub(super) parts: Vec<Object>,
    /// The results of tools, as messages of chat completions.
    pub(super) results: Vec<Object>,
    /// Whether the program wrote some of it.
    pub(super) has_program_text: bool,
    /// Whether the program asks for something of its own.
    pub(super) is_program_request: bool,
}

impl UserMessage {
    /// Adds a text, unless the program wrote it.
    pub(super) fn add_text(&mut self, text: &str) {
        let own = client_text::without_additions(text);
        if client_text::is_program_request(&own) {
            self.is_program_request = true;
            return;
        }
        match client_text::own_words(&own) {
            None => self.has_program_text = true,
            Some(own) if own.is_empty() => {}
            Some(own) => self.parts.push(text_part(&own)),
        }
    }

    /// The user's words as a message of chat completions; `None` if there are none.
    pub(super) fn said(&self) -> Option<Object> {
        let content = match self.parts.as_slice() {
            [] => return None,
            [only] if only.word("type") == Some("text") => only.get("text").unwrap_or("\"\"").to_owned(),
            parts => chat::array(parts),
        };
        let mut message = Object::default();
        message.set_text("role", "user");
        message.set("content", content);
        Some(message)
    }
}

/// A text as a part.
pub(super) fn text_part(text: &str) -> Object {
    let mut part = Object::default();
    part.set_text("type", "text");
    part.set_text("text", text);
    part
}

/// An image or a file at an address as a part.
pub(super) fn url_part(kind: &str, url: &str) -> Object {
    let mut part = Object::default();
    part.set_text("type", kind);
    let mut place = Object::default();
    place.set_text("url", url);
    part.set(kind, place.to_json());
    part
}

/// The result of a tool as a message; `output` is JSON text.
pub(super) fn tool_message(call: Option<&str>, output: Option<&str>) -> Object {
    let mut message = Object::default();
    message.set_text("role", "tool");
    if let Some(call) = call {
        message.set("tool_call_id", call);
    }
    message.set("content", output.unwrap_or("\"\""));
    // A string is text, however long.
    let is_text = output.is_none_or(|json| json.starts_with('"'));
    if !is_text && Content::from_message(&message).is_err() {
        let json = message.get("content").unwrap_or_default().to_owned();
        message.set_text("content", &json);
    }
    message
}

/// A turn of which only the tokens matter, as JSON text.
pub(super) fn opaque(role: &str, json: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set("content", format!("[{json}]"));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_in_what_a_tool_returns_counts_as_one_and_not_by_its_bytes() {
        let image = format!(r#"{{"type":"image","source":{{"data":"{}"}}}}"#, "x".repeat(700_000));
        let parts = format!(r#"[{{"type":"text","text":"a page"}},{image}]"#);
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","content":{parts}}}"#);
        for tokens in [unread_tokens(&parts), part_tokens(&result, Some("tool_result"))] {
            assert!((IMAGE_TOKENS..IMAGE_TOKENS + 20).contains(&tokens), "{tokens}");
        }
        let named = r#"{"type":"tool_result","content":"about an image"}"#;
        assert_eq!(part_tokens(named, Some("tool_result")), tokens_by_length(named));
        assert_eq!(unread_tokens(&crate::record::quote(&"x".repeat(698))), 200);
    }
}
