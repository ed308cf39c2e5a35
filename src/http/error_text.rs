//! The error messages of servers.

use crate::config::Secret;
use crate::record::Object;

/// The greatest length of a quoted error message of a server, in characters.
const MAX_QUOTED: usize = 300;

/// The server's own words in the body of an error, cut where they are long and without the key:
/// `error.message` as OpenAI has it, `error` as Ollama does, `message` as others do.
pub fn error_message(body: &[u8], key: Option<&Secret>) -> Option<String> {
    let body = Object::parse_bytes(body).ok()?;
    let text = |object: &Object, name| object.text(name).ok().flatten();
    let error_message = match body.object("error").ok().flatten() {
        Some(error) => text(&error, "message"),
        None => text(&body, "error").or_else(|| text(&body, "message")),
    }?;
    let error_message = redact_key(key, &error_message);
    let mut quoted: String = error_message.chars().take(MAX_QUOTED).collect();
    if quoted.len() < error_message.len() {
        quoted.push('…');
    }
    Some(quoted)
}

/// Removes the key from a text: a server may quote the request.
pub fn redact_key(key: Option<&Secret>, text: &str) -> String {
    match key.map(Secret::expose) {
        Some(key) if !key.is_empty() => text.replace(key, "****"),
        _ => text.to_owned(),
    }
}
