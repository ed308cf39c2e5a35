//! Whole answers of any API.

use super::protocol::Api;
use super::usage::Usage;
use crate::error::Result;
use crate::record::Object;

/// The answer as a message of chat completions: its text, and, with `keep_tools`, its calls of tools;
/// thinking is left out. That of chat completions is as it was sent.
pub fn answer(response: &Object, keep_tools: bool) -> Result<Object> {
    Api::of_answer(response).dialect().message(response, keep_tools)
}

impl Usage {
    /// The tokens that an answer of any API reports. A translated answer has 0 if its provider reports none.
    pub fn of(answer: &Object) -> Option<Usage> {
        Api::of_answer(answer).dialect().usage(answer)
    }
}

/// The reasons by which a provider of chat completions says that it gave up: those of Mistral and OpenRouter,
/// of vLLM and SGLang, of DeepSeek, and of Zhipu.
const FAILURES: [&str; 7] =
    ["error", "abort", "aborted", "cancelled", "canceled", "insufficient_system_resource", "network_error"];

/// The error that an answer of chat completions, or a chunk of one, reports in place of its end: the object
/// whose member `error` or `message` describes it. It is the answer itself if that has the member `error` or
/// is an object of the kind `error`, as older servers send it; else a choice with such a member, or with one
/// of the reasons `FAILURES`.
pub fn reported_error(answer: &Object) -> Option<Object> {
    let reports = |object: &Object| object.get("error").is_some_and(|error| error != "null");
    if reports(answer) || answer.word("object") == Some("error") {
        return Some(answer.clone());
    }
    let json = answer.get("choices")?.as_bytes();
    // Few do: the others are not read for it.
    FAILURES.iter().find(|reason| memchr::memmem::find(json, reason.as_bytes()).is_some())?;
    let mut choices = answer.valid_objects("choices").unwrap_or_default().into_iter();
    let failed =
        |choice: &Object| choice.word("finish_reason").is_some_and(|reason| FAILURES.contains(&reason));
    choices.find(|choice| reports(choice) || failed(choice))
}

/// Removes the marks of completion from an assembled answer.
pub fn mark_broken(answer: &mut Object) {
    Api::of_answer(answer).dialect().mark_broken(answer);
}
