//! A memory that may be stored, and what becomes of it.

use super::cluster::member;
use crate::error::Result;
use crate::record::{NEAR, Object, StoredRecord};

/// What becomes of a candidate; the number is the position of a memory that is near it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Decision {
    /// A memory says the same.
    Skip(usize),
    Create,
    /// A new memory says what both say: this title and content, or by rule what the two have.
    Merge(usize, Option<[String; 2]>),
    /// The candidate takes the place of a memory that is no longer true.
    ArchiveAndCreate(usize),
}

/// A candidate with the stored memories near it, best first.
pub(super) struct Candidate {
    pub(super) line: Object,
    pub(super) near: Vec<StoredRecord>,
}

impl Candidate {
    pub(super) fn read(mut line: Object) -> Result<Candidate> {
        let near = line.objects(NEAR)?.unwrap_or_default();
        line.take(NEAR);
        let near = near.into_iter().map(member).collect::<Result<_>>()?;
        Ok(Candidate { line, near })
    }

    pub(super) fn text(&self, member: &str) -> String {
        self.line.text(member).ok().flatten().unwrap_or_default()
    }
}
