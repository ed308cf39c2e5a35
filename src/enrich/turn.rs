//! The memory that messages are recalled from, and the turn that they are recalled for.

use super::degraded::Degraded;
use super::schedule::RecallStep;
use crate::cli::Diagnostics;
use crate::record::{Clock, Scope};
use crate::search::{By, LinkNewest};
use crate::store::{QuestionVector, Store};

/// The memory that messages are recalled from.
pub struct Memory<'a> {
    pub store: &'a mut dyn Store,
    /// The vector of the question; without one, records are found by their words alone.
    pub vector: Option<&'a QuestionVector>,
    /// Whether new messages are linked before the links of others are followed.
    pub link_newest: Option<LinkNewest<'a>>,
    pub diagnostics: &'a Diagnostics,
    /// The reason why it works only in part, and the steps for which there was no time.
    pub degraded: Option<Degraded>,
    pub missing: Vec<RecallStep>,
}

impl<'a> Memory<'a> {
    /// The ranking of its searches.
    pub(super) fn by(&self) -> By<'a> {
        self.vector.map_or(By::Any, By::Vector)
    }
}

/// The scope, trace and time of a request.
pub struct Turn<'a> {
    pub scope: &'a Scope,
    /// The trace, if the turn continues one.
    pub trace_id: Option<String>,
    pub clock: &'a Clock,
    /// Asks the server of the model for its window, in tokens; called only if it matters.
    pub served_window: &'a dyn Fn() -> Option<usize>,
    /// Whether the result is still awaited; if not, nothing more is counted.
    pub is_awaited: &'a dyn Fn() -> bool,
}
