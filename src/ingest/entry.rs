//! The lines of a batch, and the outcome of each.

use crate::error::{Error, Result};
use crate::record::{Object, Record, Scopes, SourceLocation, VectorFormat};
use crate::store::{Store, Written};
use std::collections::HashSet;

/// A line of a batch and the records that it stands for.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) place: Option<SourceLocation>,
    pub(super) records: std::ops::Range<usize>,
    /// The line to pass on; `None` for the first record itself.
    pub(super) passed_on: Option<Object>,
    /// Whether its answers are paired with their questions.
    pub(super) pair: bool,
    /// Whether its messages came with a seq of their own.
    pub(super) ordered: bool,
}

/// The outcome of a line.
pub struct IngestedLine {
    /// The line to pass on (an import passes nothing on), or why it could not be stored.
    pub line: Result<Vec<u8>>,
    /// Something worth knowing about it.
    pub note: Option<String>,
    /// The number of its new records.
    pub new: usize,
}

/// Removes the links and embeddings that refer to a record outside these scopes. Records were filtered when they were
/// added.
pub(super) fn narrow(
    entries: &mut Vec<Entry>,
    records: &mut Vec<Record>,
    scopes: &Scopes,
    store: &mut dyn Store,
) -> Result<()> {
    let mut admitted: HashSet<String> = records.iter().filter_map(Record::id).map(str::to_owned).collect();
    let mut all = std::mem::take(records).into_iter();
    for mut entry in std::mem::take(entries) {
        let own: Vec<Record> = all.by_ref().take(entry.records.len()).collect();
        let mut is_admitted = true;
        for id in own.iter().flat_map(Record::references) {
            if !admitted.contains(id) && store.scope_of(id)?.is_some_and(|scope| scopes.contains(&scope)) {
                admitted.insert(id.to_owned());
            }
            is_admitted &= admitted.contains(id);
        }
        if is_admitted {
            let begin = records.len();
            records.extend(own);
            entry.records = begin..records.len();
            entries.push(entry);
        }
    }
    Ok(())
}

/// The outcome of an entry whose records were written; its line is empty unless `echo`.
pub(super) fn outcome(entry: Entry, records: &mut [Record], written: &[Written], echo: bool) -> IngestedLine {
    let mut note = None;
    let mut new = 0;
    for at in entry.records.clone() {
        match (&written[at], &mut records[at]) {
            (Written::New | Written::Replaced, _) => new += 1,
            (Written::Same(id), Record::Stored(record)) => record.id.clone_from(id),
            (Written::Same(_), _) => {}
            (Written::Differs, _) => {
                note = Some("another record with this id is already stored, and is kept")
            }
            (Written::Refused(why), _) => {
                let error = Error::new(why.clone());
                let line = Err(entry.place.iter().fold(error, |e, place| e.at(place)));
                return IngestedLine { line, note: None, new };
            }
        }
    }
    let mut line = Vec::new();
    match &entry.passed_on {
        _ if !echo => {}
        Some(object) => {
            object.write(&mut line);
            line.push(b'\n');
        }
        None => records[entry.records.start].write_line(VectorFormat::Numbers, &mut line),
    }
    let note = note.map(|text| entry.place.map_or(text.to_owned(), |place| format!("{place}: {text}")));
    IngestedLine { line: Ok(line), note, new }
}
