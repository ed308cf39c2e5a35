//! The account export of Claude: `conversations.json`, an array of conversations, alone or in the zip
//! archive.

use super::account::MessageTree;
use super::contents::{text, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{DOWNLOADS, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use std::collections::HashMap;

const NAME: &str = "claude";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the account export of Claude: the zip archive, or conversations.json",
    places: &[DOWNLOADS],
    timeless: false,
    recognize: |sample| sample.first().is_some_and(|object| object.has("chat_messages")),
    read: ReadFormat::Objects(|options, _| Box::new(ClaudeExport { options: options.clone() })),
};

struct ClaudeExport {
    options: ImportOptions,
}

impl Convert for ClaudeExport {
    fn convert(&mut self, conversation: Object, lines: &mut Vec<Object>) -> Result<()> {
        let about = Conversation {
            id: conversation.text("uuid")?,
            title: conversation.text("name")?,
            changed: times::member(&conversation, "updated_at")?,
            ..Conversation::default()
        };
        let messages = conversation.objects("chat_messages")?.unwrap_or_default();
        let mut ids = Vec::with_capacity(messages.len());
        for message in &messages {
            ids.push((message.text("uuid")?.unwrap_or_default(), message.text("parent_message_uuid")?));
        }
        let mut tree = MessageTree::default();
        // Older exports list one branch, without parents.
        let has_parents = ids.iter().any(|(_, parent)| parent.is_some());
        for (at, (id, parent)) in ids.iter().enumerate() {
            let before = at.checked_sub(1).filter(|_| !has_parents).map(|before| ids[before].0.as_str());
            tree.add(id, parent.as_deref().or(before));
        }
        let by_id: HashMap<&str, &Object> = ids.iter().map(|(id, _)| id.as_str()).zip(&messages).collect();
        let time = |id: &str| times::member(by_id.get(id)?, "created_at").ok()?.map(|time| time as f64);
        tree.bridge_gaps(time);
        // The messages stand in any order.
        let leaf = tree.last_leaf(|id, other| time(id) > time(other));
        let has_words = |id: &str| by_id.get(id).is_some_and(|message| has_words(message).unwrap_or(true));
        let shown = if self.options.branches { tree.all() } else { tree.shown(leaf, has_words) };
        let mut questions: HashMap<&str, &str> = HashMap::new();
        for id in shown {
            // The first message names a parent that the export lacks.
            let Some(message) = by_id.get(id) else { continue };
            let is_question = message.get("sender") == Some("\"human\"");
            let before = tree.parent(id).and_then(|parent| questions.get(parent).copied());
            let question = if is_question { Some(id) } else { before };
            questions.extend(question.map(|question| (id, question)));
            self.message(id, message, question, &about, lines)?;
        }
        Ok(())
    }
}

impl ClaudeExport {
    fn message(
        &self,
        id: &str,
        message: &Object,
        question: Option<&str>,
        about: &Conversation,
        lines: &mut Vec<Object>,
    ) -> Result<()> {
        let role = if message.get("sender") == Some("\"human\"") { Role::User } else { Role::Assistant };
        let parts = message.objects("content").unwrap_or_default().unwrap_or_default();
        let mut said = text(message, "content", &["text"])?;
        if said.trim().is_empty() {
            said = message.text("text")?.unwrap_or_default();
        }
        for pasted in pasted_texts(message, said.trim().is_empty())? {
            said = format!("{}\n\n{pasted}", said.trim_end()).trim_start().to_owned();
        }
        let time = times::member(message, "created_at")?;
        let mut add = |message| {
            let trace_id = question.map(str::to_owned);
            let message = ImportedMessage { time, id: Some(id.to_owned()), trace_id, ..message };
            self.options.add(NAME, about, message, lines)
        };
        for part in &parts {
            if let Some(document) = artifact(part) {
                add(ImportedMessage::new(Role::Assistant, document))?;
            }
        }
        for part in parts.iter().filter(|_| self.options.keep_tools) {
            match part.text("type")?.as_deref() {
                Some("tool_use") => {
                    let name = part.text("name")?.unwrap_or_default();
                    let id = part.text("id")?.unwrap_or_default();
                    let tool_calls = Some(tool_call(&id, &name, part.get("input").unwrap_or("{}")));
                    add(ImportedMessage { tool_calls, ..ImportedMessage::new(Role::Assistant, "") })?;
                }
                Some("tool_result") => {
                    let tool_call_id = part.text("tool_use_id")?;
                    let output = ImportedMessage::new(Role::Tool, text(part, "content", &["text"])?);
                    add(ImportedMessage { tool_call_id, ..output })?;
                }
                _ => {}
            }
        }
        add(ImportedMessage::new(role, said))
    }
}

/// Whether a message has words, in its parts or beside them.
fn has_words(message: &Object) -> Result<bool> {
    let said = [text(message, "content", &["text"])?, message.text("text")?.unwrap_or_default()];
    let is_said = said.iter().any(|said| !said.trim().is_empty());
    Ok(is_said || !pasted_texts(message, true)?.is_empty())
}

/// The texts that a user pasted, which the program keeps as attachments. A file is one too if the message has
/// no words beside it.
fn pasted_texts(message: &Object, is_alone: bool) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for attachment in message.objects("attachments").unwrap_or_default().unwrap_or_default() {
        let name = attachment.text("file_name")?.unwrap_or_default().to_lowercase();
        let is_pasted = name.is_empty() || name.starts_with("paste");
        texts.extend(attachment.text("extracted_content")?.filter(|_| is_pasted || is_alone));
    }
    texts.retain(|text| !text.trim().is_empty());
    Ok(texts)
}

/// The document, or the new part of one, that the call of a tool shows beside the conversation.
fn artifact(part: &Object) -> Option<String> {
    if part.get("type") != Some("\"tool_use\"") || part.get("name") != Some("\"artifacts\"") {
        return None;
    }
    let input = part.valid_object("input")?;
    input.valid_text("content").or(input.valid_text("new_str"))
}
