//! Requests of the other APIs as requests for chat completions, for providers that have no other, and the
//! whole answers to them.

use super::answer_parts::{AnswerEnd, AnswerHead, first_reason, parts_of};
use super::dialect::{Translation, TurnDialect};
use super::protocol::Api;
use super::responses::Responses;
use crate::chat;
use crate::error::Result;
use crate::record::{Object, without_halves};
use std::borrow::Cow;

impl Translation {
    /// Of a request of an API with this many tokens.
    pub fn new(api: Api, body: &Object, prompt_tokens: usize) -> Translation {
        // A request for chat completions needs none.
        let dialect: &dyn TurnDialect = api.dialect().turns().unwrap_or(&Responses);
        let (text_tools, repeated) = (dialect.text_tools(body), dialect.repeated(body));
        Translation { dialect, text_tools, repeated, prompt_tokens }
    }
}

/// A request in the shape of chat completions; `length_member` is the member that bounds the answer. Errors
/// name the member without a counterpart.
pub fn to_chat(api: Api, body: &Object, length_member: &str) -> Result<Object> {
    let Some(dialect) = api.dialect().turns() else { return Ok(body.clone()) };
    // Texts are read there, and half of a surrogate pair is none. A session is long, and rarely has one.
    if body.iter().all(|(_, json)| matches!(without_halves(json), Cow::Borrowed(_))) {
        return dialect.to_chat(body, length_member);
    }
    dialect.to_chat(&Object::parse(&without_halves(&body.to_json()))?, length_member)
}

/// The answer to a translated request, in the shape of its client's API. Errors if it has no message.
pub fn from_chat(translation: &Translation, answer: &Object) -> Result<Object> {
    let message = chat::answer(answer)?;
    let mut head = AnswerHead::default();
    head.read(answer);
    let parts = parts_of(&head, &message);
    let end = AnswerEnd::new(&first_reason(answer), &parts);
    Ok(translation.dialect.answer(translation, &head, &parts, &end))
}
