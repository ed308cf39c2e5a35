//! An API as the rest of this module knows it: a trait that each implements in a file of its own,
//! `completions.rs`, `messages.rs` or `responses.rs`.

use super::answer_parts::{AnswerEnd, AnswerHead, AnswerPart};
use super::reading::{Reading, UserPlace};
use super::responses::types::RepeatedMembers;
use super::usage::Usage;
use crate::error::Result;
use crate::record::Object;
use std::fmt::Debug;

/// The names of an API and in it.
#[derive(Debug)]
pub(super) struct Names {
    /// Its own, as options and `rsv` have it.
    pub(super) name: &'static str,
    /// Its path after `/v1/`.
    pub(super) path: &'static str,
    /// The member of a request that has its messages or items.
    pub(super) turns: &'static str,
    /// The type of a part that is the user's text.
    pub(super) text_type: &'static str,
    /// The member of an answer that has the message: an object without it is no answer.
    pub(super) answer: &'static str,
}

/// An API of models.
pub(super) trait Dialect: Debug + Sync {
    /// Its names.
    fn names(&self) -> &'static Names;

    /// Whether a whole answer has its shape.
    fn is_answer(&self, answer: &Object) -> bool;

    /// The answer as a message of chat completions: its text, and, with `keep_tools`, its calls of tools.
    /// Errors if it has no message.
    fn message(&self, answer: &Object, keep_tools: bool) -> Result<Object>;

    /// Removes the marks of completion from an assembled answer.
    fn mark_broken(&self, answer: &mut Object);

    /// The tokens that an answer reports. A translated answer has 0 if its provider reports none.
    fn usage(&self, answer: &Object) -> Option<Usage>;

    /// An error, as a line.
    fn error_body(&self, kind: &str, code: &str, message: &str) -> String;

    /// The event that tells the client of a stream that its provider broke off.
    fn error_event(&self, kind: &str, code: &str, message: &str) -> String;

    /// Whether an event of a stream, by its name and its data, is the one by which it reports an error:
    /// clients understand no other.
    fn is_error_event(&self, name: &str, event: &Object) -> bool;

    /// The reader and translator of its turns; `None` if they are those of chat completions.
    fn turns(&self) -> Option<&'static dyn TurnDialect>;
}

/// An API whose turns are not those of chat completions: it reads them as such, and translates them for a
/// provider that has no others.
pub(super) trait TurnDialect: Dialect {
    /// Whether one turn has all calls of an answer.
    fn joins_calls(&self) -> bool;

    /// Whether a request names its session otherwise than by the key of the provider's cache, if it names
    /// one.
    fn names_session(&self, body: &Object) -> bool;

    /// Reads the turns of a request. Errors name the member at fault.
    fn read(&self, body: &Object) -> Result<Reading>;

    /// The request with a text before the user's own words in the message or item at the place `user`.
    fn insert(&self, body: Object, user: UserPlace, text: &str) -> Result<Object>;

    /// The request in the shape of chat completions; `length_member` is the member that bounds the answer.
    /// Errors name the member without a counterpart.
    fn to_chat(&self, body: &Object, length_member: &str) -> Result<Object>;

    /// The names of the tools of a request that take a text instead of an object.
    fn text_tools(&self, _body: &Object) -> Vec<String> {
        Vec::new()
    }

    /// The members of a request that its answer repeats.
    fn repeated(&self, _body: &Object) -> Option<RepeatedMembers> {
        None
    }

    /// The whole answer to a translated request, of these parts.
    fn answer(
        &self,
        translation: &Translation,
        head: &AnswerHead,
        parts: &[AnswerPart],
        end: &AnswerEnd,
    ) -> Object;

    /// A writer of the events of such an answer.
    fn event_writer(&self, translation: Translation) -> Box<dyn EventWriter>;
}

/// The parts of a translated request that its answer depends on.
#[derive(Clone, Debug)]
pub struct Translation {
    pub(super) dialect: &'static dyn TurnDialect,
    /// The names of the tools that take a text instead of an object.
    pub(super) text_tools: Vec<String>,
    /// The members of the request that the answer repeats.
    pub(super) repeated: Option<RepeatedMembers>,
    /// The approximate tokens of the request.
    pub(super) prompt_tokens: usize,
}

/// Writes an answer as the events of an API, one part after the other: the events of a part end before those
/// of the next begin.
pub(super) trait EventWriter: Send {
    /// Begins the answer, before all else.
    fn begin(&mut self, head: &AnswerHead);

    /// Opens a part, whose text comes later.
    fn open(&mut self, head: &AnswerHead, part: &AnswerPart);

    /// Adds a text to the open part: to its words, or to the arguments of a call.
    fn extend(&mut self, head: &AnswerHead, part: &AnswerPart, text: &str);

    /// Ends the open part.
    fn close(&mut self, head: &AnswerHead, part: &AnswerPart, status: &'static str);

    /// Ends the answer.
    fn finish(&mut self, head: &AnswerHead, end: &AnswerEnd);

    /// Ends an answer that broke off: by the usage so far, if the provider sent it, and the error.
    fn fail(&mut self, head: &AnswerHead, is_begun: bool, message: &str);

    /// The events since this was called last.
    fn take(&mut self) -> Vec<Object>;
}
