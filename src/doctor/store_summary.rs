//! The number of records of a store, and the model by which it is searched.

use super::files::with_check_timeout;
use super::worth::ArmTable;
use crate::backfill;
use crate::config::Settings;
use crate::embed;
use crate::error::Result;
use crate::import_run;
use crate::record::{Scope, Scopes};
use crate::store::{self, OpenMode};

/// The store's part of the summary.
pub(super) struct StoreSummary {
    /// The scopes with their numbers of messages.
    pub(super) scopes: Vec<(Scope, u64)>,
    /// The number of records that are indexed as by an earlier release.
    pub(super) outdated: u64,
    /// Whether files of other programs were imported, or are watched.
    pub(super) has_imports: bool,
    /// The number of records that lack a vector of the model in use.
    pub(super) unembedded: u64,
    /// The turns with and without recall, if some get none.
    pub(super) comparison: Option<ArmTable>,
}

impl StoreSummary {
    /// Reads the store of the settings. Fails if it cannot be opened or read.
    pub(super) fn read(settings: &Settings) -> Result<StoreSummary> {
        let mut store = store::open(&with_check_timeout(settings.store()?), OpenMode::Existing)?;
        let has_imports =
            !store::imports(&mut *store)?.is_empty() || !store.facts(import_run::WATCHED)?.is_empty();
        let in_use = backfill::model_of(&mut *store)?.or_else(|| installed(settings));
        // Without an installed model there is nothing to do about it.
        let unembedded = match in_use.filter(|_| embedding(settings).is_some()) {
            Some(model) => store.unembedded(&model, &backfill::embeddable(Scopes::All), 0)?.total,
            None => 0,
        };
        let (scopes, outdated) = (store.scopes(None)?, store.outdated_words()?);
        let is_compared = settings.share("enrich.holdout").is_some_and(|share| share > 0.0);
        let comparison = is_compared.then(|| ArmTable::read(&mut *store, &Scopes::All)).transpose()?;
        Ok(StoreSummary { scopes, outdated, has_imports, unembedded, comparison })
    }

    /// The number of messages.
    pub(super) fn messages(&self) -> u64 {
        self.scopes.iter().map(|(_, messages)| messages).sum()
    }
}

/// The embedding model in use, if there is one.
pub(super) fn embedding(settings: &Settings) -> Option<String> {
    let via = settings.text("embed.via").filter(|via| via != "local");
    match via {
        Some(via) => Some(format!("via {via}")),
        None => installed(settings),
    }
}

/// The model of this machine that is used; none if they cannot be listed.
fn installed(settings: &Settings) -> Option<String> {
    embed::models(settings).ok()?.into_iter().find(|model| model.in_use).map(|model| model.id)
}
