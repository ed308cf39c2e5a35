//! The word index: segments (`segment.rs`), which only removals change, and records that are in none yet
//! (`word_index.rs`). A thread builds segments in memory during a large write (`segment_draft.rs`).

pub(super) mod keyword;
mod postings;
mod segment;
pub(super) mod segment_draft;
pub(super) mod word_index;
