//! Messages as the commands of Reservoir print them, for scripts made for these.

use super::escape_controls;
use crate::record::{Hit, Object, StoredRecord, time};

/// Reservoir's lines, of which none can move the cursor of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct ReservoirLines {
    pub to_terminal: bool,
}

impl ReservoirLines {
    /// `2026-11-21T07:03:00.000Z [trace] user: text`.
    pub fn message(self, record: &StoredRecord) -> String {
        let head = format!("{} [{}]", time::rfc3339(record.timestamp), record.trace_id);
        self.line(&head, record, "")
    }

    /// `1. 2026-11-21T07:03:00.000Z [partition/instance] user: text`, and the score for a search by meaning.
    pub fn hit(self, rank: usize, hit: &Hit, by_meaning: bool) -> String {
        let record = &hit.record;
        let head = format!("{rank}. {} [{}]", time::rfc3339(record.timestamp), record.scope);
        let score = if by_meaning { format!(" (score: {:.3})", hit.score) } else { String::new() };
        self.line(&head, record, &score)
    }

    /// `Saved message with trace_id: trace`, for the line of a message or of a response.
    pub fn saved(self, line: &[u8]) -> String {
        let object = Object::parse_bytes(line).unwrap_or_default();
        let of = |object: &Object| object.valid_text("trace_id");
        let trace = of(&object).or_else(|| of(&object.object("rsv").ok()??));
        trace.map_or_else(String::new, |trace| self.safe(format!("Saved message with trace_id: {trace}\n")))
    }

    fn line(self, head: &str, record: &StoredRecord, tail: &str) -> String {
        let role = record.role.map_or(record.kind.name, |role| role.name());
        self.safe(format!("{head} {role}: {}{tail}\n", record.shown_text()))
    }

    fn safe(self, text: String) -> String {
        if self.to_terminal { escape_controls(&text) } else { text }
    }
}
