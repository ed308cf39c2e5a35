//! The summary of a session, as one line.

use super::object::Object;
use super::role::Role;
use super::scope::Scope;
use super::stored::StoredRecord;
use super::time;
use super::title::title_of_question;

/// A session.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionSummary {
    pub scope: Scope,
    /// Its title, else the beginning of the first user's message, on one line; empty if there is neither.
    pub title: String,
    /// The times of the first and the last message, in milliseconds since 1970, UTC.
    pub first: i64,
    pub last: i64,
    /// The time of the last commit.
    pub committed: Option<i64>,
    pub messages: u64,
    /// The program whose session it is, as the format of its import is named, if a message says so.
    pub program: Option<String>,
    /// Whether an assistant said anything.
    pub is_answered: bool,
}

impl SessionSummary {
    /// The summary of the session of a message, which is not added yet.
    pub fn new(message: &StoredRecord) -> SessionSummary {
        let (scope, time) = (message.scope.clone(), message.timestamp);
        SessionSummary {
            scope,
            title: String::new(),
            first: time,
            last: time,
            committed: None,
            messages: 0,
            program: None,
            is_answered: false,
        }
    }

    /// The summary as a line.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        let updated = self.committed.map_or(self.last, |committed| committed.max(self.last));
        line.set_text("kind", "session");
        line.set_text("id", &self.scope.instance);
        line.set_text("user_id", &self.scope.partition);
        line.set_text("title", &self.title);
        line.set_text("created_at", &time::rfc3339(self.first));
        line.set_text("updated_at", &time::rfc3339(updated));
        line.set_text("last_message_at", &time::rfc3339(self.last));
        if let Some(committed) = self.committed {
            line.set_text("committed_at", &time::rfc3339(committed));
        }
        line.set("message_count", self.messages.to_string());
        line
    }

    /// Adds a message of the session.
    pub fn add(&mut self, message: &StoredRecord) {
        if self.title.is_empty() && message.role == Some(Role::User) {
            self.title = title_of_question(&message.text);
        }
        self.first = self.first.min(message.timestamp);
        self.last = self.last.max(message.timestamp);
        self.messages += 1;
        self.is_answered |= message.role == Some(Role::Assistant);
        if self.program.is_none() {
            self.program = message.members.valid_text("source");
        }
    }
}
