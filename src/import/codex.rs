//! Sessions of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`, an entry a line. Compared with the
//! files of version 0.169.0; before 0.32, entries had no envelope and no time, so that they get that of their session.

use super::contents::{text, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use crate::api::{is_element, is_program_text};
use crate::error::Result;
use crate::record::{Object, Role, quote, time_member};

const NAME: &str = "codex";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Codex: ~/.codex/sessions",
    places: &[".codex/sessions"],
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
    /// The number of entries without a time so far: each gets a millisecond of its own, so that it stays another than
    /// the same words before it.
    timeless: i64,
}

impl Convert for CodexSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let payload = entry.object("payload").ok().flatten();
        match (entry.text("type")?.as_deref(), payload) {
            (Some("session_meta"), Some(payload)) => self.begin(&payload),
            (Some("turn_context"), Some(payload)) => {
                self.model = payload.text("model")?;
                Ok(())
            }
            (Some("response_item"), Some(item)) => self.item(&item, time_member(&entry, "timestamp")?, lines),
            (None, None) if entry.has("instructions") => self.begin(&entry),
            (Some(_), None) => self.item(&entry, None, lines),
            _ => Ok(()),
        }
    }
}

impl CodexSession {
    /// Takes the session from its first entry; a session that continues another has the entry of that too.
    fn begin(&mut self, session: &Object) -> Result<()> {
        if self.conversation.id.is_none() {
            self.conversation = Conversation {
                id: session.text("id")?,
                directory: session.text("cwd")?,
                ..Conversation::default()
            };
            self.began = time_member(session, "timestamp")?;
            let source = session.object("source").ok().flatten();
            self.is_subagent = source.is_some_and(|source| source.has("subagent"));
        }
        Ok(())
    }

    fn item(&mut self, item: &Object, time: Option<i64>, lines: &mut Vec<Object>) -> Result<()> {
        if self.is_subagent {
            return Ok(());
        }
        let output = |member| match item.object(member).ok().flatten() {
            Some(output) => text(&output, "content", &["text", "input_text"]),
            None => text(item, member, &["text", "input_text"]),
        };
        let message = match (item.text("type")?.as_deref(), item.text("role")?.as_deref()) {
            (Some("message"), Some("user")) => ImportedMessage::new(Role::User, prompt(item)?),
            (Some("message"), Some("assistant")) => {
                let answer = ImportedMessage::new(Role::Assistant, text(item, "content", &["output_text"])?);
                ImportedMessage { model: self.model.clone(), ..answer }
            }
            (Some("function_call" | "custom_tool_call"), _) if self.options.keep_tools => {
                let input = item.text("input")?.map(|input| quote(&input));
                let arguments = item.text("arguments")?.or(input).unwrap_or_default();
                let (id, name) =
                    (item.text("call_id")?.unwrap_or_default(), item.text("name")?.unwrap_or_default());
                let tool_calls = Some(tool_call(&id, &name, &arguments));
                let call = ImportedMessage::new(Role::Assistant, "");
                ImportedMessage { model: self.model.clone(), tool_calls, ..call }
            }
            (Some("function_call_output" | "custom_tool_call_output"), _) if self.options.keep_tools => {
                let tool_call_id = item.text("call_id")?;
                ImportedMessage { tool_call_id, ..ImportedMessage::new(Role::Tool, output("output")?) }
            }
            _ => return Ok(()),
        };
        let time = time.or_else(|| {
            self.timeless += 1;
            self.began.map(|began| began + self.timeless)
        });
        let message = ImportedMessage { time, id: item.text("id")?, ..message };
        self.options.add(NAME, &self.conversation, message, lines)
    }
}

/// The text that a user wrote: without the parts that the program adds.
fn prompt(item: &Object) -> Result<String> {
    let mut texts = Vec::new();
    for part in item.objects("content").unwrap_or_default().unwrap_or_default() {
        let is_text = part.text("type")?.as_deref() == Some("input_text");
        texts.extend(
            part.text("text")?.filter(|text| is_text && !is_element(text) && !is_program_text(text.trim())),
        );
    }
    Ok(texts.join("\n"))
}
