//! Vectors for the messages that have none, and the one model that a store keeps to.
//!
//! The store remembers the model as a fact. While vectors of another model are being made, all is searched by
//! the old ones; the change is made when no message lacks a new one.

mod replay;

pub use replay::{Replayed, replay};

use crate::cli::Notes;
use crate::config::Settings;
use crate::embed::{Embedder, Pace, Side, Work};
use crate::error::{Error, Result};
use crate::record::{Embedding, Message, Object, Record, Scopes};
use crate::store::{Claim, Pending, Select, Store, Written};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The facts of a store: the model that it is searched by, and the change that was told of.
const MODEL: &str = "model";
const ANNOUNCED: &str = "announced";

/// The value of `embed.via` that nobody has to set.
const LOCAL: &str = "local";

/// The model that a store is searched by: the one it remembers, else that of most of its vectors.
pub fn model_of(store: &mut dyn Store) -> Result<Option<String>> {
    if let Some(model) = store.fact(MODEL)? {
        return Ok(Some(model));
    }
    Ok(store.models()?.into_iter().max_by_key(|model| model.vectors).map(|model| model.name))
}

/// The embedder for what a store holds: of the store's model as long as it can be used, else of the
/// settings'. That the two differ is told once.
pub fn embedder(store: &mut dyn Store, settings: &Settings, work: Work, notes: &Notes) -> Result<Embedder> {
    let wanted = Embedder::of(settings, work, notes);
    let Some(stored) = model_of(store)? else { return wanted };
    if wanted.as_ref().is_ok_and(|wanted| wanted.model() == stored) {
        return wanted;
    }
    match (stored_one(settings, &stored, work, notes), wanted) {
        (Ok(own), Ok(wanted)) => {
            announce(store, &stored, wanted.model(), notes)?;
            Ok(own)
        }
        (Err(_), Ok(wanted)) => {
            notes.note(format_args!(
                "the vectors of this store are of {stored}, which is not installed; only messages with vectors of {} \
                 are found by meaning: rsv-embed --replay",
                wanted.model()
            ));
            Ok(wanted)
        }
        (Ok(own), Err(_)) => {
            // It may not be installed yet.
            settings.text("embed.model").map_or(Ok(()), |named| announce(store, &stored, &named, notes))?;
            Ok(own)
        }
        (Err(why), Err(_)) => Err(why),
    }
}

/// The embedder of the store's model, which the settings do not name: what is installed here goes before the
/// server that they may name for their own.
fn stored_one(settings: &Settings, stored: &str, work: Work, notes: &Notes) -> Result<Embedder> {
    let mut here = settings.clone();
    here.overrule("embed.via", "embed.via", LOCAL)?;
    Embedder::named(&here, Some(stored), work, notes)
        .or_else(|_| Embedder::named(settings, Some(stored), work, notes))
}

/// Tells of a change of the model, once a store.
fn announce(store: &mut dyn Store, stored: &str, wanted: &str, notes: &Notes) -> Result<()> {
    if notes.is_quiet() || store.fact(ANNOUNCED)?.as_deref() == Some(wanted) {
        return Ok(());
    }
    notes.note(format_args!(
        "the vectors of this store are of {stored}, and the model is now {wanted}; to change them: rsv-embed --replay"
    ));
    // A store that cannot be written to tells it again.
    let _ = store.set_fact(ANNOUNCED, Some(wanted));
    Ok(())
}

/// Who has just chosen a store's model need not be told that the settings would choose another.
pub fn settle(store: &mut dyn Store, settings: &Settings, notes: &Notes) -> Result<()> {
    let wanted = Embedder::of(settings, Work::Many, notes).ok();
    store.set_fact(ANNOUNCED, wanted.as_ref().map(Embedder::model))
}

