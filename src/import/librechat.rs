//! Conversations that LibreChat exports as JSON: one object each, with the messages in a list, or as a tree.

use super::account::MessageTree;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{DOWNLOADS, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, has_all};
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use std::collections::HashMap;

const NAME: &str = "librechat";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "conversations of LibreChat: the export as JSON",
    places: &[DOWNLOADS],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["conversationId", "messages"])
                && (first_has_all(object, "messages", &["messageId"]) || object.has("exportAt"))
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(LibreChatExport { options: options.clone() })),
};

struct LibreChatExport {
    options: ImportOptions,
}

/// Adds the messages of a list, and those that follow each in a tree.
fn flatten(messages: Vec<Object>, all: &mut Vec<Object>) -> Result<()> {
    let mut open: Vec<Object> = messages.into_iter().rev().collect();
    while let Some(message) = open.pop() {
        open.extend(message.valid_objects("children").unwrap_or_default().into_iter().rev());
        all.push(message);
    }
    Ok(())
}

impl Convert for LibreChatExport {
    fn convert(&mut self, conversation: Object, lines: &mut Vec<Object>) -> Result<()> {
        // Some versions write only a clock.
        let exported = times::member(&conversation, "exportAt").ok().flatten();
        let about = Conversation {
            id: conversation.text("conversationId")?,
            title: conversation.text("title")?,
            changed: times::member(&conversation, "updatedAt")?.or(exported),
            ..Conversation::default()
        };
        let mut all = Vec::new();
        flatten(conversation.objects("messages")?.unwrap_or_default(), &mut all)?;
        let mut ids = Vec::with_capacity(all.len());
        for message in &all {
            ids.push((message.text("messageId")?.unwrap_or_default(), message.text("parentMessageId")?));
        }
        let by_id: HashMap<&str, &Object> = ids.iter().map(|(id, _)| id.as_str()).zip(&all).collect();
        let mut tree = MessageTree::default();
        for (id, parent) in &ids {
            tree.add(id, parent.as_deref());
        }
        let time = |message: &Object| times::first_member(message, &["createdAt", "updatedAt"]);
        tree.bridge_gaps(|id| time(by_id.get(id)?).ok()?.map(|time| time as f64));
        let has_words = |id: &str| {
            by_id.get(id).is_some_and(|message| said(message).is_ok_and(|said| !said.trim().is_empty()))
        };
        let leaf = tree.last_leaf(|_, _| false);
        let shown = if self.options.branches { tree.all() } else { tree.shown(leaf, has_words) };
        let mut messages = Vec::new();
        for (at, id) in (0..).zip(shown) {
            let Some(message) = by_id.get(id) else { continue };
            let time = time(message)?.or(exported.map(|exported| exported + at));
            let is_user = message.get("isCreatedByUser") == Some("true");
            let role = if is_user { Role::User } else { Role::Assistant };
            let model = if is_user { None } else { message.text("model")? };
            let said = ImportedMessage::new(role, said(message)?);
            messages.push(ImportedMessage { time, model, id: Some(id.to_owned()), ..said });
        }
        self.options.add_all(NAME, &about, messages, lines)
    }
}

/// The text of a message, or of its parts, but not of thoughts.
fn said(message: &Object) -> Result<String> {
    let text = message.text("text")?.unwrap_or_default();
    if !text.trim().is_empty() {
        return Ok(text);
    }
    let mut texts = Vec::new();
    for part in message.valid_objects("content").unwrap_or_default() {
        if part.get("type") == Some("\"text\"") {
            let inner = part.valid_object("text").and_then(|text| text.valid_text("value"));
            texts.extend(inner.or(part.valid_text("text")));
        }
    }
    Ok(texts.join("\n"))
}
