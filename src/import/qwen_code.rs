//! Sessions of Qwen Code: `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`, an entry a line. Compared with the files of
//! version 0.18.1.

use super::contents::{said_text, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, has_all};
use super::times;
use crate::api::own_words;
use crate::error::Result;
use crate::record::{Object, Role};

const NAME: &str = "qwen-code";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Qwen Code: ~/.qwen/projects",
    places: &[".qwen/projects"],
    timeless: false,
    recognize: |sample| {
        sample.any(|object| {
            has_all(object, &["type", "sessionId"]) && first_has_all(object, "message", &["parts"])
        })
    },
    read: ReadFormat::Objects(|options, _| {
        Box::new(QwenSession { options: options.clone(), about: Conversation::default(), question: None })
    }),
};

struct QwenSession {
    options: ImportOptions,
    /// The session, and the directory in which it began.
    about: Conversation,
    question: Option<String>,
}

impl Convert for QwenSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let session = entry.text("sessionId")?;
        if self.about.id != session {
            self.about =
                Conversation { id: session, directory: entry.text("cwd")?, ..Conversation::default() };
        }
        let Some(message) = entry.object("message").ok().flatten() else { return Ok(()) };
        let (time, id) = (times::member(&entry, "timestamp")?, entry.text("uuid")?);
        let said = said_text(&message, "parts")?;
        let part = match entry.text("type")?.as_deref() {
            Some("user") => {
                let words = own_words(&said).unwrap_or_default().into_owned();
                if !words.trim().is_empty() {
                    self.question.clone_from(&id);
                }
                ImportedMessage::new(Role::User, words)
            }
            Some("assistant") => {
                let model = entry.text("model")?;
                ImportedMessage { model, ..ImportedMessage::new(Role::Assistant, said) }
            }
            Some("tool_result") => ImportedMessage::new(Role::Tool, ""),
            _ => return Ok(()),
        };
        let trace_id = self.question.clone();
        let of_entry = |part| ImportedMessage { time, id: id.clone(), trace_id: trace_id.clone(), ..part };
        if part.role != Role::Tool {
            self.options.add(NAME, &self.about, of_entry(part), lines)?;
        }
        for part in message.objects("parts").ok().flatten().unwrap_or_default() {
            if let Some(tool) = tool(&part).filter(|_| self.options.keep_tools) {
                self.options.add(NAME, &self.about, of_entry(tool), lines)?;
            }
        }
        Ok(())
    }
}

/// The call of a tool, or its output, in a part.
fn tool(part: &Object) -> Option<ImportedMessage> {
    let text = |of: &Object, member| of.text(member).ok().flatten().unwrap_or_default();
    if let Some(call) = part.object("functionCall").ok().flatten() {
        let call = tool_call(&text(&call, "id"), &text(&call, "name"), call.get("args").unwrap_or("{}"));
        return Some(ImportedMessage { tool_calls: Some(call), ..ImportedMessage::new(Role::Assistant, "") });
    }
    let answer = part.object("functionResponse").ok().flatten()?;
    let output = answer.get("response").unwrap_or_default();
    let tool_call_id = Some(text(&answer, "id"));
    Some(ImportedMessage { tool_call_id, ..ImportedMessage::new(Role::Tool, output) })
}
