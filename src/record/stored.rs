//! Records: everything in a store that has an id and a time, of any kind.
//!
//! A store, the search and the tools know records by this type alone. The particulars of a kind are a row
//! of the table in `kinds.rs` and the file that the row points to.

use super::embedding::{Embedding, Vector};
use super::object::{Object, empty, invalid, write_text};
use super::{Role, Scope, digest, id, time};
use crate::error::Result;
use std::borrow::Cow;
use std::fmt;
use std::io::Write;

/// A record as it is stored: nothing is missing.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredRecord {
    pub kind: &'static RecordKind,
    pub id: String,
    pub scope: Scope,
    /// The conversation that it belongs to; empty for a kind without traces.
    pub trace_id: String,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// The order within one timestamp.
    pub seq: u32,
    /// The role of the speaker, if the record is a turn in a conversation.
    pub role: Option<Role>,
    /// The text, which may be empty.
    pub text: String,
    /// All other members of its line, unchanged.
    pub members: Object,
    /// A vector that travels with it; a store keeps it as an embedding of the record.
    pub vector: Option<Vector>,
}

impl StoredRecord {
    /// Its position in the order of its store.
    pub fn position(&self) -> Position {
        Position { timestamp: self.timestamp, seq: self.seq, id: self.id.clone() }
    }

    /// Like `position`, borrowed.
    pub fn sort_key(&self) -> (i64, u32, &str) {
        (self.timestamp, self.seq, &self.id)
    }

    /// The text for the word index, if its kind has one.
    pub fn indexed_text(&self) -> Option<Cow<'_, str>> {
        self.kind.indexed.extract(self)
    }

    /// The text for its vector; `None` if its kind has no vectors, or the text is blank.
    pub fn embedded_text(&self) -> Option<Cow<'_, str>> {
        self.kind.embedded.extract(self).filter(|text| !text.trim().is_empty())
    }

    /// Whether there is a text for its vector.
    pub fn is_embeddable(&self) -> bool {
        let has_text = !matches!(self.kind.embedded, TextSource::None) && !self.text.trim().is_empty();
        has_text || self.embedded_text().is_some()
    }

    /// The id of the record that it is about.
    pub fn subject_id(&self) -> Option<String> {
        self.kind.subject.and_then(|_| self.lookup_key())
    }

    /// The digest of this version's content, if its kind has versions.
    pub fn version(&self) -> Option<String> {
        self.members.valid_text(self.kind.versions?.version)
    }

    /// A vector of this version, of any length (norm).
    pub fn embedding(&self, model: &str, vector: Vec<f32>) -> Embedding {
        let mut extra = Object::default();
        if let (Some(versions), Some(version)) = (self.kind.versions, self.version()) {
            extra.set_text(versions.version, &version);
        }
        Embedding { of: self.id.clone(), model: model.to_owned(), vector, extra }
    }

    /// The digest of this version's source.
    pub fn source(&self) -> Option<String> {
        self.members.valid_text(self.kind.versions?.source)
    }

    /// The amounts that it adds to the sums of its store.
    pub fn tallies(&self) -> Vec<Tally> {
        self.kind.subject.map_or_else(Vec::new, |subject| (subject.tallies)(self))
    }

    /// The ids of the records that it takes the place of.
    pub fn replaced_ids(&self) -> Vec<String> {
        self.kind.replaces.map_or_else(Vec::new, |replaces| (replaces.ids)(self))
    }

    /// The text for people and models.
    pub fn shown_text(&self) -> Cow<'_, str> {
        self.kind.shown.extract(self).unwrap_or_default()
    }

    /// The value by which its kind is looked up, such as an account's digest.
    pub fn lookup_key(&self) -> Option<String> {
        self.members.valid_text(self.kind.lookup_key?)
    }

    /// Whether both are the same record, regardless of their ids: one kind, time and natural key.
    pub fn is_same(&self, other: &StoredRecord) -> bool {
        match self.kind.natural_key {
            Some(key) => {
                self.kind == other.kind && self.timestamp == other.timestamp && key(self) == key(other)
            }
            None => self.kind == other.kind && self.id == other.id,
        }
    }

    /// The digest of its kind, its role and its indexed text without the white space around it: records with
    /// the same digest say the same.
    pub fn text_digest(&self) -> [u8; 32] {
        let text = self.indexed_text().unwrap_or_default();
        digest::bytes(&[self.kind.name, self.role.map_or("", Role::name), text.trim()])
    }

    /// Appends the record as a JSON object, without a line end.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.write_members(self.kind.name, out);
        out.push(b'}');
    }

    /// Appends its members, from `kind` on, without the braces; `kind` is the value of that member.
    pub(super) fn write_members(&self, kind: &str, out: &mut Vec<u8>) {
        let head = [
            ("kind", kind),
            ("id", &self.id),
            ("trace_id", &self.trace_id),
            ("partition", &self.scope.partition),
            ("instance", &self.scope.instance),
        ];
        let head = head.into_iter().filter(|(name, _)| self.kind.traced || *name != "trace_id");
        for (at, (name, value)) in head.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_text(out, name);
            out.push(b':');
            write_text(out, value);
        }
        (self.kind.write)(self, out);
    }
}

