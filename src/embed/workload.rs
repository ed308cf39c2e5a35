//! How much is embedded.

/// How much is going to be embedded: it decides what is worth preparing. Vectors of one kind of work are the
/// same to the bit; the two kinds differ in the seventh digit, so that a server does as a tool does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// A question and a few messages.
    Few,
    /// Many texts.
    Many,
}
