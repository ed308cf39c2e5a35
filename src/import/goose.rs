//! Sessions of goose: the database `~/.local/share/goose/sessions/sessions.db`, and, of earlier versions,
//! `SESSION.jsonl` beside it, the session on the first line and then a message a line.

use super::calls::OpenCalls;
use super::contents::{text, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::api::own_words;
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Object, Role, quote};
use rusqlite::Connection;

const NAME: &str = "goose";

pub(super) const DATABASE: ImportFormat = ImportFormat {
    name: NAME,
    about: "the database of goose: ~/.local/share/goose/sessions/sessions.db",
    places: &[".local/share/goose/sessions/sessions.db"],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| {
            database.has_column("messages", "content_json") && database.has_all(&["sessions"])
        },
        open,
    }),
};

pub(super) const SESSION: ImportFormat = ImportFormat {
    name: "goose-session",
    about: "sessions of earlier versions of goose: SESSION.jsonl",
    places: &[".local/share/goose/sessions/*.jsonl"],
    timeless: false,
    recognize: |sample| sample.first().is_some_and(|object| has_all(object, &["working_dir", "description"])),
    read: ReadFormat::Objects(|options, origin| {
        let about = Conversation { id: origin.stem(), ..Conversation::default() };
        Box::new(GooseSession::new(options, about, NO_METADATA))
    }),
};

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    // Nobody typed the words of other agents and of schedules.
    let has_types = database.has_column("sessions", "session_type");
    let own = "WHERE coalesce(session_type, 'user') NOT IN ('sub_agent', 'hidden', 'scheduled')";
    let types = if has_types { own } else { "" };
    let sql = format!("SELECT id FROM sessions {types} ORDER BY created_at, id");
    let keys = turns(&database.connection, "sessions", &sql)?;
    let about = Conversation::default();
    let has_metadata = database.has_column("messages", "metadata_json");
    let metadata = if has_metadata { "coalesce(metadata_json, '')" } else { NO_METADATA };
    let reader = GooseSession::new(options, about, metadata);
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(reader))))
}

struct GooseSession {
    options: ImportOptions,
    about: Conversation,
    question: Option<String>,
    /// The SQL of the metadata of a message.
    metadata: &'static str,
    calls: OpenCalls,
}

/// The metadata of messages of versions that have none.
const NO_METADATA: &str = "''";

impl ReadTurn for GooseSession {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let read = || {
            let sql = "SELECT description, working_dir FROM sessions WHERE id = ?";
            let (title, directory) =
                connection.prepare_cached(sql)?.query_row([&key.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let about =
                Conversation { id: Some(key.id.clone()), title, directory, ..Conversation::default() };
            let sql = format!(
                "SELECT CAST(id AS TEXT), role, content_json, CAST(created_timestamp AS TEXT), {}
                 FROM messages WHERE session_id = ? ORDER BY created_timestamp, id",
                self.metadata
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([&key.id], |row| {
                Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
            })?;
            Ok::<_, rusqlite::Error>((about, rows.collect::<rusqlite::Result<Vec<[String; 5]>>>()?))
        };
        let (about, rows) = read().context("cannot read the session")?;
        (self.about, self.question) = (about, None);
        for [id, role, content, created, metadata] in rows {
            let mut message = Object::default();
            message.set_text("id", &id);
            message.set_text("role", &role);
            message.set(
                "content",
                if content.trim_start().starts_with('[') { content } else { quote(&content) },
            );
            message.set("created", created);
            if let Ok(metadata) = Object::parse(&metadata) {
                message.set("metadata", metadata.to_json());
            }
            self.message(&message, lines)?;
        }
        Ok(())
    }
}

impl Convert for GooseSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        if entry.has("role") {
            return self.message(&entry, lines);
        }
        self.about.id = entry.text("id")?.or(self.about.id.take());
        self.about.title = entry.text("description")?;
        self.about.directory = entry.text("working_dir")?;
        Ok(())
    }
}

impl GooseSession {
    fn new(options: &ImportOptions, about: Conversation, metadata: &'static str) -> GooseSession {
        let (options, calls) = (options.clone(), OpenCalls::default());
        GooseSession { options, about, question: None, metadata, calls }
    }

    fn message(&mut self, message: &Object, lines: &mut Vec<Object>) -> Result<()> {
        // The program hides what it adds for the model, and what it has summarized.
        let metadata = message.valid_object("metadata");
        if metadata.is_some_and(|metadata| metadata.get("userVisible") == Some("false")) {
            return Ok(());
        }
        let said = text(message, "content", &["text"])?;
        let (time, id) = (times::first_member(message, &["created", "timestamp"])?, message.text("id")?);
        let said = match message.text("role")?.as_deref() {
            Some("user") => ImportedMessage::new(Role::User, own_words(&said).unwrap_or_default()),
            Some("assistant") => ImportedMessage::new(Role::Assistant, said),
            _ => return Ok(()),
        };
        if said.role == Role::User && !said.text.trim().is_empty() {
            for action in self.calls.interrupt(NAME) {
                self.options.add(NAME, &self.about, action, lines)?;
            }
            self.question.clone_from(&id);
        }
        let trace_id = self.question.clone();
        let of_message = |part| ImportedMessage { time, id: id.clone(), trace_id: trace_id.clone(), ..part };
        self.options.add(NAME, &self.about, of_message(said), lines)?;
        for part in message.valid_objects("content").unwrap_or_default() {
            let Some(tool) = tool(&part).map(of_message) else { continue };
            let result = part.valid_object("toolResult");
            let failed = result.and_then(|result| result.valid_text("error")).map(|_| true);
            if let Some(action) = self.calls.take(NAME, &tool, failed) {
                self.options.add(NAME, &self.about, action, lines)?;
            }
            if self.options.keep_tools {
                self.options.add(NAME, &self.about, tool, lines)?;
            }
        }
        Ok(())
    }
}

/// The call of a tool, or its output, in a part.
fn tool(part: &Object) -> Option<ImportedMessage> {
    let value = |member| part.valid_object(member)?.valid_object("value");
    let id = part.valid_text("id").unwrap_or_default();
    if let Some(call) = value("toolCall") {
        let name = call.valid_text("name").unwrap_or_default();
        let call = tool_call(&id, &name, call.get("arguments").unwrap_or("{}"));
        return Some(ImportedMessage { tool_calls: Some(call), ..ImportedMessage::new(Role::Assistant, "") });
    }
    let output = match part.valid_object("toolResult")?.valid_text("error") {
        Some(error) => format!("Error: {error}"),
        None => text(&value("toolResult")?, "content", &["text"]).ok()?,
    };
    Some(ImportedMessage { tool_call_id: Some(id), ..ImportedMessage::new(Role::Tool, output) })
}
