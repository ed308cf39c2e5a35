//! A whole answer, read from the body that a provider sent.

use super::failure::Failure;
use crate::api;
use crate::config::Secret;
use crate::http::{Body, Truncation, error_message, excerpt};
use crate::provider::Target;
use crate::record::{Object, shape};

/// Reads the body of an answer whose status is 200 to 299. Errors if it reports an error, or lacks the
/// `member` that has the message; a failed response carries its own error.
pub fn read_answer(
    target: &Target,
    member: &str,
    body: &Body,
    key: Option<&Secret>,
) -> Result<Object, Failure> {
    let invalid = |fault: &str| Failure::invalid(target, member, fault, &body.bytes, key);
    match &body.cut {
        Some(Truncation::Limit) => return Err(Failure::answer_too_long(target, body.bytes.len())),
        Some(Truncation::Failed(failed)) => return Err(Failure::broken(target, failed, &body.bytes, key)),
        None if body.bytes.trim_ascii().is_empty() => return Err(invalid("is empty")),
        None => {}
    }
    let mut answer =
        Object::parse_bytes(&body.bytes).map_err(|e| invalid(&format!("is no JSON object: {e}")))?;
    if !api::is_failed(&answer) {
        if api::reported_error(&answer).is_some() {
            return Err(Failure::reported(target, &answer, key));
        }
        if lacks(&answer, member) {
            let words = error_message(&body.bytes, key);
            let words = words.unwrap_or_else(|| excerpt(&String::from_utf8_lossy(&body.bytes), key));
            return Err(invalid(&format!("has no {member}: {words}")));
        }
    }
    mark_kind(&mut answer);
    Ok(answer)
}

/// Whether an answer lacks the member that has the message. A message or a response may be empty, but there
/// is always a choice; a `message` of words is an error of some servers.
fn lacks(answer: &Object, member: &str) -> bool {
    match (member, answer.get(member)) {
        (_, None | Some("null")) => true,
        ("choices", _) => answer.valid_objects(member).unwrap_or_default().is_empty(),
        ("message", Some(json)) => !json.starts_with('{'),
        _ => false,
    }
}

/// Sets the `kind` of an answer that could pass for another line: the next tool must never take it for a
/// record to store.
pub(super) fn mark_kind(answer: &mut Object) {
    if answer.has("kind") || shape(answer) != Some("response") {
        answer.set_text("kind", "response");
    }
}
