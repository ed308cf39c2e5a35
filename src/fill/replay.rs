//! Embedding everything anew: with another model, or once more with the same. What is stopped goes on.

use super::backfill::{all, embeddable, vectors};
use super::model::{MODEL, model_of};
use crate::embed::{BatchSizer, Embedder};
use crate::error::{Error, Result};
use crate::record::{Object, Position, Scopes, StoredRecord};
use crate::store::{Select, Store};
use std::time::Instant;

/// The fact that tells how far a replay with the same model is.
const REPLAY: &str = "replay";

/// The fact that names a model whose vectors are being removed.
const LEAVING: &str = "leaving";

/// What a replay came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Replayed {
    /// Every vector is of the embedder's model.
    Done,
    /// So many messages, of other scopes or such as cannot be embedded, lack a vector, so that the store is
    /// still searched by the model that is named.
    Partly(u64, String),
}

/// Makes the vectors of a selection anew. The model before is searched until the whole store has vectors of
/// this one; then its vectors are removed, unless `keep`.
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
            // Vectors that came from elsewhere are searched by until the change is made.
            store.set_fact(MODEL, Some(&before))?;
            all(store, embedder, which, report, fault)?;
            return switch(store, embedder.model(), before, keep);
        }
        Some(_) if !finished => replace_vectors(store, embedder, which, report, fault)?,
        _ => {}
    }
    all(store, embedder, which, report, fault)?;
    Ok(Replayed::Done)
}

/// Makes the embedder's model the store's, if nothing lacks a vector of it.
fn switch(store: &mut dyn Store, model: &str, before: String, keep: bool) -> Result<Replayed> {
    let unembedded = store.unembedded(model, &embeddable(Scopes::All), 0)?.total;
    if unembedded > 0 {
        return Ok(Replayed::Partly(unembedded, before));
    }
    if !keep {
        store.set_fact(LEAVING, Some(&before))?;
    }
    store.set_fact(MODEL, Some(model))?;
    store.set_fact(REPLAY, None)?;
    finish(store, Some(model))?;
    Ok(Replayed::Done)
}

/// Removes the vectors of a model that the store has left; whether there was one. What was stopped just then is
/// brought to its end by the next replay.
fn finish(store: &mut dyn Store, model: Option<&str>) -> Result<bool> {
    let Some(leaving) = store.fact(LEAVING)? else { return Ok(false) };
    // Stopped before the change, the store has not left it.
    let left = model != Some(&leaving);
    if left {
        store.drop_model(&leaving)?;
    }
    store.set_fact(LEAVING, None)?;
    Ok(left)
}

/// Replaces the vectors of a model, from the newest message to the oldest. How far it is stands in the store,
/// written together with the vectors.
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
        let worded: Vec<StoredRecord> =
            page.into_iter().filter(|record| record.embedded_text().is_some()).collect();
        let begun = Instant::now();
        let (made, faults) = vectors(embedder, &worded)?;
        store.put_vectors(&made, Some((REPLAY, &progress.fact(&task))))?;
        pace.record_duration(begun.elapsed());
        for (of, error) in faults {
            fault(error.at(format_args!("message {of}")));
        }
    }
    Ok(store.set_fact(REPLAY, None)?)
}

/// How far a replay with the same model is.
#[derive(Default)]
struct Progress {
    /// What stands before this is left to do; `None` at the beginning.
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

    /// Where a replay of the same task had got to.
    fn read(fact: &str, task: &str) -> Option<Progress> {
        let fact = Object::parse(fact).ok()?;
        let same = fact.text("task").ok()?.as_deref() == Some(task);
        let number = |name: &str| fact.integer(name).ok().flatten();
        let (timestamp, seq) = (number("timestamp")?, u32::try_from(number("seq")?).ok()?);
        let before = Some(Position { timestamp, seq, id: fact.text("id").ok()?? });
        same.then_some(Progress { before, done: u64::try_from(number("done")?).ok()? })
    }
}

/// The number of messages in scopes.
fn count(store: &mut dyn Store, scopes: &Scopes) -> Result<u64> {
    let all = store.scopes()?;
    Ok(all.into_iter().filter(|(scope, _)| scopes.contains(scope)).map(|(_, messages)| messages).sum())
}
