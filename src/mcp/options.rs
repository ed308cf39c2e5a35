//! The options of a server.

/// The default of `max_tokens`.
pub const DEFAULT_MAX_TOKENS: usize = 4000;

/// The options of a server, from the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The partition of all calls.
    pub partition: Option<String>,
    /// The instance of all calls.
    pub instance: Option<String>,
    /// Whether the partition follows from the client's root where none is given; else it is that without a name.
    pub by_root: bool,
    /// The greatest number of tokens of stored text in an answer.
    pub max_tokens: usize,
    /// Whether records can be forgotten.
    pub allow_forget: bool,
}
