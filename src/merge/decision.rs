//! A memory that may be stored, and the decision about it.

use super::cluster::member;
use crate::error::Result;
use crate::record::{NEAR, Object, StoredRecord};

/// The fate of a candidate; indices point into its neighbours.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Decision {
    /// A memory says the same.
    Skip(usize),
    Create,
    /// A new memory with the words of both: this title and content, or by rule those of the two.
    Merge(usize, Option<[String; 2]>),
    /// The candidate replaces an outdated memory.
    ArchiveAndCreate(usize),
}

/// A candidate with the stored memories near it, best first.
pub(super) struct Candidate {
    pub(super) line: Object,
    pub(super) near: Vec<StoredRecord>,
}

impl Candidate {
    /// Reads a memory of a commit and those near it. Fails if one of these is invalid.
    pub(super) fn read(mut line: Object) -> Result<Candidate> {
        let near = line.objects(NEAR)?.unwrap_or_default();
        line.take(NEAR);
        let near = near.into_iter().map(member).collect::<Result<_>>()?;
        Ok(Candidate { line, near })
    }

    pub(super) fn text(&self, member: &str) -> String {
        self.line.valid_text(member).unwrap_or_default()
    }
}
