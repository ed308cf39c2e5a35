//! Sessions of Copilot's command line: `~/.copilot/session-state/SESSION/events.jsonl`, an event a line.
//! Compared with the files of version 1.0.102.

use super::calls::OpenCalls;
use super::contents::{text_or_empty, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage, PendingMessages};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::api::{CalledTool, ToolOutcome};
use crate::error::Result;
use crate::record::{Object, Role};
use std::collections::HashMap;

const NAME: &str = "copilot-cli";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Copilot's command line: ~/.copilot/session-state",
    places: &[".copilot/session-state"],
    timeless: false,
    recognize: |sample| {
        sample.any(|object| {
            let is_event = |kind: &str| kind.starts_with("\"session.") || kind.ends_with(".message\"");
            has_all(object, &["id", "timestamp", "data"]) && object.get("type").is_some_and(is_event)
        })
    },
    read: ReadFormat::Objects(|options, origin| {
        let about = Conversation { id: origin.folder(), ..Conversation::default() };
        let pending = PendingMessages::default();
        Box::new(CopilotSession {
            options: options.clone(),
            about,
            pending,
            events: HashMap::new(),
            question: None,
            calls: OpenCalls::default(),
        })
    }),
};

struct CopilotSession {
    options: ImportOptions,
    about: Conversation,
    /// The messages, which may be rewound.
    pending: PendingMessages,
    /// The number of pending messages before each event.
    events: HashMap<String, usize>,
    /// The id of the last question.
    question: Option<String>,
    calls: OpenCalls,
}

impl Convert for CopilotSession {
    fn convert(&mut self, event: Object, lines: &mut Vec<Object>) -> Result<()> {
        let data = event.valid_object("data").unwrap_or_default();
        if let Some(id) = event.text("id")? {
            self.events.insert(id, self.pending.count());
        }
        match event.text("type")?.as_deref() {
            Some("session.start" | "session.resume") if self.about.directory.is_none() => {
                let context = data.valid_object("context").unwrap_or_default();
                self.about.id = data.text("sessionId")?.or(self.about.id.take());
                self.about.directory = context.text("cwd")?;
            }
            Some("session.title_changed") => self.about.title = data.text("title")?,
            Some("session.snapshot_rewind") => {
                let first = data.text("upToEventId")?.and_then(|id| self.events.get(&id));
                if let Some(first) = first {
                    self.pending.truncate(*first);
                }
            }
            // An agent that the session started has its events among the others.
            _ if event.has("agentId") || data.has("parentToolCallId") => {}
            Some("user.message") if is_typed(&data)? => {
                for action in self.calls.interrupt(NAME) {
                    self.pending.push(action);
                }
                self.add(
                    &event,
                    ImportedMessage::new(Role::User, data.text("content")?.unwrap_or_default()),
                )?;
            }
            Some("assistant.message") => self.answer(&event, &data)?,
            Some("tool.execution_complete") => self.result(&event, &data)?,
            _ => {}
        }
        if self.pending.are_many() { self.finish(lines) } else { Ok(()) }
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        self.events.clear();
        let messages = (self.pending.take(), &mut self.question);
        self.options.add_more(NAME, &self.about, messages, lines)
    }
}

/// Whether a user wrote a message: a skill, another agent, or the program that continues by itself may have.
fn is_typed(data: &Object) -> Result<bool> {
    let source = data.text("source")?;
    let is_user = source.is_none_or(|source| {
        !["skill-", "agent-", "system", "autopilot"].iter().any(|own| source.starts_with(own))
    });
    Ok(is_user && data.get("isAutopilotContinuation") != Some("true"))
}

impl CopilotSession {
    fn answer(&mut self, event: &Object, data: &Object) -> Result<()> {
        let model = data.text("model")?;
        let answer = ImportedMessage::new(Role::Assistant, data.text("content")?.unwrap_or_default());
        self.add(event, ImportedMessage { model: model.clone(), ..answer })?;
        let calls = data.valid_objects("toolRequests").unwrap_or_default();
        for call in &calls {
            let (id, name) = (text_or_empty(call, "toolCallId"), text_or_empty(call, "name"));
            let arguments = call.get("arguments").unwrap_or("{}");
            let called = CalledTool { id: id.clone(), name: name.clone(), arguments: arguments.to_owned() };
            self.calls.begin(called, times::member(event, "timestamp")?, None);
            if !self.options.keep_tools {
                continue;
            }
            let tool_calls = Some(tool_call(&id, &name, arguments));
            let call = ImportedMessage::new(Role::Assistant, "");
            self.add(event, ImportedMessage { model: model.clone(), tool_calls, ..call })?;
        }
        Ok(())
    }

    fn result(&mut self, event: &Object, data: &Object) -> Result<()> {
        let member = |name| data.valid_object(name).unwrap_or_default();
        let text = text_or_empty(&member("result"), "content");
        let call = data.valid_text("toolCallId");
        let exit = member("shellExecution").valid_integer("exitCode");
        let failed =
            data.get("success").map(|success| success == "false" || exit.is_some_and(|exit| exit != 0));
        let reason = member("error").valid_text("message").filter(|_| failed == Some(true));
        let outcome = ToolOutcome { text: reason.unwrap_or_else(|| text.clone()), failed };
        if let Some(action) = self.calls.end(NAME, call.as_deref().unwrap_or_default(), &outcome) {
            self.pending.push(action);
        }
        if self.options.keep_tools {
            let output = ImportedMessage::new(Role::Tool, text);
            self.add(event, ImportedMessage { tool_call_id: call, ..output })?;
        }
        Ok(())
    }

    fn add(&mut self, event: &Object, message: ImportedMessage) -> Result<()> {
        let (time, id) = (times::member(event, "timestamp")?, event.text("id")?);
        self.pending.push(ImportedMessage { time, id, ..message });
        Ok(())
    }
}
