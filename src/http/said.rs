//! A server's own words about what went wrong.

use crate::config::Secret;
use crate::record::Object;

/// How much of a server's own words a message quotes, in characters.
const MAX_QUOTED: usize = 300;

/// The server's own words in the body of an error, cut where they are long and without the key:
/// `error.message` as OpenAI has it, `error` as Ollama does, `message` as others do.
pub fn said(body: &[u8], key: Option<&Secret>) -> Option<String> {
    let body = Object::parse_bytes(body).ok()?;
    let text = |object: &Object, name| object.text(name).ok().flatten();
    let said = match body.object("error").ok().flatten() {
        Some(error) => text(&error, "message"),
        None => text(&body, "error").or_else(|| text(&body, "message")),
    }?;
    let said = without(key, &said);
    let mut short: String = said.chars().take(MAX_QUOTED).collect();
    if short.len() < said.len() {
        short.push('…');
    }
    Some(short)
}

/// A text without the key in it: a server may repeat what it was sent.
pub fn without(key: Option<&Secret>, text: &str) -> String {
    match key.map(Secret::expose) {
        Some(key) if !key.is_empty() => text.replace(key, "****"),
        _ => text.to_owned(),
    }
}
