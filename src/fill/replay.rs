//! Embedding everything anew: with another model, or once more with the same. What is stopped goes on.

use super::{ANNOUNCED, BATCH, MODEL, all, count, model_of, vectors};
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::record::{Object, Position, quote};
use crate::store::{Select, Store};

/// The fact that tells how far a replay with the same model is.
const REPLAY: &str = "replay";

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
    match before {
        Some(before) if before != embedder.model() => {
            // Vectors that came from elsewhere are searched by until the change is made.
            store.set_fact(MODEL, Some(&before))?;
            all(store, embedder, which, report, fault)?;
            switch(store, embedder.model(), before, keep)
        }
        _ => {
            again(store, embedder, which, report)?;
            all(store, embedder, which, report, fault)?;
            Ok(Replayed::Done)
        }
    }
}

/// Makes the embedder's model the store's, if nothing lacks a vector of it.
fn switch(store: &mut dyn Store, model: &str, before: String, keep: bool) -> Result<Replayed> {
    let everything = Select::of(crate::record::Scopes::All);
    let (_, lacking) = store.pending(model, &everything, 0)?;
    if lacking > 0 {
        return Ok(Replayed::Partly(lacking, before));
    }
    store.set_fact(MODEL, Some(model))?;
    store.set_fact(ANNOUNCED, None)?;
    if !keep {
        store.forget(&before)?;
    }
    Ok(Replayed::Done)
}

/// Replaces the vectors of a model, from the newest message to the oldest. How far it is stands in the store,
/// written together with the vectors.
fn again(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let task = format!("{} {:?}", embedder.model(), which.scopes);
    let mut before = store.fact(REPLAY)?.and_then(|fact| position(&fact, &task));
    let total = count(store, &which.scopes)?;
    let mut done = 0;
    loop {
        let page = store.last(&Select { before: before.clone(), ..which.clone() }, BATCH)?;
        let Some(oldest) = page.first().map(|message| message.position()) else { break };
        let worded: Vec<_> = page.iter().filter(|m| !m.content.text().trim().is_empty()).cloned().collect();
        let made = vectors(embedder, &worded)?;
        store.replace(&made, Some((REPLAY, &fact(&oldest, &task))))?;
        done += page.len() as u64;
        report(done, total.max(done));
        before = Some(oldest);
    }
    store.set_fact(REPLAY, None)
}

fn fact(position: &Position, task: &str) -> String {
    let (id, task) = (quote(&position.id), quote(task));
    format!("{{\"task\":{task},\"timestamp\":{},\"seq\":{},\"id\":{id}}}", position.timestamp, position.seq)
}

/// Where a replay of the same task had got to.
fn position(fact: &str, task: &str) -> Option<Position> {
    let fact = Object::parse(fact).ok()?;
    let same = fact.text("task").ok()?.as_deref() == Some(task);
    let seq = fact.integer("seq").ok()?.and_then(|seq| u32::try_from(seq).ok())?;
    let (timestamp, id) = (fact.integer("timestamp").ok()??, fact.text("id").ok()??);
    same.then_some(Position { timestamp, seq, id })
}
