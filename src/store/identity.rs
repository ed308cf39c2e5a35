//! The rules of every store for when two records are the same and when one is refused, with the wording.

use crate::record::{Link, RESPONDED_WITH, Record, StoredRecord};
use std::collections::HashSet;

/// The outcome of writing a record.
#[derive(Clone, PartialEq, Debug)]
pub enum WriteOutcome {
    /// It is new.
    New,
    /// It exists already, under this id.
    Same(String),
    /// It replaced another version.
    Replaced,
    /// Its id belongs to another record, or it has another vector of the model; the existing one stays.
    Conflict,
    /// It was forgotten, or it is a vector or link of a forgotten record.
    KeptOut,
    /// It is a tombstone, and this many records were removed.
    Removed(u64),
    /// It cannot be written, for this reason.
    Refused(String),
}

/// The ids of the records that were refused because their ids belong to other records. Vectors and links that
/// follow such a record in the same input belong to it, and not to the record that keeps the id.
#[derive(Clone, Default)]
pub struct RefusedIds(HashSet<String>);

impl RefusedIds {
    /// Notes the outcome of a record.
    pub fn track(&mut self, record: &Record, written: &WriteOutcome) {
        if let (Record::Stored(record), WriteOutcome::Conflict) = (record, written) {
            self.0.insert(record.id.clone());
        }
    }

    /// The reason to refuse a vector or a link of a refused record.
    pub fn refusal(&self, record: &Record) -> Option<String> {
        let id = record.references().into_iter().find(|id| self.0.contains(id.as_ref()))?;
        Some(format!("follows the record {id} of the same input, which was refused"))
    }
}

/// The longest names that a database can index.
#[derive(Clone, Copy)]
pub(super) struct NameLimit {
    pub(super) bytes: usize,
    pub(super) database: &'static str,
}

impl NameLimit {
    /// The reason to refuse a record with a name that is too long.
    pub(super) fn refusal(self, record: &Record) -> Option<String> {
        match record {
            Record::Stored(record) => self.refusal_among(&[
                ("id", &record.id),
                ("trace_id", &record.trace_id),
                ("partition", &record.scope.partition),
                ("instance", &record.scope.instance),
                (record.kind.lookup_key.unwrap_or_default(), &record.lookup_key().unwrap_or_default()),
                ("embedding_model", record.vector.as_ref().map_or("", |vector| &vector.model)),
            ]),
            Record::Embedding(embedding) => self.refusal_among(&[("model", &embedding.model)]),
            Record::Link(_) | Record::Tombstone(_) => None,
        }
    }

    fn refusal_among(self, names: &[(&str, &str)]) -> Option<String> {
        let (member, _) = names.iter().find(|(_, name)| name.len() > self.bytes)?;
        Some(format!("{member}: is longer than {} bytes, which {} cannot index", self.bytes, self.database))
    }
}

/// Whether two records with one id are the same.
pub(super) fn same_content(existing: &StoredRecord, record: &StoredRecord) -> bool {
    let fixed_parts = record.kind.fixed_parts;
    existing.kind == record.kind && fixed_parts.is_none_or(|parts| parts(existing) == parts(record))
}

/// The outcome of writing a vector if its record has one of the model already: the same only if every bit is.
pub(super) fn vector_outcome(of: &str, existing: &[f32], vector: &[f32]) -> WriteOutcome {
    let same = existing.iter().map(|x| x.to_bits()).eq(vector.iter().map(|x| x.to_bits()));
    if same { WriteOutcome::Same(of.to_owned()) } else { WriteOutcome::Conflict }
}

/// The refusal of an embedding or a link whose record is missing; `member` names the record.
pub(super) fn unknown_record(member: &str, id: &str) -> WriteOutcome {
    WriteOutcome::Refused(format!("{member}: the store has no record {id}"))
}

/// The refusal of a record whose subject is missing.
pub(super) fn unknown_subject(record: &StoredRecord) -> WriteOutcome {
    let member = record.kind.lookup_key.unwrap_or_default();
    let kind = record.kind.subject.map_or("record", |subject| subject.kind);
    let id = record.subject_id().unwrap_or_default();
    WriteOutcome::Refused(format!("{member}: {kind} not found: {id}"))
}

/// The refusal of a record that takes the place of a missing one.
pub(super) fn unknown_replaced(record: &StoredRecord, id: &str) -> WriteOutcome {
    let member = record.kind.replaces.map_or("", |replaces| replaces.member);
    WriteOutcome::Refused(format!("{member}: {} not found: {id}", record.kind.name))
}

/// The refusal of a record that takes the place of one that another has replaced already.
pub(super) fn replaced_already(record: &StoredRecord, id: &str) -> WriteOutcome {
    let member = record.kind.replaces.map_or("", |replaces| replaces.member);
    WriteOutcome::Refused(format!("{member}: {id} is archived already"))
}

/// Describes the mismatch between the dimension of a vector and that of its model, if any.
pub(crate) fn dimension_mismatch(model: &str, dim: usize, known: usize) -> Option<String> {
    (dim != known).then(|| format!("embedding: has {dim} numbers, but those of {model} have {known}"))
}

/// Whether a relation is one-to-one: a question has one such link, and an answer too.
pub(super) fn is_one_to_one(rel: &str) -> bool {
    rel == RESPONDED_WITH
}

/// The refusal of a second answer to a question, or of a second question to an answer.
pub(super) fn second_answer(link: &Link) -> WriteOutcome {
    WriteOutcome::Refused(format!(
        "{}: one of the two records is already linked to another, which is kept",
        link.rel
    ))
}
