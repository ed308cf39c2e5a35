//! The database of simonw's llm, `logs.db`. Compared with the files of versions 0.3, 0.10, 0.19 and 0.36:
//! until 0.4, a row of `log` or `logs` is a turn; from then on one of `responses`; from 0.32 on one of
//! `turns`, with messages in a tree.

use super::contents::tool_call;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Object, Role, time};
use rusqlite::{Connection, OptionalExtension};

const NAME: &str = "llm";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the database of simonw/llm: logs.db",
    places: &[".config/io.datasette.llm/logs.db", "Library/Application Support/io.datasette.llm/logs.db"],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| {
            database.has_all(&["turns", "threads", "parts"])
                || database.has_column("responses", "prompt_json")
                || TABLES_OF_ROWS.iter().any(|table| database.has_column(table, "prompt"))
        },
        open,
    }),
};

/// The tables of the first versions.
const TABLES_OF_ROWS: [&str; 2] = ["log", "logs"];

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    let mut keys = Vec::new();
    // Ids are not numbered by time in all versions; rows are.
    let tables = [
        ("log", "SELECT CAST(rowid AS TEXT) FROM log ORDER BY rowid"),
        ("logs", "SELECT CAST(rowid AS TEXT) FROM logs ORDER BY rowid"),
        ("responses", "SELECT id FROM responses ORDER BY datetime_utc, rowid"),
        ("turns", "SELECT id FROM turns ORDER BY datetime_utc, rowid"),
    ];
    for (table, sql) in tables {
        if database.tables.contains(table) {
            keys.extend(turns(&database.connection, table, sql)?);
        }
    }
    let has_fragments = database.tables.contains("prompt_fragments");
    let has_chats = TABLES_OF_ROWS.iter().any(|table| database.has_column(table, "chat_id"));
    let reader = Logs { options: options.clone(), has_fragments, has_chats };
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(reader))))
}

struct Logs {
    options: ImportOptions,
    /// Whether prompts of `responses` may begin with fragments.
    has_fragments: bool,
    /// Whether rows of `log` and `logs` name their conversation.
    has_chats: bool,
}

/// A row of any of the tables of turns.
struct Turn {
    conversation: Option<String>,
    title: Option<String>,
    model: Option<String>,
    time: Option<String>,
    duration: Option<i64>,
    /// The prompt and the answer, or the hashes of their messages.
    texts: [Option<String>; 2],
}

impl Turn {
    fn read(connection: &Connection, sql: &str, id: &str) -> rusqlite::Result<Turn> {
        connection.prepare_cached(sql)?.query_row([id], |row| {
            Ok(Turn {
                conversation: row.get(0)?,
                title: row.get(1)?,
                model: row.get(2)?,
                time: row.get(3)?,
                duration: row.get(4)?,
                texts: [row.get(5)?, row.get(6)?],
            })
        })
    }
}

impl ReadTurn for Logs {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let sql = match key.table {
            "log" | "logs" => &format!(
                "SELECT {}, NULL, model, timestamp, NULL, prompt, response FROM {} WHERE rowid = ?",
                if self.has_chats { "CAST(chat_id AS TEXT)" } else { "NULL" },
                key.table
            ),
            "responses" => {
                "SELECT conversation_id, conversations.name, responses.model, datetime_utc, duration_ms, prompt, response
                 FROM responses LEFT JOIN conversations ON conversations.id = conversation_id WHERE responses.id = ?"
            }
            _ => {
                "SELECT thread_id, threads.name, coalesce(resolved_model, model), turns.datetime_utc, duration_ms,
                 parent_message_hash, turns.tip_message_hash
                 FROM turns LEFT JOIN threads ON threads.id = thread_id WHERE turns.id = ?"
            }
        };
        let cannot = "cannot read the turn";
        let turn = Turn::read(connection, sql, &key.id).context(cannot)?;
        let began = turn.time.as_deref().map(time::parse).transpose()?;
        let ended = began.map(|began| began + turn.duration.unwrap_or_default());
        let messages = if key.table == "turns" {
            self.messages(connection, &turn).context(cannot)?
        } else {
            let fragments =
                if self.has_fragments { fragments(connection, &key.id).context(cannot)? } else { Vec::new() };
            let prompt = fragments.into_iter().chain(turn.texts[0].clone().filter(|text| !text.is_empty()));
            let prompt = prompt.collect::<Vec<_>>().join("\n");
            let answer = turn.texts[1].clone().unwrap_or_default();
            vec![ImportedMessage::new(Role::User, prompt), ImportedMessage::new(Role::Assistant, answer)]
        };
        let about = Conversation { id: turn.conversation, title: turn.title, ..Conversation::default() };
        for message in messages {
            let is_answer = message.role == Role::Assistant;
            let model = turn.model.clone().filter(|_| is_answer);
            let time = if is_answer { ended } else { began };
            let id = Some(key.id.clone());
            let message = ImportedMessage { trace_id: id.clone(), id, model, time, ..message };
            self.options.add(NAME, &about, message, lines)?;
        }
        Ok(())
    }
}

