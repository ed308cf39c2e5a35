//! What can be read of a damaged file: its pages (`raw_pages.rs`) and rows (`raw_rows.rs`), without SQLite, copied into
//! another file (`recover.rs`).

pub(super) mod raw_pages;
mod raw_rows;
pub(super) mod recover;
