//! Sessions of Copilot Chat in VS Code: `workspaceStorage/ID/chatSessions/SESSION.json`, one object, or
//! `.jsonl`, an object and the changes of it, and the output of its command "Export Chat".

use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, Origin, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, has_all};
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use percent_encoding::percent_decode_str;
use serde_json::Value;

const NAME: &str = "copilot-chat";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Copilot Chat in VS Code: chatSessions in its folders",
    places: &[
        ".config/Code/User/workspaceStorage/*/chatSessions",
        ".config/Code/User/globalStorage/emptyWindowChatSessions",
        ".vscode-server/data/User/workspaceStorage/*/chatSessions",
        "Library/Application Support/Code/User/workspaceStorage/*/chatSessions",
    ],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["requests", "responderUsername"])
                || object.has("kind") && first_has_all(object, "v", &["requests", "sessionId"])
        })
    },
    read: ReadFormat::Objects(|options, origin| Box::new(ChatSession::new(options, origin))),
};

struct ChatSession {
    options: ImportOptions,
    about: Conversation,
    /// The session so far.
    state: Value,
}

/// The kinds of lines: the session, and the changes of it.
const WHOLE: u64 = 0;
const SET: u64 = 1;
const PUSH: u64 = 2;
const DELETE: u64 = 3;

impl ChatSession {
    fn new(options: &ImportOptions, origin: &Origin) -> ChatSession {
        let workspace = origin.sibling("../workspace.json");
        let folder = workspace.and_then(|workspace| workspace.valid_text("folder"));
        let directory = folder.and_then(|url| {
            let path = percent_decode_str(url.strip_prefix("file://")?).decode_utf8().ok()?;
            Some(path.into_owned())
        });
        let about = Conversation { id: origin.stem(), directory, ..Conversation::default() };
        ChatSession { options: options.clone(), about, state: Value::Null }
    }

    /// Makes a change, whose place is named by members and numbers.
    fn change(&mut self, entry: &Value) {
        let value = entry.get("v").cloned().unwrap_or_default();
        let place = entry.get("k").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match entry.get("kind").and_then(Value::as_u64) {
            Some(WHOLE) => self.state = value,
            Some(SET) => {
                if let Some(target) = self.target(place) {
                    *target = value;
                }
            }
            Some(PUSH) => {
                let length = entry.get("i").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
                if let Some(list) = self.target(place).and_then(Value::as_array_mut) {
                    list.truncate(length.unwrap_or(list.len()));
                    list.extend(value.as_array().cloned().unwrap_or_default());
                }
            }
            Some(DELETE) => {
                if let Some(target) = self.target(place) {
                    *target = Value::Null;
                }
            }
            _ => {}
        }
    }

    fn target(&mut self, place: &[Value]) -> Option<&mut Value> {
        let mut at = &mut self.state;
        for part in place {
            at = match part {
                Value::String(name) => at.as_object_mut()?.entry(name.clone()).or_insert(Value::Null),
                part => at.get_mut(usize::try_from(part.as_u64()?).ok()?)?,
            };
        }
        Some(at)
    }
}

impl Convert for ChatSession {
    fn convert(&mut self, entry: Object, _: &mut Vec<Object>) -> Result<()> {
        // Its depth was checked when the object was read.
        let value: Value = serde_json::from_str(&entry.to_json()).unwrap_or_default();
        if entry.has("requests") {
            self.state = value;
        } else {
            self.change(&value);
        }
        Ok(())
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        let text = |of: &Value, member: &str| of.get(member).and_then(Value::as_str).map(str::to_owned);
        let time = |of: &Value, member: &str| {
            of.get(member).and_then(Value::as_f64).map(times::from_number).transpose()
        };
        let about = Conversation {
            id: text(&self.state, "sessionId").or(self.about.id.clone()),
            title: text(&self.state, "customTitle"),
            changed: time(&self.state, "lastMessageDate")?,
            ..self.about.clone()
        };
        let created = time(&self.state, "creationDate")?;
        let mut messages = Vec::new();
        let requests = self.state.get("requests").and_then(Value::as_array);
        for (at, request) in (0..).zip(requests.into_iter().flatten()) {
            let time = time(request, "timestamp")?.or(created.map(|created| created + 2 * at));
            let id = text(request, "requestId");
            let asked = request.get("message");
            let asked = asked.and_then(|asked| text(asked, "text").or(asked.as_str().map(str::to_owned)));
            let response = request.get("response").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let parts = [
                ImportedMessage::new(Role::User, asked.unwrap_or_default()),
                ImportedMessage {
                    model: text(request, "modelId"),
                    ..ImportedMessage::new(Role::Assistant, answer(response))
                },
            ];
            for (after, part) in (0..).zip(parts) {
                let trace_id = id.clone();
                messages.push(ImportedMessage {
                    time: time.map(|time| time + after),
                    id: id.clone(),
                    trace_id,
                    ..part
                });
            }
        }
        self.options.add_all(NAME, &about, messages, lines)
    }
}

/// The text of an answer: its parts of Markdown, and the names of what it refers to.
fn answer(parts: &[Value]) -> String {
    let text = |of: &Value, member: &str| of.get(member).and_then(Value::as_str).map(str::to_owned);
    let shown = parts.iter().filter_map(|part| match part.get("kind").and_then(Value::as_str) {
        None => text(part, "value"),
        Some("markdownContent" | "markdownVuln") => {
            part.get("content").and_then(|content| text(content, "value"))
        }
        Some("inlineReference") => {
            let reference = part.get("inlineReference")?;
            let path =
                text(reference, "path").or_else(|| text(reference.get("location")?.get("uri")?, "path"));
            let file = path.and_then(|path| path.rsplit('/').next().map(str::to_owned));
            text(part, "name").or_else(|| text(reference, "name")).or(file).map(|name| format!("`{name}`"))
        }
        _ => None,
    });
    shown.collect()
}
