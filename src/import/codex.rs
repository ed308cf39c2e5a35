//! Sessions of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`, an entry a line. Compared
//! with the files of versions 0.169.0 and 0.171.0; before 0.32, entries had no envelope and no time, so that
//! they get that of their session.

use super::calls::OpenCalls;
use super::contents::{text, text_or_empty, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage, PendingMessages};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::api::{CalledTool, ToolOutcome, own_words};
use crate::error::Result;
use crate::record::{Object, Role, quote};
use std::collections::HashSet;

const NAME: &str = "codex";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Codex: ~/.codex/sessions",
    places: &[".codex/sessions", ".codex/archived_sessions"],
    timeless: false,
    recognize: |sample| {
        sample.any(|object| {
            let is_entry = |kind| matches!(kind, "\"session_meta\"" | "\"response_item\"" | "\"event_msg\"");
            has_all(object, &["timestamp", "payload"]) && object.get("type").is_some_and(is_entry)
                || has_all(object, &["id", "timestamp", "instructions"])
        })
    },
    read: ReadFormat::Objects(|options, _| {
        Box::new(CodexSession { options: options.clone(), ..CodexSession::default() })
    }),
};

#[derive(Default)]
struct CodexSession {
    options: ImportOptions,
    conversation: Conversation,
    model: Option<String>,
    /// Whether it is that of an agent that another session started.
    is_subagent: bool,
    /// The time of the session.
    began: Option<i64>,
    /// The number of entries without a time so far: each gets a millisecond of its own, so that it stays
    /// another than the same words before it.
    timeless: i64,
    /// The messages, which may be rolled back.
    pending: PendingMessages,
    /// The texts of messages that look like a program's, unless an event says that they were typed.
    doubtful: HashSet<String>,
    typed: HashSet<String>,
    calls: OpenCalls,
}

impl Convert for CodexSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let payload = entry.valid_object("payload");
        match (entry.text("type")?.as_deref(), payload) {
            (Some("session_meta"), Some(payload)) => self.begin(&payload),
            (Some("turn_context"), Some(payload)) => {
                self.model = payload.text("model")?;
                Ok(())
            }
            (Some("response_item"), Some(item)) => self.item(&item, times::member(&entry, "timestamp")?),
            (Some("event_msg"), Some(event)) => self.event(&event),
            (None, None) if entry.has("instructions") => self.begin(&entry),
            (Some(_), None) => self.item(&entry, None),
            _ => Ok(()),
        }?;
        if self.pending.are_many() { self.finish(lines) } else { Ok(()) }
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        for message in self.pending.take() {
            if message.role != Role::User || self.was_typed(&message.text) {
                self.options.add(NAME, &self.conversation, message, lines)?;
            }
        }
        Ok(())
    }

    fn reason(&self) -> Option<&'static str> {
        self.is_subagent.then_some("they are of sub-agents")
    }
}

impl CodexSession {
    /// Takes the session from its first entry; a session that continues another has the entry of that too.
    fn begin(&mut self, session: &Object) -> Result<()> {
        if self.conversation.id.is_none() {
            self.conversation = Conversation {
                id: session.text("id")?.or(session.text("session_id")?),
                directory: session.text("cwd")?,
                ..Conversation::default()
            };
            self.began = times::member(session, "timestamp")?;
            let source = session.valid_object("source");
            self.is_subagent = source.is_some_and(|source| source.has("subagent"));
        }
        Ok(())
    }

    /// Whether a user wrote a text.
    fn was_typed(&self, text: &str) -> bool {
        !self.doubtful.contains(text) || self.typed.contains(text)
    }

    fn event(&mut self, event: &Object) -> Result<()> {
        match event.get("type") {
            Some("\"user_message\"") => {
                self.typed.extend(event.text("message")?.map(|text| text.trim().to_owned()));
            }
            // Newer versions tell of items instead.
            Some("\"item_completed\"") => {
                let item = event.valid_object("item").unwrap_or_default();
                if item.get("type") == Some("\"UserMessage\"") {
                    self.typed.insert(text(&item, "content", &["text"])?.trim().to_owned());
                }
            }
            Some("\"thread_rolled_back\"") => {
                let count = event.integer("num_turns")?.and_then(|count| usize::try_from(count).ok());
                let mut pending = std::mem::take(&mut self.pending);
                pending.take_back_turns(count.unwrap_or_default(), |message| {
                    message.role == Role::User && self.was_typed(&message.text)
                });
                self.pending = pending;
            }
            _ => {}
        }
        Ok(())
    }

