//! What a search in the tree of contexts is for, and which way it takes.

use crate::record::{Address, RecordKind};
use crate::search::memories::MemoryRule;
use crate::store::Select;

/// The way through the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// All nodes below the targets at once, by their own scores.
    #[default]
    Flat,
    /// From the targets and the best directories down.
    Recursive,
}

/// What is searched for, and where.
#[derive(Clone, Debug)]
pub struct TreeQuery<'a> {
    /// The partition whose documents and memories are searched.
    pub partition: &'a str,
    /// The addresses at and below which hits lie. One that belongs to another partition has none.
    pub targets: &'a [Address],
    /// The kinds of the hits: documents or memories; if empty, documents, and memories for a target at or below those of
    /// the partition.
    pub kinds: &'a [&'static RecordKind],
    /// The other conditions on the hits; its kinds, its scopes and its subtrees do not count.
    pub filter: &'a Select,
    /// The questions; a node has the best of its scores.
    pub questions: &'a [String],
    /// Words that count less than those of the questions.
    pub context: Option<&'a str>,
    pub method: Method,
    pub memories: MemoryRule,
}

impl Method {
    /// Its name in a line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Flat => "flat",
            Method::Recursive => "recursive",
        }
    }
}
