//! The model of a search by meaning, loaded for the first question, and what is done where there is none.

use super::options::{By, CatchUp};
use crate::backfill;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::{Error, Result};
use crate::record::Scopes;
use crate::store::{Select, Store};

/// When words will do instead of meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    Never,
    /// If no model can be used, which a note says.
    Always,
    /// The same, and without a note if there is no model at all.
    WithoutModel,
}

/// The parts that a search by meaning needs.
pub struct Meaning {
    /// Loaded for the first question.
    embedder: Option<Embedder>,
    /// Whether words count too.
    hybrid: bool,
    fallback: Fallback,
    /// The scopes whose records were given vectors before they were searched.
    filled: Vec<Scopes>,
}

impl Meaning {
    /// Nothing is loaded yet.
    pub fn new(hybrid: bool, fallback: Fallback) -> Meaning {
        Meaning { embedder: None, hybrid, fallback, filled: Vec::new() }
    }

    /// The same with an embedder that is loaded already, if there is one.
    pub fn with_embedder(self, embedder: Option<Embedder>) -> Meaning {
        Meaning { embedder, ..self }
    }

    /// The embedder, once it is loaded.
    pub fn embedder(&self) -> Option<&Embedder> {
        self.embedder.as_ref()
    }

    /// Prepares the ranking of a search; records without a vector are embedded first, in each scope.
    pub fn ready<'a>(
        &'a mut self,
        which: &Select,
        store: &mut dyn Store,
        settings: &Settings,
        diagnostics: &'a Diagnostics,
    ) -> Result<By<'a>> {
        let embedder = match &mut self.embedder {
            Some(embedder) => embedder,
            none => none.insert(backfill::embedder(store, settings, Workload::Few, diagnostics)?),
        };
        let mut behind = None;
        if !self.filled.contains(&which.scopes) {
            self.filled.push(which.scopes.clone());
            behind = Some(CatchUp { limit: backfill::catch_up_limit(settings), diagnostics });
        }
        Ok(if self.hybrid { By::Both(embedder, behind) } else { By::Meaning(embedder, behind) })
    }

    /// Errors with what went wrong unless words will do; a note tells it, if there is to be one.
    pub fn fall_back(
        &self,
        why: Error,
        store: &mut dyn Store,
        settings: &Settings,
        diagnostics: &Diagnostics,
    ) -> Result<()> {
        match self.fallback {
            Fallback::Never => return Err(why),
            Fallback::WithoutModel if !backfill::is_wanted(store, settings)? => {}
            Fallback::WithoutModel | Fallback::Always => {
                diagnostics.note(format_args!("searching by words: {why}"));
            }
        }
        Ok(())
    }
}