    fn item(&mut self, item: &Object, time: Option<i64>) -> Result<()> {
        if self.is_subagent {
            return Ok(());
        }
        let output = |member| match item.valid_object(member) {
            Some(output) => text(&output, "content", &["text", "input_text"]),
            None => text(item, member, &["text", "input_text"]),
        };
        match item.text("type")?.as_deref() {
            Some("function_call" | "custom_tool_call" | "local_shell_call") => {
                let member = |name| item.valid_text(name);
                let name = member("name").unwrap_or_else(|| "local_shell".to_owned());
                let arguments = member("arguments").or(member("input"));
                let arguments = arguments.or(item.get("action").map(str::to_owned)).unwrap_or_default();
                let called = CalledTool { id: text_or_empty(item, "call_id"), name, arguments };
                self.calls.begin(called, time.or(self.began), None);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                let outcome = ToolOutcome { text: output("output").unwrap_or_default(), failed: None };
                if let Some(action) = self.calls.end(NAME, &text_or_empty(item, "call_id"), &outcome) {
                    self.pending.push(action);
                }
            }
            _ => {}
        }
        let message = match (item.text("type")?.as_deref(), item.text("role")?.as_deref()) {
            (Some("message") | None, Some("user")) => {
                for action in self.calls.interrupt(NAME) {
                    self.pending.push(action);
                }
                ImportedMessage::new(Role::User, self.prompt(item)?)
            }
            (Some("message") | None, Some("assistant")) => {
                let answer = ImportedMessage::new(Role::Assistant, text(item, "content", &["output_text"])?);
                ImportedMessage { model: self.model.clone(), ..answer }
            }
            (Some("function_call" | "custom_tool_call"), _) if self.options.keep_tools => {
                let input = item.text("input")?.map(|input| quote(&input));
                let arguments = item.text("arguments")?.or(input).unwrap_or_default();
                let (id, name) = (text_or_empty(item, "call_id"), text_or_empty(item, "name"));
                let tool_calls = Some(tool_call(&id, &name, &arguments));
                let call = ImportedMessage::new(Role::Assistant, "");
                ImportedMessage { model: self.model.clone(), tool_calls, ..call }
            }
            (Some("function_call_output" | "custom_tool_call_output"), _) if self.options.keep_tools => {
                let tool_call_id = item.valid_text("call_id");
                ImportedMessage { tool_call_id, ..ImportedMessage::new(Role::Tool, output("output")?) }
            }
            _ => return Ok(()),
        };
        let time = time.or_else(|| {
            self.timeless += 1;
            self.began.map(|began| began + self.timeless)
        });
        let message = ImportedMessage { time, id: item.text("id")?, ..message };
        self.pending.push(message);
        Ok(())
    }

    /// The text that a user wrote: without the parts that the program adds, unless there are no others.
    fn prompt(&mut self, item: &Object) -> Result<String> {
        let mut texts = Vec::new();
        for part in item.objects("content").unwrap_or_default().unwrap_or_default() {
            let is_text = part.get("type") == Some("\"input_text\"");
            texts.extend(part.text("text")?.filter(|text| is_text && !is_image_tag(text.trim())));
        }
        let words = texts.iter().filter_map(|text| own_words(text)).collect::<Vec<_>>().join("\n");
        if !words.trim().is_empty() || texts.is_empty() {
            return Ok(words);
        }
        let all = texts.join("\n").trim().to_owned();
        self.doubtful.insert(all.clone());
        Ok(all)
    }
}

/// Whether a text is a tag that stands before or after a picture.
fn is_image_tag(text: &str) -> bool {
    text == "</image>" || text == "<image>" || text.starts_with("<image name=") && text.ends_with('>')
}
