//! Assembles the events of a streamed answer of any API.

use super::assemble::Assembler;
use crate::api::{AnswerEvents, Api};
use crate::record::Object;

/// Gathers the events of an answer.
pub(super) enum Gatherer {
    Chat(Assembler),
    Other(AnswerEvents),
}

impl Gatherer {
    /// Gathers at most `remaining` bytes; with `None`, only the end of the answer is detected. The request
    /// asks for `choices` choices.
    pub(super) fn new(api: Api, choices: usize, remaining: Option<usize>) -> Gatherer {
        match api {
            Api::Chat => Gatherer::Chat(Assembler::new(choices, remaining)),
            Api::Messages | Api::Responses => Gatherer::Other(AnswerEvents::new(remaining)),
        }
    }

    /// Records the end of the stream of chat completions, which other APIs do not have.
    pub(super) fn done(&mut self) {
        if let Gatherer::Chat(assembler) = self {
            assembler.done();
        }
    }

    /// Whether the answer came to its end.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Gatherer::Chat(assembler) => assembler.is_finished(),
            Gatherer::Other(events) => events.is_finished(),
        }
    }

    /// Whether the provider ended the stream.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Gatherer::Chat(assembler) => assembler.is_done(),
            Gatherer::Other(events) => events.is_done(),
        }
    }

    /// Whether it was longer than the limit.
    pub(super) fn is_truncated(&self) -> bool {
        match self {
            Gatherer::Chat(assembler) => assembler.is_truncated(),
            Gatherer::Other(events) => events.is_truncated(),
        }
    }

    /// The error that the provider reported in mid-stream.
    pub(super) fn error(&self) -> Option<&Object> {
        match self {
            Gatherer::Chat(assembler) => assembler.error(),
            Gatherer::Other(events) => events.error(),
        }
    }

    /// Treats an event as an error, regardless of its type.
    pub(super) fn fail(&mut self, event: &Object) {
        match self {
            Gatherer::Chat(assembler) => assembler.fail(event),
            Gatherer::Other(events) => events.fail(event),
        }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, event: &Object) {
        match self {
            Gatherer::Chat(assembler) => assembler.add(event),
            Gatherer::Other(events) => events.add(event),
        }
    }

    /// The answer as if it had not been streamed; `None` if nothing of one arrived.
    pub(super) fn finish(self) -> Option<Object> {
        match self {
            Gatherer::Chat(assembler) => assembler.finish(),
            Gatherer::Other(events) => events.finish(),
        }
    }
}
