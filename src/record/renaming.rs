//! Records of a partition that gets another name: what follows from the name, and what stays.

use super::document::URI;
use super::{Address, DOCUMENT, MEMORY, MESSAGE, Scope, StoredRecord, id};
use crate::error::Result;

/// The member of a memory that names the instance in which it was learnt.
const SESSION: &str = "session_id";

impl Scope {
    /// The scope once its partition has another name, which the instance of a partition that is named alone
    /// has too.
    pub fn renamed(&self, to: &str) -> Scope {
        let instance = if self.is_of_partition_alone() { to } else { &self.instance };
        Scope { partition: to.to_owned(), instance: instance.to_owned() }
    }
}

/// The trace of a message that begins one and was imported without: it follows from its scope, time
/// (milliseconds since 1970, UTC) and text, so that files that overlap agree.
pub fn derived_trace(scope: &Scope, timestamp: i64, text: &str) -> String {
    id::derived(timestamp, &["trace", &scope.partition, &scope.instance, text])
}

impl StoredRecord {
    /// The record once its partition has another name: its scope, the addresses of that partition, and the
    /// trace and the id that follow from these; all other ids stay. Errors if the address of a document
    /// cannot have the name.
    pub fn renamed(&self, to: &str) -> Result<StoredRecord> {
        let from = &self.scope.partition;
        let mut renamed = StoredRecord { scope: self.scope.renamed(to), ..self.clone() };
        let has_address = *self.kind == DOCUMENT || *self.kind == MEMORY;
        if has_address && let Ok(address) = Address::parse(&self.member_text(URI)) {
            match address.renamed(from, to) {
                Ok(other) if other != address => renamed.members.set_text(URI, other.as_str()),
                Err(error) if *self.kind == DOCUMENT => return Err(error.at(address)),
                // The address of a memory is only shown.
                _ => {}
            }
        }
        if *self.kind == MEMORY && self.member_text(SESSION) == *from {
            renamed.members.set_text(SESSION, to);
        }
        if *self.kind == MESSAGE && self.trace_id == derived_trace(&self.scope, self.timestamp, &self.text) {
            renamed.trace_id = derived_trace(&renamed.scope, self.timestamp, &self.text);
        }
        (self.kind.complete)(&mut renamed)?;
        Ok(renamed)
    }
}
