//! The messages of other programs as lines of rsv.

use super::error::ImportError;
use crate::config::StoredActions;
use crate::error::Result;
use crate::project::Projects;
use crate::record::{Action, Object, Role, TITLE};
use crate::redact::Redactor;
use jiff::tz::TimeZone;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// The selection of an import from the files of other programs, and its target.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Whether calls of tools and their output are read too.
    pub keep_tools: bool,
    /// Whether the branches of a conversation that are not shown are read too.
    pub branches: bool,
    /// The partition of everything; none if it follows from the project or the program.
    pub partition: Option<String>,
    /// The instance of everything; none if each conversation has its own.
    pub instance: Option<String>,
    /// The time of messages without one, in milliseconds since 1970 (UTC).
    pub at: Option<i64>,
    /// The time of the import, in milliseconds since 1970 (UTC), which records get that need none of their
    /// own.
    pub now: i64,
    /// The sources of members, by the members' names.
    pub map: Vec<(String, String)>,
    /// The longest line or object, in bytes.
    pub max_line: usize,
    pub projects: Arc<Mutex<Projects>>,
    /// The time zone of times without one; UTC if there is none.
    pub zone: Option<TimeZone>,
    /// Replaces the secrets of records that keep their ids.
    pub redactor: Option<Redactor>,
    /// Whether memories were read, which others may wait for.
    pub has_memories: Arc<AtomicBool>,
    /// The titles of the conversations that were read, by partition and instance.
    pub titles: Arc<Mutex<HashMap<(String, String), String>>>,
    /// The partitions of which actions are read.
    pub actions: StoredActions,
    /// The names of the users of a workspace by their ids, with the place of that which was read last.
    pub user_names: Arc<Mutex<Option<(String, UserNames)>>>,
}

/// Names by ids.
pub(super) type UserNames = Arc<HashMap<String, String>>;

/// The member of [`ImportOptions::map`] and its source that make a conversation a trace.
const CONVERSATION_AS_TRACE: (&str, &str) = ("trace_id", "conversation");

/// The source of conversations, for the lines of their messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    /// The id, which becomes the instance.
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    /// The directory of the project that it is about.
    pub(super) directory: Option<String>,
    /// The partition of one that is about no directory; none if that has the name of the program.
    pub(super) partition: Option<String>,
    /// The time of its last change, in milliseconds since 1970 (UTC).
    pub(super) changed: Option<i64>,
}

/// One message of another program.
#[derive(Debug)]
pub(super) struct ImportedMessage {
    pub(super) role: Role,
    pub(super) text: String,
    /// Milliseconds since 1970, UTC; none if it is not known.
    pub(super) time: Option<i64>,
    /// Its id in the other program.
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    /// The turn that it belongs to; none if that is the question before it.
    pub(super) trace_id: Option<String>,
    /// Its calls of tools, as JSON text in the form of OpenAI.
    pub(super) tool_calls: Option<String>,
    /// The id of the call that it answers.
    pub(super) tool_call_id: Option<String>,
    /// The action that it is, in place of a message.
    pub(super) action: Option<Action>,
    /// The place of the action among those of its time, from 0.
    pub(super) seq: u32,
}

impl ImportedMessage {
    pub(super) fn new(role: Role, text: impl Into<String>) -> ImportedMessage {
        ImportedMessage {
            role,
            text: text.into(),
            time: None,
            id: None,
            model: None,
            trace_id: None,
            tool_calls: None,
            tool_call_id: None,
            action: None,
            seq: 0,
        }
    }

    /// Whether it says nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.tool_calls.is_none() && self.action.is_none()
    }
}

/// Messages that later entries of their conversation may change or take back.
#[derive(Default)]
pub(super) struct PendingMessages(Vec<ImportedMessage>);

/// The bytes of pending messages from which on they are handed on, though they may still change.
const MOST_PENDING_BYTES: usize = 32 << 20;

impl PendingMessages {
    pub(super) fn push(&mut self, message: ImportedMessage) {
        self.0.push(message);
    }

    /// Puts the messages of an entry in the place of those of earlier entries with its id, or at the end.
    pub(super) fn replace(&mut self, id: Option<&str>, messages: Vec<ImportedMessage>) {
        let first = id.and_then(|id| self.0.iter().position(|message| message.id.as_deref() == Some(id)));
        let Some(first) = first else { return self.0.extend(messages) };
        let end = first + self.0[first..].iter().take_while(|message| message.id.as_deref() == id).count();
        self.0.splice(first..end, messages);
    }

    /// Takes back a message and those after it; all if it is unknown.
    pub(super) fn take_back_to(&mut self, id: &str) {
        let first = self.0.iter().position(|message| message.id.as_deref() == Some(id));
        self.0.truncate(first.unwrap_or_default());
    }

