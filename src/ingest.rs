//! Stores records: completes lines, pairs questions with answers, writes batches, and returns the completed
//! lines once they are durable.

mod adding;
mod commit;
mod completion;
mod copied_actions;
mod duplicates;
mod entry;
mod error;
mod known_keys;
mod mirror;
mod misfits;
mod options;
mod pair;
mod report;
mod turn;

pub use adding::NewMemory;
pub use entry::{IngestedLine, RecordCounts};
pub use mirror::{Mirrored, no_tree};
pub use options::Options;
pub use report::ImportReport;

use crate::error::Result;
use crate::lines::{Feed, FeedEvent, LocatedLine};
use crate::record::{Clock, Record, Scopes};
use crate::store::{RefusedIds, Store, WriteOutcome, WriteSource};
use completion::Completion;
use entry::{Entry, Forgetting, WrittenBatch};
use known_keys::KnownKeys;
use mirror::Mirror;
use std::ops::ControlFlow;

/// Gathers lines into batches and writes them. A caller that may have to write a batch again clones it first.
#[derive(Clone)]
pub struct Ingest {
    completion: Completion,
    entries: Vec<Entry>,
    records: Vec<Record>,
    /// The titles that conversations of other programs have from now on.
    titles: Vec<Record>,
    bytes: usize,
    forgetting: Forgetting,
    /// The state of a mirror after the lines so far.
    mirror: Mirror,
    /// When the first line was read, in milliseconds since 1970, UTC.
    begin: i64,
    /// The ids of the records that were refused.
    refused: RefusedIds,
    known_keys: KnownKeys,
    /// The number of records that took the place of others, and of these.
    consolidated: (usize, usize),
}

/// Whether an input has more lines after those of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathered {
    More,
    All,
}

/// The number of lines, and of bytes, at which a batch is written at the latest. An import, of which nobody
/// waits for a line, writes more at once: larger segments of the word index are merged less often.
const BATCH_LINES: usize = 20_000;
const BATCH_BYTES: usize = 8 << 20;
const IMPORT_BATCH_BYTES: usize = 16 << 20;

impl Ingest {
    pub fn new(options: Options, clock: Clock) -> Ingest {
        let begin = clock.now();
        let completion = Completion::new(options, clock);
        Ingest {
            completion,
            entries: Vec::new(),
            records: Vec::new(),
            titles: Vec::new(),
            bytes: 0,
            forgetting: Forgetting::default(),
            mirror: Mirror::default(),
            begin,
            refused: RefusedIds::default(),
            known_keys: KnownKeys::default(),
            consolidated: (0, 0),
        }
    }

    /// Adds lines until the batch is full, or the input pauses or ends; `on_line` gets the outcome of each
    /// line, and may break off the input. An import does not stop at a pause, unless its options say so.
    pub fn gather(
        &mut self,
        feed: &mut Feed<LocatedLine>,
        on_line: &mut dyn FnMut(Result<()>) -> ControlFlow<()>,
    ) -> Gathered {
        let most_bytes =
            if self.completion.options.import.is_some() { IMPORT_BATCH_BYTES } else { BATCH_BYTES };
        loop {
            let line = match feed.next() {
                FeedEvent::Object(Ok(LocatedLine { location: place, names_kind, content })) => {
                    self.add_line(place.clone(), names_kind, content).map_err(|error| error.at(place))
                }
                FeedEvent::Object(Err(error)) => Err(error),
                FeedEvent::Pause if self.completion.options.reads_on() => continue,
                FeedEvent::Pause => return Gathered::More,
                FeedEvent::End => return Gathered::All,
            };
            if line.is_err() {
                self.mirror.add_bad();
            }
            if on_line(line).is_break() {
                return Gathered::All;
            }
            if self.entries.len() >= BATCH_LINES || self.bytes >= most_bytes {
                return Gathered::More;
            }
        }
    }

    /// Appends the batch of another.
    pub fn append(&mut self, other: Ingest) {
        let begin = self.records.len();
        self.titles.extend(other.titles);
        self.records.extend(other.records);
        self.entries.extend(other.entries.into_iter().map(|mut entry| {
            entry.records = entry.records.start + begin..entry.records.end + begin;
            entry
        }));
        self.bytes += other.bytes;
    }

