//! Actions: what a program did in a turn, one record for each call of a tool. They have neither what the tool
//! returned nor the contents of files.

use super::members::{name, required, texts, timestamp};
use super::message::seq;
use super::object::{Object, quote, unexpected, write_member};
use super::stored::{Draft, RecordKind, StoredRecord, TextSource, write_time};
use super::{Scope, id};
use crate::error::Result;

/// The kind of actions.
pub static ACTION: RecordKind = RecordKind {
    name: "action",
    label: "ActionNode",
    traced: true,
    read: parse,
    complete,
    write,
    natural_key: Some(natural_key),
    fixed_parts: Some(|action| vec![action.member_text(CALL)]),
    lookup_key: Some(CALL),
    indexed: TextSource::Composed(indexed_text),
    shown: TextSource::Composed(shown_text),
    heading: |action| action.member_text(TOOL),
    ..RecordKind::PLAIN
};

const CALL: &str = "call";
const TOOL: &str = "tool";
const PROGRAM: &str = "program";
const COMMAND: &str = "command";
const PATHS: &str = "paths";
const PATTERN: &str = "pattern";
const QUERY: &str = "query";
const LINES: &str = "lines";
const FAILED: &str = "failed";
const ERROR: &str = "error";

const HEAD: [&str; 8] = ["kind", "id", "trace_id", "partition", "instance", "timestamp", "created_at", "seq"];
const ORDER: [&str; 10] = [CALL, TOOL, PROGRAM, COMMAND, PATHS, PATTERN, QUERY, LINES, FAILED, ERROR];
/// The members that are texts of any length elsewhere, with their greatest lengths, in characters.
const TEXTS: [(&str, usize); 6] = [
    (TOOL, MAX_NAME_CHARS),
    (PROGRAM, MAX_NAME_CHARS),
    (COMMAND, MAX_CHARS),
    (PATTERN, MAX_CHARS),
    (QUERY, MAX_CHARS),
    (ERROR, MAX_CHARS),
];

/// The greatest length of the id of a call, in bytes.
pub const MAX_CALL_BYTES: usize = 200;
/// The greatest length of a name, in characters.
const MAX_NAME_CHARS: usize = 80;
/// The greatest length of another text of an action, in characters, and the greatest number of its paths.
const MAX_CHARS: usize = 300;
const MAX_PATHS: usize = 20;

/// The call of a tool, and its outcome.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Action {
    /// The id of the call.
    pub call: String,
    /// The name of the tool.
    pub tool: String,
    /// The program that called it.
    pub program: Option<String>,
    pub purpose: Option<Purpose>,
    /// The number of lines that it changed.
    pub lines: Option<u64>,
    /// Why it failed, if it did; empty if nothing says why.
    pub error: Option<String>,
}

/// The purpose of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    Command(String),
    Paths(Vec<String>),
    Pattern(String),
    /// A question, an address on the web, or a task for another agent.
    Query(String),
}

/// A selection of actions. Every condition must hold; without any, all records are selected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActionFilter {
    /// A path, or the end of one from a name on (`pay.rs`, `src/pay.rs`), of a file that the action is about,
    /// or that its command names; in any case.
    pub file: Option<String>,
    /// Words that follow each other in the command; in any case.
    pub command: Option<String>,
    /// Whether it failed.
    pub failed: bool,
}

impl ActionFilter {
    /// Whether there is no condition.
    pub fn is_empty(&self) -> bool {
        *self == ActionFilter::default()
    }

    /// Words that the indexed text of every such action holds, possibly within longer ones.
    pub fn words(&self) -> Vec<&str> {
        let name =
            self.file.as_deref().and_then(|file| file.rsplit(['/', '\\']).find(|name| !name.is_empty()));
        let command = self.command.as_deref().unwrap_or_default();
        name.into_iter().flat_map(words_of_command).chain(words_of_command(command)).collect()
    }

    /// Whether a record meets the conditions.
    pub fn admits(&self, record: &StoredRecord) -> bool {
        if self.is_empty() {
            return true;
        }
        if record.kind != &ACTION || self.failed && !record.failed() {
            return false;
        }
        let command = record.member_text(COMMAND).to_lowercase();
        let words: Vec<&str> = words_of_command(&command).collect();
        let is_about = |file: &String| {
            let file = file.to_lowercase();
            let paths = record.member_texts(PATHS);
            paths.iter().any(|path| ends_with(&path.to_lowercase(), &file))
                || words.iter().any(|word| ends_with(word, &file))
                || is_split(&file) && has_whole(&command, &file)
        };
        let has_words = |sought: &String| {
            let sought = sought.to_lowercase();
            let sought: Vec<&str> = words_of_command(&sought).collect();
            !sought.is_empty() && words.windows(sought.len()).any(|some| some == sought)
        };
        self.file.as_ref().is_none_or(is_about) && self.command.as_ref().is_none_or(has_words)
    }
}

