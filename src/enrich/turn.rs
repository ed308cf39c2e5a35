//! What is recalled from, and for whom.

use super::degraded::Degraded;
use crate::cli::Notes;
use crate::embed::Embedder;
use crate::record::{Clock, Scope};
use crate::store::Store;

/// What is recalled from: without an embedder by words alone.
pub struct Memory<'a> {
    pub store: &'a mut dyn Store,
    pub embedder: Option<&'a mut Embedder>,
    pub notes: &'a Notes,
    /// Why it serves in part only.
    pub degraded: Option<Degraded>,
}

/// Who asks, and when.
pub struct Turn<'a> {
    pub scope: &'a Scope,
    /// The trace, if it goes on from somewhere.
    pub trace_id: Option<String>,
    pub clock: &'a Clock,
    /// What who serves the model says of its window, in tokens; asked only if it matters.
    pub served: &'a dyn Fn() -> Option<usize>,
}