impl Logs {
    /// The messages of a turn: that before it, and those up to its tip.
    fn messages(&self, connection: &Connection, turn: &Turn) -> rusqlite::Result<Vec<ImportedMessage>> {
        let [prompt, tip] = &turn.texts;
        let mut hashes = Vec::new();
        let mut at = tip.clone();
        while let Some(hash) = at.take_if(|hash| Some(&*hash) != prompt.as_ref()) {
            let sql = "SELECT parent_hash FROM messages WHERE hash = ?";
            at = connection.prepare_cached(sql)?.query_row([&hash], |row| row.get(0)).optional()?.flatten();
            if hashes.contains(&hash) {
                break;
            }
            hashes.push(hash);
        }
        hashes.extend(prompt.clone());
        let mut messages = Vec::new();
        for hash in hashes.iter().rev() {
            self.parts(connection, hash, &mut messages)?;
        }
        Ok(messages)
    }

    /// Appends the messages that the parts of a message are.
    fn parts(
        &self,
        connection: &Connection,
        hash: &str,
        messages: &mut Vec<ImportedMessage>,
    ) -> rusqlite::Result<()> {
        let sql = "SELECT role, type, parts.text, payload FROM messages JOIN parts ON message_hash = hash
                   WHERE hash = ? ORDER BY position";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([hash])?;
        while let Some(row) = rows.next()? {
            let (role, kind): (String, String) = (row.get(0)?, row.get(1)?);
            let text: Option<String> = row.get(2)?;
            let payload: Option<String> = row.get(3)?;
            let payload = payload.and_then(|json| Object::parse(&json).ok()).unwrap_or_default();
            let member = |name| payload.valid_text(name).unwrap_or_default();
            let role = role.parse().unwrap_or(Role::System); // Text of another role is left out.
            let message = match (kind.as_str(), role) {
                ("text", Role::User | Role::Assistant) => {
                    let text = match text {
                        Some(text) => text,
                        None => referenced(connection, &payload)?,
                    };
                    ImportedMessage::new(role, text)
                }
                ("tool_call", _) if self.options.keep_tools => {
                    let arguments = payload.get("arguments").unwrap_or("{}");
                    let call = tool_call(&member("tool_call_id"), &member("name"), arguments);
                    ImportedMessage { tool_calls: Some(call), ..ImportedMessage::new(Role::Assistant, "") }
                }
                ("tool_result", _) if self.options.keep_tools => {
                    let tool_call_id = Some(member("tool_call_id"));
                    ImportedMessage { tool_call_id, ..ImportedMessage::new(Role::Tool, member("output")) }
                }
                _ => continue,
            };
            messages.push(message);
        }
        Ok(())
    }
}

/// The text of a part that is put together from fragments and literals.
fn referenced(connection: &Connection, payload: &Object) -> rusqlite::Result<String> {
    let mut text = String::new();
    for piece in payload.valid_objects("text_ref").unwrap_or_default() {
        match piece.integer("fragment") {
            Ok(Some(id)) => {
                let sql = "SELECT content FROM fragments WHERE id = ?";
                text += &connection.prepare_cached(sql)?.query_row([id], |row| row.get::<_, String>(0))?;
            }
            _ => text += &piece.valid_text("literal").unwrap_or_default(),
        }
    }
    Ok(text)
}

/// The fragments in front of the prompt of a response.
fn fragments(connection: &Connection, response: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT content FROM prompt_fragments JOIN fragments ON fragments.id = fragment_id
               WHERE response_id = ? ORDER BY \"order\"";
    connection.prepare_cached(sql)?.query_map([response], |row| row.get(0))?.collect()
}