/// The words of a command: without the signs by which a shell tells commands, strings and assignments apart,
/// and those that come before or after a path, as in `HEAD:src/pay.rs`.
fn words_of_command(command: &str) -> impl Iterator<Item = &str> {
    command.split(is_between_words).filter(|word| !word.is_empty())
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&()<>=,:".contains(c)
}

/// Whether a path is no word of a command, as one with spaces.
fn is_split(path: &str) -> bool {
    words_of_command(path).next() != Some(path)
}

/// Whether a command has a path as a whole, or the end of one from a name on: `cat "my notes.txt"`, `cat my\
/// notes.txt`.
fn has_whole(command: &str, end: &str) -> bool {
    let command = command.replace("\\ ", " ");
    let end = end.trim_start_matches("./");
    !end.is_empty()
        && command.match_indices(end).any(|(at, _)| {
            let (before, after) = (&command[..at], &command[at + end.len()..]);
            let begins = before.is_empty()
                || before.ends_with(is_between_words)
                || before.ends_with('/') && !end.starts_with('/');
            begins && (after.is_empty() || after.starts_with(is_between_words))
        })
}

/// Whether a path is another, or ends with it from a name on.
fn ends_with(path: &str, end: &str) -> bool {
    let [path, end] = [path, end].map(|path| path.replace('\\', "/"));
    let end = end.trim_start_matches("./");
    let before = path.strip_suffix(end).filter(|_| !end.is_empty());
    before.is_some_and(|before| before.is_empty() || before.ends_with('/') && !end.starts_with('/'))
}

impl Action {
    /// Reads a stored action. A member that is missing or has another type counts as absent.
    pub fn from_record(record: &StoredRecord) -> Action {
        let text = |member| Some(record.member_text(member)).filter(|text| !text.is_empty());
        let paths = Some(record.member_texts(PATHS)).filter(|paths| !paths.is_empty());
        let purpose = text(COMMAND).map(Purpose::Command).or_else(|| paths.map(Purpose::Paths));
        let purpose = purpose.or_else(|| text(PATTERN).map(Purpose::Pattern));
        Action {
            call: record.member_text(CALL),
            tool: record.member_text(TOOL),
            program: text(PROGRAM),
            purpose: purpose.or_else(|| text(QUERY).map(Purpose::Query)),
            lines: record.members.valid_integer(LINES).map(i64::unsigned_abs),
            error: (record.members.get(FAILED) == Some("true")).then(|| record.member_text(ERROR)),
        }
    }

    /// The line of the action, without a scope, a trace and a time.
    pub fn to_line(&self) -> Object {
        let mut line = Object::default();
        line.set_text("kind", ACTION.name);
        line.set_text(CALL, &self.call);
        line.set_text(TOOL, &self.tool);
        if let Some(program) = &self.program {
            line.set_text(PROGRAM, program);
        }
        match &self.purpose {
            Some(Purpose::Command(text)) => line.set_text(COMMAND, text),
            Some(Purpose::Paths(paths)) => line.set(PATHS, array(paths)),
            Some(Purpose::Pattern(text)) => line.set_text(PATTERN, text),
            Some(Purpose::Query(text)) => line.set_text(QUERY, text),
            None => {}
        }
        if let Some(lines) = self.lines {
            line.set(LINES, lines.to_string());
        }
        if let Some(error) = &self.error {
            line.set(FAILED, "true");
            if !error.is_empty() {
                line.set_text(ERROR, error);
            }
        }
        line
    }
}

/// Reads the line of an action. Errors begin with the member at fault.
fn parse(mut line: Object) -> Result<Draft> {
    let call = required(&line, CALL)?;
    if call.len() > MAX_CALL_BYTES {
        return Err(unexpected(CALL, &format!("at most {MAX_CALL_BYTES} bytes"), &call.len().to_string()));
    }
    required(&line, TOOL)?;
    for member in [PROGRAM, COMMAND, PATTERN, QUERY, ERROR] {
        line.text(member)?;
    }
    texts(&line, PATHS)?;
    line.integer(LINES)?;
    if let Some(json) = line.get(FAILED).filter(|json| !matches!(*json, "true" | "false" | "null")) {
        return Err(unexpected(FAILED, "true or false", json));
    }
    let draft = Draft {
        id: name(&line, "id")?,
        trace_id: name(&line, "trace_id")?,
        partition: name(&line, "partition")?,
        instance: name(&line, "instance")?,
        timestamp: timestamp(&line)?,
        seq: seq(&line)?,
        ..Draft::new(&ACTION, String::new())
    };
    line.retain(|name| !HEAD.contains(&name));
    Ok(Draft { members: line, ..draft })
}

