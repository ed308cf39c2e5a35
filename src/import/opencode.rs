//! The database of opencode, `~/.local/share/opencode/opencode.db`, and the output of `opencode export` for a
//! session. Compared with the files of version 1.18.33.

use super::calls::Places;
use super::contents::{text, text_or_empty, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::database::{Database, DatabaseLines, ReadTurn, TurnKey, turns};
use super::format::{DatabaseFormat, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::api::{self, CalledTool, ToolOutcome};
use crate::error::{Context, Result};
use crate::lines::ObjectSource;
use crate::record::{Action, Object, Role};
use rusqlite::Connection;

const NAME: &str = "opencode";

pub(super) const DATABASE: ImportFormat = ImportFormat {
    name: NAME,
    about: "the database of opencode: ~/.local/share/opencode/opencode.db",
    places: &[".local/share/opencode/opencode.db"],
    timeless: false,
    recognize: |_| false,
    read: ReadFormat::Database(DatabaseFormat {
        recognize: |database| {
            database.has_all(&["session", "message", "part"]) && database.has_column("session", "title")
        },
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
                && object.get("info").is_some_and(|info| {
                    ["\"projectID\"", "\"directory\"", "\"ses_"].iter().any(|sign| info.contains(sign))
                })
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Sessions::new(options, false))),
};

pub(super) struct Sessions {
    options: ImportOptions,
    /// Whether the sessions of the database say from where on they were reverted.
    has_revert: bool,
    /// Whether it has a table with whole messages, which later versions, and Kilo after them, fill instead.
    has_whole_messages: bool,
    has_subagent: bool,
}

fn open(name: &str, database: Database, options: &ImportOptions) -> Result<Box<dyn ObjectSource>> {
    // A session with a parent is that of an agent that another session started.
    let has_parents = database.has_column("session", "parent_id");
    let own = if has_parents { "WHERE parent_id IS NULL" } else { "" };
    let sql = format!("SELECT id FROM session {own} ORDER BY time_created, id");
    let keys = turns(&database.connection, "session", &sql)?;
    let mut sessions = Sessions::new(options, database.has_column("session", "revert"));
    sessions.has_whole_messages = database.has_column("session_message", "data");
    Ok(Box::new(DatabaseLines::new(name, database.connection, keys, Box::new(sessions))))
}

impl ReadTurn for Sessions {
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()> {
        let cannot = "cannot read the session";
        let about = conversation(connection, &key.id).context(cannot)?;
        let messages = messages(connection, &key.id).context(cannot)?;
        let revert = if self.has_revert { revert(connection, &key.id).context(cannot)? } else { None };
        let mut revert = Revert::of(revert.and_then(|json| Object::parse(&json).ok()).as_ref());
        if messages.is_empty() && self.has_whole_messages {
            return self.whole_messages(connection, &about, &mut revert, lines);
        }
        for (id, data, parts) in messages {
            let parts: Result<Vec<Object>> = parts.iter().map(|part| Object::parse(part)).collect();
            let Some(parts) = revert.kept(&id, parts?) else { break };
            self.message(&about, &id, &Object::parse(&data)?, &parts, lines)?;
        }
        Ok(())
    }
}

fn conversation(connection: &Connection, id: &str) -> rusqlite::Result<Conversation> {
    let sql = "SELECT id, title, directory FROM session WHERE id = ?";
    connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok(Conversation {
            id: row.get(0)?,
            title: row.get(1)?,
            directory: row.get(2)?,
            ..Conversation::default()
        })
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
        let sql = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id";
        let mut statement = connection.prepare_cached(sql)?;
        let parts = statement.query_map([&id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let parts = parts.map(|part| part.map(|(id, data): (String, String)| with_id(&id, data)));
        messages.push((id, data, parts.collect::<rusqlite::Result<_>>()?));
    }
    Ok(messages)
}

/// The data of a part with its id, which the table has in a column of its own.
fn with_id(id: &str, data: String) -> String {
    match Object::parse(&data) {
        Ok(mut part) if !part.has("id") => {
            part.set_text("id", id);
            part.to_json()
        }
        _ => data,
    }
}

/// The place from which on a session was reverted, as JSON text.
fn revert(connection: &Connection, session: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT revert FROM session WHERE id = ?";
    connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))
}

/// The message, and the part of it, from which on a session was reverted.
struct Revert {
    message: Option<String>,
    part: Option<String>,
    is_reached: bool,
}

impl Revert {
    fn of(revert: Option<&Object>) -> Revert {
        let member = |name| revert.and_then(|revert| revert.valid_text(name));
        Revert { message: member("messageID"), part: member("partID"), is_reached: false }
    }

    /// The parts before the place of the next message; `None` if none of it, and of those after it, is before
    /// the place.
    fn kept(&mut self, id: &str, mut parts: Vec<Object>) -> Option<Vec<Object>> {
        if self.is_reached {
            return None;
        }
        self.is_reached = self.message.as_deref() == Some(id);
        if self.is_reached {
            let first = self.part.as_deref()?;
            let is_it = |one: &Object| one.valid_text("id").as_deref() == Some(first);
            parts.truncate(parts.iter().position(is_it).unwrap_or_default());
        }
        Some(parts)
    }
}

/// Whether a message is a summary that the program asked for when it compacted the session.
fn is_summary(info: &Object) -> bool {
    let is_compaction = |member| info.get(member) == Some("\"compaction\"");
    info.get("summary") == Some("true") || is_compaction("mode") || is_compaction("agent")
}

impl Convert for Sessions {
    fn convert(&mut self, export: Object, lines: &mut Vec<Object>) -> Result<()> {
        let session = export.object("info")?.unwrap_or_default();
        if session.text("parentID")?.is_some() {
            self.has_subagent = true;
            return Ok(());
        }
        let about = Conversation {
            id: session.text("id")?,
            title: session.text("title")?,
            directory: session.text("directory")?,
            ..Conversation::default()
        };
        let mut revert = Revert::of(session.valid_object("revert").as_ref());
        for message in export.objects("messages")?.unwrap_or_default() {
            let info = message.object("info")?.unwrap_or_default();
            let parts = message.objects("parts")?.unwrap_or_default();
            let id = info.text("id")?.unwrap_or_default();
            let Some(parts) = revert.kept(&id, parts) else { break };
            self.message(&about, &id, &info, &parts, lines)?;
        }
        Ok(())
    }

    fn reason(&self) -> Option<&'static str> {
        self.has_subagent.then_some("they are of sub-agents")
    }
}

