//! The error messages of servers.

use crate::config::Secret;
use crate::record::{self, Object};

/// The greatest length of a quoted error message of a server, in characters.
const MAX_QUOTED: usize = 300;

/// The server's own words in the body of an error, cut where they are long and without the key:
/// `error.message` as OpenAI has it, `error` as Ollama does, `message`, `detail` or the first of `errors` as
/// others do.
pub fn error_message(body: &[u8], key: Option<&Secret>) -> Option<String> {
    let body = Object::parse_bytes(body).ok()?;
    let text = |object: &Object, name| object.valid_text(name);
    let error_message = match body.valid_object("error") {
        Some(error) => text(&error, "message"),
        None => {
            let first = || text(body.valid_objects("errors")?.first()?, "message");
            let words = ["error", "message", "detail"].into_iter().find_map(|name| text(&body, name));
            words.or_else(first)
        }
    }?;
    Some(excerpt(&error_message, key))
}

/// A text of a server's, cut where it is long and without the key.
pub fn excerpt(text: &str, key: Option<&Secret>) -> String {
    record::excerpt(&redact_key(key, text), MAX_QUOTED)
}

/// Removes the key from a text: a server may quote the request.
pub fn redact_key(key: Option<&Secret>, text: &str) -> String {
    match key.map(Secret::expose) {
        Some(key) if !key.is_empty() => text.replace(key, "****"),
        _ => text.to_owned(),
    }
}
