//! Whether a text asks or is found.

/// The side of a search that a text is on: some models want questions worded otherwise than what answers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputType {
    /// A question.
    Query,
    /// A text that may answer it.
    Passage,
}
