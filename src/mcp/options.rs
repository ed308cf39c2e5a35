//! The options of a server.

use crate::error::Result;
use crate::record::Scope;

/// The default of `max_tokens`.
pub const DEFAULT_MAX_TOKENS: usize = 4000;

/// The options of a server, from the command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The partition of all calls.
    pub partition: Option<String>,
    /// The instance of all calls.
    pub instance: Option<String>,
    /// Whether the partition follows from the client's root where none is given; else it is that without a
    /// name.
    pub by_root: bool,
    /// The greatest number of tokens of stored text in an answer.
    pub max_tokens: usize,
    /// Whether records can be read, and whether some can be added.
    pub reads: bool,
    pub adds: bool,
    /// Whether records can be forgotten.
    pub allow_forget: bool,
    /// The partitions that a call may name as its project, beside that of the client.
    pub projects: Vec<String>,
}

impl Options {
    /// The names in a list that is separated by commas, each once. Errors if one is empty.
    pub fn projects(list: &str) -> Result<Vec<String>> {
        let mut projects: Vec<String> = Vec::new();
        for name in list.split(',').map(str::trim).filter(|_| !list.trim().is_empty()) {
            Scope::new(Some(name), None)?;
            if !projects.iter().any(|known| known == name) {
                projects.push(name.to_owned());
            }
        }
        Ok(projects)
    }
}
