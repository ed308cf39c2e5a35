//! One turn of a conversation.

use super::object::{Object, expected, quote, write_text};
use super::{Scope, Vectors, id, time, write_vector};
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

impl Role {
    /// Every role there is.
    pub const ALL: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];

    /// The name in records and in the OpenAI protocol.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Role> {
        Role::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| expected("role", "user, assistant, system or tool", &quote(text)))
    }
}

/// What was said.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    Text(String),
    /// OpenAI's array of parts (text, images, …) as JSON text, kept as it came.
    Parts(Box<str>),
    /// Nothing, beside tool calls.
    Null,
}

impl Content {
    /// Reads the member `content` of a message of any client.
    pub fn of(message: &Object) -> Result<Content> {
        match message.get("content") {
            None | Some("null") => Ok(Content::Null),
            Some(json) if json.starts_with('"') => match serde_json::from_str(json) {
                Ok(text) => Ok(Content::Text(text)),
                Err(e) => Err(Error::new(format!(
                    "content: {}",
                    e.to_string().split(" at line").next().unwrap_or("")
                ))),
            },
            Some(json) if json.starts_with('[') => match message.objects("content") {
                Ok(_) => Ok(Content::Parts(json.into())),
                Err(_) => Err(expected("content", "a string or an array of parts", json)),
            },
            Some(json) => Err(expected("content", "a string or an array of parts", json)),
        }
    }

    /// The words in it: the text, or the texts of the parts joined by line ends.
    pub fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Parts(json) => parts_text(json),
            Content::Null => String::new(),
        }
    }

    /// The value as JSON text.
    pub fn to_json(&self) -> String {
        match self {
            Content::Text(text) => quote(text),
            Content::Parts(json) => json.to_string(),
            Content::Null => "null".into(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Content::Text(text) => write_text(out, text),
            Content::Parts(json) => out.extend_from_slice(json.as_bytes()),
            Content::Null => out.extend_from_slice(b"null"),
        }
    }
}

fn parts_text(json: &str) -> String {
    let parts: Vec<Object> = serde_json::from_str(json).unwrap_or_default();
    let texts: Vec<String> = parts.iter().filter_map(|part| part.text("text").ok().flatten()).collect();
    texts.join("\n")
}

/// A vector that came with a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Vector {
    pub model: String,
    pub numbers: Vec<f32>,
}

/// A message as it was written down: nothing is missing.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub id: String,
    pub trace_id: String,
    pub scope: Scope,
    pub role: Role,
    pub content: Content,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// The order within one timestamp.
    pub seq: u32,
    /// A vector that travels with it; a store keeps it as an embedding of the message.
    pub vector: Option<Vector>,
    /// Members that rsv does not know, and those it only carries (url, model, tool_calls …), as they came.
    pub extra: Object,
}

impl Message {
    /// Where it stands among the messages of its store.
    pub fn position(&self) -> Position {
        Position { timestamp: self.timestamp, seq: self.seq, id: self.id.clone() }
    }

    /// Appends its members, from `kind` on, without the braces.
    pub(super) fn write_members(&self, kind: &str, out: &mut Vec<u8>) {
        head(kind, &self.id, &self.trace_id, &self.scope, out);
        out.extend_from_slice(b",\"role\":");
        write_text(out, self.role.name());
        out.extend_from_slice(b",\"content\":");
        self.content.write(out);
        write_time(self.timestamp, out);
        if self.seq != 0 {
            out.extend_from_slice(format!(",\"seq\":{}", self.seq).as_bytes());
        }
        self.extra.write_members(out);
        if let Some(vector) = &self.vector {
            out.extend_from_slice(b",\"embedding\":");
            write_vector(&vector.numbers, Vectors::Numbers, out);
            out.extend_from_slice(b",\"embedding_model\":");
            write_text(out, &vector.model);
        }
    }
}

