//! The database of opencode, `~/.local/share/opencode/opencode.db`, and the output of `opencode export` for a
//! session. Compared with the files of version 1.18.33.

use super::contents::tool_call;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Object, Role, time};
use rusqlite::Connection;

const NAME: &str = "opencode";

pub(super) const DATABASE: ImportFormat = ImportFormat {
    name: NAME,
    about: "the database of opencode: ~/.local/share/opencode/opencode.db",
    places: &[".local/share/opencode/opencode.db"],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| database.has_all(&["project", "session", "message", "part"]),
        open,
    }),
};

pub(super) const EXPORT: ImportFormat = ImportFormat {
    name: "opencode-export",
    about: "a session of opencode: opencode export",
    places: &[],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["info", "messages"])
                && object.get("info").is_some_and(|info| info.contains("\"projectID\""))
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Sessions { options: options.clone() })),
};

struct Sessions {
    options: ImportOptions,
}

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    // A session with a parent is that of an agent that another session started.
    let sql = "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_created, id";
    let keys = turns(&database.connection, "session", sql)?;
    let sessions = Sessions { options: options.clone() };
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(sessions))))
}

impl ReadTurn for Sessions {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let cannot = "cannot read the session";
        let about = conversation(connection, &key.id).context(cannot)?;
        let messages = messages(connection, &key.id).context(cannot)?;
        for (id, data, parts) in messages {
            let parts: Result<Vec<Object>> = parts.iter().map(|part| Object::parse(part)).collect();
            self.message(&about, &id, &Object::parse(&data)?, &parts?, lines)?;
        }
        Ok(())
    }
}

fn conversation(connection: &Connection, id: &str) -> rusqlite::Result<Conversation> {
    let sql = "SELECT id, title, directory FROM session WHERE id = ?";
    connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok(Conversation { id: row.get(0)?, title: row.get(1)?, directory: row.get(2)?, changed: None })
    })
}

/// The id, the data and the data of the parts of each message of a session.
type MessageRow = (String, String, Vec<String>);

fn messages(connection: &Connection, session: &str) -> rusqlite::Result<Vec<MessageRow>> {
    let sql = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut messages = Vec::new();
    for row in rows {
        let (id, data): (String, String) = row?;
        let sql = "SELECT data FROM part WHERE message_id = ? ORDER BY id";
        let mut statement = connection.prepare_cached(sql)?;
        let parts = statement.query_map([&id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        messages.push((id, data, parts));
    }
    Ok(messages)
}

impl Convert for Sessions {
    fn convert(&mut self, export: Object, lines: &mut Vec<Object>) -> Result<()> {
        let session = export.object("info")?.unwrap_or_default();
        if session.text("parentID")?.is_some() {
            return Ok(());
        }
        let about = Conversation {
            id: session.text("id")?,
            title: session.text("title")?,
            directory: session.text("directory")?,
            changed: None,
        };
        for message in export.objects("messages")?.unwrap_or_default() {
            let info = message.object("info")?.unwrap_or_default();
            let parts = message.objects("parts")?.unwrap_or_default();
            let id = info.text("id")?.unwrap_or_default();
            self.message(&about, &id, &info, &parts, lines)?;
        }
        Ok(())
    }
}

impl Sessions {
    fn message(
        &self,
        about: &Conversation,
        id: &str,
        info: &Object,
        parts: &[Object],
        lines: &mut Vec<Object>,
    ) -> Result<()> {
        let is_question = info.get("role") == Some("\"user\"");
        let role = if is_question { Role::User } else { Role::Assistant };
        let created = info.object("time")?.unwrap_or_default().integer("created")?;
        let time = created.map(time::checked).transpose()?;
        let model = if is_question { None } else { info.text("modelID")? };
        let trace_id = if is_question { Some(id.to_owned()) } else { info.text("parentID")? };
        let mut add = |message| {
            let (model, trace_id) = (model.clone(), trace_id.clone());
            let message = ImportedMessage { time, id: Some(id.to_owned()), model, trace_id, ..message };
            self.options.add(NAME, about, message, lines)
        };
        let mut texts = Vec::new();
        for part in parts {
            // A synthetic text was added by the program.
            let is_text = part.get("type") == Some("\"text\"") && part.get("synthetic") != Some("true");
            texts.extend(part.text("text")?.filter(|_| is_text));
        }
        for part in parts.iter().filter(|part| self.options.keep_tools && part.has("tool")) {
            let state = part.object("state")?.unwrap_or_default();
            let (id, name) =
                (part.text("callID")?.unwrap_or_default(), part.text("tool")?.unwrap_or_default());
            let call = tool_call(&id, &name, state.get("input").unwrap_or("{}"));
            add(ImportedMessage { tool_calls: Some(call), ..ImportedMessage::new(Role::Assistant, "") })?;
            let output = state.text("output")?.unwrap_or_default();
            add(ImportedMessage { tool_call_id: Some(id), ..ImportedMessage::new(Role::Tool, output) })?;
        }
        add(ImportedMessage::new(role, texts.join("\n")))
    }
}
