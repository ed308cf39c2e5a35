//! What is taken from the command line or the request, and what of a line is stored at all.

use crate::error::{Error, Result};
use crate::record::{Draft, Line, Scope, Scopes};

/// What is taken from the command line or the request where a line does not say it.
#[derive(Clone, Default, Debug)]
pub struct Options {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub trace_id: Option<String>,
    /// Whether system messages are stored too.
    pub keep_system: bool,
    /// Whether lines come from an export: whole, with times of their own, and of these scopes only.
    pub import: Option<Scopes>,
}

impl Options {
    /// An import brings its own links, except where lines without `kind` come from another tool.
    pub(super) fn pairs(&self, own: bool) -> bool {
        self.import.is_none() || !own
    }

    /// Whether what belongs to a scope is to be stored.
    pub(super) fn admits(&self, scope: &Scope) -> bool {
        self.import.as_ref().is_none_or(|scopes| scopes.contains(scope))
    }

    /// Checks that a line of an import says what a file must say to be imported again without doubles.
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
            .hint(
                "rsv-import reads messages, accounts, embeddings and links; give other kinds to rsv-ingest",
            )),
            Line::Link(_) | Line::Embedding(_) => Ok(()),
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