/// A position in the order of a store: by timestamp, then seq, then id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    pub timestamp: i64,
    pub seq: u32,
    pub id: String,
}

/// A kind of records, with everything in which kinds differ.
pub struct RecordKind {
    /// The value of the member `kind`.
    pub name: &'static str,
    /// Its label in a graph database.
    pub label: &'static str,
    /// Whether its records belong to a trace.
    pub traced: bool,
    /// Reads a line. Errors begin with the member at fault.
    pub read: fn(Object) -> Result<Draft>,
    /// Completes a record whose scope is known by what follows from it. Errors begin with the member at
    /// fault.
    pub complete: fn(&mut StoredRecord) -> Result<()>,
    /// Appends the members after the scope, each preceded by a comma.
    pub write: fn(&StoredRecord, &mut Vec<u8>),
    /// The parts that, with the time, identify a record: a missing id is derived from them, and the same
    /// parts under another id are the same record. `None` if only the id identifies it.
    pub natural_key: Option<fn(&StoredRecord) -> Vec<String>>,
    /// Recognizes the records that say the same in any form. `None` if that does not matter.
    pub same_words: Option<SameWords>,
    /// The parts that never change under one id; `None` if versions of a record may differ.
    pub fixed_parts: Option<fn(&StoredRecord) -> Vec<String>>,
    /// Chooses between versions under one id. A kind with such a rule has no index; one without it keeps the
    /// first version.
    pub merge: Option<MergeRule>,
    /// The versions of a record under one id, of which the store keeps one. A kind has this or `merge`, or
    /// neither.
    pub versions: Option<Versions>,
    /// The id of the record above it, if its records are a tree.
    pub parent_id: fn(&StoredRecord) -> Option<String>,
    /// The record that it is about, without which it cannot exist.
    pub subject: Option<Subject>,
    /// The records that it takes the place of.
    pub replaces: Option<Replaces>,
    /// The member, a text, by which records of the kind are looked up.
    pub lookup_key: Option<&'static str>,
    /// The source of the text for the word index.
    pub indexed: TextSource,
    /// The source of the text for vectors.
    pub embedded: TextSource,
    /// The source of the text for people and models.
    pub shown: TextSource,
    /// The heading in front of that text.
    pub heading: fn(&StoredRecord) -> String,
    /// Whether enrichment may recall it.
    pub recalled: bool,
    /// The members that are lists of parts, each naming a record by its `id`, with the kind of those records.
    /// Parts that name forgotten records are left out when a record is read.
    pub part_lists: &'static [(&'static str, &'static str)],
}

