//! Sessions of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`, an entry a line. Compared with the files of
//! version 2.1.197.

use super::contents::{text, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use crate::api::{is_program_text, without_reminders};
use crate::error::Result;
use crate::record::{Object, Role, time_member};

const NAME: &str = "claude-code";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Claude Code: ~/.claude/projects",
    places: &[".claude/projects"],
    timeless: false,
    recognize: |sample| {
        sample.any(|object| has_all(object, &["type", "sessionId"]) || has_all(object, &["type", "leafUuid"]))
    },
    read: ReadFormat::Objects(|options, _| {
        Box::new(ClaudeCodeSession { options: options.clone(), title: None, question: None })
    }),
};

/// The model of the program's own answers.
const NO_MODEL: &str = "<synthetic>";

struct ClaudeCodeSession {
    options: ImportOptions,
    title: Option<String>,
    /// The id of the last prompt, which is the trace of the next messages.
    question: Option<String>,
}

impl Convert for ClaudeCodeSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let is = |member| entry.get(member) == Some("true");
        match entry.text("type")?.as_deref() {
            Some("user" | "assistant")
                if ["isSidechain", "isMeta", "isCompactSummary"].iter().any(|m| is(m)) =>
            {
                Ok(())
            }
            Some("user") => self.user(&entry, lines),
            Some("assistant") if !is("isApiErrorMessage") => self.assistant(&entry, lines),
            Some("summary") => self.set_title(&entry, "summary"),
            Some("ai-title") => self.set_title(&entry, "aiTitle"),
            Some("custom-title") => self.set_title(&entry, "customTitle"),
            _ => Ok(()),
        }
    }
}

impl ClaudeCodeSession {
    fn set_title(&mut self, entry: &Object, member: &str) -> Result<()> {
        self.title = entry.text(member)?;
        Ok(())
    }

    fn user(&mut self, entry: &Object, lines: &mut Vec<Object>) -> Result<()> {
        let message = entry.object("message")?.unwrap_or_default();
        let prompt = text(&message, "content", &["text"])?;
        let prompt = without_reminders(&prompt).trim().to_owned();
        if !prompt.is_empty() && !is_program_text(&prompt) {
            self.question = entry.text("uuid")?;
            self.add(entry, ImportedMessage::new(Role::User, prompt), lines)?;
        }
        if self.options.keep_tools {
            for part in message.objects("content").unwrap_or_default().unwrap_or_default() {
                if part.text("type")?.as_deref() == Some("tool_result") {
                    let output = ImportedMessage::new(Role::Tool, text(&part, "content", &["text"])?);
                    let tool_call_id = part.text("tool_use_id")?;
                    self.add(entry, ImportedMessage { tool_call_id, ..output }, lines)?;
                }
            }
        }
        Ok(())
    }

    fn assistant(&mut self, entry: &Object, lines: &mut Vec<Object>) -> Result<()> {
        let message = entry.object("message")?.unwrap_or_default();
        let model = message.text("model")?.filter(|model| model != NO_MODEL);
        let answer = ImportedMessage::new(Role::Assistant, text(&message, "content", &["text"])?);
        self.add(entry, ImportedMessage { model: model.clone(), ..answer }, lines)?;
        if self.options.keep_tools {
            for part in message.objects("content").unwrap_or_default().unwrap_or_default() {
                if part.text("type")?.as_deref() == Some("tool_use") {
                    let name = part.text("name")?.unwrap_or_default();
                    let id = part.text("id")?.unwrap_or_default();
                    let tool_calls = Some(tool_call(&id, &name, part.get("input").unwrap_or("{}")));
                    let call = ImportedMessage::new(Role::Assistant, "");
                    self.add(entry, ImportedMessage { model: model.clone(), tool_calls, ..call }, lines)?;
                }
            }
        }
        Ok(())
    }

    fn add(&self, entry: &Object, message: ImportedMessage, lines: &mut Vec<Object>) -> Result<()> {
        let conversation = Conversation {
            id: entry.text("sessionId")?,
            title: self.title.clone(),
            directory: entry.text("cwd")?,
            changed: None,
        };
        let (time, id) = (time_member(entry, "timestamp")?, entry.text("uuid")?);
        let trace_id = self.question.clone();
        self.options.add(NAME, &conversation, ImportedMessage { time, id, trace_id, ..message }, lines)
    }
}
