//! The numbers of the changes of a store, and the witnesses of the last ones.

use crate::record::identity_digest;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The numbers of the last changes. Later changes get greater numbers, whatever the times of the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeNumbers {
    pub records: i64,
    pub embeddings: i64,
    pub links: i64,
    pub tombstones: i64,
}

impl ChangeNumbers {
    /// Those before the first changes, which may have the number 0.
    pub(super) const BEFORE_ALL: ChangeNumbers =
        ChangeNumbers { records: -1, embeddings: -1, links: -1, tombstones: -1 };

    /// Whether one of them is greater than the same one of others.
    pub(super) fn exceed(&self, others: &ChangeNumbers) -> bool {
        self.records > others.records
            || self.embeddings > others.embeddings
            || self.links > others.links
            || self.tombstones > others.tombstones
    }
}

/// The holder of one of the numbers. If a store has another holder of that number, its history differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Witness {
    pub part: String,
    pub n: i64,
    /// A digest, so that a cursor says nothing of what was forgotten later.
    digest: String,
}

/// The number of the last changes of each part that are witnesses: a later removal ends one.
pub(super) const WITNESSES: usize = 8;

/// The hexadecimal digits of a witness's digest.
const DIGEST_DIGITS: usize = 16;

impl Witness {
    pub(super) fn new(part: &str, n: i64, name: &str) -> Witness {
        let mut digest = identity_digest(part, name);
        digest.truncate(DIGEST_DIGITS);
        Witness { part: part.to_owned(), n, digest }
    }
}

/// The changes of a store so far.
pub struct ChangeState {
    /// The id of the store.
    pub store: String,
    pub numbers: ChangeNumbers,
    /// A mark of the existing records: as long as it stays the same, none has come or gone. `None` if there
    /// are records without numbers.
    pub mark: Option<Mark>,
    /// Those of the last numbers, and of the numbers that were asked for.
    pub witnesses: Vec<Witness>,
}

/// The records that a store had at a time. Numbers are never reused: as long as there are as many records up
/// to the last number, they are the same ones.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mark {
    /// The greatest number of a record, or of any later change.
    pub last: i64,
    pub count: u64,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.last, self.count)
    }
}

impl Mark {
    /// Reads a mark as it is displayed; `None` for any other text.
    pub fn parse(text: &str) -> Option<Mark> {
        let (last, count) = text.split_once(' ')?;
        Some(Mark { last: last.parse().ok()?, count: count.parse().ok()? })
    }
}
