//! Sessions of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.json`, one object a session, or
//! `.jsonl`, an entry a line, in the form of `chatRecordingTypes.ts` of version 0.61.0.

use super::calls::Places;
use super::contents::{said_text, text_or_empty, tool_call, without_files};
use super::conversation::{Conversation, ImportOptions, ImportedMessage, PendingMessages};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::api::{self, CalledTool, ToolOutcome};
use crate::error::Result;
use crate::record::{Action, Object, Role};
use std::collections::HashMap;
use std::path::Path;

const NAME: &str = "gemini";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Gemini CLI: ~/.gemini/tmp",
    places: &[".gemini/tmp"],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["sessionId", "projectHash"])
                || has_all(object, &["sessionId", "startTime", "lastUpdated"])
        })
    },
    read: ReadFormat::Objects(|options, origin| {
        Box::new(GeminiSession {
            options: options.clone(),
            about: Conversation { directory: origin.path.and_then(project), ..Conversation::default() },
            is_subagent: false,
            pending: PendingMessages::default(),
            times: HashMap::new(),
        })
    }),
};

/// The file beside the folder of sessions that names the directory of the project.
const PROJECT_ROOT: &str = ".project_root";

/// The beginnings of the program's own messages in the role of the user.
const CONTEXTS: [&str; 2] = ["<session_context>", "<hook_context>"];

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
    /// The messages, which later lines may write again, or take back.
    pending: PendingMessages,
    /// The first times of messages by their ids: a resumed session writes all again, with the time of that.
    times: HashMap<String, i64>,
}

impl Convert for GeminiSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        // A line may change the members of the session.
        let changes = entry.valid_object("$set");
        let session = changes.as_ref().unwrap_or(&entry);
        if session.has("sessionId") {
            self.about.id = session.text("sessionId")?;
            self.is_subagent = session.get("kind") == Some("\"subagent\"");
        }
        if let Some(title) = session.valid_text("summary") {
            self.about.title = Some(title);
        }
        if self.is_subagent {
            return Ok(());
        }
        if let Some(id) = entry.valid_text("$rewindTo") {
            self.pending.take_back_to(&id);
        }
        let messages = session.objects("messages")?;
        if changes.is_some() && messages.is_some() {
            self.pending.clear();
        }
        for message in messages.unwrap_or_default() {
            self.message(&message)?;
        }
        if entry.has("content") {
            self.message(&entry)?;
        }
        if self.pending.are_many() { self.finish(lines) } else { Ok(()) }
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        let mut question = None;
        for message in self.pending.take() {
            if message.role == Role::User && !message.text.trim().is_empty() {
                question.clone_from(&message.id);
            }
            let trace_id = question.clone();
            self.options.add(NAME, &self.about, ImportedMessage { trace_id, ..message }, lines)?;
        }
        Ok(())
    }

    fn reason(&self) -> Option<&'static str> {
        self.is_subagent.then_some("they are of sub-agents")
    }
}

impl GeminiSession {
    fn message(&mut self, message: &Object) -> Result<()> {
        let role = match message.get("type") {
            Some("\"user\"") => Role::User,
            Some("\"gemini\"") => Role::Assistant,
            _ => return Ok(()),
        };
        let id = message.text("id")?;
        let said = match role {
            // The words that were typed, where the program has them.
            Role::User if message.get("displayContent").is_some_and(|json| json != "null") => {
                said_text(message, "displayContent")?
            }
            Role::User => without_files(&said_text(message, "content")?),
            _ => said_text(message, "content")?,
        };
        if CONTEXTS.iter().any(|begin| said.starts_with(begin)) {
            return Ok(());
        }
        let (mut time, model) = (times::member(message, "timestamp")?, message.text("model")?);
        if let (Some(time), Some(id)) = (&mut time, &id) {
            *time = *self.times.entry(id.clone()).or_insert(*time);
        }
        let of_message = |part: ImportedMessage| {
            let (time, id, model) = (part.time.or(time), id.clone(), model.clone());
            ImportedMessage { time, id, model, ..part }
        };
        let mut parts = vec![of_message(ImportedMessage::new(role, said))];
        let calls = message.valid_objects("toolCalls").unwrap_or_default();
        let mut places = Places::default();
        for call in &calls {
            let Some(action) = action(call) else { continue };
            let time = times::member(call, "timestamp").ok().flatten().or(time);
            let (action, seq) = (Some(action), places.next(time));
            let part = ImportedMessage { action, time, seq, ..ImportedMessage::new(Role::Assistant, "") };
            parts.push(of_message(part));
        }
        for call in calls.iter().filter(|_| self.options.keep_tools) {
            let (id, name) = (text_or_empty(call, "id"), text_or_empty(call, "name"));
            let calls = Some(tool_call(&id, &name, call.get("args").unwrap_or("{}")));
            parts.push(of_message(ImportedMessage {
                tool_calls: calls,
                ..ImportedMessage::new(Role::Assistant, "")
            }));
            let output = call.get("result").filter(|result| *result != "null").unwrap_or_default();
            parts.push(of_message(ImportedMessage {
                tool_call_id: Some(id),
                ..ImportedMessage::new(Role::Tool, output)
            }));
        }
        self.pending.replace(id.as_deref(), parts);
        Ok(())
    }
}

/// The action of a call of a tool; none of one that is still running.
fn action(call: &Object) -> Option<Action> {
    let failed = match call.get("status") {
        Some("\"success\"") => Some(false),
        Some("\"error\"") => Some(true),
        Some("\"cancelled\"") => None,
        _ => return None,
    };
    let called = CalledTool {
        id: text_or_empty(call, "id"),
        name: text_or_empty(call, "name"),
        arguments: call.get("args").unwrap_or("{}").to_owned(),
    };
    let outcome = failed.map(|failed| {
        // A command that ran is a success, whatever its exit status, which is in the result alone.
        let shown = failed.then(|| text_or_empty(call, "resultDisplay")).filter(|text| !text.is_empty());
        ToolOutcome { text: shown.unwrap_or_else(|| output(call)), failed: Some(failed) }
    });
    api::action(Some(NAME), &called, outcome.as_ref())
}

/// The result of a call for the model: the output in the response of each of its parts, or the error.
fn output(call: &Object) -> String {
    let parts = call.valid_objects("result").unwrap_or_default();
    let text = |part: &Object| {
        let response = part.valid_object("functionResponse")?.valid_object("response")?;
        Some(text_or_empty(&response, if response.has("output") { "output" } else { "error" }))
    };
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