    /// Takes back the last questions, which `is_question` knows, with their answers.
    pub(super) fn take_back_turns(&mut self, count: usize, is_question: impl Fn(&ImportedMessage) -> bool) {
        for _ in 0..count.min(self.0.len()) {
            let last = self.0.iter().rposition(&is_question);
            self.0.truncate(last.unwrap_or_default());
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Takes back all but the first.
    pub(super) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Whether they take enough memory to be handed on.
    pub(super) fn are_many(&self) -> bool {
        /// Roughly the bytes of a message beside its text.
        const MESSAGE_BYTES: usize = 512;
        // They are counted now and then, since that takes time.
        const COUNTED: usize = 256;
        let text = |message: &ImportedMessage| message.text.len() + MESSAGE_BYTES;
        self.0.len().is_multiple_of(COUNTED) && self.0.iter().map(text).sum::<usize>() > MOST_PENDING_BYTES
    }

    /// The messages, which are pending no longer.
    pub(super) fn take(&mut self) -> Vec<ImportedMessage> {
        std::mem::take(&mut self.0)
    }
}

impl ImportOptions {
    /// Appends the line of a message; none if the message says nothing. `program` is the name of the format.
    /// Fails if the message has no time, and none is given.
    pub(super) fn add(
        &self,
        program: &str,
        conversation: &Conversation,
        message: ImportedMessage,
        lines: &mut Vec<Object>,
    ) -> Result<()> {
        if message.is_empty() {
            return Ok(());
        }
        let partition = self.partition_of(program, conversation)?;
        if message.action.is_some() && !self.actions.are_on(&partition) {
            return Ok(());
        }
        // The names and the other members are shorter together.
        const OTHER_MEMBERS_BYTES: usize = 512;
        let mut line = match &message.action {
            Some(action) => action.to_line(),
            None => Object::with_capacity(message.text.len() + OTHER_MEMBERS_BYTES),
        };
        if message.action.is_none() {
            line.set_text("role", message.role.name());
            if message.tool_calls.is_some() && message.text.is_empty() {
                line.set("content", "null");
            } else {
                line.set_text("content", &message.text);
            }
        }
        let Some(time) = message.time.or(self.at) else {
            return Err(ImportError::NoTime { member: "timestamp", of: "messages" }.into());
        };
        line.set("timestamp", time.to_string());
        if message.seq > 0 {
            line.set("seq", message.seq.to_string());
        }
        let as_trace = self.map.iter().any(|(to, from)| (&**to, &**from) == CONVERSATION_AS_TRACE);
        let instance = conversation.id.as_ref().filter(|_| !as_trace);
        let trace_id = if as_trace { conversation.id.as_ref() } else { message.trace_id.as_ref() };
        let head = [
            ("partition", Some(&partition)),
            ("instance", self.instance.as_ref().or(instance)),
            ("trace_id", trace_id),
        ];
        let set = |line: &mut Object, members: &[(&str, Option<&String>)]| {
            for (name, value) in members {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    line.set_text(name, value);
                }
            }
        };
        set(&mut line, &head);
        if message.action.is_some() {
            lines.push(line);
            return Ok(());
        }
        let members = [
            ("model", message.model.as_ref()),
            ("tool_call_id", message.tool_call_id.as_ref()),
            ("title", conversation.title.as_ref().filter(|title| !title.is_empty())),
            ("source_id", message.id.as_ref()),
        ];
        set(&mut line, &members);
        line.set_text("source", program);
        if let Some(calls) = &message.tool_calls {
            line.set("tool_calls", calls);
        }
        lines.push(line);
        if self.instance.is_none()
            && let Some(instance) = instance.filter(|instance| !instance.is_empty())
        {
            lines.extend(self.title(&partition, instance, conversation));
        }
        Ok(())
    }

    /// Appends the lines of the messages of a conversation, each of which belongs to the question before it
    /// unless it names its turn.
    pub(super) fn add_all(
        &self,
        program: &str,
        conversation: &Conversation,
        messages: Vec<ImportedMessage>,
        lines: &mut Vec<Object>,
    ) -> Result<()> {
        self.add_more(program, conversation, (messages, &mut None), lines)
    }

    /// Appends lines as `add_all` does. `question` is the id of the question before the messages, and then
    /// that of the last one among them. Fails as `add` does.
    pub(super) fn add_more(
        &self,
        program: &str,
        conversation: &Conversation,
        (messages, question): (Vec<ImportedMessage>, &mut Option<String>),
        lines: &mut Vec<Object>,
    ) -> Result<()> {
        for message in messages {
            if message.role == Role::User && !message.text.trim().is_empty() {
                question.clone_from(&message.id);
            }
            let trace_id = message.trace_id.clone().or_else(|| question.clone());
            self.add(program, conversation, ImportedMessage { trace_id, ..message }, lines)?;
        }
        Ok(())
    }

    /// The line of the title of a conversation, unless it was read before. It has no time, since it holds
    /// from now on.
    fn title(&self, partition: &str, instance: &str, conversation: &Conversation) -> Option<Object> {
        let title = conversation.title.as_ref().filter(|title| !title.trim().is_empty())?;
        let scope = (partition.to_owned(), instance.to_owned());
        let mut titles = self.titles.lock().unwrap_or_else(PoisonError::into_inner);
        if titles.insert(scope, title.clone()).as_ref() == Some(title) {
            return None;
        }
        let mut line = Object::default();
        line.set_text("kind", TITLE.name);
        for (name, value) in [("partition", partition), ("instance", instance), ("title", title)] {
            line.set_text(name, value);
        }
        if let Some(changed) = conversation.changed {
            line.set("source_time", changed.to_string());
        }
        Some(line)
    }

    fn partition_of(&self, program: &str, conversation: &Conversation) -> Result<String> {
        match (&self.partition, &self.instance, &conversation.directory) {
            (Some(partition), ..) => Ok(partition.clone()),
            // An instance alone is in the default partition.
            (None, Some(_), _) => Ok("default".to_owned()),
            (None, None, Some(directory)) if !directory.is_empty() => {
                // Held while a new partition is written: the next file of the directory gets the same one.
                self.projects.lock().unwrap_or_else(PoisonError::into_inner).partition(directory)
            }
            _ => Ok(conversation.partition.clone().unwrap_or_else(|| program.to_owned())),
        }
    }
}