    /// A note on the records that were kept out or removed so far because they were forgotten.
    pub fn forgetting_note(&self) -> Option<String> {
        self.forgetting.note()
    }

    /// A note on the secrets that were redacted since the last one.
    pub fn redaction_note(&self) -> Option<String> {
        self.completion.options.redactor.as_ref()?.take_note()
    }

    /// The number of records so far that took the place of others, and of these.
    pub fn consolidated(&self) -> (usize, usize) {
        self.consolidated
    }

    /// Takes away the documents that the complete trees of the input do not have. All batches must be
    /// committed. Fails if the store cannot be read or written; a refusal is returned.
    pub fn mirror(&self, store: &mut dyn Store) -> Result<Mirrored> {
        let replaces = self.completion.options.replace;
        self.mirror.finish(store, (self.begin, self.completion.clock.now()), replaces)
    }

    /// Whether tombstones have removed records.
    pub fn has_removed(&self) -> bool {
        self.forgetting.has_removed()
    }

    /// Writes the titles that other programs have now: each takes the place of another one.
    fn write_titles(&mut self, store: &mut dyn Store) -> Result<()> {
        let titles = std::mem::take(&mut self.titles);
        if !titles.is_empty() {
            store.write(&titles, self.completion.write_rules(WriteSource::Local))?;
        }
        Ok(())
    }

    /// Writes the batch and returns its lines in order, which are durable then. After an error nothing of it
    /// is stored.
    pub fn commit(&mut self, store: &mut dyn Store) -> Result<Vec<IngestedLine>> {
        let mut entries = std::mem::take(&mut self.entries);
        let mut records = std::mem::take(&mut self.records);
        self.bytes = 0;
        if entries.is_empty() {
            self.write_titles(store)?;
            return Ok(Vec::new());
        }
        if self.completion.options.mirror && !self.completion.options.replace {
            self.mirror.check_origins(&records, store)?;
        }
        if let Some(scopes) = self.completion.options.import.as_ref().filter(|scopes| **scopes != Scopes::All)
        {
            entry::narrow(&mut entries, &mut records, scopes, store)?;
        }
        if self.completion.options.import.is_some() {
            misfits::take(&mut entries, &mut records, store)?;
        }
        // Held from the check to the write: else two processes would both find a session uncommitted.
        let claim = match self.completion.options.import {
            None => commit::claim(&entries, &records, store)?,
            Some(_) => None,
        };
        if claim.is_some() {
            commit::check(&mut entries, &mut records, store)?;
        }
        // Uses are records about memories, whose scopes they get next; links follow the order that `order`
        // settles.
        turn::count_uses(&mut entries, &mut records, &mut self.completion, store)?;
        entry::inherit_scopes(&mut records, store)?;
        pair::order(&entries, &mut records, store)?;
        let own = records.len();
        records.extend(pair::links(&entries, &records, store)?);
        let source =
            if self.completion.options.import.is_none() { WriteSource::Local } else { WriteSource::Import };
        let rules = self.completion.write_rules(source);
        let mut written = if records.is_empty() { Vec::new() } else { store.write(&records, rules)? };
        drop(claim);
        // The batch is durable, so that a failure may only leave copies.
        let now = self.completion.clock.now();
        let _ = duplicates::remove(store, &records, &mut written, &mut self.known_keys, rules, now);
        self.write_titles(store)?;
        records.truncate(own);
        for (record, written) in records.iter().zip(&written) {
            self.refused.track(record, written);
            if let (Record::Stored(record), WriteOutcome::New) = (record, written) {
                let replaced = record.replaced_ids().len();
                self.consolidated.0 += usize::from(replaced > 0);
                self.consolidated.1 += replaced;
            }
        }
        let mut batch = WrittenBatch {
            echo: self.completion.options.import.is_none(),
            owners: entry::id_owners(&records, &written, store),
            forgetting: &mut self.forgetting,
            records: &mut records,
            written: &written,
        };
        Ok(entries.into_iter().map(|entry| batch.outcome(entry)).collect())
    }
}
