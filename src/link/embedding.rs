//! Missing vectors, and the links that follow from them.

use super::synapse::{self, Plan};
use crate::backfill::{self, Replayed};
use crate::cli::Io;
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::Result;
use crate::record::Scopes;
use crate::store::{self, Derived, OpenMode, Store};
use crate::text::counted_verb;
use std::cell::RefCell;

/// Indexes the words of records that an earlier release has indexed, makes the vectors that records of the
/// scopes of the flags lack, and links these.
pub fn embed_and_link(settings: &Settings, io: &mut Io) -> Result<()> {
    let which = backfill::embeddable(io.common.to_cover()?);
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let _claim = backfill::claim(&mut *store, "embed", &io.diagnostics())?;
    let updated = update_words(&mut *store, io)?;
    if !store.repair(Derived::VectorIndexes)?.is_empty() {
        io.note("rebuilt the vector index, which was damaged");
    }
    let embedder = backfill::embedder(&mut *store, settings, Workload::Many, &io.diagnostics());
    let mut embedder = match embedder {
        Ok(embedder) => embedder,
        // The words were what was left to do.
        Err(why) if updated => {
            io.note(format_args!("no vectors are made: {why}"));
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let bar = RefCell::new(io.progress());
    let mut report = |done, of| bar.borrow_mut().set("embedding", done, Some(of));
    let mut fault = |error| bar.borrow().suspend(|| io.fault(&error));
    backfill::all(&mut *store, &mut embedder, &which, &mut report, &mut fault)?;
    drop(bar);
    link(&mut *store, settings, &which.scopes, false, io)
}

/// Reindexes the words of the records that an earlier release has indexed; returns whether there were any.
/// This needs no model.
fn update_words(store: &mut dyn Store, io: &Io) -> Result<bool> {
    let mut remaining = store.outdated_words()?;
    let (total, mut bar) = (remaining, io.progress());
    while remaining > 0 {
        bar.set("indexing words", total.saturating_sub(remaining), Some(total));
        remaining = store.update_words()?;
    }
    drop(bar);
    if total > 0 {
        io.note("the words of all messages are indexed");
    }
    Ok(total > 0)
}

/// Links newly embedded messages; after a change of the model, all messages that the previous model linked.
fn link(store: &mut dyn Store, settings: &Settings, scopes: &Scopes, update: bool, io: &Io) -> Result<()> {
    let Some(plan) = Plan::from_settings(store, settings, None, None)? else { return Ok(()) };
    let _claim = backfill::claim(store, "link", &io.diagnostics())?;
    let mut bar = io.progress();
    let mut report = |done, of| bar.set("linking", done, Some(of));
    if update {
        synapse::update(store, &plan, scopes, false, &mut report, &mut |_| Ok(()))
    } else {
        synapse::grow(store, &plan, scopes, usize::MAX, &mut report, &mut |_| Ok(()))
    }
}

/// Recomputes the vectors of all records of the scopes of the flags, by a model or that of the settings, and
/// links these. With `keep` the vectors of the previous model stay.
pub fn replay_and_link(settings: &Settings, model: Option<&str>, keep: bool, io: &mut Io) -> Result<()> {
    let which = backfill::embeddable(io.common.to_cover()?);
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let _claim = backfill::claim(&mut *store, "embed", &io.diagnostics())?;
    let mut embedder = Embedder::named(settings, model, Workload::Many, &io.diagnostics())?;
    let bar = RefCell::new(io.progress());
    let mut report = |done, of| bar.borrow_mut().set("embedding", done, Some(of));
    let mut fault = |error| bar.borrow().suspend(|| io.fault(&error));
    let done = backfill::replay(&mut *store, &mut embedder, &which, keep, &mut report, &mut fault)?;
    drop(bar);
    backfill::settle(&mut *store, settings, &io.diagnostics())?;
    link(&mut *store, settings, &which.scopes, true, io)?;
    if let Replayed::Partly(remaining, before) = done {
        let until = if remaining == 1 { "it does" } else { "they do" };
        let (records, model) = (counted_verb(remaining, "record", ["has", "have"]), embedder.model());
        io.note(format_args!("{records} no vector of {model} yet; until {until}, searches use {before}"));
    }
    Ok(())
}
