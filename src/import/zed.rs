//! Threads of Zed's agent: the database `~/.local/share/zed/threads/threads.db`, whose rows are documents of
//! JSON, most compressed by zstd. Only a thread has a time.

use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::error::ImportError;
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use super::times;
use crate::error::{Context, Result};
use crate::lines::{ObjectSource, too_long};
use crate::record::{Object, Role};
use rusqlite::Connection;
use serde_json::Value;
use std::io::Read;

const NAME: &str = "zed";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "threads of Zed's agent: ~/.local/share/zed/threads/threads.db",
    places: &[".local/share/zed/threads/threads.db", "Library/Application Support/Zed/threads/threads.db"],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| database.has_column("threads", "data_type"),
        open,
    }),
};

struct Threads {
    options: ImportOptions,
    /// Whether the table has columns that earlier versions lack.
    has_created: bool,
    has_folders: bool,
}

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    // A thread with a parent is that of an agent that another thread started.
    let own = if database.has_column("threads", "parent_id") { "WHERE parent_id IS NULL" } else { "" };
    let sql = format!("SELECT id FROM threads {own} ORDER BY updated_at, id");
    let keys = turns(&database.connection, "threads", &sql)?;
    let threads = Threads {
        options: options.clone(),
        has_created: database.has_column("threads", "created_at"),
        has_folders: database.has_column("threads", "folder_paths"),
    };
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(threads))))
}

/// A row of the table.
struct Thread {
    title: Option<String>,
    updated: Option<String>,
    created: Option<String>,
    folders: Option<String>,
    kind: String,
    data: Vec<u8>,
}

impl ReadTurn for Threads {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let created = if self.has_created { "created_at" } else { "NULL" };
        let folders = if self.has_folders { "folder_paths" } else { "NULL" };
        let sql = format!(
            "SELECT summary, updated_at, {created}, {folders}, data_type, CAST(data AS BLOB) FROM threads WHERE id = ?"
        );
        let row = connection.prepare_cached(&sql).and_then(|mut query| {
            query.query_row([&key.id], |row| {
                Ok(Thread {
                    title: row.get(0)?,
                    updated: row.get(1)?,
                    created: row.get(2)?,
                    folders: row.get(3)?,
                    kind: row.get(4)?,
                    data: row.get(5)?,
                })
            })
        });
        let row = row.context("cannot read the thread")?;
        let document = document(&row, self.options.max_line)?;
        let time = |text: &Option<String>| text.as_deref().map(times::from_text).transpose();
        let (changed, created) = (time(&row.updated)?, time(&row.created)?);
        let folder = row.folders.as_deref().and_then(|folders| folders.lines().next());
        let snapshot = document.pointer("/initial_project_snapshot/worktree_snapshots/0/worktree_path");
        let directory = folder.filter(|folder| !folder.is_empty()).or(snapshot.and_then(Value::as_str));
        let title = ["title", "summary"].iter().find_map(|member| document.get(member)?.as_str());
        let about = Conversation {
            id: Some(key.id.clone()),
            title: title.map(str::to_owned).or(row.title),
            directory: directory.map(str::to_owned),
            changed,
            ..Conversation::default()
        };
        let mut messages = Vec::new();
        let all = document.get("messages").and_then(Value::as_array);
        for (at, message) in (0..).zip(all.into_iter().flatten()) {
            let time = created.or(changed).map(|began| began + at);
            messages.extend(said(message).map(|said| ImportedMessage { time, ..said }));
        }
        self.options.add_all(NAME, &about, messages, lines)
    }
}

/// The document of a thread, which may have `limit` bytes.
fn document(thread: &Thread, limit: usize) -> Result<Value> {
    let mut json = Vec::new();
    match thread.kind.as_str() {
        "json" => json.clone_from(&thread.data),
        "zstd" => {
            let decoder = zstd::Decoder::new(&*thread.data).context("cannot read the thread")?;
            decoder.take(limit as u64 + 1).read_to_end(&mut json).context("cannot read the thread")?;
        }
        other => return Err(ImportError::DataType { name: other.to_owned() }.into()),
    }
    if json.len() > limit {
        return Err(too_long(limit));
    }
    serde_json::from_slice(&json).context("cannot read the thread")
}

/// The message of a user or of the model: tagged by its author, or, of earlier versions, with a role.
fn said(message: &Value) -> Option<ImportedMessage> {
    for (author, role) in [("User", Role::User), ("Agent", Role::Assistant)] {
        if let Some(body) = message.get(author) {
            let parts = body.get("content").and_then(Value::as_array).into_iter().flatten();
            // Mentions in a message have the text of files.
            let texts = parts.filter_map(|part| part.get("Text")?.as_str());
            let id = body.get("id").and_then(Value::as_str).map(str::to_owned);
            let text = texts.collect::<Vec<_>>().join("\n");
            return Some(ImportedMessage { id, ..ImportedMessage::new(role, text) });
        }
    }
    let role = match message.get("role")?.as_str()?.to_lowercase().as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let segments = message.get("segments").and_then(Value::as_array).into_iter().flatten();
    let is_text =
        |segment: &&Value| segment.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "text");
    let texts: Vec<&str> =
        segments.filter(is_text).filter_map(|segment| segment.get("text")?.as_str()).collect();
    let text = if texts.is_empty() { message.get("text")?.as_str()?.to_owned() } else { texts.join("\n") };
    Some(ImportedMessage::new(role, text))
}