/// Appends the members that messages and accounts begin with.
pub(super) fn head(kind: &str, id: &str, trace_id: &str, scope: &Scope, out: &mut Vec<u8>) {
    let members = [
        ("kind", kind),
        ("id", id),
        ("trace_id", trace_id),
        ("partition", &scope.partition),
        ("instance", &scope.instance),
    ];
    for (at, (name, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(out, name);
        out.push(b':');
        write_text(out, value);
    }
}

/// Appends `timestamp` and, for people, `created_at`.
fn write_time(ms: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"timestamp\":{ms},\"created_at\":\"{}\"", time::rfc3339(ms)).as_bytes());
}

/// A place in the order of a store: by timestamp, then seq, then id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    pub timestamp: i64,
    pub seq: u32,
    pub id: String,
}

/// A message as somebody wrote it: only role and content are certain.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    pub id: Option<String>,
    pub trace_id: Option<String>,
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub role: Role,
    pub content: Content,
    pub timestamp: Option<i64>,
    pub seq: Option<u32>,
    pub vector: Option<Vector>,
    pub extra: Object,
}

/// What a draft lacks is taken from here.
#[derive(Clone, Debug)]
pub struct Fill {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub trace_id: String,
    pub timestamp: i64,
    pub seq: u32,
}

impl Draft {
    /// A draft of nothing but words.
    pub fn new(role: Role, content: Content) -> Draft {
        Draft {
            id: None,
            trace_id: None,
            partition: None,
            instance: None,
            role,
            content,
            timestamp: None,
            seq: None,
            vector: None,
            extra: Object::default(),
        }
    }

    /// Reads a message line. Errors name the member: `role: expected user, assistant, …, found "usr"`.
    pub fn parse(mut line: Object) -> Result<Draft> {
        line.take("kind");
        let role = line.text("role")?.ok_or_else(|| Error::new("role: is missing"))?.parse()?;
        let content = Content::of(&line)?;
        let calls = calls_tools(&line);
        if !calls && matches!(&content, Content::Null) {
            return Err(Error::new("content: is missing"));
        }
        if !calls && matches!(&content, Content::Text(text) if text.is_empty()) {
            return Err(Error::new("content: is empty"));
        }
        let draft = Draft {
            id: message_id(&line)?,
            trace_id: name(&line, "trace_id")?,
            partition: name(&line, "partition")?,
            instance: name(&line, "instance")?,
            role,
            content,
            timestamp: timestamp(&line)?,
            seq: seq(&line)?,
            vector: vector(&line)?,
            extra: Object::default(),
        };
        line.retain(|name| !KNOWN.contains(&name));
        Ok(Draft { extra: line, ..draft })
    }

    /// Whether it has words, parts or tool calls.
    pub fn says_something(&self) -> bool {
        let calls = calls_tools(&self.extra);
        match &self.content {
            Content::Text(text) => calls || !text.is_empty(),
            Content::Parts(_) => true,
            Content::Null => calls,
        }
    }

    /// Reads a message of somebody else's body, which has no place in a store of its own: members that
    /// happen to be named as rsv's (a provider's `id`) mean nothing to it and stay away.
    pub fn of_body(mut message: Object) -> Result<Draft> {
        let role = message.text("role")?.unwrap_or_else(|| Role::Assistant.name().to_owned()).parse()?;
        let content = Content::of(&message)?;
        message.retain(|name| !KNOWN.contains(&name));
        Ok(Draft { extra: message, ..Draft::new(role, content) })
    }

