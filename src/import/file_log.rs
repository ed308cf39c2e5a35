//! The outcome of the files of an import: those that were read, and those of which nothing was, with the
//! reasons.

use crate::record::quote;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of an import so far, shared between the thread that reads them and the one that reports.
#[derive(Clone, Default)]
pub struct FileLog(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    /// The number of files with messages or other records.
    read: usize,
    /// Those in a known format that had none, by the reason.
    empty: BTreeMap<String, Vec<String>>,
    /// Those that were not read, by the reason.
    left_out: BTreeMap<String, Vec<String>>,
    /// Those that can be read in more than one way, by the way that was taken.
    ambiguous: BTreeMap<String, Vec<String>>,
}

/// The reason that an unknown file is left out.
pub(super) const UNKNOWN: &str = "they have no known format";

/// The number of files that a note names.
const NAMED_FILES: usize = 5;

impl FileLog {
    pub(super) fn add_read(&self) {
        self.files().read += 1;
    }

    /// Notes that a file in a known format has nothing to read.
    pub(super) fn add_empty(&self, name: &str, reason: &str) {
        self.files().empty.entry(reason.to_owned()).or_default().push(name.to_owned());
    }

    pub(super) fn leave_out(&self, name: &str, reason: &str) {
        self.files().left_out.entry(reason.to_owned()).or_default().push(name.to_owned());
    }

    /// Notes that a file can be read in more than one way, and which was taken.
    pub(super) fn add_ambiguous(&self, name: &str, taken: &str) {
        self.files().ambiguous.entry(taken.to_owned()).or_default().push(name.to_owned());
    }

    /// The number of files so far.
    pub fn count(&self) -> usize {
        let files = self.files();
        let others = files.empty.values().chain(files.left_out.values());
        files.read + others.map(Vec::len).sum::<usize>()
    }

    /// Notes for the user, a line for each reason: of many files it names some, or, with `all`, all.
    pub fn notes(&self, all: bool) -> Vec<String> {
        let files = self.files();
        let of = |outcome: &BTreeMap<String, Vec<String>>, verb: [&str; 2]| -> Vec<String> {
            let note = |(reason, names): (&String, &Vec<String>)| {
                let (count, verb) = if names.len() == 1 {
                    ("1 file".to_owned(), verb[0])
                } else {
                    (format!("{} files", names.len()), verb[1])
                };
                let reason = if names.len() == 1 { singular(reason) } else { reason.clone() };
                format!("{count} {verb}: {reason}: {}", listed(names, all))
            };
            outcome.iter().map(note).collect()
        };
        let empty = of(&files.empty, ["was read and has no messages", "were read and have no messages"]);
        let left_out = of(&files.left_out, ["was left out", "were left out"]);
        let ambiguous = of(&files.ambiguous, ["can be read in two ways", "can be read in two ways"]);
        empty.into_iter().chain(left_out).chain(ambiguous).collect()
    }

    /// Its members of a JSON object, for a report.
    pub fn to_json(&self) -> String {
        let files = self.files();
        let names = |outcome: &BTreeMap<String, Vec<String>>| {
            let mut names: Vec<String> = outcome.values().flatten().map(|name| quote(name)).collect();
            names.sort_unstable();
            names.join(",")
        };
        let (read, empty, left_out) = (files.read, names(&files.empty), names(&files.left_out));
        format!("{{\"read\":{read},\"empty\":[{empty}],\"left_out\":[{left_out}]}}")
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reason as it is said of one file.
pub(super) fn singular(reason: &str) -> String {
    reason.replace("they have", "it has").replace("they are", "it is")
}

/// `a.png, b.png and 3 more`.
fn listed(names: &[String], all: bool) -> String {
    let named = if all { names.len() } else { names.len().min(NAMED_FILES) };
    let text = names[..named].join(", ");
    match names.len() - named {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
