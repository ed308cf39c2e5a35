//! An edge between two records.

use super::members::{name, required, timestamp};
use super::object::{Object, invalid, quote, unexpected, write_text};
use crate::error::Result;

/// A question and its answer.
pub const RESPONDED_WITH: &str = "RESPONDED_WITH";

/// Something that was made from a record, and that record.
pub const EXTRACTED_FROM: &str = "EXTRACTED_FROM";

/// A memory, and the one that it became a part of.
pub const CONSOLIDATED_INTO: &str = "CONSOLIDATED_INTO";

/// A message, and the earlier one that it corrects.
pub const CORRECTS: &str = "CORRECTS";

/// A document, and the one above it: derived from their addresses, and no link of its own.
const CHILD_OF: &str = "CHILD_OF";

/// Two messages that resemble each other.
pub const SYNAPSE: &str = "SYNAPSE";

/// A directed edge: `rel` is a name in capitals such as RESPONDED_WITH or SYNAPSE.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    pub rel: String,
    pub from: String,
    pub to: String,
    /// Milliseconds since 1970, UTC; a line without one is given the time it is stored.
    pub timestamp: Option<i64>,
    /// Raw cosine, of a synapse.
    pub score: Option<f64>,
    /// The canonical id of the model whose vectors gave the score.
    pub model: Option<String>,
    pub extra: Object,
}

impl Link {
    /// The edge from a question to its answer.
    pub fn responded_with(from: &str, to: &str, timestamp: i64) -> Link {
        Link {
            rel: RESPONDED_WITH.into(),
            from: from.into(),
            to: to.into(),
            timestamp: Some(timestamp),
            score: None,
            model: None,
            extra: Object::default(),
        }
    }

    /// An edge without a score.
    pub fn plain(rel: &str, from: &str, to: &str, timestamp: i64) -> Link {
        Link { rel: rel.into(), ..Link::responded_with(from, to, timestamp) }
    }

    /// The edge between two messages that resemble each other; it has no direction, and is kept from the
    /// lesser id to the greater.
    pub fn synapse(one: &str, other: &str, timestamp: i64, score: f64, model: &str) -> Link {
        let (from, to) = if one < other { (one, other) } else { (other, one) };
        Link {
            rel: SYNAPSE.into(),
            from: from.into(),
            to: to.into(),
            timestamp: Some(timestamp),
            score: Some(score),
            model: Some(model.into()),
            extra: Object::default(),
        }
    }

    /// Reads a link line. The ends of a synapse are put in their order. Errors begin with the member at
    /// fault.
    pub fn parse(mut line: Object) -> Result<Link> {
        let rel = required(&line, "rel")?;
        check_relation(&rel)?;
        let (mut from, mut to) = (required(&line, "from")?, required(&line, "to")?);
        if rel == SYNAPSE && from > to {
            std::mem::swap(&mut from, &mut to);
        }
        if from == to {
            return Err(invalid("to", "is the same record as from"));
        }
        let link = Link {
            rel,
            from,
            to,
            timestamp: timestamp(&line)?,
            score: line.number("score")?,
            model: name(&line, "model")?,
            extra: Object::default(),
        };
        line.retain(|name| !["kind", "rel", "from", "to", "timestamp", "score", "model"].contains(&name));
        Ok(Link { extra: line, ..link })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"link\"");
        for (name, value) in [("rel", &self.rel), ("from", &self.from), ("to", &self.to)] {
            write_member(name, value, out);
        }
        if let Some(ms) = self.timestamp {
            out.extend_from_slice(format!(",\"timestamp\":{ms}").as_bytes());
        }
        if let Some(score) = self.score {
            out.extend_from_slice(format!(",\"score\":{score}").as_bytes());
        }
        if let Some(model) = &self.model {
            write_member("model", model, out);
        }
        self.extra.write_members(out);
        out.push(b'}');
    }
}

/// Errors unless a relation is a name in capitals of links that are stored.
pub fn check_relation(rel: &str) -> Result<()> {
    if rel.is_empty() || !rel.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
        return Err(unexpected("rel", "a name in capitals such as RESPONDED_WITH", &quote(rel)));
    }
    if rel == CHILD_OF {
        return Err(invalid("rel", "CHILD_OF follows from the addresses of documents"));
    }
    Ok(())
}

fn write_member(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_text(out, name);
    out.push(b':');
    write_text(out, value);
}
