//! Vectors for the messages that have none, and the one model that a store keeps to.
//!
//! The store remembers the model as a fact. While vectors of another model are being made, all is searched by
//! the old ones; the change is made when no message lacks a new one.

mod replay;

pub use replay::{Replayed, replay};

use crate::cli::Notes;
use crate::config::Settings;
use crate::embed::{Embedder, Side, Work};
use crate::error::{Error, Result};
use crate::record::{Embedding, Message, Object, Record, Scopes};
use crate::store::{Claim, Select, Store};
use std::collections::HashSet;
use std::time::Duration;

/// The facts of a store: the model that it is searched by, and the change that was told of.
const MODEL: &str = "model";
const ANNOUNCED: &str = "announced";

/// How many messages are embedded and written at a time.
const BATCH: usize = 256;

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
    let own = Embedder::named(settings, Some(&stored), work, notes);
    match (own, wanted) {
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
        (own, Err(_)) => own,
    }
}

/// Tells of a change of the model, once a store.
fn announce(store: &mut dyn Store, stored: &str, wanted: &str, notes: &Notes) -> Result<()> {
    if store.fact(ANNOUNCED)?.as_deref() == Some(wanted) {
        return Ok(());
    }
    notes.note(format_args!(
        "the vectors of this store are of {stored}, and the model is now {wanted}; to change them: rsv-embed --replay"
    ));
    // A store that cannot be written to tells it again.
    let _ = store.set_fact(ANNOUNCED, Some(wanted));
    Ok(())
}

/// The same, where one can do without: `None` if no model is installed. One that was asked for and cannot be
/// had is told of.
pub fn optional(store: &mut dyn Store, settings: &Settings, work: Work, notes: &Notes) -> Option<Embedder> {
    let found = embedder(store, settings, work, notes);
    if let Err(error) = &found {
        let text = format!("{error}; messages are found by their words only");
        if settings.text("embed.model").is_some() { notes.note(text) } else { notes.detail(text) }
    }
    found.ok()
}

/// Embeds the newest messages of a selection that have no vector before it is searched, `limit` of them at
/// most. What remains is told, and so is what goes wrong; the search goes on.
pub fn catch_up(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, limit: usize, notes: &Notes) {
    match some(store, embedder, which, limit) {
        Ok(Filled { remaining: 0, .. }) => {}
        Ok(Filled { remaining, .. }) => {
            notes.note(format_args!("{remaining} messages have no vector yet: rsv-embed --pending"));
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filled {
    pub done: usize,
    pub remaining: u64,
}

/// Embeds the newest messages of a selection that have no vector, `limit` of them at most.
pub fn some(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, limit: usize) -> Result<Filled> {
    let (messages, total) = store.pending(embedder.model(), which, limit)?;
    let done = messages.len();
    for batch in messages.chunks(BATCH) {
        let made = vectors(embedder, batch)?;
        write(store, embedder.model(), made)?;
    }
    Ok(Filled { done, remaining: total - done as u64 })
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
    let mut failed = HashSet::new();
    let mut done = 0;
    loop {
        let (mut messages, total) = store.pending(embedder.model(), which, BATCH + failed.len())?;
        messages.retain(|message| !failed.contains(&message.id));
        if messages.is_empty() {
            return Ok(());
        }
        report(done, done + total);
        let made = match vectors(embedder, &messages) {
            Ok(made) => made,
            Err(error) if messages.len() == 1 || !embedder.is_ready() => return Err(error),
            Err(_) => one_by_one(embedder, &messages, &mut failed, fault),
        };
        done += made.len() as u64;
        write(store, embedder.model(), made)?;
    }
}

/// What can be embedded of a batch of which something cannot.
fn one_by_one(
    embedder: &mut Embedder,
    messages: &[Message],
    failed: &mut HashSet<String>,
    fault: &mut dyn FnMut(Error),
) -> Vec<Embedding> {
    let mut made = Vec::new();
    for message in messages {
        match vectors(embedder, std::slice::from_ref(message)) {
            Ok(one) => made.extend(one),
            Err(error) => {
                fault(error.at(format_args!("message {}", message.id)));
                failed.insert(message.id.clone());
            }
        }
    }
    made
}

/// The vectors of messages, by the embedder's model.
fn vectors(embedder: &mut Embedder, messages: &[Message]) -> Result<Vec<Embedding>> {
    let texts: Vec<String> = messages.iter().map(|message| message.content.text()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let made = embedder.embed(&texts, Side::Passage)?;
    let embedding = |(message, vector): (&Message, Vec<f32>)| Embedding {
        of: message.id.clone(),
        model: embedder.model().to_owned(),
        vector,
        extra: Object::default(),
    };
    Ok(messages.iter().zip(made).map(embedding).collect())
}

/// Writes vectors; the first of a store settle its model.
fn write(store: &mut dyn Store, model: &str, made: Vec<Embedding>) -> Result<()> {
    if !made.is_empty() && store.fact(MODEL)?.is_none() && model_of(store)?.is_none() {
        store.set_fact(MODEL, Some(model))?;
    }
    let records: Vec<Record> = made.into_iter().map(Record::Embedding).collect();
    // What somebody else wrote meanwhile is the same; a message that is gone needs no vector.
    store.write(&records).map(drop)
}

/// How often it is looked whether another filler has done.
const STEP: Duration = Duration::from_millis(200);

/// Waits until nobody else fills the store, and keeps others waiting as long as the claim is kept.
pub fn claim(store: &mut dyn Store, notes: &Notes) -> Result<Claim> {
    let mut told = false;
    loop {
        if let Some(claim) = store.claim("embed")? {
            return Ok(claim);
        }
        if !std::mem::replace(&mut told, true) {
            notes.note("another rsv-embed works on this store: waiting");
        }
        std::thread::sleep(STEP);
    }
}

/// The number of messages in scopes.
fn count(store: &mut dyn Store, scopes: &Scopes) -> Result<u64> {
    let all = store.scopes()?;
    Ok(all.into_iter().filter(|(scope, _)| scopes.hold(scope)).map(|(_, messages)| messages).sum())
}
