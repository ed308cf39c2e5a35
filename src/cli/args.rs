//! The command lines that are too long to stand in their tools.

mod search;

pub use search::{RANKING_NAMES, SearchArgs};
