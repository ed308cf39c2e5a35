//! A whole answer, read from the body that a provider sent.

use super::failure::Failure;
use crate::api;
use crate::config::Secret;
use crate::http::{Body, Truncation};
use crate::provider::Target;
use crate::record::{Object, shape};

/// Reads the body of an answer whose status is 200 to 299. Errors if it reports an error; a response that failed says so
/// itself.
pub fn read_answer(target: &Target, body: &Body, key: Option<&Secret>) -> Result<Object, Failure> {
    let invalid = |is: &str| Failure::invalid(target, is, &body.bytes, key);
    match &body.cut {
        Some(Truncation::Limit) => return Err(Failure::answer_too_long(target, body.bytes.len())),
        Some(Truncation::Failed(failed)) => return Err(Failure::broken(target, failed, &body.bytes, key)),
        None if body.bytes.trim_ascii().is_empty() => return Err(invalid("empty")),
        None => {}
    }
    let mut answer =
        Object::parse_bytes(&body.bytes).map_err(|e| invalid(&format!("no JSON object: {e}")))?;
    if api::reported_error(&answer).is_some() && !api::is_failed(&answer) {
        return Err(Failure::reported(target, &answer, key));
    }
    mark_kind(&mut answer);
    Ok(answer)
}

/// Sets the `kind` of an answer that could pass for something else: whatever a provider sends, the next tool must
/// not take it for a record to store.
pub(super) fn mark_kind(answer: &mut Object) {
    if answer.has("kind") || shape(answer) != Some("response") {
        answer.set_text("kind", "response");
    }
}
