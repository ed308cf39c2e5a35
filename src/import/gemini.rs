//! Sessions of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.json`, one object a session, or
//! `.jsonl`, an entry a line, in the form of `chatRecordingTypes.ts` of version 0.61.0.

use super::contents::{text, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use crate::error::Result;
use crate::record::{Object, Role, time_member};
use std::path::Path;

const NAME: &str = "gemini";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Gemini CLI: ~/.gemini/tmp",
    places: &[".gemini/tmp"],
    timeless: false,
    recognize: |sample| sample.first().is_some_and(|object| has_all(object, &["sessionId", "projectHash"])),
    read: ReadFormat::Objects(|options, path| {
        Box::new(GeminiSession {
            options: options.clone(),
            about: Conversation { directory: path.and_then(project), ..Conversation::default() },
            is_subagent: false,
            question: None,
        })
    }),
};

/// The file beside the folder of sessions that names the directory of the project.
const PROJECT_ROOT: &str = ".project_root";

/// The beginning of the program's own message in the role of the user.
const CONTEXT: &str = "<session_context>";

/// The directory of the project of a session's file.
fn project(path: &Path) -> Option<String> {
    let root = path.parent()?.parent()?.join(PROJECT_ROOT);
    let text = std::fs::read_to_string(root).ok()?;
    Some(text.trim().to_owned()).filter(|directory| !directory.is_empty())
}

struct GeminiSession {
    options: ImportOptions,
    about: Conversation,
    is_subagent: bool,
    /// The id of the last question.
    question: Option<String>,
}

impl Convert for GeminiSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        // A line may change the members of the session.
        let changes = entry.object("$set").ok().flatten();
        let session = changes.as_ref().unwrap_or(&entry);
        if session.has("sessionId") {
            self.about.id = session.text("sessionId")?;
            self.is_subagent = session.get("kind") == Some("\"subagent\"");
        }
        if let Some(title) = session.text("summary").ok().flatten() {
            self.about.title = Some(title);
        }
        if self.is_subagent {
            return Ok(());
        }
        for message in session.objects("messages")?.unwrap_or_default() {
            self.message(&message, lines)?;
        }
        if entry.has("content") { self.message(&entry, lines) } else { Ok(()) }
    }
}

impl GeminiSession {
    fn message(&mut self, message: &Object, lines: &mut Vec<Object>) -> Result<()> {
        let role = match message.get("type") {
            Some("\"user\"") => Role::User,
            Some("\"gemini\"") => Role::Assistant,
            _ => return Ok(()),
        };
        let id = message.text("id")?;
        let said = text(message, "content", &[])?;
        if said.starts_with(CONTEXT) {
            return Ok(());
        }
        if role == Role::User && !said.trim().is_empty() {
            self.question.clone_from(&id);
        }
        let (time, model) = (time_member(message, "timestamp")?, message.text("model")?);
        let add = |part, lines: &mut Vec<Object>| {
            let (id, trace_id, model) = (id.clone(), self.question.clone(), model.clone());
            let part = ImportedMessage { time, id, trace_id, model, ..part };
            self.options.add(NAME, &self.about, part, lines)
        };
        add(ImportedMessage::new(role, said), lines)?;
        let calls = message.objects("toolCalls").ok().flatten().unwrap_or_default();
        for call in calls.iter().filter(|_| self.options.keep_tools) {
            let (id, name) = (call.text("id")?.unwrap_or_default(), call.text("name")?.unwrap_or_default());
            let calls = tool_call(&id, &name, call.get("args").unwrap_or("{}"));
            add(
                ImportedMessage { tool_calls: Some(calls), ..ImportedMessage::new(Role::Assistant, "") },
                lines,
            )?;
            let output = call.get("result").filter(|result| *result != "null").unwrap_or_default();
            add(
                ImportedMessage { tool_call_id: Some(id), ..ImportedMessage::new(Role::Tool, output) },
                lines,
            )?;
        }
        Ok(())
    }
}
