//! Readies messages for a model: long ones are quoted by the passages that answer a question, and those that
//! were corrected say so.

use crate::record::{FileState, Hit, MESSAGE, NewerStatement, StoredRecord, time, unique_prefix};
use crate::text::{SoughtWords, quotation, quoted_ranges};
use std::ops::Range;

/// Notes the passages of a long message that hold the words of the question.
pub(super) fn note_passages(hit: &mut Hit, sought: &SoughtWords) {
    if hit.record.kind == &MESSAGE {
        hit.why.quoted = quoted_ranges(&hit.record.text, sought);
    }
}

/// Leaves of a message's text what is quoted of it, and the first letters of its id's digest, by which the
/// rest is found. Returns whether the ranges are some of it; otherwise nothing changes.
pub fn quote(message: &mut StoredRecord, ranges: &[Range<usize>]) -> bool {
    let Some(quotation) = quotation(&message.text, ranges) else { return false };
    message.text = format!("{quotation}\n[from message {}]", unique_prefix(&message.id));
    true
}

/// Puts a line before the text of a message, or of a memory, that says which of the files that it names are
/// not as they were, and which message corrects it, or is newer: `[of 2026-03-03; src/pay.rs is gone since]`.
pub fn mark(message: &mut StoredRecord, files: &[FileState], newest: Option<&NewerStatement>) {
    let mut phrases: Vec<String> = files.iter().map(FileState::to_string).collect();
    phrases.extend(newest.map(|newest| {
        let how = if newest.is_correction() { "corrected by" } else { "a newer statement is" };
        format!("{how} message {}", unique_prefix(&newest.id))
    }));
    if phrases.is_empty() {
        return;
    }
    let time = time::minute(message.timestamp);
    let date = time.split(' ').next().unwrap_or_default();
    message.text = format!("[of {date}; {}]\n{}", phrases.join("; "), message.text);
}

/// Quotes the long messages among hits, and marks those that were corrected.
pub fn ready_for_model(hits: &mut [Hit]) {
    for Hit { record, why, .. } in hits {
        if let Some(ranges) = &why.quoted {
            quote(record, ranges);
        }
        mark(record, &[], why.newer.first());
    }
}