impl RecordKind {
    /// A kind without any particulars, for a row that names only its own.
    pub const PLAIN: RecordKind = RecordKind {
        name: "",
        label: "",
        traced: false,
        read: |_| Err(invalid("kind", "cannot be read")),
        complete: |_| Ok(()),
        write: |_, _| {},
        natural_key: None,
        same_words: None,
        fixed_parts: None,
        merge: None,
        versions: None,
        parent_id: |_| None,
        subject: None,
        replaces: None,
        lookup_key: None,
        indexed: TextSource::None,
        embedded: TextSource::None,
        shown: TextSource::Text,
        heading: |record| record.kind.name.to_owned(),
        recalled: false,
        part_lists: &[],
    };
}

/// The version to store, given the one that exists, if there is one, and a new one; `None` to keep the
/// existing one.
pub type MergeRule = fn(Option<&StoredRecord>, &StoredRecord) -> Option<StoredRecord>;

/// The records that say the same, ignoring Unicode form, case and white space.
#[derive(Clone, Copy, Debug)]
pub struct SameWords {
    /// The parts that such records have in common; `None` if the record says nothing.
    pub key: fn(&StoredRecord) -> Option<Vec<String>>,
    /// Whether they have their time in common.
    pub at_one_time: bool,
    /// Whether a record was written as such, not derived from others, so that it may repeat forgotten words.
    pub is_said_again: fn(&StoredRecord) -> bool,
}

/// How versions of a record differ.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    /// The member with the digest of a version's content. A vector names the version that it was made of.
    pub version: &'static str,
    /// The member with the digest of a version's source.
    pub source: &'static str,
    /// The member with its position among the records beside it.
    pub order: &'static str,
    /// Whether the new version (the first argument) loses to the stored one.
    pub gives_way: fn(&StoredRecord, &StoredRecord) -> bool,
    /// The stored version as one that was made of the place that the new version (the first argument) names;
    /// `None` if that is the same.
    pub moved: fn(&StoredRecord, &StoredRecord) -> Option<StoredRecord>,
}

/// The record that records of a kind are about: the value of their lookup key is its id. They are refused
/// without it, go with it, and follow it in an export.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name of its kind.
    pub kind: &'static str,
    /// The amounts that a record adds to the sums that a store keeps.
    pub tallies: fn(&StoredRecord) -> Vec<Tally>,
}

/// The records that a record takes the place of: each gets a link to it.
#[derive(Clone, Copy, Debug)]
pub struct Replaces {
    /// The relation of the links.
    pub rel: &'static str,
    /// The ids of the replaced records.
    pub ids: fn(&StoredRecord) -> Vec<String>,
    /// The member that lists them, for errors.
    pub member: &'static str,
}

/// An amount that a record adds to a counter of a subject. A store keeps the sums, in the transactions that
/// change its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// The id of a record, or the name of a partition.
    pub subject: String,
    pub counter: &'static str,
    pub amount: i64,
}

impl PartialEq for RecordKind {
    fn eq(&self, other: &RecordKind) -> bool {
        self.name == other.name
    }
}

impl Eq for RecordKind {}

impl fmt::Debug for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The source of the text for an index.
#[derive(Clone, Copy)]
pub enum TextSource {
    /// The kind has no such index.
    None,
    /// The text of the record.
    Text,
    /// A text that is composed from several members and that of the record.
    Composed(fn(&StoredRecord) -> String),
}

impl TextSource {
    fn extract<'a>(&self, record: &'a StoredRecord) -> Option<Cow<'a, str>> {
        match self {
            TextSource::None => None,
            TextSource::Text => Some(Cow::Borrowed(&record.text)),
            TextSource::Composed(compose) => Some(Cow::Owned(compose(record))),
        }
    }

    /// Whether the kind has such an index.
    pub fn is_some(&self) -> bool {
        !matches!(self, TextSource::None)
    }
}

