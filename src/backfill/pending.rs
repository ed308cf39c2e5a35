//! Vectors for the records that have none.

use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::{BatchSizer, Embedder, InputType};
use crate::error::{Error, Result};
use crate::record::{Embedding, Record, RecordKind, Scopes, StoredRecord, kinds};
use crate::store::{MODEL_FACT, Select, Store, StoreFault, Unembedded, WriteOutcome, WriteRules};
use crate::text;
use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Instant;

/// All records of some scopes whose kind has vectors.
pub fn embeddable(scopes: Scopes) -> Select {
    let kinds = kinds().into_iter().filter(|kind| kind.embedded.is_some());
    Select::records(kinds.collect(), scopes)
}

/// Embeds the newest messages of a selection without a vector, at most `limit`, before it is searched. Notes
/// report the number of remaining messages and any failures; the search continues.
pub fn catch_up(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    limit: usize,
    diagnostics: &Diagnostics,
) {
    let filled = fill(store, embedder, which, Limits::count(limit), diagnostics);
    report(filled, embedder, which, diagnostics);
}

/// As `catch_up`, until a time: no batch begins later, and no server is awaited for longer. Returns whether
/// the time sufficed.
pub fn catch_up_until(
    store: &mut dyn Store,
    embedder: &Embedder,
    which: &Select,
    limit: usize,
    end: Instant,
    diagnostics: &Diagnostics,
) -> bool {
    let mut embedder = embedder.until(end);
    let limits = Limits { count: limit, end: Some(end) };
    let filled = fill(store, &mut embedder, which, limits, diagnostics);
    let sufficed = filled.as_ref().is_ok_and(|filled| !filled.is_late);
    report(filled, &embedder, which, diagnostics);
    sufficed
}

/// Embeds the newest records of a selection; a person who waits for a while is told how many.
fn fill(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    limits: Limits,
    diagnostics: &Diagnostics,
) -> Result<Backfilled> {
    let (mut failed, mut slow) = (Vec::new(), None);
    let mut tell = |_: u64, total: u64| {
        let count = total.min(limits.count as u64);
        if count > 0 {
            slow.get_or_insert_with(|| diagnostics.slow_task(adding_text(count, &which.kinds)));
        }
    };
    let filled = embed_batches(store, embedder, which, limits, &mut tell, &mut |error| failed.push(error))?;
    Ok(Backfilled { failed, ..filled })
}

/// Notes what a backfill before a search has left without a vector.
fn report(filled: Result<Backfilled>, embedder: &Embedder, which: &Select, diagnostics: &Diagnostics) {
    match filled {
        Ok(Backfilled { failed, remaining, .. }) => {
            for error in &failed {
                diagnostics.note(error);
            }
            if remaining > 0 {
                let text = unembedded_text(remaining, &which.kinds);
                diagnostics.note(format_args!("{text}: rsv-embed --pending"));
            }
        }
        // If the model cannot be loaded, the search itself reports it.
        Err(_) if !embedder.is_ready() => {}
        Err(error) => diagnostics.note(format_args!("{error}; some messages have no vector yet")),
    }
}

/// The number of messages that are embedded before a search, by the settings.
pub fn catch_up_limit(settings: &Settings) -> usize {
    settings.integer("embed.catch_up").and_then(|limit| usize::try_from(limit).ok()).unwrap_or_default()
}

/// The outcome of a backfill: the number of records that got a vector, and of those that still have none.
#[derive(Default, Debug)]
pub struct Backfilled {
    pub done: usize,
    pub remaining: u64,
    /// The reasons why some of them cannot have one.
    pub failed: Vec<Error>,
    /// Whether the time was over before all were tried.
    pub is_late: bool,
}

/// The bounds of a backfill.
#[derive(Clone, Copy)]
struct Limits {
    /// The greatest number of records.
    count: usize,
    /// The time at which the last batch may begin.
    end: Option<Instant>,
}

impl Limits {
    fn count(count: usize) -> Limits {
        Limits { count, end: None }
    }

