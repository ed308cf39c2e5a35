//! Vectors for the records that have none.

use super::model::MODEL;
use crate::cli::Notes;
use crate::config::Settings;
use crate::embed::{BatchSizer, Embedder, InputType};
use crate::error::{Error, Result};
use crate::record::{Embedding, Object, Record, Scopes, StoredRecord, kinds};
use crate::store::{Select, Store, Unembedded, Written};
use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Instant;

/// All records of some scopes whose kind has vectors.
pub fn embeddable(scopes: Scopes) -> Select {
    let kinds = kinds().into_iter().filter(|kind| kind.embedded.is_some());
    Select::of_kinds(kinds.collect(), scopes)
}

/// Embeds the newest messages of a selection that have no vector before it is searched, `limit` of them at
/// most. What remains is told, and so is what goes wrong; the search goes on.
pub fn catch_up(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, limit: usize, notes: &Notes) {
    match some(store, embedder, which, limit) {
        Ok(Filled { failed, remaining, .. }) => {
            for error in &failed {
                notes.note(error);
            }
            if remaining > 0 {
                notes.note(format_args!("{}: rsv-embed --pending", told_unembedded(remaining)));
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
    let filled =
        embed_batches(store, embedder, which, limit, &mut |_, _| {}, &mut |error| failed.push(error))?;
    Ok(Filled { failed, ..filled })
}

/// `3 messages have no vector yet`.
fn told_unembedded(count: u64) -> String {
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
    embed_batches(store, embedder, which, usize::MAX, report, fault).map(drop)
}

/// Embeds what has no vector in batches, each written before the next is begun.
fn embed_batches(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    limit: usize,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<Filled> {
    // What failed stays without a vector, and is not to be met again and again.
    let mut failed = HashSet::new();
    let mut filled = Filled::default();
    let mut pace = BatchSizer::default();
    let mut tried = 0;
    loop {
        let size = pace.size().min(limit - tried);
        let Unembedded { newest: mut records, total, model_known } =
            store.unembedded(embedder.model(), which, size + failed.len())?;
        records.retain(|record| !failed.contains(&record.id));
        records.truncate(size);
        filled.remaining = total;
        report(filled.done as u64, filled.done as u64 + total);
        if records.is_empty() {
            return Ok(filled);
        }
        tried += records.len();
        let begun = Instant::now();
        let (made, faults) = vectors(embedder, &records)?;
        let refused = write(store, embedder.model(), model_known, &made)?;
        pace.record_duration(begun.elapsed());
        let stored = made.len() - refused.len();
        filled.done += stored;
        filled.remaining = total.saturating_sub(stored as u64);
        for (of, error) in faults.into_iter().chain(refused) {
            fault(error.at(format_args!("message {of}")));
            failed.insert(of);
        }
        // What came meanwhile waits for the next time.
        if records.len() as u64 == total {
            report(filled.done as u64, filled.done as u64 + filled.remaining);
            return Ok(filled);
        }
    }
}

/// Records of which there is no vector, and why.
pub(super) type Faults = Vec<(String, Error)>;

/// The vectors of records, by the embedder's model. If they cannot be had together, each is tried alone, so
/// that a text which a server does not take keeps no other from its vector. Errors if it is not for the texts.
pub(super) fn vectors(embedder: &mut Embedder, records: &[StoredRecord]) -> Result<(Vec<Embedding>, Faults)> {
    let texts: Vec<Cow<str>> =
        records.iter().map(|record| record.embedded_text().unwrap_or_default()).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let (mut made, mut faults) = (Vec::new(), Vec::new());
    for (record, vector) in records.iter().zip(embedder.embed_each(&texts, InputType::Passage)?) {
        let (of, model, extra) = (record.id.clone(), embedder.model().to_owned(), Object::default());
        match vector {
            Ok(vector) => made.push(Embedding { of, model, vector, extra }),
            Err(error) => faults.push((of, error)),
        }
    }
    Ok((made, faults))
}

/// Writes vectors; the first of a store, which does not know the model then, settle its model. What the store
/// refuses (its vectors of the model have another dimension) is given back.
fn write(store: &mut dyn Store, model: &str, model_known: bool, made: &[Embedding]) -> Result<Faults> {
    if !model_known && !made.is_empty() && store.models()?.is_empty() && store.fact(MODEL)?.is_none() {
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
