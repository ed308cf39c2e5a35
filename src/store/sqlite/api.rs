//! The traits of a store, each in a file; `readable.rs` walks through a damaged one.

mod audit;
mod links;
mod readable;
mod records;
mod retrieval;
pub(super) mod state;
mod vectors;
mod words;
