//! The summary of a scope, as one line.

use super::object::Object;
use super::scope::Scope;
use super::stored::StoredRecord;
use super::time;

/// The number, the times and the size of the messages of a scope.
#[derive(Clone, PartialEq, Debug)]
pub struct ScopeSummary {
    pub scope: Scope,
    pub messages: u64,
    /// The times of the first and the last message.
    pub first: i64,
    pub last: i64,
    /// The size of their texts, in bytes.
    pub bytes: u64,
}

impl ScopeSummary {
    /// The summary of the scope of a message, which is not added yet.
    pub fn new(message: &StoredRecord) -> ScopeSummary {
        let time = message.timestamp;
        ScopeSummary { scope: message.scope.clone(), messages: 0, first: time, last: time, bytes: 0 }
    }

    /// Adds a message of the same scope.
    pub fn add(&mut self, message: &StoredRecord) {
        self.messages += 1;
        self.first = self.first.min(message.timestamp);
        self.last = self.last.max(message.timestamp);
        self.bytes += message.text.len() as u64;
    }

    /// Adds what another summary of the same scope counts.
    pub fn unite(&mut self, other: &ScopeSummary) {
        self.messages += other.messages;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.bytes += other.bytes;
    }

    /// The summary as one JSON object.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("partition", &self.scope.partition);
        line.set_text("instance", &self.scope.instance);
        line.set("messages", self.messages.to_string());
        line.set_text("first", &time::rfc3339(self.first));
        line.set_text("last", &time::rfc3339(self.last));
        line.set("bytes", self.bytes.to_string());
        line
    }
}
