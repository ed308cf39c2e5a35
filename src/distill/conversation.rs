//! The messages of a session, from which its summary is made.

use super::session::{Session, SessionOutcome, unique_tags};
use crate::chat::fence;
use crate::record::{Draft, Role};
use std::collections::VecDeque;
use std::time::Duration;

/// The number of the last turns in the approach, and the greatest length of each, in characters.
const MAX_TURNS: usize = 40;
const MAX_TURN_CHARS: usize = 300;
/// The greatest length of the last answer, in characters.
const MAX_RESULT_CHARS: usize = 2000;

/// The turns of a session in one partition; only the last ones are held.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub partition: Option<String>,
    /// The instance, or the trace, of the messages so far, if they have one in common.
    instance: Common,
    trace: Common,
    turns: VecDeque<ConversationTurn>,
    /// The number of turns before those that are held.
    earlier: usize,
    first_at: Option<i64>,
    last_at: Option<i64>,
}

#[derive(Clone, Debug)]
struct ConversationTurn {
    role: Role,
    text: String,
    /// The id of its message, if that has one.
    id: Option<String>,
}

/// A name that some messages have in common.
#[derive(Clone, PartialEq, Debug, Default)]
enum Common {
    #[default]
    NotSeen,
    One(Option<String>),
    Several,
}

impl Common {
    fn track(&mut self, name: &Option<String>) {
        match self {
            Common::NotSeen => *self = Common::One(name.clone()),
            Common::One(known) if known == name => {}
            _ => *self = Common::Several,
        }
    }

    fn name(self) -> Option<String> {
        match self {
            Common::One(name) => name,
            Common::NotSeen | Common::Several => None,
        }
    }
}

impl Conversation {
    /// Begins the conversation of a partition.
    pub fn new(partition: Option<String>) -> Conversation {
        Conversation { partition, ..Conversation::default() }
    }

    /// Adds a message, which a store lists by time.
    pub fn add(&mut self, message: &Draft) {
        self.instance.track(&message.instance);
        self.trace.track(&message.trace_id);
        if let Some(at) = message.timestamp {
            self.first_at = Some(self.first_at.map_or(at, |first| first.min(at)));
            self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
        }
        let (Some(role @ (Role::User | Role::Assistant)), text) =
            (message.role, fence::remove(&message.text))
        else {
            return;
        };
        if text.trim().is_empty() {
            return;
        }
        let (text, id) = (cut(text.trim(), MAX_RESULT_CHARS), message.id.clone());
        self.turns.push_back(ConversationTurn { role, text, id });
        // One more, for the last answer.
        if self.turns.len() > MAX_TURNS + 1 {
            self.turns.pop_front();
            self.earlier += 1;
        }
    }

    /// The summary: the last answer is the result, the turns before it are the approach. `session_id` is by
    /// default the trace that all messages have in common, else their instance.
    pub fn into_session(
        mut self,
        outcome: SessionOutcome,
        task: &str,
        tags: &[String],
        session_id: Option<&str>,
    ) -> Session {
        let mut messages: Vec<String> = Vec::new();
        for id in self.turns.iter().filter_map(|turn| turn.id.as_ref()) {
            if !messages.contains(id) {
                messages.push(id.clone());
            }
        }
        let result = match self.turns.back() {
            Some(turn) if turn.role == Role::Assistant => self.turns.pop_back().map(|turn| turn.text),
            _ => None,
        };
        let mut approach = match self.earlier {
            0 => String::new(),
            1 => "- (1 earlier turn)\n".to_owned(),
            earlier => format!("- ({earlier} earlier turns)\n"),
        };
        for ConversationTurn { role, text, .. } in &self.turns {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            approach.push_str(&format!("- {}: {}\n", role.name(), cut(&line, MAX_TURN_CHARS)));
        }
        let instance = self.instance.name();
        let times = self.first_at.zip(self.last_at);
        Session {
            partition: self.partition,
            session_id: session_id.map(str::to_owned).or(self.trace.name()).or_else(|| instance.clone()),
            instance,
            outcome,
            task: task.trim().to_owned(),
            approach: approach.trim_end().to_owned(),
            result: result.unwrap_or_default(),
            tags: unique_tags(tags.to_vec()),
            duration: times.map(|(first, last)| Duration::from_millis(last.abs_diff(first))),
            completed_at: self.last_at,
            messages,
        }
    }
}

/// At most this many characters of a text; `...` marks a cut.
pub(super) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}...", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
