//! OpenAI's chat completions, the API whose turns rsv itself knows.

pub(super) mod request;
pub(super) mod turns;
pub(super) mod types;

use super::dialect::{Dialect, Names, TurnDialect};
use super::lenient::member;
use super::usage::Usage;
use crate::chat;
use crate::error::Result;
use crate::record::Object;
use serde::Serialize;
use types::CompletionUsage;

/// The API at `POST /v1/chat/completions`.
#[derive(Debug)]
pub(super) struct Completions;

/// The body of an error of OpenAI's.
#[derive(Serialize)]
pub(super) struct ErrorResponse<'a> {
    error: ErrorObject<'a>,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    message: &'a str,
    r#type: &'a str,
    code: &'a str,
}

impl ErrorResponse<'_> {
    /// An error of a kind, as a line.
    pub(super) fn line(kind: &str, code: &str, message: &str) -> String {
        let error = ErrorObject { message, r#type: kind, code };
        Object::of_value(&ErrorResponse { error }).into_json() + "\n"
    }
}

impl Dialect for Completions {
    fn names(&self) -> &'static Names {
        &Names {
            name: "chat",
            path: "chat/completions",
            turns: "messages",
            text_type: "text",
            answer: "choices",
        }
    }

    fn is_answer(&self, answer: &Object) -> bool {
        answer.has("choices")
    }

    fn message(&self, answer: &Object, _keep_tools: bool) -> Result<Object> {
        chat::answer(answer)
    }

    fn mark_broken(&self, _answer: &mut Object) {}

    fn usage(&self, answer: &Object) -> Option<Usage> {
        let usage: CompletionUsage = member(answer, "usage")?;
        Some(Usage {
            prompt: usage.prompt_tokens.0?,
            cached: usage.cached_tokens().or(usage.prompt_cache_hit_tokens.0),
            completion: usage.completion_tokens.0,
        })
    }

    fn error_body(&self, kind: &str, code: &str, message: &str) -> String {
        ErrorResponse::line(kind, code, message)
    }

    fn error_event(&self, kind: &str, code: &str, message: &str) -> String {
        format!("\n\ndata: {}\n\n", self.error_body(kind, code, message).trim_end())
    }

    fn is_error_event(&self, _name: &str, event: &Object) -> bool {
        // Of a text, OpenAI's own client for Python shows nothing.
        event.get("error").is_some_and(|error| error.starts_with('{'))
    }

    fn turns(&self) -> Option<&'static dyn TurnDialect> {
        None
    }
}
