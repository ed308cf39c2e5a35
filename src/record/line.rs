//! A line of input, identified by its `kind` or, without one, by its shape; and the records that a store
//! takes.

use super::embedding::{Embedding, VectorFormat};
use super::error::RecordError;
use super::kinds::kind_named;
use super::link::Link;
use super::object::Object;
use super::stored::{Draft, StoredRecord};
use super::tombstone::Tombstone;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// One line of input.
#[derive(Debug)]
pub enum Line {
    /// Of a kind in the table.
    Record(Draft),
    Link(Link),
    Embedding(Embedding),
    Tombstone(Tombstone),
    /// The body of a request for a model, in the shape of any API.
    Request(Object),
    /// A provider's whole answer.
    Response(Object),
    /// Hits, queries, chunks, errors and kinds that are not stored: passed on unchanged.
    Other(Object),
}

impl Line {
    /// Identifies an object and checks it. Errors begin with the member at fault.
    pub fn parse(line: Object) -> Result<Line> {
        let kind = line.text("kind")?;
        let Some(kind) = kind.as_deref().or_else(|| shape(&line)) else {
            return Err(unknown_shape(&line));
        };
        match kind {
            "link" => Link::parse(line).map(Line::Link),
            "embedding" => Embedding::parse(line).map(Line::Embedding),
            "tombstone" => Tombstone::parse(line).map(Line::Tombstone),
            "request" => Ok(Line::Request(line)),
            "response" => Ok(Line::Response(line)),
            kind => match kind_named(kind) {
                Some(kind) => (kind.read)(line).map(Line::Record),
                None => Ok(Line::Other(line)),
            },
        }
    }
}

/// The error for an object that has no kind, and the shape of none.
fn unknown_shape(line: &Object) -> Error {
    const EXPORTERS: [(&str, &str); 2] = [("mapping", "ChatGPT"), ("chat_messages", "Claude")];
    match EXPORTERS.iter().find(|(member, _)| line.has(member)) {
        Some(&(_, program)) => RecordError::ForeignShape { program }.into(),
        None => RecordError::UnknownShape.into(),
    }
}

/// The kind that a line without one has by its members.
pub fn shape(line: &Object) -> Option<&'static str> {
    let is_answer = || {
        let is_message = line.get("type") == Some("\"message\"") && line.has("stop_reason");
        is_message || line.get("object") == Some("\"response\"") && line.has("output")
    };
    if line.has("messages") {
        Some("request")
    } else if is_answer() {
        Some("response")
    } else if line.has("choices") {
        let chunk = line.get("object") == Some("\"chat.completion.chunk\"");
        Some(if chunk { "chunk" } else { "response" })
    } else if line.has("from") && line.has("to") && line.has("rel") {
        Some("link")
    } else if line.has("title") && line.has("content") && !line.has("role") {
        Some("memory")
    } else if line.get("uri").is_some_and(|uri| uri.starts_with("\"viking://")) && !line.has("role") {
        Some("document")
    } else if line.has("role") || line.has("content") {
        Some("message")
    } else if line.has("input") && !line.has("embedding") {
        Some("request")
    } else {
        None
    }
}

/// An item of a store: a record, an embedding of one, or a link between two.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    Stored(StoredRecord),
    Embedding(Embedding),
    Link(Link),
    Tombstone(Tombstone),
}

impl Record {
    /// Its own id, if it has one.
    pub fn id(&self) -> Option<&str> {
        self.stored().map(|record| record.id.as_str())
    }

    /// The record, if it is one that has an id and a time.
    pub fn stored(&self) -> Option<&StoredRecord> {
        match self {
            Record::Stored(record) => Some(record),
            Record::Embedding(_) | Record::Link(_) | Record::Tombstone(_) => None,
        }
    }

    /// The tombstone, if it is one.
    pub fn tombstone(&self) -> Option<&Tombstone> {
        match self {
            Record::Tombstone(tombstone) => Some(tombstone),
            Record::Stored(_) | Record::Embedding(_) | Record::Link(_) => None,
        }
    }

    /// The ids of the records without which it cannot exist.
    pub fn references(&self) -> Vec<Cow<'_, str>> {
        match self {
            Record::Stored(record) => record.subject_id().map(Cow::Owned).into_iter().collect(),
            Record::Tombstone(_) => Vec::new(),
            Record::Embedding(embedding) => vec![Cow::Borrowed(&embedding.of)],
            Record::Link(link) => vec![Cow::Borrowed(&link.from), Cow::Borrowed(&link.to)],
        }
    }

    /// The name of the model that made its vector, or found it.
    pub fn model_mut(&mut self) -> Option<&mut String> {
        match self {
            Record::Stored(record) => record.vector.as_mut().map(|vector| &mut vector.model),
            Record::Embedding(embedding) => Some(&mut embedding.model),
            Record::Link(link) => link.model.as_mut(),
            Record::Tombstone(_) => None,
        }
    }

    /// Roughly how much memory it takes, in bytes.
    pub fn weight(&self) -> usize {
        const STRUCT_BYTES: usize = 256;
        match self {
            Record::Stored(record) => {
                let numbers = record.vector.as_ref().map_or(0, |vector| vector.numbers.len());
                let members: usize = record.members.iter().map(|(name, json)| name.len() + json.len()).sum();
                STRUCT_BYTES + record.text.len() + members + 4 * numbers
            }
            Record::Embedding(embedding) => 4 * embedding.vector.len(),
            Record::Link(_) | Record::Tombstone(_) => STRUCT_BYTES,
        }
    }

    /// Appends it as one line.
    pub fn write_line(&self, vectors: VectorFormat, out: &mut Vec<u8>) {
        match self {
            Record::Stored(record) => record.write(out),
            Record::Embedding(embedding) => embedding.write(vectors, out),
            Record::Link(link) => link.write(out),
            Record::Tombstone(tombstone) => tombstone.write(out),
        }
        out.push(b'\n');
    }
}

/// An error that a stream's reader must see, as one line.
pub fn error_line(code: &str, message: &str, members: &Object) -> String {
    let mut line = Object::default();
    line.set_text("kind", "error");
    line.set_text("code", code);
    line.set_text("message", message);
    for (name, json) in members.iter() {
        line.set(name, json);
    }
    line.to_json() + "\n"
}
