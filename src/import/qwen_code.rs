//! Sessions of Qwen Code: `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`, an entry a line. Compared with the
//! files of versions 0.15.10, 0.18.1 and 0.24.4.

use super::calls::OpenCalls;
use super::contents::{said_text, tool_call, without_files};
use super::conversation::{Conversation, ImportOptions, ImportedMessage, PendingMessages};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, has_all};
use super::times;
use crate::api::{own_words, typed_words};
use crate::error::Result;
use crate::record::{Object, Role};
use std::collections::HashMap;

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
        Box::new(QwenSession {
            options: options.clone(),
            about: Conversation::default(),
            pending: PendingMessages::default(),
            entries: HashMap::new(),
            question: None,
            calls: OpenCalls::default(),
        })
    }),
};

/// The kinds of entries in the role of the user that a user wrote; the others are notifications and tasks.
const TYPED: [&str; 2] = ["mid_turn_user_message", "realtime_message"];

/// The lines between which a hook adds to the words of a user, at their end.
const CONTEXT_BEGIN: &str = "<qwen:user-prompt-submit-context>";
const CONTEXT_END: &str = "</qwen:user-prompt-submit-context>";

struct QwenSession {
    options: ImportOptions,
    /// The session, and the directory in which it began.
    about: Conversation,
    /// The messages, which may be rewound.
    pending: PendingMessages,
    /// The number of pending messages up to the end of each entry.
    entries: HashMap<String, usize>,
    /// The id of the last question.
    question: Option<String>,
    calls: OpenCalls,
}

impl Convert for QwenSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let session = entry.text("sessionId")?;
        if self.about.id != session {
            self.finish(lines)?;
            self.question = None;
            self.about =
                Conversation { id: session, directory: entry.text("cwd")?, ..Conversation::default() };
        }
        match entry.text("type")?.as_deref() {
            Some("system") => self.system(&entry)?,
            Some(kind) => self.message(kind, &entry)?,
            None => {}
        }
        if let Some(id) = entry.text("uuid")? {
            self.entries.insert(id, self.pending.count());
        }
        if self.pending.are_many() { self.finish(lines) } else { Ok(()) }
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        self.entries.clear();
        let messages = (self.pending.take(), &mut self.question);
        self.options.add_more(NAME, &self.about, messages, lines)
    }
}

impl QwenSession {
    fn system(&mut self, entry: &Object) -> Result<()> {
        match entry.text("subtype")?.as_deref() {
            // The session continues after the entry that it names, or starts over.
            Some("rewind") => match entry.text("parentUuid")? {
                Some(last) => {
                    let kept = self.entries.get(&last).copied();
                    self.pending.truncate(kept.unwrap_or(self.pending.count()));
                }
                None => self.pending.clear(),
            },
            Some("custom_title") => {
                let payload = entry.valid_object("systemPayload").unwrap_or_default();
                self.about.title = payload.text("customTitle")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, kind: &str, entry: &Object) -> Result<()> {
        let Some(message) = entry.valid_object("message") else { return Ok(()) };
        let (time, id) = (times::member(entry, "timestamp")?, entry.text("uuid")?);
        let of_entry = |part| ImportedMessage { time, id: id.clone(), ..part };
        match kind {
            "user" if !is_typed(entry)? => {}
            "user" => {
                for action in self.calls.interrupt(NAME) {
                    self.pending.push(action);
                }
                self.pending.push(of_entry(ImportedMessage::new(Role::User, words(entry, &message)?)));
            }
            "assistant" => {
                let said = ImportedMessage::new(Role::Assistant, said_text(&message, "parts")?);
                self.pending.push(of_entry(ImportedMessage { model: entry.text("model")?, ..said }));
            }
            _ => {}
        }
        for part in message.valid_objects("parts").unwrap_or_default() {
            let Some(tool) = tool(&part).map(of_entry) else { continue };
            if let Some(action) = self.calls.take(NAME, &tool, None) {
                self.pending.push(action);
            }
            if self.options.keep_tools {
                self.pending.push(tool);
            }
        }
        Ok(())
    }
}

/// Whether a user wrote an entry in the role of the user.
fn is_typed(entry: &Object) -> Result<bool> {
    let kind = entry.text("subtype")?;
    let is_of_user = matches!(entry.get("provenance"), None | Some("null" | "\"real_user\""));
    Ok(is_of_user && kind.is_none_or(|kind| TYPED.contains(&kind.as_str())))
}

/// The words of the user in an entry, where the program has them apart, or without what it added.
fn words(entry: &Object, message: &Object) -> Result<String> {
    let payload = entry.valid_object("systemPayload").unwrap_or_default();
    if let Some(shown) = payload.valid_text("displayText") {
        return Ok(shown);
    }
    let mut said = without_files(&said_text(message, "parts")?);
    if said.trim_end().ends_with(CONTEXT_END)
        && let Some(begin) = said.rfind(CONTEXT_BEGIN)
    {
        said.truncate(begin);
    }
    let own = if entry.has("provenance") { typed_words } else { own_words };
    Ok(own(said.trim_end()).unwrap_or_default().into_owned())
}

/// The call of a tool, or its output, in a part.
fn tool(part: &Object) -> Option<ImportedMessage> {
    let text = |of: &Object, member| of.valid_text(member).unwrap_or_default();
    if let Some(call) = part.valid_object("functionCall") {
        let call = tool_call(&text(&call, "id"), &text(&call, "name"), call.get("args").unwrap_or("{}"));
        return Some(ImportedMessage { tool_calls: Some(call), ..ImportedMessage::new(Role::Assistant, "") });
    }
    let answer = part.valid_object("functionResponse")?;
    let output = answer.get("response").unwrap_or_default();
    let tool_call_id = Some(text(&answer, "id"));
    Some(ImportedMessage { tool_call_id, ..ImportedMessage::new(Role::Tool, output) })
}
