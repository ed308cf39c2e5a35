//! The one model that a store keeps to.

use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::Result;
use crate::store::{MODEL_FACT, Store};

/// The fact that names the model which the settings choose, once that has been announced.
const ANNOUNCED: &str = "announced";

/// The default of `embed.via`.
const LOCAL: &str = "local";

/// The model that a store is searched by: the one it remembers, else that of most of its vectors. Fails if
/// the store cannot be read.
pub fn model_of(store: &mut dyn Store) -> Result<Option<String>> {
    if let Some(model) = store.fact(MODEL_FACT)? {
        return Ok(Some(model));
    }
    Ok(store.models()?.into_iter().max_by_key(|model| model.vectors).map(|model| model.name))
}

/// The embedder for a store: of the store's model if it can be used, else of the settings'. If the two
/// differ, a note says so once. Fails if neither can be used, or the store fails.
pub fn embedder(
    store: &mut dyn Store,
    settings: &Settings,
    work: Workload,
    diagnostics: &Diagnostics,
) -> Result<Embedder> {
    let wanted = Embedder::from_settings(settings, work, diagnostics);
    let Some(stored) = model_of(store)? else { return wanted };
    if wanted.as_ref().is_ok_and(|wanted| wanted.model() == stored) {
        return wanted;
    }
    match (store_embedder(settings, &stored, work, diagnostics), wanted) {
        (Ok(own), Ok(wanted)) => {
            announce(store, &stored, wanted.model(), diagnostics)?;
            Ok(own)
        }
        (Err(_), Ok(wanted)) => {
            diagnostics.note(format_args!(
                "the vectors of this store are of {stored}, which is not installed; only messages with vectors of {} \
                 are found by meaning; to embed the others: rsv-embed --replay",
                wanted.model()
            ));
            Ok(wanted)
        }
        (Ok(own), Err(_)) => {
            // The model of the settings may not be installed yet.
            settings
                .text("embed.model")
                .map_or(Ok(()), |named| announce(store, &stored, &named, diagnostics))?;
            Ok(own)
        }
        (Err(why), Err(_)) => Err(why),
    }
}

/// The embedder of the store's model, which the settings do not name: an installed model is preferred to the
/// server of the settings, which may have only their own model.
fn store_embedder(
    settings: &Settings,
    stored: &str,
    work: Workload,
    diagnostics: &Diagnostics,
) -> Result<Embedder> {
    let mut here = settings.clone();
    here.set_override("embed.via", "embed.via", LOCAL)?;
    Embedder::named(&here, Some(stored), work, diagnostics)
        .or_else(|_| Embedder::named(settings, Some(stored), work, diagnostics))
}

/// Announces a change of the model, once for each store.
fn announce(store: &mut dyn Store, stored: &str, wanted: &str, diagnostics: &Diagnostics) -> Result<()> {
    if diagnostics.is_quiet() || store.fact(ANNOUNCED)?.as_deref() == Some(wanted) {
        return Ok(());
    }
    diagnostics.note(format_args!(
        "the vectors of this store are of {stored}, but the model is set to {wanted}; to embed again: rsv-embed --replay"
    ));
    // If the store cannot be written to, the next run announces it again.
    let _ = store.set_fact(ANNOUNCED, Some(wanted));
    Ok(())
}

/// Notes that the user has chosen the store's model, so that `announce` does not say that the settings choose
/// another; if they choose none that can be used, nothing is noted. Fails if the store cannot be written.
pub fn settle(store: &mut dyn Store, settings: &Settings, diagnostics: &Diagnostics) -> Result<()> {
    let wanted = Embedder::from_settings(settings, Workload::Many, diagnostics).ok();
    Ok(store.set_fact(ANNOUNCED, wanted.as_ref().map(Embedder::model))?)
}

/// The `embedder`, for tools that work without one too: `None` if no model is installed. Errors if the
/// settings choose a model, or the store has vectors of one, and it is not available.
pub fn optional(
    store: &mut dyn Store,
    settings: &Settings,
    work: Workload,
    diagnostics: &Diagnostics,
) -> Result<Option<Embedder>> {
    match embedder(store, settings, work, diagnostics) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_wanted(store, settings)? => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether the settings choose a model, or the store has vectors of one. Fails if the store cannot be read.
pub fn is_wanted(store: &mut dyn Store, settings: &Settings) -> Result<bool> {
    Ok(settings.text("embed.model").is_some() || model_of(store)?.is_some())
}
