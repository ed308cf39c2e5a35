//! The word index: segments (`segment.rs`), which only removals change (`segment_change.rs`), and records
//! that are in none yet (`word_index.rs`). A thread builds segments in memory during a large write
//! (`segment_draft.rs`). Words of an earlier folding are brought to the present one in place (`refold.rs`).

pub(super) mod keyword;
mod lookup;
mod postings;
pub(super) mod refold;
mod segment;
mod segment_change;
pub(super) mod segment_draft;
mod segment_writer;
mod unindexed;
pub(super) mod word_index;

pub use postings::fuzz_postings;
