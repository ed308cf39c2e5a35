//! The answer to a request for JSON.

use super::error::AnswerError;
use crate::chat;
use crate::error::Result;
use crate::record::Object;
use crate::view;
use serde::de::DeserializeOwned;

/// The columns of what a model says, in an error.
const MAX_EXCERPT: usize = 80;

/// The text of an answer. Errors if it is a refusal, incomplete, or empty.
pub(super) fn text(response: &Object) -> Result<String> {
    let message = chat::answer(response).map_err(|source| AnswerError::Invalid { source })?;
    if let Some(refusal) = message.valid_text("refusal").filter(|refusal| !refusal.is_empty()) {
        return Err(AnswerError::Refusal { words: view::excerpt(&refusal, MAX_EXCERPT) }.into());
    }
    let choices = response.objects("choices")?.unwrap_or_default();
    let end = choices.first().and_then(|choice| choice.valid_text("finish_reason"));
    match end.as_deref() {
        Some("length") => return Err(AnswerError::CutOff.into()),
        Some("content_filter") => return Err(AnswerError::Withheld.into()),
        _ => {}
    }
    let text = chat::text(&message);
    if text.trim().is_empty() {
        return Err(AnswerError::Empty.into());
    }
    Ok(text)
}

/// A text without white space around it, and without the code fence that some models put around JSON.
pub fn without_code_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some((language, inner)) = inner.and_then(|inner| inner.split_once('\n')) else { return text };
    if language.trim().bytes().all(|b| b.is_ascii_alphanumeric()) { inner.trim() } else { text }
}

/// Reads an answer in JSON. Errors say how it differs from what was asked for, or begin with what it says
/// instead.
pub fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    let json = without_code_fence(text);
    if !json.starts_with('{') {
        return Err(AnswerError::NotJson { found: view::excerpt(json, MAX_EXCERPT) }.into());
    }
    serde_json::from_str(json).map_err(|source| AnswerError::OtherJson { source }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_fence_around_json_is_taken_off() {
        for (text, wanted) in [
            (" {} \n", "{}"),
            ("```json\n{\"a\": \"```\"}\n```\n", "{\"a\": \"```\"}"),
            ("```\n{}\n```", "{}"),
            ("```{}```", "```{}```"),
            ("``````", "``````"),
            ("```a b\n{}\n```", "```a b\n{}\n```"),
            ("", ""),
        ] {
            assert_eq!(without_code_fence(text), wanted);
        }
    }
}
