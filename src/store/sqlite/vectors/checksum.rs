//! The checksum of the index of vectors.

use std::collections::BTreeSet;

/// The number of vectors and the sum of their records' numbers, by which a damaged index is detected.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Checksum {
    pub(super) vectors: i64,
    pub(super) sum: i64,
}

impl Checksum {
    pub(crate) fn add(&mut self, n: i64) {
        self.vectors += 1;
        self.sum = self.sum.wrapping_add(n);
    }

    pub(crate) fn of(records: &BTreeSet<i64>) -> Checksum {
        let mut checksum = Checksum::default();
        for n in records {
            checksum.add(*n);
        }
        checksum
    }

    /// The checksum that takes this away when it is added.
    pub(crate) fn negative(&self) -> Checksum {
        Checksum { vectors: -self.vectors, sum: self.sum.wrapping_neg() }
    }

    pub(super) fn merge(&mut self, other: &Checksum) {
        self.vectors += other.vectors;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}
