//! The word index: segments (`segment.rs`), which only removals change, and records that are in none yet
//! (`word_index.rs`). A thread builds segments in memory during a large write (`segment_draft.rs`). Words of an earlier
//! folding are brought to the present one in place (`refold.rs`).

pub(super) mod keyword;
mod postings;
pub(super) mod refold;
mod segment;
pub(super) mod segment_draft;
pub(super) mod word_index;

pub use postings::fuzz_postings;