/// The `embedder`, where one can do without: `None` if no model is installed. Errors if one that was asked for, or
/// that the store has vectors of, cannot be had.
pub fn optional(
    store: &mut dyn Store,
    settings: &Settings,
    work: Work,
    notes: &Notes,
) -> Result<Option<Embedder>> {
    match embedder(store, settings, work, notes) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_wanted(store, settings)? => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether a model was asked for, or the store has vectors of one.
pub fn is_wanted(store: &mut dyn Store, settings: &Settings) -> Result<bool> {
    Ok(settings.text("embed.model").is_some() || model_of(store)?.is_some())
}

/// Embeds the newest messages of a selection that have no vector before it is searched, `limit` of them at
/// most. What remains is told, and so is what goes wrong; the search goes on.
pub fn catch_up(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, limit: usize, notes: &Notes) {
    match some(store, embedder, which, limit) {
        Ok(Filled { failed, remaining, .. }) => {
            failed.iter().for_each(|error| notes.note(error));
            if remaining > 0 {
                notes.note(format_args!("{}: rsv-embed --pending", lacking(remaining)));
            }
        }
        // Where the model cannot be loaded the search says so itself.
        Err(_) if !embedder.is_ready() => {}
        Err(error) => notes.note(format_args!("{error}; some messages have no vector yet")),
    }
}

/// How many messages are embedded before a search, by the settings.
pub fn catch_up_limit(settings: &Settings) -> usize {
    settings.integer("embed.catch_up").and_then(|limit| usize::try_from(limit).ok()).unwrap_or_default()
}

/// How many messages got a vector, and how many still have none.
#[derive(Default, Debug)]
pub struct Filled {
    pub done: usize,
    pub remaining: u64,
    /// Why some of them can have none.
    pub failed: Vec<Error>,
}

/// Embeds the newest messages of a selection that have no vector, `limit` of them at most.
pub fn some(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, limit: usize) -> Result<Filled> {
    let mut failed = Vec::new();
    let filled = work_off(store, embedder, which, limit, &mut |_, _| {}, &mut |error| failed.push(error))?;
    Ok(Filled { failed, ..filled })
}

/// `3 messages have no vector yet`.
fn lacking(count: u64) -> String {
    match count {
        1 => "1 message has no vector yet".to_owned(),
        _ => format!("{count} messages have no vector yet"),
    }
}

/// Embeds every message of a selection that has no vector. `report` gets how many are done, and of how many.
/// A message that cannot be embedded is given to `fault`, and left out.
pub fn all(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<()> {
    work_off(store, embedder, which, usize::MAX, report, fault).map(drop)
}

/// Embeds what has no vector in batches, each written before the next is begun.
fn work_off(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    limit: usize,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<Filled> {
    // What failed stays pending, and is not to be met again and again.
    let mut failed = HashSet::new();
    let mut filled = Filled::default();
    let mut pace = Pace::default();
    let mut tried = 0;
    loop {
        let size = pace.size().min(limit - tried);
        let Pending { newest: mut messages, total, known } =
            store.pending(embedder.model(), which, size + failed.len())?;
        messages.retain(|message| !failed.contains(&message.id));
        messages.truncate(size);
        filled.remaining = total;
        report(filled.done as u64, filled.done as u64 + total);
        if messages.is_empty() {
            return Ok(filled);
        }
        tried += messages.len();
        let begun = Instant::now();
        let (made, faults) = vectors(embedder, &messages)?;
        let refused = write(store, embedder.model(), known, &made)?;
        pace.took(begun.elapsed());
        let stored = made.len() - refused.len();
        filled.done += stored;
        filled.remaining = total.saturating_sub(stored as u64);
        for (of, error) in faults.into_iter().chain(refused) {
            fault(error.at(format_args!("message {of}")));
            failed.insert(of);
        }
        // What came meanwhile waits for the next time.
        if messages.len() as u64 == total {
            report(filled.done as u64, filled.done as u64 + filled.remaining);
            return Ok(filled);
        }
    }
}

/// Messages of which there is no vector, and why.
type Faults = Vec<(String, Error)>;

/// The vectors of messages, by the embedder's model. If they cannot be had together, each is tried alone, so
/// that a text which a server does not take keeps no other from its vector. Errors if it is not for the texts.
fn vectors(embedder: &mut Embedder, messages: &[Message]) -> Result<(Vec<Embedding>, Faults)> {
    let texts: Vec<String> = messages.iter().map(|message| message.content.text()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (mut made, mut faults) = (Vec::new(), Vec::new());
    for (message, vector) in messages.iter().zip(embedder.each(&texts, Side::Passage)?) {
        let (of, model, extra) = (message.id.clone(), embedder.model().to_owned(), Object::default());
        match vector {
            Ok(vector) => made.push(Embedding { of, model, vector, extra }),
            Err(error) => faults.push((of, error)),
        }
    }
    Ok((made, faults))
}

/// Writes vectors; the first of a store, which does not know the model then, settle its model. What the store refuses (its vectors of the model have
/// another dimension) is given back.
fn write(store: &mut dyn Store, model: &str, known: bool, made: &[Embedding]) -> Result<Faults> {
    if !known && !made.is_empty() && store.models()?.is_empty() && store.fact(MODEL)?.is_none() {
        store.set_fact(MODEL, Some(model))?;
    }
    let records: Vec<Record> = made.iter().cloned().map(Record::Embedding).collect();
    let written = store.write(&records)?;
    let refused = made.iter().zip(written).filter_map(|(embedding, written)| match written {
        Written::Refused(why) => Some((embedding.of.clone(), Error::new(why))),
        _ => None,
    });
    Ok(refused.collect())
}

/// How often it is looked whether another filler has done.
const STEP: Duration = Duration::from_millis(200);

/// Waits until nobody else does a job in the store, and keeps others waiting as long as the claim is kept. A job
/// has the name of the tool that does it: `embed`, `link`.
pub fn claim(store: &mut dyn Store, job: &str, notes: &Notes) -> Result<Claim> {
    let mut told = false;
    loop {
        if let Some(claim) = store.claim(job)? {
            return Ok(claim);
        }
        if !std::mem::replace(&mut told, true) {
            notes.note(format_args!("another rsv-{job} works on this store: waiting"));
        }
        std::thread::sleep(STEP);
    }
}

/// The number of messages in scopes.
fn count(store: &mut dyn Store, scopes: &Scopes) -> Result<u64> {
    let all = store.scopes()?;
    Ok(all.into_iter().filter(|(scope, _)| scopes.hold(scope)).map(|(_, messages)| messages).sum())
}
