//! Stores records: completes lines, pairs questions with answers, writes batches, and returns the completed lines once
//! they are durable.

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

pub use entry::{IngestedLine, RecordCounts};
pub use mirror::{Mirrored, no_tree};
pub use options::Options;
pub use report::ImportReport;

use crate::embed;
use crate::error::Result;
use crate::lines::{Feed, FeedEvent, LineContent, LocatedLine, LocatedObject, SourceLocation};
use crate::record::{
    CORRECTS, Clock, Commit, Content, DOCUMENT, Draft, Line, Link, MEMORY, Object, Record, Role, Scopes,
    TITLE, quote,
};
use crate::store::{self, RefusedIds, Select, Store, StoreFault, WriteOutcome, WriteRules, WriteSource};
use completion::Completion;
use entry::{Entry, Forgetting, WrittenBatch};
use error::IngestError;
use known_keys::KnownKeys;
use mirror::Mirror;
use std::borrow::Cow;
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

/// The members of a memory that is made of a text.
#[derive(Clone, Copy, Debug)]
pub struct NewMemory<'a> {
    pub title: &'a str,
    /// `success` or `failure`.
    pub outcome: &'a str,
    pub tags: &'a [String],
    pub description: Option<&'a str>,
    /// The session in which it was learnt, and when, as RFC 3339 has it.
    pub session_id: Option<&'a str>,
    pub completed_at: Option<&'a str>,
}

/// Whether an input has more lines after those of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathered {
    More,
    All,
}