/// Shortens the texts, after secrets were replaced in the whole of them, and gives an action without an id
/// that of its call: a program and its files date a call differently, so that neither the time nor the seq
/// has a part in it.
fn complete(action: &mut StoredRecord) -> Result<()> {
    for (member, most) in TEXTS {
        let text = action.member_text(member);
        let whole = if member == COMMAND { before_here_document(&text) } else { &text };
        let short = shortened(whole, most);
        if short.is_empty() && !text.is_empty() {
            // Only a here-document was there.
            action.members.take(member);
        } else if short.len() < text.len() {
            action.members.set_text(member, short);
        }
    }
    let paths = action.member_texts(PATHS);
    if paths.len() > MAX_PATHS || paths.iter().any(|path| shortened(path, MAX_CHARS).len() < path.len()) {
        let paths: Vec<&str> = paths.iter().take(MAX_PATHS).map(|path| shortened(path, MAX_CHARS)).collect();
        action.members.set(PATHS, array(&paths));
    }
    if action.id.is_empty() {
        let key = natural_key(action);
        let parts: Vec<&str> = [ACTION.name].into_iter().chain(key.iter().map(String::as_str)).collect();
        action.id = id::derived(0, &parts);
    }
    Ok(())
}

/// The text up to a number of characters.
fn shortened(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// A command without a here-document, which may be the content of a file. A shift or a here-string (`<<<`),
/// and a `<<` that is quoted, are cut alike: to store less is safe.
fn before_here_document(command: &str) -> &str {
    command.find("<<").map_or(command, |at| command[..at].trim_end())
}

/// Scope, trace and call.
fn natural_key(action: &StoredRecord) -> Vec<String> {
    let Scope { partition, instance } = action.scope.clone();
    vec![partition, instance, action.trace_id.clone(), action.member_text(CALL)]
}

fn array<T: AsRef<str>>(texts: &[T]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(","))
}

impl StoredRecord {
    /// The purpose of an action: its command, its paths, its pattern or its query.
    pub fn purpose(&self) -> String {
        let paths = self.member_texts(PATHS).join(" ");
        let texts = [self.member_text(COMMAND), paths, self.member_text(PATTERN), self.member_text(QUERY)];
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Whether an action came from the files of its program, which it names.
    pub fn is_imported_action(&self) -> bool {
        self.members.has(PROGRAM)
    }

    /// Whether an action is a command.
    pub fn is_command(&self) -> bool {
        self.members.has(COMMAND)
    }

    /// Whether an action changed a file.
    pub fn is_change(&self) -> bool {
        self.members.has(LINES)
    }

    /// Whether an action failed.
    pub fn failed(&self) -> bool {
        self.members.get(FAILED) == Some("true")
    }

    /// Why an action failed; empty if nothing says so.
    pub fn failure(&self) -> String {
        self.member_text(ERROR)
    }
}

fn indexed_text(action: &StoredRecord) -> String {
    let texts = [action.member_text(TOOL), action.purpose(), action.member_text(ERROR)];
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The purpose of an action on one line with the number of changed lines, `src/pay.rs, 3 lines`; and, if it
/// failed, the error, which may be empty.
pub fn outline(action: &StoredRecord) -> (String, Option<String>) {
    let mut text = action.purpose().split_whitespace().collect::<Vec<_>>().join(" ");
    if let Ok(Some(lines)) = action.members.integer(LINES) {
        text += &format!(", {lines} {}", if lines == 1 { "line" } else { "lines" });
    }
    let text = text.trim_start_matches([',', ' ']).to_owned();
    (text, action.failed().then(|| action.failure()))
}

/// The outline as one text: `src/pay.rs, 3 lines`, `cargo test; failed: error: no such test`.
fn shown_text(action: &StoredRecord) -> String {
    let (mut text, error) = outline(action);
    if let Some(error) = error {
        text += "; failed";
        if !error.is_empty() {
            text += &format!(": {error}");
        }
    }
    text.trim_start_matches([';', ' ']).to_owned()
}

fn write(action: &StoredRecord, out: &mut Vec<u8>) {
    for member in ORDER {
        if let Some(json) = action.members.get(member) {
            write_member(out, member, json);
        }
    }
    write_time(action.timestamp, out);
    if action.seq != 0 {
        out.extend_from_slice(format!(",\"seq\":{}", action.seq).as_bytes());
    }
    action.members.write_members_except(&ORDER, out);
}
