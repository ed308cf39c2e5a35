//! The memory that messages are recalled from, and the turn that they are recalled for.

use super::degraded::Degraded;
use crate::cli::Diagnostics;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::record::{Clock, Scope};
use crate::search::{By, CatchUp, LinkNewest};
use crate::store::Store;

/// The memory that messages are recalled from; without an embedder, by words alone.
pub struct Memory<'a> {
    pub store: &'a mut dyn Store,
    pub embedder: Option<&'a mut Embedder>,
    /// Whether new messages are linked before the links of others are followed.
    pub link_newest: Option<LinkNewest<'a>>,
    pub diagnostics: &'a Diagnostics,
    /// The reason why it works only in part.
    pub degraded: Option<Degraded>,
}

impl Memory<'_> {
    /// The result by words and meaning, and `true`; without a model, or if that fails (the error goes to
    /// `tell`), by any word. At most `catch_up` records that lack a vector are embedded first.
    pub(super) fn search<T>(
        &mut self,
        catch_up: usize,
        tell: impl FnOnce(Error),
        search: impl Fn(&mut dyn Store, &mut By) -> Result<T>,
    ) -> Result<(T, bool)> {
        let Memory { store, embedder, diagnostics, .. } = self;
        if let Some(embedder) = embedder.as_deref_mut() {
            let pending = Some(CatchUp { limit: catch_up, diagnostics });
            match search(&mut **store, &mut By::Both(embedder, pending)) {
                Ok(found) => return Ok((found, true)),
                Err(error) => tell(error),
            }
        }
        Ok((search(&mut **store, &mut By::Any)?, false))
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
