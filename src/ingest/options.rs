//! The defaults from the command line or the request, and the filter of what is stored.

use crate::error::{Error, Result};
use crate::record::{Draft, Line, Scope, Scopes};

/// The defaults from the command line or the request for the fields that a line lacks.
#[derive(Clone, Default, Debug)]
pub struct Options {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub trace_id: Option<String>,
    /// Whether system messages are stored too.
    pub keep_system: bool,
    /// Whether lines come from an export: whole, with times of their own, and of these scopes only.
    pub import: Option<Scopes>,
    /// Whether records that were forgotten are stored again.
    pub allow_return: bool,
}

impl Options {
    /// An import brings its own links, except where lines without `kind` come from another tool.
    pub(super) fn pairs(&self, own: bool) -> bool {
        self.import.is_none() || !own
    }

    /// Whether records of a scope are to be stored.
    pub(super) fn admits(&self, scope: &Scope) -> bool {
        self.import.as_ref().is_none_or(|scopes| scopes.contains(scope))
    }

    /// Checks that a line of an import has all members that make a second import of the file add no duplicates.
    pub(super) fn check(&self, line: &Line) -> Result<()> {
        if self.import.is_none() {
            return Ok(());
        }
        match line {
            Line::Record(draft) => match self.missing_member(draft) {
                Some(missing) => Err(Error::new(format!("{missing}: is missing"))),
                None => Ok(()),
            },
            Line::Request(_) | Line::Response(_) | Line::Other(_) => Err(Error::new(
                "kind: cannot be imported",
            )
            .hint("rsv-import reads messages, accounts, embeddings, links and tombstones; give other kinds to rsv-ingest")),
            Line::Link(_) | Line::Embedding(_) | Line::Tombstone(_) => Ok(()),
        }
    }

    fn missing_member(&self, draft: &Draft) -> Option<&'static str> {
        if draft.kind.traced && draft.trace_id.is_none() {
            Some("trace_id")
        } else if draft.timestamp.is_none() {
            Some("timestamp")
        } else if draft.partition.is_none() && self.partition.is_none() {
            Some("partition")
        } else {
            None
        }
    }
}
