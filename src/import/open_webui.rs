//! Chats of Open WebUI: the export of all chats or of one, an array, and the database `webui.db`, compared
//! with that of version 0.12.4.

use super::account::MessageTree;
use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DOWNLOADS, DatabaseFormat, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::first_has_all;
use super::times;
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Object, Role};
use rusqlite::Connection;
use std::collections::HashMap;

const NAME: &str = "open-webui";

pub(super) const EXPORT: ImportFormat = ImportFormat {
    name: NAME,
    about: "chats of Open WebUI: the export",
    places: &[DOWNLOADS],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            first_has_all(object, "chat", &["history"]) || first_has_all(object, "history", &["currentId"])
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Chats { options: options.clone() })),
};

pub(super) const DATABASE: ImportFormat = ImportFormat {
    name: "open-webui-db",
    about: "the database of Open WebUI: webui.db",
    places: &[".open-webui/webui.db"],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| database.has_column("chat", "chat") && database.has_column("chat", "user_id"),
        open,
    }),
};

/// The chats but those that are copies: earlier versions shared one by a copy of a user of that name.
const OWN_CHATS: &str =
    "SELECT id FROM chat WHERE user_id IS NULL OR user_id NOT LIKE 'shared-%' ORDER BY created_at, id";

struct Chats {
    options: ImportOptions,
}

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    let keys = turns(&database.connection, "chat", OWN_CHATS)?;
    let chats = Chats { options: options.clone() };
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(chats))))
}

impl ReadTurn for Chats {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let sql =
            "SELECT title, chat, CAST(created_at AS TEXT), CAST(updated_at AS TEXT) FROM chat WHERE id = ?";
        let row: rusqlite::Result<[Option<String>; 4]> =
            connection.prepare_cached(sql).and_then(|mut query| {
                query.query_row([&key.id], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
            });
        let [title, chat, created, updated] = row.context("cannot read the chat")?;
        let mut entry = Object::default();
        entry.set_text("id", &key.id);
        entry.set("chat", Object::parse(chat.as_deref().unwrap_or("{}"))?.to_json());
        for (name, value) in [("title", title), ("created_at", created), ("updated_at", updated)] {
            if let Some(value) = value {
                entry.set_text(name, &value);
            }
        }
        self.convert(entry, lines)
    }
}

impl Convert for Chats {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let chat = entry.object("chat")?.unwrap_or_else(|| entry.clone());
        let created = times::first_member(&entry, &["created_at", "timestamp"])?;
        let created = created.or(times::member(&chat, "timestamp")?);
        let about = Conversation {
            id: entry.text("id")?.filter(|id| !id.is_empty()).or(chat.text("id")?),
            title: entry.text("title")?.or(chat.text("title")?),
            changed: times::member(&entry, "updated_at")?,
            ..Conversation::default()
        };
        let history = chat.valid_object("history").unwrap_or_default();
        let by_id = history.valid_object("messages").unwrap_or_default();
        let mut messages: Vec<(String, Object)> = Vec::new();
        for (id, message) in by_id.iter() {
            messages.push((id.to_owned(), Object::parse(message)?));
        }
        // Older chats have a list.
        for message in chat.valid_objects("messages").unwrap_or_default() {
            let id = message.text("id")?.unwrap_or_else(|| messages.len().to_string());
            if !by_id.has(&id) {
                messages.push((id, message));
            }
        }
        let mut parents = Vec::with_capacity(messages.len());
        for (_, message) in &messages {
            parents.push(message.text("parentId")?);
        }
        let mut tree = MessageTree::default();
        for (at, (id, message)) in messages.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| messages[before].0.as_str());
            let before = before.filter(|_| !message.has("parentId"));
            tree.add(id, parents[at].as_deref().or(before));
        }
        let objects: HashMap<&str, &Object> =
            messages.iter().map(|(id, message)| (id.as_str(), message)).collect();
        let time = |id: &str| times::member(objects.get(id)?, "timestamp").ok()?.map(|time| time as f64);
        tree.bridge_gaps(time);
        let current = history.text("currentId")?.filter(|id| objects.contains_key(id.as_str()));
        let leaf = match &current {
            Some(current) => Some(current.as_str()),
            None => tree.last_leaf(|_, _| false),
        };
        let has_words = |id: &str| {
            let said = objects.get(id).and_then(|message| said(message).ok().flatten());
            said.is_some_and(|said| !said.is_empty())
        };
        let shown = if self.options.branches { tree.all() } else { tree.shown(leaf, has_words) };
        let mut found = Vec::new();
        for (at, id) in (0..).zip(shown) {
            let Some(message) = objects.get(id) else { continue };
            let time = times::member(message, "timestamp")?.or(created.map(|created| created + at));
            let said = said(message)?;
            found.extend(said.map(|said| ImportedMessage { time, id: Some(id.to_owned()), ..said }));
        }
        self.options.add_all(NAME, &about, found, lines)
    }
}

fn said(message: &Object) -> Result<Option<ImportedMessage>> {
    let said = text(message, "content", &["text"])?;
    Ok(match message.text("role")?.as_deref() {
        Some("user") => Some(ImportedMessage::new(Role::User, said)),
        Some("assistant") => {
            let model = message.text("model")?;
            Some(ImportedMessage { model, ..ImportedMessage::new(Role::Assistant, without_thoughts(&said)) })
        }
        _ => None,
    })
}

/// The text without the thoughts of the model, and the calls of tools, which are folded away in it.
fn without_thoughts(text: &str) -> String {
    const OPENS: [&str; 3] =
        ["<details type=\"reasoning\"", "<details type=\"tool_calls\"", "<details type=\"code_interpreter\""];
    const CLOSE: &str = "</details>";
    let mut text = text.to_owned();
    for open in OPENS {
        while let Some(begin) = text.find(open) {
            let Some(end) = text[begin..].find(CLOSE) else { break };
            text.replace_range(begin..begin + end + CLOSE.len(), "");
        }
    }
    text.trim().to_owned()
}
