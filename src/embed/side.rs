//! Whether a text asks or is found.

/// What a text is: some models want questions worded otherwise than what answers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What is searched for.
    Query,
    /// What is found.
    Passage,
}