    fn is_late(self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// The largest batch where somebody waits for the end of it.
const AWAITED_BATCH: usize = 8;

/// Embeds the newest messages of a selection that have no vector, `limit` of them at most. Fails if the store
/// or the embedder does; texts that cannot be embedded are listed.
pub fn newest(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    limit: usize,
) -> Result<Backfilled> {
    let mut failed = Vec::new();
    let backfilled =
        embed_batches(store, embedder, which, Limits::count(limit), &mut |_, _| {}, &mut |error| {
            failed.push(error)
        })?;
    Ok(Backfilled { failed, ..backfilled })
}

/// `3 messages have no vector yet`, by the kind of a selection if it has only one.
fn unembedded_text(count: u64, kinds: &[&RecordKind]) -> String {
    format!("{} {} no vector yet", counted(count, kinds), if count == 1 { "has" } else { "have" })
}

/// `adding vectors to 3 messages`, in the same way.
fn adding_text(count: u64, kinds: &[&RecordKind]) -> String {
    format!("adding {} to {}", if count == 1 { "a vector" } else { "vectors" }, counted(count, kinds))
}

fn counted(count: u64, kinds: &[&RecordKind]) -> String {
    let name = match kinds {
        [kind] => kind.name,
        _ => "record",
    };
    text::counted(count, name)
}

/// Embeds every record of a selection that has no vector. `report` gets how many are done, and of how many. A
/// record that cannot be embedded is given to `fault`, and left out; one that goes meanwhile needs no vector.
pub fn all(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<()> {
    embed_batches(store, embedder, which, Limits::count(usize::MAX), report, fault).map(drop)
}

/// Embeds the records without a vector in batches; writes each batch before it begins the next.
fn embed_batches(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    which: &Select,
    limits: Limits,
    report: &mut dyn FnMut(u64, u64),
    fault: &mut dyn FnMut(Error),
) -> Result<Backfilled> {
    // The records that failed stay without a vector, and are not tried again.
    let mut failed = HashSet::new();
    let mut backfilled = Backfilled::default();
    let mut pace = BatchSizer::default();
    let mut tried = 0;
    loop {
        let most = if limits.end.is_some() { AWAITED_BATCH } else { usize::MAX };
        let size = if limits.is_late() { 0 } else { pace.size().min(most).min(limits.count - tried) };
        let Unembedded { newest: mut records, total, model_known } =
            store.unembedded(embedder.model(), which, size + failed.len())?;
        records.retain(|record| !failed.contains(&record.id));
        records.truncate(size);
        backfilled.remaining = total;
        report(backfilled.done as u64, backfilled.done as u64 + total);
        if records.is_empty() {
            backfilled.is_late = total > 0 && tried < limits.count && limits.is_late();
            return Ok(backfilled);
        }
        tried += records.len();
        let started = Instant::now();
        let (made, not_embedded) = vectors(embedder, &records)?;
        let BatchOutcome { stored, gone, refused } = write(store, embedder.model(), model_known, &made)?;
        pace.record_duration(started.elapsed());
        backfilled.done += stored;
        backfilled.remaining = total.saturating_sub((stored + gone) as u64);
        for (of, error) in not_embedded.into_iter().chain(refused) {
            fault(named(error, &of, &records));
            failed.insert(of);
        }
        // Records that arrived meanwhile wait for the next run.
        if records.len() as u64 == total {
            report(backfilled.done as u64, backfilled.done as u64 + backfilled.remaining);
            return Ok(backfilled);
        }
    }
}

/// The ids of records that could not be embedded, and why.
pub(super) type FailedRecords = Vec<(String, Error)>;

/// The vectors of records, by the embedder's model. If embedding them together fails, each is tried alone, so
/// that a text which a server refuses keeps no other from its vector. Errors if the failure is not due to the
/// texts.
pub(super) fn vectors(
    embedder: &mut Embedder,
    records: &[StoredRecord],
) -> Result<(Vec<Embedding>, FailedRecords)> {
    // Records without a text are not listed as unembedded.
    let texts: Vec<Cow<str>> =
        records.iter().map(|record| record.embedded_text().unwrap_or_default()).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let (mut made, mut failed) = (Vec::new(), Vec::new());
    for (record, vector) in records.iter().zip(embedder.embed_each(&texts, InputType::Passage)?) {
        match vector {
            Ok(vector) => made.push(record.embedding(embedder.model(), vector)),
            Err(error) => failed.push((record.id.clone(), error)),
        }
    }
    Ok((made, failed))
}

/// The error of the record of an id, which is one of these, with its kind.
pub(super) fn named(error: Error, id: &str, records: &[StoredRecord]) -> Error {
    let kind = records.iter().find(|record| record.id == id).map_or("record", |record| record.kind.name);
    error.at(format_args!("{kind} {id}"))
}

/// The outcome of a batch of vectors.
#[derive(Default)]
struct BatchOutcome {
    /// The number of records that have a vector now.
    stored: usize,
    /// The number of records that went while their vectors were made.
    gone: usize,
    /// Those whose vectors the store refuses, as the others of the model have another dimension.
    refused: FailedRecords,
}

/// Writes vectors; the first ones of a store decide its model.
fn write(store: &mut dyn Store, model: &str, model_known: bool, made: &[Embedding]) -> Result<BatchOutcome> {
    if !model_known && !made.is_empty() && store.models()?.is_empty() && store.fact(MODEL_FACT)?.is_none() {
        store.set_fact(MODEL_FACT, Some(model))?;
    }
    let records: Vec<Record> = made.iter().cloned().map(Record::Embedding).collect();
    let mut outcome = BatchOutcome::default();
    for (embedding, written) in made.iter().zip(store.write(&records, WriteRules::KEEP_OUT)?) {
        match written {
            WriteOutcome::KeptOut => outcome.gone += 1,
            WriteOutcome::Refused(_) if store.scope_of(&embedding.of)?.is_none() => outcome.gone += 1,
            WriteOutcome::Refused(why) => {
                outcome.refused.push((embedding.of.clone(), StoreFault::Refused { why }.into()))
            }
            _ => outcome.stored += 1,
        }
    }
    Ok(outcome)
}
