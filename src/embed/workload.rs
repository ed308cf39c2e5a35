//! The amount of text to embed.

/// The amount of text to embed, which decides whether preparation pays. Vectors of one kind of workload are
/// identical; those of the two kinds differ in the seventh digit, so a server uses the kind that the tools
/// use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// A question and a few messages.
    Few,
    /// Many texts.
    Many,
}
