//! Reads a damaged file without SQLite: its readable pages (`raw_pages.rs`) and rows (`raw_rows.rs`), copied
//! into another file (`recover.rs`).

pub(super) mod raw_pages;
mod raw_rows;
pub(super) mod recover;
