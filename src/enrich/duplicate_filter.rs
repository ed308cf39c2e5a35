//! Leaves out candidates whose text the request or another candidate already holds.

use crate::api;
use crate::chat::{self, fence};
use crate::record::{Content, LeftOut, Object, Role, StoredRecord};
use crate::redact::Redactor;
use memchr::memmem;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Passes every text once, and none that the request holds. The result for the same message is always the
/// same.
pub(super) struct DuplicateFilter {
    /// The request's own turns, by role.
    request: HashMap<Role, Turns>,
    /// The JSON of the messages in which the client keeps what was recalled before.
    kept_blocks: String,
    /// Knows the same text with and without its secrets.
    redactor: Option<Redactor>,
    /// The ids of the messages that passed, by role and text. Locked, as the next, since the filters of a
    /// search are functions that share it; never both at once.
    seen: Mutex<HashMap<(Option<Role>, String), String>>,
    left_out: Mutex<Vec<LeftOut>>,
}

/// The texts of the turns of a role.
#[derive(Default)]
struct Turns {
    texts: String,
    /// The length of the longest, in bytes.
    longest: usize,
}

/// Stands between the turns of a request, so that no text is found across two of them.
const TURN_SEPARATOR: char = '\0';
/// The bytes at the beginning of a text that are looked for first.
const BEGINNING_BYTES: usize = 16;

impl DuplicateFilter {
    /// A filter for a request, which is known in the form in which the redactor would have it stored too.
    pub(super) fn new(request: &api::Request, redactor: Option<&Redactor>) -> DuplicateFilter {
        let mut turns: HashMap<Role, Turns> = HashMap::new();
        for turn in &request.turns.messages {
            if let Some(role) = chat::role(turn) {
                let turns = turns.entry(role).or_default();
                turns.add(&fence::remove(&chat::text(turn)));
                if let Some(redacted) = redactor.and_then(|redactor| redacted(redactor, turn)) {
                    turns.add(&redacted);
                }
            }
        }
        let (kept_blocks, redactor) = (request.kept_blocks().into_owned(), redactor.cloned());
        DuplicateFilter {
            request: turns,
            kept_blocks,
            redactor,
            seen: Mutex::default(),
            left_out: Mutex::default(),
        }
    }

    pub(super) fn passes(&self, record: &StoredRecord) -> bool {
        let role = record.role;
        let text = record.text.trim().to_owned();
        let reason = if text.is_empty() {
            "duplicate"
        } else if fence::is_fragment(&text) {
            "fragment"
        } else if role.and_then(|role| self.request.get(&role)).is_some_and(|turns| turns.contain(&text))
            || self.is_kept(record)
        {
            "in_request"
        // `seen`, then the redactor's counts, and neither while `left_out` is locked below.
        } else if *locked(&self.seen).entry((role, self.redacted(text))).or_insert(record.id.clone())
            != record.id
        {
            "duplicate"
        } else {
            return true;
        };
        self.leave_out(record, reason);
        false
    }

    /// Whether the request, whoever wrote its turns, holds the text of a record.
    pub(super) fn is_in_request(&self, record: &StoredRecord) -> bool {
        let text = record.text.trim();
        !text.is_empty() && self.request.values().any(|turns| turns.contain(text)) || self.is_kept(record)
    }

    /// Whether the client keeps the text of a record from an earlier recall.
    pub(super) fn is_kept(&self, record: &StoredRecord) -> bool {
        !self.kept_blocks.is_empty() && fence::is_quoted_in(&self.kept_blocks, record)
    }

    fn redacted(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.redacted(&text).into_owned(),
            None => text,
        }
    }

    pub(super) fn leave_out(&self, record: &StoredRecord, reason: &str) {
        let mut left_out = locked(&self.left_out);
        if !left_out.iter().any(|left| left.id == record.id) {
            left_out.push(LeftOut { id: record.id.clone(), reason: reason.to_owned() });
        }
    }

    /// The candidates that were left out, each once, with the reason.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        locked(&self.left_out).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    fn add(&mut self, text: &str) {
        self.texts.push_str(text);
        self.texts.push(TURN_SEPARATOR);
        self.longest = self.longest.max(text.len());
    }

    /// Whether a turn contains a text. Preparing a search takes time by the length of the needle, of which
    /// often not even the beginning occurs.
    fn contain(&self, text: &str) -> bool {
        let (turns, text) = (self.texts.as_bytes(), text.as_bytes());
        let beginning = &text[..text.len().min(BEGINNING_BYTES)];
        text.len() <= self.longest
            && memmem::find(turns, beginning).is_some_and(|at| memmem::find(&turns[at..], text).is_some())
    }
}

/// The text of a turn without its secrets, if it has any.
fn redacted(redactor: &Redactor, turn: &Object) -> Option<String> {
    // A turn without text or parts holds no secret.
    let content = Content::from_message(turn).ok()?;
    let redacted = redactor.redacted_content(content.clone());
    (redacted != content).then(|| fence::remove(&redacted.into_text()).to_string())
}