impl Sessions {
    pub(super) fn new(options: &ImportOptions, has_revert: bool) -> Sessions {
        Sessions { options: options.clone(), has_revert, has_whole_messages: false, has_subagent: false }
    }

    /// Reads the messages of a session that are whole: a user's has a text, and one of the model a list of
    /// parts.
    fn whole_messages(
        &self,
        connection: &Connection,
        about: &Conversation,
        revert: &mut Revert,
        lines: &mut Vec<Object>,
    ) -> Result<()> {
        let read = || {
            let sql = "SELECT id, type, data, CAST(time_created AS TEXT) FROM session_message
                WHERE session_id = ? AND type IN ('user', 'assistant') ORDER BY time_created, id";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement
                .query_map([&about.id], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
            rows.collect::<rusqlite::Result<Vec<[String; 4]>>>()
        };
        let mut messages = Vec::new();
        for [id, role, data, created] in read().context("cannot read the session")? {
            let data = Object::parse(&data)?;
            let role = if role == "user" { Role::User } else { Role::Assistant };
            let said = text(&data, if role == Role::User { "text" } else { "content" }, &["text"])?;
            if revert.kept(&id, Vec::new()).is_none() {
                break;
            }
            let (time, said) = (times::from_text(&created)?, ImportedMessage::new(role, said));
            messages.push(ImportedMessage { time: Some(time), id: Some(id), ..said });
        }
        self.options.add_all(NAME, about, messages, lines)
    }

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
        if is_summary(info) {
            return Ok(());
        }
        let time = times::member(&info.object("time")?.unwrap_or_default(), "created")?;
        let model = if is_question { None } else { info.text("modelID")? };
        let trace_id = if is_question { Some(id.to_owned()) } else { info.text("parentID")? };
        let mut add = |message: ImportedMessage| {
            let (model, trace_id) = (model.clone(), trace_id.clone());
            let time = message.time.or(time);
            let message = ImportedMessage { time, id: Some(id.to_owned()), model, trace_id, ..message };
            self.options.add(NAME, about, message, lines)
        };
        let mut texts = Vec::new();
        for part in parts {
            // A synthetic text was added by the program; one that is ignored was not sent.
            let is = |member| part.get(member) == Some("true");
            let is_text = part.get("type") == Some("\"text\"") && !is("synthetic") && !is("ignored");
            texts.extend(part.text("text")?.filter(|_| is_text));
        }
        let mut places = Places::default();
        for part in parts.iter().filter(|part| part.has("tool")) {
            let Some((action, began)) = action(part) else { continue };
            let time = began.or(time);
            let (action, seq) = (Some(action), places.next(time));
            add(ImportedMessage { action, time, seq, ..ImportedMessage::new(Role::Assistant, "") })?;
        }
        for part in parts.iter().filter(|part| self.options.keep_tools && part.has("tool")) {
            let state = part.valid_object("state").unwrap_or_default();
            let (id, name) = (text_or_empty(part, "callID"), text_or_empty(part, "tool"));
            let call = tool_call(&id, &name, state.get("input").unwrap_or("{}"));
            add(ImportedMessage { tool_calls: Some(call), ..ImportedMessage::new(Role::Assistant, "") })?;
            let output = text_or_empty(&state, "output");
            add(ImportedMessage { tool_call_id: Some(id), ..ImportedMessage::new(Role::Tool, output) })?;
        }
        add(ImportedMessage::new(role, texts.join("\n")))
    }
}

/// The action of a part that is the call of a tool, and the time at which it began; none of one that is still
/// running.
fn action(part: &Object) -> Option<(Action, Option<i64>)> {
    let state = part.valid_object("state")?;
    let failed = match state.get("status") {
        Some("\"completed\"") => false,
        Some("\"error\"") => true,
        _ => return None,
    };
    let called = CalledTool {
        id: text_or_empty(part, "callID"),
        name: text_or_empty(part, "tool"),
        arguments: state.get("input").unwrap_or("{}").to_owned(),
    };
    // A command that ran is completed, whatever its exit status.
    let exit = state.valid_object("metadata").and_then(|metadata| metadata.valid_integer("exit"));
    let failed = failed || exit.is_some_and(|exit| exit != 0);
    let reason = if state.has("error") { "error" } else { "output" };
    let text = if failed { text_or_empty(&state, reason) } else { String::new() };
    let outcome = ToolOutcome { text, failed: Some(failed) };
    let time = state.valid_object("time");
    let began = time.and_then(|time| times::member(&time, "start").ok().flatten());
    Some((api::action(Some(NAME), &called, Some(&outcome))?, began))
}
