//! The defaults from the command line or the request, and the filter of stored records.

use super::error::IngestError;
use crate::error::Result;
use crate::lines::too_long;
use crate::record::{ACTION, Draft, Line, Object, Record, Scope, Scopes, StoredRecord, TITLE, missing};
use crate::redact::Redactor;
use crate::store::Import;

/// The defaults from the command line or the request for the fields that a line lacks.
#[derive(Clone, Default, Debug)]
pub struct Options {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub trace_id: Option<String>,
    /// Whether system messages are stored too.
    pub keep_system: bool,
    /// Whether lines come from an export: whole, with times of their own, and of these scopes only.
    pub import: Option<Scopes>,
    /// The import that can be undone.
    pub undoable: Option<Import>,
    /// Whether an import stores what it has when its input pauses, instead of reading on.
    pub commit_at_pause: bool,
    /// Whether documents that a complete tree does not have are removed.
    pub mirror: bool,
    /// Whether the documents of a mirror may take the place of those of another source.
    pub replace: bool,
    /// Whether records that were forgotten are stored again.
    pub allow_return: bool,
    /// The greatest length of a record's line in bytes, so that every export can be imported.
    pub max_line: Option<usize>,
    /// Replaces secrets in records without an id of their own.
    pub redactor: Option<Redactor>,
}

/// The greatest number of bytes by which one byte grows in JSON (`\u0000`).
const MAX_ESCAPE_BYTES: usize = 6;
/// The length of a member `seq`, which is set later than a line is checked.
const SEQ_MEMBER_BYTES: usize = ",\"seq\":4294967295".len();

impl Options {
    /// Whether lines are gathered beyond a pause of the input.
    pub(super) fn reads_on(&self) -> bool {
        self.import.is_some() && !self.commit_at_pause
    }

    /// An import brings its own links, except where lines without `kind` come from another tool.
    pub(super) fn pairs(&self, own: bool) -> bool {
        self.import.is_none() || !own
    }

    /// Replaces the secrets of a message of a turn.
    pub(super) fn redact_message(&self, message: &mut Object) {
        if let Some(redactor) = &self.redactor {
            redactor.redact_message(message);
        }
    }

    /// Whether records of a scope are to be stored.
    pub(super) fn admits(&self, scope: &Scope) -> bool {
        self.import.as_ref().is_none_or(|scopes| scopes.contains(scope))
    }

    /// Checks that a line of an import has all members that make a second import of the file add no duplicates.
    pub(super) fn check(&self, line: &Line) -> Result<()> {
        if self.import.is_none() {
            return Ok(());
        }
        match line {
            Line::Record(draft) => match self.missing_member(draft) {
                Some(member) => Err(missing(member)),
                None => Ok(()),
            },
            Line::Request(_) | Line::Response(_) | Line::Other(_) => Err(IngestError::NotImported.into()),
            Line::Link(_) | Line::Embedding(_) | Line::Tombstone(_) => Ok(()),
        }
    }

    /// Checks that the line of a record, without a vector, does not exceed the limit. Fails if it does.
    pub(super) fn check_length(&self, record: &Record) -> Result<()> {
        let (Some(limit), Record::Stored(record)) = (self.max_line, record) else { return Ok(()) };
        let names = [&record.id, &record.trace_id, &record.scope.partition, &record.scope.instance];
        let members = record.members.iter().map(|(name, json)| name.len() + json.len());
        let bytes = names.map(String::len).iter().sum::<usize>() + record.text.len() + members.sum::<usize>();
        // The names and quotes of the members, and the time, take less than this.
        const OTHER_BYTES: usize = 512;
        let is_surely_short = bytes.saturating_mul(MAX_ESCAPE_BYTES).saturating_add(OTHER_BYTES) <= limit;
        if is_surely_short || line_length(record) <= limit {
            return Ok(());
        }
        Err(too_long(limit).at(format_args!("the line of the {} to store", record.kind.name)))
    }

    fn missing_member(&self, draft: &Draft) -> Option<&'static str> {
        if draft.kind.traced && draft.kind != &ACTION && draft.trace_id.is_none() && draft.role.is_none() {
            Some("trace_id")
        } else if draft.timestamp.is_none() && draft.kind != &TITLE {
            Some("timestamp")
        } else if draft.partition.is_none() && self.partition.is_none() && draft.kind.subject.is_none() {
            Some("partition")
        } else {
            None
        }
    }
}

/// The length of a record's line in an export, at most.
fn line_length(record: &StoredRecord) -> usize {
    let mut line = Vec::new();
    StoredRecord { vector: None, ..record.clone() }.write(&mut line);
    line.len() + if record.seq == 0 { SEQ_MEMBER_BYTES } else { 0 }
}
