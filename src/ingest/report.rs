//! The account of an import: how many records of each scope were new, the same, forgotten or refused.

use super::entry::{IngestedLine, RecordCounts};
use crate::record::{Scope, quote};
use crate::text::counted;
use std::collections::BTreeMap;

/// The number of records of an import, by scope and outcome.
#[derive(Default, Debug)]
pub struct ImportReport {
    scopes: BTreeMap<Scope, RecordCounts>,
    /// Vectors and links, which have no scope of their own, and tombstones.
    others: RecordCounts,
    /// The number of records whose ids belong to other records.
    conflicts: usize,
    /// The number of lines that are no records.
    pub bad_lines: usize,
}

/// The number of scopes that a summary names one by one.
const LISTED_SCOPES: usize = 20;

impl ImportReport {
    /// Adds the outcome of a line.
    pub fn add(&mut self, line: &IngestedLine) {
        // Most lines are of a scope that is known, whose names need no copy.
        if let Some(scope) = line.scope.as_ref().filter(|scope| !self.scopes.contains_key(scope)) {
            self.scopes.insert(scope.clone(), RecordCounts::default());
        }
        let counts = line.scope.as_ref().and_then(|scope| self.scopes.get_mut(scope));
        *counts.unwrap_or(&mut self.others) += line.counts;
        self.conflicts += line.conflicts;
    }

    /// The sum over all scopes.
    pub fn total(&self) -> RecordCounts {
        let mut total = self.others;
        for counts in self.scopes.values() {
            total += *counts;
        }
        total
    }

    /// Whether the store has records that it had not before.
    pub fn has_new_records(&self) -> bool {
        self.scopes.values().any(|counts| counts.new > 0)
    }

    /// A note for the user even of a run without a summary: the number of records that were not imported.
    pub fn note(&self) -> Option<String> {
        match self.conflicts {
            0 => None,
            1 => Some("1 record was not imported: its id belongs to another record".to_owned()),
            n => Some(format!("{n} records were not imported: their ids belong to other records")),
        }
    }

    /// A line for each scope, or, of many, for each partition, and the total.
    pub fn summary(&self) -> Vec<String> {
        let mut named: BTreeMap<String, RecordCounts> = BTreeMap::new();
        for (scope, counts) in &self.scopes {
            let is_listed = self.scopes.len() <= LISTED_SCOPES;
            let name = if is_listed { scope.to_string() } else { scope.partition.clone() };
            *named.entry(name).or_default() += *counts;
        }
        let mut lines: Vec<String> =
            named.iter().map(|(name, counts)| format!("{name}: {}", in_words(*counts))).collect();
        if self.others.read() > 0 {
            lines.push(format!("vectors, links and tombstones: {}", in_words(self.others)));
        }
        if lines.len() > 1 {
            lines.push(format!("together: {}", in_words(self.total())));
        }
        lines
    }

    /// One JSON object, ended by a line feed; `files` is JSON text about the files.
    pub fn to_json(&self, files: &str) -> String {
        let scopes = self.scopes.iter().map(|(scope, counts)| {
            let (partition, instance) = (quote(&scope.partition), quote(&scope.instance));
            format!("{{\"partition\":{partition},\"instance\":{instance},{}}}", as_members(*counts))
        });
        let scopes: Vec<String> = scopes.collect();
        format!(
            "{{{},\"bad_lines\":{},\"scopes\":[{}],\"others\":{{{}}},\"files\":{files}}}\n",
            as_members(self.total()),
            self.bad_lines,
            scopes.join(","),
            as_members(self.others)
        )
    }
}

/// `3 records: 1 new, 2 the same`.
fn in_words(counts: RecordCounts) -> String {
    let parts = [
        (counts.new, "new"),
        (counts.same, "the same"),
        (counts.forgotten, "forgotten"),
        (counts.refused, "refused"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, outcome)| format!("{count} {outcome}")).collect();
    format!("{}: {}", counted(counts.read() as u64, "record"), parts.join(", "))
}

fn as_members(counts: RecordCounts) -> String {
    let RecordCounts { new, same, forgotten, refused } = counts;
    let read = counts.read();
    format!("\"read\":{read},\"new\":{new},\"same\":{same},\"forgotten\":{forgotten},\"refused\":{refused}")
}