/// A record as it was written, in which fields may be missing.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    pub kind: &'static RecordKind,
    pub id: Option<String>,
    pub trace_id: Option<String>,
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub timestamp: Option<i64>,
    pub seq: Option<u32>,
    pub role: Option<Role>,
    pub text: String,
    pub members: Object,
    pub vector: Option<Vector>,
    /// Why the vector that it came with cannot be read.
    pub vector_fault: Option<String>,
}

/// The values for the fields that a draft leaves open.
#[derive(Clone, Default, Debug)]
pub struct DraftDefaults {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub trace_id: String,
    pub timestamp: i64,
    pub seq: u32,
}

impl Draft {
    /// A draft with only a text.
    pub fn new(kind: &'static RecordKind, text: String) -> Draft {
        Draft {
            kind,
            id: None,
            trace_id: None,
            partition: None,
            instance: None,
            timestamp: None,
            seq: None,
            role: None,
            text,
            members: Object::default(),
            vector: None,
            vector_fault: None,
        }
    }

    /// The scope of the record, in which the parts that it lacks are these. Fails if a name is empty.
    pub fn scope(&self, partition: Option<&str>, instance: Option<&str>) -> Result<Scope> {
        match (&self.partition, &self.instance) {
            (None, None) => Scope::new(partition, instance),
            (None, instance) => Scope::new(partition, instance.as_deref()),
            (partition, instance) => Scope::new(partition.as_deref(), instance.as_deref()),
        }
    }

    /// The text for its vector, regardless of its scope.
    pub fn embedded_text(self) -> Option<String> {
        let record = StoredRecord {
            kind: self.kind,
            id: String::new(),
            scope: Scope { partition: String::new(), instance: String::new() },
            trace_id: String::new(),
            timestamp: 0,
            seq: 0,
            role: self.role,
            text: self.text,
            members: self.members,
            vector: None,
        };
        record.embedded_text().map(Cow::into_owned)
    }

    /// Completes the draft. A partition and instance of its own go before those of `fill`, together. Fails if
    /// a name is empty, or its kind finds it invalid.
    pub fn complete(self, fill: &DraftDefaults) -> Result<StoredRecord> {
        let scope = self.scope(fill.partition.as_deref(), fill.instance.as_deref())?;
        let trace_id = self.trace_id.unwrap_or_else(|| fill.trace_id.clone());
        if self.kind.traced && trace_id.is_empty() {
            return Err(empty("trace_id"));
        }
        let mut record = StoredRecord {
            kind: self.kind,
            id: self.id.unwrap_or_default(),
            scope,
            trace_id: if self.kind.traced { trace_id } else { String::new() },
            timestamp: self.timestamp.unwrap_or(fill.timestamp),
            // `fill.seq` orders the records that `fill` dates; another without one is the first of its time.
            seq: self.seq.unwrap_or(if self.timestamp.is_some() { 0 } else { fill.seq }),
            role: self.role,
            text: self.text,
            members: self.members,
            vector: self.vector,
        };
        (record.kind.complete)(&mut record)?;
        if record.id.is_empty() {
            record.id = derived_id(&record);
        }
        Ok(record)
    }
}

/// The id of a record without one, derived from its contents.
fn derived_id(record: &StoredRecord) -> String {
    let parts = match record.kind.natural_key {
        Some(key) => key(record),
        None => {
            let Scope { partition, instance } = record.scope.clone();
            let (name, members) = (record.kind.name.to_owned(), record.members.to_json());
            vec![name, partition, instance, record.trace_id.clone(), record.text.clone(), members]
        }
    };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    id::derived(record.timestamp, &parts)
}

/// Appends `timestamp` and, for people, `created_at`.
pub fn write_time(ms: i64, out: &mut Vec<u8>) {
    let _ = write!(out, ",\"timestamp\":{ms},\"created_at\":\"{}\"", time::Rfc3339(ms));
}
