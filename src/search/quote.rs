//! Quotes long messages by the passages that answer a question.

use crate::record::{Hit, MESSAGE, StoredRecord, id_digest};
use crate::text::{SoughtWords, quotation, quoted_ranges};
use std::ops::Range;

/// The letters of the digest of an id that name a message: as many as no store has twice.
const ID_LETTERS: usize = 12;

/// Notes the passages of a long message that hold the words of the question.
pub(super) fn note_passages(hit: &mut Hit, sought: &SoughtWords) {
    if hit.record.kind == &MESSAGE {
        hit.why.quoted = quoted_ranges(&hit.record.text, sought);
    }
}

/// Leaves of a message's text what is quoted of it, and the first letters of its id's digest, by which the rest is found.
/// Returns whether the ranges are some of it; otherwise nothing changes.
pub fn quote(message: &mut StoredRecord, ranges: &[Range<usize>]) -> bool {
    let Some(quotation) = quotation(&message.text, ranges) else { return false };
    message.text = format!("{quotation}\n[from message {}]", &id_digest(&message.id)[..ID_LETTERS]);
    true
}

/// The same with the long messages among hits.
pub fn quote_hits(hits: &mut [Hit]) {
    for Hit { record, why, .. } in hits {
        if let Some(ranges) = &why.quoted {
            quote(record, ranges);
        }
    }
}