/// The number of lines, and of bytes, at which a batch is written at the latest. An import, of which nobody waits for a
/// line, writes more at once: larger segments of the word index are merged less often.
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

    /// Adds lines until the batch is full, or the input pauses or ends; `on_line` gets the outcome of each line,
    /// and may break off the input. An import does not stop at a pause, unless its options say so.
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

    /// Adds one text. Errors if nothing but white space is in it.
    pub fn add_text(&mut self, role: Role, text: &str) -> Result<()> {
        let text = text.trim_end();
        if text.trim_start().is_empty() {
            return Err(IngestError::NoText.into());
        }
        if role == Role::System && !self.completion.options.keep_system {
            return Err(IngestError::System.into());
        }
        let redactor = self.completion.options.redactor.as_ref();
        let text = redactor.map_or(Cow::Borrowed(text), |redactor| redactor.redact(text));
        let message = self.completion.complete(Draft::message(role, Content::Text(text.into_owned())))?;
        self.add_checked(None, vec![Record::Stored(message)], None, true)
    }

    /// Adds a memory with this text. Fails if a member is invalid, or all too long.
    pub fn add_memory(&mut self, memory: &NewMemory, text: &str) -> Result<()> {
        let mut line = Object::default();
        line.set_text("title", memory.title);
        line.set_text("content", text.trim_end());
        line.set_text("outcome", memory.outcome);
        let optional = [
            ("description", memory.description),
            ("session_id", memory.session_id),
            ("completed_at", memory.completed_at),
        ];
        for (name, text) in optional {
            if let Some(text) = text {
                line.set_text(name, text);
            }
        }
        let tags: Vec<String> =
            memory.tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()).map(quote).collect();
        line.set("tags", format!("[{}]", tags.join(",")));
        self.redaction()(&mut line);
        let memory = self.completion.complete((MEMORY.read)(line)?)?;
        self.add_checked(None, vec![Record::Stored(memory)], None, false)
    }

    /// Adds the link from the last record of the batch to the message of an id, which it corrects. Errors if that is no
    /// message of the scope's partition.
    pub fn add_correction(&mut self, id: &str, store: &mut dyn Store) -> Result<()> {
        let Some(Record::Stored(last)) = self.records.last() else { return Ok(()) };
        let scopes = Scopes::Partition(last.scope.partition.clone());
        let corrected = store::full_id(store, id, &scopes)?;
        if store.get(&[&corrected], &Select::messages(scopes))?.is_empty() {
            let (partition, id) = (last.scope.partition.clone(), id.to_owned());
            return Err(IngestError::NoMessage { partition, id }.into());
        }
        let link = Link::plain(CORRECTS, &last.id, &corrected, self.completion.clock.now());
        self.add(None, vec![Record::Link(link)], None, false);
        Ok(())
    }

    /// Adds an object as its line is added; `source` names where it comes from. Fails if the line is bad.
    pub fn add_object(&mut self, source: &str, object: Object) -> Result<()> {
        let object = LocatedObject { location: SourceLocation::new(source.into(), 1), object };
        let line = LocatedLine::new(object, &self.redaction());
        self.add_line(line.location, line.names_kind, line.content)
    }

    /// Replaces the secrets of an object, as a feed of lines for this batch must.
    pub fn redaction(&self) -> impl Fn(&mut Object) + Send + use<> {
        let redactor = self.completion.options.redactor.clone();
        move |line| {
            if let Some(redactor) = &redactor {
                redactor.redact_line(line);
            }
        }
    }

    /// Adds a line of any kind; `own` is whether it names that. Errors, which begin with the member at fault, leave the
    /// batch as it was.
    fn add_line(&mut self, place: SourceLocation, own: bool, content: LineContent) -> Result<()> {
        let line = match content {
            LineContent::System(line) if !self.completion.options.keep_system => {
                self.add(Some(place), Vec::new(), Some(line), false);
                return Ok(());
            }
            LineContent::System(mut line) => {
                self.redaction()(&mut line);
                Line::parse(line)?
            }
            LineContent::Parsed(line) => line?,
        };
        self.completion.options.check(&line)?;
        match line {
            Line::Record(draft) => self.add_draft(place, draft, own)?,
            Line::Response(response) => {
                let records = turn::records(&response, &mut self.completion)?;
                self.add_checked(Some(place), records, Some(response), true)?;
            }
            Line::Link(mut link) => {
                link.timestamp.get_or_insert_with(|| self.completion.clock.now());
                self.add_reference(place, Record::Link(link))?;
            }
            Line::Embedding(embedding) => self.add_reference(place, Record::Embedding(embedding))?,
            Line::Tombstone(tombstone) => {
                if self.completion.options.admits(&tombstone.scope) {
                    self.add(Some(place), vec![Record::Tombstone(tombstone)], None, false);
                }
            }
            Line::Request(line) => self.add(Some(place), Vec::new(), Some(line), false),
            Line::Other(line) if Commit::is_commit(&line) => self.add_commit(place, line)?,
            Line::Other(line) => {
                if self.completion.options.mirror {
                    self.mirror.add_tree_line(&line, &self.completion.options)?;
                }
                self.add(Some(place), Vec::new(), Some(line), false);
            }
        }
        Ok(())
    }

    /// Adds a vector or a link, unless its record was refused in an earlier batch; a store refuses those of its own
    /// batch.
    fn add_reference(&mut self, place: SourceLocation, record: Record) -> Result<()> {
        if let Some(why) = self.refused.refusal(&record) {
            return Err(StoreFault::Refused { why }.into());
        }
        self.add(Some(place), vec![record], None, false);
        Ok(())
    }

    /// Adds a draft if it belongs to the scopes of the import; `own` is whether its line names its kind.
    fn add_draft(&mut self, place: SourceLocation, draft: Draft, own: bool) -> Result<()> {
        let pair = draft.role.is_some() && self.completion.options.pairs(own);
        // An export of rsv leaves out a seq of 0.
        let ordered = draft.seq.is_some() || !pair;
        let holds_from_now = draft.kind == &TITLE && draft.timestamp.is_none();
        let without_vector = match (&draft.vector_fault, &self.completion.options.import) {
            (Some(fault), None) => return Err(StoreFault::Refused { why: fault.clone() }.into()),
            (Some(fault), Some(_)) => {
                Some(IngestError::NoVector { why: fault.clone(), kind: draft.kind.name }.into())
            }
            (None, _) => None,
        };
        let record = self.completion.complete(draft)?;
        if holds_from_now && self.completion.options.import.is_some() {
            if self.completion.options.admits(&record.scope) {
                self.titles.push(Record::Stored(record));
            }
            return Ok(());
        }
        if self.completion.options.mirror && record.kind == &DOCUMENT {
            self.mirror.add(&record);
        }
        // A record about another is admitted with its subject.
        if record.kind.subject.is_some() || self.completion.options.admits(&record.scope) {
            self.add_checked(Some(place), vec![Record::Stored(record)], None, pair)?;
            if let Some(entry) = self.entries.last_mut() {
                entry.ordered = ordered;
                entry.without_vector = without_vector;
            }
        }
        Ok(())
    }

    /// Adds a commit of a session.
    fn add_commit(&mut self, place: SourceLocation, line: Object) -> Result<()> {
        let commit = Commit::parse(line.clone())?;
        let (records, pending) = commit::records(&commit, &mut self.completion)?;
        self.add_checked(Some(place), records, Some(line), false)?;
        if let Some(entry) = self.entries.last_mut() {
            entry.commit = Some(Box::new(pending));
        }
        Ok(())
    }

    /// Adds the turn of a response line: both messages and the account. Fails if it is invalid or too long.
    pub fn add_response(&mut self, response: &Object) -> Result<()> {
        let records = turn::records(response, &mut self.completion)?;
        self.add_checked(None, records, Some(response.clone()), true)
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

    /// Adds an entry, if the lines of its records are not too long.
    fn add_checked(
        &mut self,
        place: Option<SourceLocation>,
        records: Vec<Record>,
        passed_on: Option<Object>,
        pair: bool,
    ) -> Result<()> {
        for record in &records {
            self.completion.options.check_length(record)?;
        }
        self.add(place, records, passed_on, pair);
        Ok(())
    }

    fn add(
        &mut self,
        place: Option<SourceLocation>,
        mut records: Vec<Record>,
        passed_on: Option<Object>,
        pair: bool,
    ) {
        let begin = self.records.len();
        for model in records.iter_mut().filter_map(Record::model_mut) {
            let canonical = embed::canonical(model);
            if canonical != model {
                *model = canonical.to_owned();
            }
        }
        self.bytes += records.iter().map(Record::weight).sum::<usize>();
        self.records.extend(records);
        let records = begin..self.records.len();
        self.entries.push(Entry {
            place,
            records,
            passed_on,
            pair,
            ordered: false,
            commit: None,
            refused: None,
            without_vector: None,
        });
    }

    /// Discards the batch and returns the number of its records.
    pub fn discard(&mut self) -> usize {
        self.entries.clear();
        self.titles.clear();
        self.bytes = 0;
        std::mem::take(&mut self.records).len()
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
            let (forgotten, source) = (self.completion.forgotten(), WriteSource::Local);
            let rules = WriteRules { forgotten, source, import: self.completion.options.undoable.as_ref() };
            store.write(&titles, rules)?;
        }
        Ok(())
    }

    /// Writes the batch and returns its lines in order, which are durable then. After an error nothing of it is stored.
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
        let forgotten = self.completion.forgotten();
        let source =
            if self.completion.options.import.is_none() { WriteSource::Local } else { WriteSource::Import };
        let rules = WriteRules { forgotten, source, import: self.completion.options.undoable.as_ref() };
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
