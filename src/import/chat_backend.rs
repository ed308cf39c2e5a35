//! The SQLite database of a chat backend: sessions of users in `chat_sessions`, and their messages in
//! `chat_messages`.

use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use super::times;
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Address, DOCUMENT, Object, Role};
use rusqlite::Connection;
use std::time::UNIX_EPOCH;

const NAME: &str = "chat-backend";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the SQLite database of a chat backend, with chat_sessions and chat_messages",
    places: &[],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| database.has_all(&["chat_sessions", "chat_messages"]),
        open,
    }),
};

struct ChatSessions {
    options: ImportOptions,
    chunks: Option<Chunks>,
    /// The time of the documents, in milliseconds since 1970 (UTC).
    time: i64,
}

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    // Messages may have a session that is not there.
    let sql =
        "SELECT session_id FROM (SELECT CAST(session_id AS TEXT) AS session_id, MIN(created_at) AS began
               FROM chat_messages GROUP BY session_id) ORDER BY began, session_id";
    let keys = turns(&database.connection, "chat_sessions", sql)?;
    let mut keys = keys;
    let chunks = Chunks::of(&database);
    if let Some(chunks) = &chunks {
        let sql = format!("SELECT DISTINCT CAST({} AS TEXT) FROM {CHUNKS} ORDER BY 1", chunks.document);
        keys.extend(turns(&database.connection, CHUNKS, &sql)?);
    }
    // Documents have no time but that of the file, so that the same file has the same versions.
    let modified = std::fs::metadata(name).and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    let time =
        options.at.or(since.and_then(|since| i64::try_from(since.as_millis()).ok())).unwrap_or(options.now);
    let sessions = ChatSessions { options: options.clone(), chunks, time };
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(sessions))))
}

/// The table of the pieces of documents.
const CHUNKS: &str = "document_chunks";

/// The columns of that table, whose names differ.
struct Chunks {
    document: &'static str,
    content: &'static str,
    order: &'static str,
    user: Option<&'static str>,
    title: Option<&'static str>,
}

impl Chunks {
    /// The columns in a database; none if it has no documents, or they have no text.
    fn of(database: &Database) -> Option<Chunks> {
        let column =
            |names: &[&'static str]| names.iter().copied().find(|name| database.has_column(CHUNKS, name));
        Some(Chunks {
            document: column(&["document_id", "doc_id", "file_id"])?,
            content: column(&["content", "text", "chunk_text", "chunk"])?,
            order: column(&["chunk_index", "position", "idx"]).unwrap_or("rowid"),
            user: column(&["user_id"]),
            title: column(&["title", "filename", "file_name", "name"]),
        })
    }

    /// The line of a document.
    fn read(&self, connection: &Connection, id: &str, options: &ImportOptions) -> Result<Object> {
        let (user, title) = (self.user.unwrap_or("NULL"), self.title.unwrap_or("NULL"));
        let Chunks { document, content, order, .. } = self;
        let sql = format!(
            "SELECT {content}, CAST({user} AS TEXT), CAST({title} AS TEXT) FROM {CHUNKS}
             WHERE CAST({document} AS TEXT) = ? ORDER BY {order}"
        );
        let read = || {
            let mut query = connection.prepare_cached(&sql)?;
            let rows = query.query_map([id], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
            rows.collect::<rusqlite::Result<Vec<[Option<String>; 3]>>>()
        };
        let rows = read().context("cannot read the document")?;
        let first = |at: usize| rows.iter().find_map(|row| row[at].clone()).filter(|text| !text.is_empty());
        let (user, title) = (first(1).unwrap_or_else(|| NAME.to_owned()), first(2));
        let texts: Vec<&str> = rows.iter().filter_map(|row| row[0].as_deref()).collect();
        let uri = Address::parse("viking://resources/users")?.join(&user)?.join("documents")?.join(id)?;
        let mut line = Object::default();
        line.set_text("kind", DOCUMENT.name);
        line.set_text("partition", options.partition.as_deref().unwrap_or(&user));
        line.set_text("uri", &uri.to_string());
        line.set_text("title", title.as_deref().unwrap_or(id));
        line.set_text("content", &texts.join("\n\n"));
        Ok(line)
    }
}

/// A row of `chat_messages`: id, user, role, content, time.
type Row = [Option<String>; 5];

impl ReadTurn for ChatSessions {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        if let Some(chunks) = self.chunks.as_ref().filter(|_| key.table == CHUNKS) {
            let mut line = chunks.read(connection, &key.id, &self.options)?;
            line.set("timestamp", self.time.to_string());
            lines.push(line);
            return Ok(());
        }
        let read = || {
            let sql = "SELECT title, CAST(updated_at AS TEXT) FROM chat_sessions WHERE CAST(id AS TEXT) = ?";
            let mut query = connection.prepare_cached(sql)?;
            let session: Option<(Option<String>, Option<String>)> =
                query.query_map([&key.id], |row| Ok((row.get(0)?, row.get(1)?)))?.next().transpose()?;
            let sql =
                "SELECT CAST(id AS TEXT), CAST(user_id AS TEXT), role, content, CAST(created_at AS TEXT)
                       FROM chat_messages WHERE CAST(session_id AS TEXT) = ? ORDER BY created_at, rowid";
            let mut query = connection.prepare_cached(sql)?;
            let rows = query.query_map([&key.id], |row| {
                Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
            })?;
            Ok::<_, rusqlite::Error>((session, rows.collect::<rusqlite::Result<Vec<Row>>>()?))
        };
        let (session, rows) = read().context("cannot read the session")?;
        let (title, changed) = session.unwrap_or_default();
        let about = Conversation {
            id: Some(key.id.clone()),
            title,
            partition: rows.iter().find_map(|[_, user, ..]| user.clone()).filter(|user| !user.is_empty()),
            changed: changed.as_deref().map(times::from_text).transpose()?,
            ..Conversation::default()
        };
        let mut messages = Vec::new();
        for [id, _, role, content, time] in rows {
            let role = match role.as_deref() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => continue,
            };
            let time = time.as_deref().map(times::from_text).transpose()?;
            let said = ImportedMessage::new(role, content.unwrap_or_default());
            messages.push(ImportedMessage { time, id, ..said });
        }
        self.options.add_all(NAME, &about, messages, lines)
    }
}
