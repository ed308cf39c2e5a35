//! Whether a text asks or is found.

/// The side of a search that a text is on: some models need different prompts for questions and for passages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputType {
    /// A question.
    Query,
    /// A text that may answer it.
    Passage,
}
