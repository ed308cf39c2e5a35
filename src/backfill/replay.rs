//! Replay: embeds everything again, with another model or with the same one. An interrupted replay continues.

use super::model::model_of;
use super::pending::{all, embeddable, named, vectors};
use crate::embed::{BatchSizer, Embedder};
use crate::error::{Error, Result};
use crate::record::{Object, Position, Scopes, StoredRecord};
use crate::store::{MODEL_FACT, Select, Store};
use std::time::Instant;

/// The fact that holds the progress of a replay with the same model.
const REPLAY: &str = "replay";

/// The fact that names a model whose vectors are being removed.
const REMOVED_MODEL: &str = "leaving";

/// The outcome of a replay.
#[derive(Clone, PartialEq, Debug)]
pub enum Replayed {
    /// Every vector is of the embedder's model.
    Done,
    /// This number of messages, of other scopes or that cannot be embedded, lack a vector, so that searches
    /// still use the named model.
    Partly(u64, String),
}

/// Rebuilds the vectors of a selection. Searches use the model before until the whole store has vectors of
/// this one; then the old vectors are removed, unless `keep`.
pub fn replay(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    keep: bool,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<Replayed> {
    let before = model_of(store)?;
    let finished = finish(store, before.as_deref())?;
    match before {
        Some(before) if before != embedder.model() => {
            // Searches use the vectors of the previous model until the store changes its model.
            store.set_fact(MODEL_FACT, Some(&before))?;
            all(store, embedder, which, report, fault)?;
            return switch(store, embedder.model(), before, keep);
        }
        Some(_) if !finished => replace_vectors(store, embedder, which, report, fault)?,
        _ => {}
    }
    all(store, embedder, which, report, fault)?;
    Ok(Replayed::Done)
}

/// Makes the embedder's model the store's, if no record lacks a vector of it.
fn switch(store: &mut dyn Store, model: &str, before: String, keep: bool) -> Result<Replayed> {
    let unembedded = store.unembedded(model, &embeddable(Scopes::All), 0)?.total;
    if unembedded > 0 {
        return Ok(Replayed::Partly(unembedded, before));
    }
    if !keep {
        store.set_fact(REMOVED_MODEL, Some(&before))?;
    }
    store.set_fact(MODEL_FACT, Some(model))?;
    store.set_fact(REPLAY, None)?;
    finish(store, Some(model))?;
    Ok(Replayed::Done)
}

/// Removes the vectors of a model that the store no longer uses, and returns whether there was one. If this
/// is interrupted, the next replay completes it.
fn finish(store: &mut dyn Store, model: Option<&str>) -> Result<bool> {
    let Some(removed_model) = store.fact(REMOVED_MODEL)? else { return Ok(false) };
    // If the replay was interrupted before the change, the store still uses the model.
    let left = model != Some(&removed_model);
    if left {
        store.drop_model(&removed_model)?;
    }
    store.set_fact(REMOVED_MODEL, None)?;
    Ok(left)
}

/// Replaces the vectors of a model, from the newest message to the oldest. The progress is written to the
/// store together with the vectors.
fn replace_vectors(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<()> {
    let task = format!("{} {:?}", embedder.model(), which.scopes);
    let mut progress = store.fact(REPLAY)?.and_then(|fact| Progress::read(&fact, &task)).unwrap_or_default();
    let total = count(store, &which.scopes)?;
    let mut pace = BatchSizer::default();
    loop {
        report(progress.done, total.max(progress.done));
        let before = progress.before.clone();
        let page = store.last_of(&Select { before, ..which.clone() }, pace.size())?;
        let Some(oldest) = page.first() else { break };
        progress = Progress { before: Some(oldest.position()), done: progress.done + page.len() as u64 };
        let with_text: Vec<StoredRecord> = page.into_iter().filter(|record| record.is_embeddable()).collect();
        let started = Instant::now();
        let (made, failed) = vectors(embedder, &with_text)?;
        store.put_vectors(&made, Some((REPLAY, &progress.fact(&task))))?;
        pace.record_duration(started.elapsed());
        for (of, error) in failed {
            fault(named(error, &of, &with_text));
        }
    }
    Ok(store.set_fact(REPLAY, None)?)
}

/// The progress of a replay with the same model.
#[derive(Default)]
struct Progress {
    /// The messages before this position are left to do; `None` at the beginning.
    before: Option<Position>,
    done: u64,
}

impl Progress {
    fn fact(&self, task: &str) -> String {
        let mut fact = Object::default();
        fact.set_text("task", task);
        fact.set("done", self.done.to_string());
        if let Some(before) = &self.before {
            fact.set("timestamp", before.timestamp.to_string());
            fact.set("seq", before.seq.to_string());
            fact.set_text("id", &before.id);
        }
        fact.to_json()
    }

    /// Reads the progress of a replay of the same task; without one, it begins with the newest record.
    fn read(fact: &str, task: &str) -> Option<Progress> {
        let fact = Object::parse(fact).ok()?;
        let same = fact.text("task").ok()?.as_deref() == Some(task);
        let number = |name: &str| fact.valid_integer(name);
        let (timestamp, seq) = (number("timestamp")?, u32::try_from(number("seq")?).ok()?);
        let before = Some(Position { timestamp, seq, id: fact.text("id").ok()?? });
        same.then_some(Progress { before, done: u64::try_from(number("done")?).ok()? })
    }
}

/// The number of messages in scopes.
fn count(store: &mut dyn Store, scopes: &Scopes) -> Result<u64> {
    let all = store.scopes(None)?;
    Ok(all.into_iter().filter(|(scope, _)| scopes.contains(scope)).map(|(_, messages)| messages).sum())
}
