//! Adds lines, texts, memories and turns to a batch.

use super::Ingest;
use super::entry::Entry;
use super::error::IngestError;
use super::{commit, turn};
use crate::embed;
use crate::error::Result;
use crate::lines::{LineContent, LocatedLine, LocatedObject, SourceLocation};
use crate::record::{
    CORRECTS, Commit, Content, DOCUMENT, Draft, Line, Link, MEMORY, Object, Record, Role, Scopes, TITLE,
    quote,
};
use crate::store::{self, Select, Store, StoreFault};
use std::borrow::Cow;

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

impl Ingest {
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

    /// Adds the link from the last record of the batch to the message of an id, which it corrects. Errors if
    /// that is no message of the scope's partition.
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

    /// Adds a line of any kind; `own` is whether it names that. Errors, which begin with the member at fault,
    /// leave the batch as it was.
    pub(super) fn add_line(&mut self, place: SourceLocation, own: bool, content: LineContent) -> Result<()> {
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

    /// Adds a vector or a link, unless its record was refused in an earlier batch; a store refuses those of
    /// its own batch.
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
}
