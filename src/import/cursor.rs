//! Chats of Cursor: the database `state.vscdb` in its folder `globalStorage`, whose values are documents of
//! JSON: a chat is `composerData:ID`, and its messages are in it, or are `bubbleId:ID:MESSAGE`.

use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use super::times;
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Object, Role};
use rusqlite::{Connection, OptionalExtension};

const NAME: &str = "cursor";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "chats of Cursor: state.vscdb in its folder globalStorage",
    places: &[
        ".config/Cursor/User/globalStorage/state.vscdb",
        "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
    ],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| database.has_all(&["cursorDiskKV"]),
        open,
    }),
};

/// The type of a message of the user.
const USER: &str = "1";

struct Composers {
    options: ImportOptions,
}

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    let sql = "SELECT substr(key, length('composerData:') + 1) FROM cursorDiskKV
               WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL ORDER BY key";
    let keys = turns(&database.connection, "cursorDiskKV", sql)?;
    let chats = Composers { options: options.clone() };
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(chats))))
}

/// The document of a key.
fn document(connection: &Connection, key: &str) -> Result<Option<Object>> {
    let sql = "SELECT CAST(value AS TEXT) FROM cursorDiskKV WHERE key = ? AND value IS NOT NULL";
    let value: rusqlite::Result<Option<String>> = connection
        .prepare_cached(sql)
        .and_then(|mut query| query.query_row([key], |row| row.get(0)).optional());
    value.context("cannot read the chat")?.map(|json| Object::parse(&json)).transpose()
}

impl ReadTurn for Composers {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let Some(chat) = document(connection, &format!("composerData:{}", key.id))? else { return Ok(()) };
        let created = times::member(&chat, "createdAt")?;
        let mut about = Conversation {
            id: Some(key.id.clone()),
            title: chat.valid_text("name"),
            changed: times::member(&chat, "lastUpdatedAt")?,
            ..Conversation::default()
        };
        let listed = chat.valid_objects("conversation").unwrap_or_default();
        let mut messages: Vec<Result<Object>> = listed.into_iter().map(Ok).collect();
        for header in chat.valid_objects("fullConversationHeadersOnly").unwrap_or_default() {
            let id = header.valid_text("bubbleId").unwrap_or_default();
            let message = document(connection, &format!("bubbleId:{}:{id}", key.id)).transpose();
            messages.extend(
                message.map(|message| message.map_err(|error| error.at(format_args!("bubbleId {id}")))),
            );
        }
        let (mut found, mut first_error) = (Vec::new(), None);
        for (at, message) in (0..).zip(messages) {
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    first_error.get_or_insert(error);
                    continue;
                }
            };
            let is_user = message.get("type") == Some(USER);
            let said = message.valid_text("text").filter(|text| !text.is_empty());
            let said = said.or(message.valid_text("rawText")).unwrap_or_default();
            let time = times::first_member(&message, &["createdAt", "timestamp"]).ok().flatten();
            let time = time.or(created.map(|created| created + at));
            about.directory = about.directory.or(message.valid_text("workspaceProjectDir"));
            let id = message.valid_text("bubbleId");
            let role = if is_user { Role::User } else { Role::Assistant };
            found.push(ImportedMessage { time, id, ..ImportedMessage::new(role, said) });
        }
        self.options.add_all(NAME, &about, found, lines)?;
        first_error.map_or(Ok(()), Err)
    }
}
