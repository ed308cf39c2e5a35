//! The uncommitted messages of a session, of which a commit is made.

use super::conversation::cut;
use super::error::DistillError;
use crate::chat::fence;
use crate::error::Result;
use crate::record::{
    Draft, DraftDefaults, Role, Scope, archive_address, missing, session_of_archive, unexpected,
};

/// The greatest length of a turn in an overview, in characters.
pub(super) const MAX_TURN_CHARS: usize = 300;
/// The greatest length of a message that is searched for statements, in characters: longer ones are pasted.
const MAX_MESSAGE_CHARS: usize = 20_000;

/// The messages of a session, and the archive that they follow.
#[derive(Clone, PartialEq, Debug)]
pub struct UncommittedSession {
    pub(super) scope: Scope,
    /// The id of the last archive.
    pub(super) follows: Option<String>,
    pub(super) messages: Vec<SessionMessage>,
}

/// The parts of a message that a commit needs.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SessionMessage {
    pub(super) id: String,
    pub(super) role: Role,
    /// Its own words without recalled text, cut if there are very many.
    pub(super) text: String,
    pub(super) timestamp: i64,
}

impl SessionMessage {
    /// Its words on one line, at most this many characters.
    pub(super) fn line(&self, chars: usize) -> String {
        cut(&self.text.split_whitespace().collect::<Vec<_>>().join(" "), chars)
    }
}

impl UncommittedSession {
    /// Begins with a session.
    pub fn new(scope: Scope) -> UncommittedSession {
        UncommittedSession { scope, follows: None, messages: Vec::new() }
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The session.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Takes the archive that the messages follow. Errors if it is not the session's.
    pub fn follow(&mut self, document: Draft) -> Result<()> {
        let fill =
            DraftDefaults { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };
        let archive = document.complete(&fill)?;
        match session_of_archive(&archive) {
            Some(session) if session == self.scope => {
                self.follows = Some(archive.id);
                Ok(())
            }
            _ => {
                Err(unexpected("uri", &format!("an archive of {}", self.scope), &archive.member_text("uri")))
            }
        }
    }

    /// Adds a message, which a store lists by time. Errors if it has no id, or is of another session.
    pub fn add(&mut self, message: Draft) -> Result<()> {
        let scope = message.scope(None, None)?;
        if scope != self.scope {
            return Err(DistillError::OtherSession { scope, before: self.scope.clone() }.into());
        }
        let id = message.id.ok_or_else(|| missing("id"))?;
        let text = fence::remove(&message.text);
        self.messages.push(SessionMessage {
            id,
            role: message.role.unwrap_or(Role::User),
            text: text.trim().chars().take(MAX_MESSAGE_CHARS).collect(),
            timestamp: message.timestamp.unwrap_or_default(),
        });
        Ok(())
    }

    /// The address of the archive. Fails if the scope's names make no address.
    pub(super) fn address(&self) -> Result<String> {
        let last = self.messages.last().map_or("", |message| message.id.as_str());
        Ok(archive_address(&self.scope, last)?.to_string())
    }

    /// The time of the last message.
    pub(super) fn ended_at(&self) -> i64 {
        self.messages.last().map_or(0, |message| message.timestamp)
    }

    /// The messages of a role that have words.
    pub(super) fn of(&self, role: Role) -> impl DoubleEndedIterator<Item = &SessionMessage> {
        self.messages.iter().filter(move |message| message.role == role && !message.text.is_empty())
    }

    /// The beginning of the first user's message, else of the first message.
    pub(super) fn topic(&self, chars: usize) -> String {
        let first = self.of(Role::User).next().or(self.messages.first());
        let topic = first.map(|message| message.line(chars)).unwrap_or_default();
        if topic.is_empty() { "Session".to_owned() } else { topic }
    }
}
