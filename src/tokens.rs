//! How many tokens a text has for a model, and how many the model takes.

mod window;

pub use window::{Limits, limits};

use crate::chat;
use crate::record::Object;
use tiktoken_rs::CoreBPE;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

/// Counts tokens as the model does, or estimates them.
pub struct Counter {
    name: &'static str,
    encoder: Option<&'static CoreBPE>,
}

/// What a message costs beside its words, and the answer's beginning: OpenAI's cookbook, "How to count
/// tokens with tiktoken", with the fourth token that older models took.
const PER_MESSAGE: usize = 4;
const PER_REQUEST: usize = 3;

/// Bytes a token where the encoder is not known: OpenAI's rule of thumb of four characters, in UTF-8
/// bytes, so that scripts with more tokens a character are not counted short.
const BYTES_PER_TOKEN: usize = 4;

impl Counter {
    /// The counter for a model: tiktoken's encoder for OpenAI's, an estimate for all others.
    pub fn of(model: &str) -> Counter {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        match get_tokenizer(&name) {
            Some(Tokenizer::O200kBase | Tokenizer::O200kHarmony) => {
                Counter { name: "o200k_base", encoder: Some(tiktoken_rs::o200k_base_singleton()) }
            }
            Some(Tokenizer::Cl100kBase) => {
                Counter { name: "cl100k_base", encoder: Some(tiktoken_rs::cl100k_base_singleton()) }
            }
            _ => Counter { name: "estimate", encoder: None },
        }
    }

    /// Counts bytes: no text has more tokens.
    pub fn bound(_model: &str) -> Counter {
        Counter { name: "bound", encoder: None }
    }

    /// What a request costs beside its messages.
    pub fn overhead(&self, request: &chat::Request) -> usize {
        PER_REQUEST + request.member("tools").map_or(0, |tools| self.text(tools))
    }

    /// The encoder's name, or "estimate".
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The tokens of a text; what looks like a special token counts as the text it is.
    pub fn text(&self, text: &str) -> usize {
        match self.encoder {
            Some(encoder) => encoder.encode_ordinary(text).len(),
            None if self.name == "bound" => text.len(),
            None => text.len().div_ceil(BYTES_PER_TOKEN),
        }
    }

    /// The tokens of a message: its words, its name, and its tool calls as JSON.
    pub fn message(&self, message: &Object) -> usize {
        let role = message.get("role").unwrap_or_default().trim_matches('"');
        let name = message.get("name").map_or(0, |name| self.text(name.trim_matches('"')) + 1);
        let calls = message.get("tool_calls").map_or(0, |calls| self.text(calls));
        PER_MESSAGE + self.text(role) + self.text(&chat::text(message)) + name + calls
    }

    /// The tokens of a request's messages, and of its tools as JSON.
    pub fn request(&self, messages: &[Object], tools: Option<&str>) -> usize {
        let messages: usize = messages.iter().map(|message| self.message(message)).sum();
        PER_REQUEST + messages + tools.map_or(0, |tools| self.text(tools))
    }
}
