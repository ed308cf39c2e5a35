//! The content of a message: a text, the parts of OpenAI's protocol, or nothing but tool calls.

use super::fold::fold;
use super::object::{Object, not_objects, quote, unexpected, unquote};
use crate::error::Result;

/// The characters that a model, a terminal or a reader may treat as a line end: the mandatory breaks (Unicode
/// annex 14), and the separators of files, groups and records, at which Python breaks lines too.
pub const LINE_ENDS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The content of a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    Text(String),
    /// OpenAI's array of parts (text, images, …) as unchanged JSON text, which was parsed as such before.
    Parts(Box<str>),
    /// Nothing but tool calls.
    Null,
}

impl Content {
    /// Reads the member `content` of a message of any client. Errors if it is no string, array of parts or
    /// null.
    pub fn from_message(message: &Object) -> Result<Content> {
        message.get("content").map_or(Ok(Content::Null), Content::from_json)
    }

    /// Reads such a member.
    pub fn from_json(json: &str) -> Result<Content> {
        let unreadable = || unexpected("content", "a string or an array of parts", json);
        match json.as_bytes() {
            b"null" => Ok(Content::Null),
            [b'[', ..] => match serde_json::from_str::<Vec<Object>>(json) {
                Ok(_) => Ok(Content::Parts(json.into())),
                Err(_) => Err(not_objects("content", json)),
            },
            _ => unquote(json).map(Content::Text).map_err(|_| unreadable()),
        }
    }

    /// The text, or the texts of the parts joined by line ends.
    pub fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Parts(json) => parts_text(json),
            Content::Null => String::new(),
        }
    }

    /// The same, without a copy of a text.
    pub fn into_text(self) -> String {
        match self {
            Content::Text(text) => text,
            other => other.text(),
        }
    }

    /// Its normalized content: the folded text, and the JSON of its parts that have none.
    pub fn folded(&self) -> [String; 2] {
        match self {
            Content::Text(text) => [fold(text), String::new()],
            Content::Parts(json) => {
                let parts: Vec<Object> = serde_json::from_str(json).unwrap_or_default();
                let others = parts.iter().filter(|part| !part.has("text")).map(Object::to_json);
                [fold(&parts_text(json)), others.collect()]
            }
            Content::Null => [String::new(), String::new()],
        }
    }

    /// The value as JSON text.
    pub fn to_json(&self) -> String {
        match self {
            Content::Text(text) => quote(text),
            Content::Parts(json) => json.to_string(),
            Content::Null => "null".into(),
        }
    }
}

fn parts_text(json: &str) -> String {
    let parts: Vec<Object> = serde_json::from_str(json).unwrap_or_default();
    let texts: Vec<String> = parts.iter().filter_map(|part| part.valid_text("text")).collect();
    texts.join("\n")
}