    /// Completes the draft. A partition and instance of its own go before those of `fill`, together.
    pub fn complete(self, fill: &Fill) -> Result<Message> {
        let scope = match (&self.partition, &self.instance) {
            (None, None) => Scope::of(fill.partition.as_deref(), fill.instance.as_deref())?,
            (None, instance) => Scope::of(fill.partition.as_deref(), instance.as_deref())?,
            (partition, instance) => Scope::of(partition.as_deref(), instance.as_deref())?,
        };
        let trace_id = self.trace_id.unwrap_or_else(|| fill.trace_id.clone());
        if trace_id.is_empty() {
            return Err(Error::new("trace_id: is empty"));
        }
        let timestamp = self.timestamp.unwrap_or(fill.timestamp);
        let seq = self.seq.unwrap_or(if self.timestamp.is_some() { 0 } else { fill.seq });
        let id = match self.id {
            Some(id) => id,
            None => {
                let content = self.content.to_json();
                let parts = [&scope.partition, &scope.instance, &trace_id, self.role.name(), &content];
                id::derived(timestamp, &parts)
            }
        };
        let (role, content, vector, extra) = (self.role, self.content, self.vector, self.extra);
        Ok(Message { id, trace_id, scope, role, content, timestamp, seq, vector, extra })
    }
}

fn calls_tools(message: &Object) -> bool {
    message.get("tool_calls").is_some_and(|calls| !matches!(calls, "null" | "[]"))
}

/// The members of a message line that have a field of their own.
const KNOWN: [&str; 12] = [
    "id",
    "trace_id",
    "partition",
    "instance",
    "role",
    "content",
    "timestamp",
    "created_at",
    "seq",
    "embedding",
    "embedding_model",
    "kind",
];

/// A name that, if it is there, must not be empty.
pub(super) fn name(line: &Object, member: &str) -> Result<Option<String>> {
    match line.text(member)? {
        Some(text) if text.is_empty() => Err(Error::new(format!("{member}: is empty"))),
        text => Ok(text),
    }
}

/// The id. Reservoir's exports carry its database's own number, or null, which names nothing elsewhere.
fn message_id(line: &Object) -> Result<Option<String>> {
    match line.get("id") {
        Some(json) if json.bytes().all(|b| b.is_ascii_digit()) => Ok(None),
        _ => name(line, "id"),
    }
}

/// The time in milliseconds, from `timestamp`, else from `created_at`.
pub(super) fn timestamp(line: &Object) -> Result<Option<i64>> {
    match time_member(line, "timestamp")? {
        None => time_member(line, "created_at"),
        time => Ok(time),
    }
}

/// A member that is a time, a number of milliseconds or RFC 3339, if it is there.
pub(super) fn time_member(line: &Object, member: &str) -> Result<Option<i64>> {
    let read = match line.get(member) {
        None | Some("null") => None,
        Some(json) if json.starts_with('"') => line.text(member)?.map(|text| time::parse(&text)),
        Some(_) => line.integer(member)?.map(time::checked),
    };
    read.transpose().map_err(|e| e.at(member))
}

fn seq(line: &Object) -> Result<Option<u32>> {
    let seq = line.integer("seq")?;
    seq.map(|n| u32::try_from(n).map_err(|_| expected("seq", "a whole number from 0", &n.to_string())))
        .transpose()
}

/// The vector of a message line; an empty one, as Reservoir writes it, is none.
fn vector(line: &Object) -> Result<Option<Vector>> {
    let Some(json) = line.get("embedding").filter(|json| !matches!(*json, "null" | "[]")) else {
        return Ok(None);
    };
    let numbers = super::embedding::read_vector(json)?;
    let model = match line.text("embedding_model")? {
        Some(model) if !model.is_empty() => model,
        _ => reservoir_model(numbers.len())?.to_owned(),
    };
    Ok(Some(Vector { model, numbers }))
}

/// The models that Reservoir's exports never name: its own had 1024 numbers, its first release asked for
/// text-embedding-ada-002.
pub fn reservoir_model(dim: usize) -> Result<&'static str> {
    match dim {
        1024 => Ok("bge-large-en-v1.5"),
        1536 => Ok("text-embedding-ada-002"),
        _ => Err(Error::new(format!("embedding_model: is missing beside an embedding of {dim} numbers"))),
    }
}
