//! The request of a question.

use crate::chat;
use crate::record::Object;

/// A request for chat completions: the earlier turns, and the question. A model that is not named is that of
/// the settings.
pub(super) fn request<'a>(
    earlier: impl Iterator<Item = &'a Object>,
    question: &str,
    model: Option<&str>,
) -> Object {
    let mut request = Object::default();
    if let Some(model) = model {
        request.set_text("model", model);
    }
    let messages: Vec<Object> = earlier.cloned().chain([message("user", question)]).collect();
    request.set("messages", chat::array(&messages));
    request
}

/// A message of a request.
pub(super) fn message(role: &str, text: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set_text("content", text);
    message
}
