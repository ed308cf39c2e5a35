//! Embeds questions. Somebody waits for the answer: a server that failed is not asked again for a while.

use super::embedder::Embedder;
use super::input_type::InputType;
use crate::error::Result;
use std::borrow::Cow;
use std::time::Instant;

/// The number of characters at each end of a long question that are embedded: people ask before or after the
/// text that they paste, and embedding a hundred thousand characters takes half a minute.
const EMBEDDED_END_CHARS: usize = 2000;

/// The text by which a server is tried.
const PROBE: &str = "owl";

impl Embedder {
    /// The vector of a question, of length 1. Errors as `embed`.
    pub fn embed_question(&mut self, question: &str) -> Result<Vec<f32>> {
        self.embed_one(&embedded_part(question), InputType::Query)
    }

    /// As `embed_question`, but a server is asked once, until `deadline`, and not at all for a while after it
    /// failed: then the error is that of the last attempt.
    pub fn embed_question_until(&self, question: &str, deadline: Instant) -> Result<Vec<f32>> {
        match self.outage() {
            Some((error, pause)) if !pause.is_zero() => Err(error),
            _ => self.until(deadline).embed_question(question),
        }
    }

    /// Asks the server for the vector of a word, as for a question, even if it failed before. Nothing is done
    /// if the model is on this machine.
    pub fn probe(&self, deadline: Instant) -> Result<()> {
        if self.is_remote() {
            self.until(deadline).embed_question(PROBE)?;
        }
        Ok(())
    }
}

/// The part of a question that is embedded: all of it, or the two ends of a long one.
fn embedded_part(question: &str) -> Cow<'_, str> {
    let first = question.char_indices().nth(EMBEDDED_END_CHARS).map(|(at, _)| at);
    let last = question.char_indices().nth_back(EMBEDDED_END_CHARS).map(|(at, _)| at);
    match (first, last) {
        (Some(first), Some(last)) if first < last => {
            format!("{}\n{}", &question[..first], &question[last..]).into()
        }
        _ => question.into(),
    }
}
