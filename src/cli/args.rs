//! The command lines that are too long to stand in their tools.

mod config;
mod search;

pub use config::{AuditArgs, TokenArgs};
pub use search::{RANKING_NAMES, SearchArgs};
