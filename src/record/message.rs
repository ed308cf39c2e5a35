//! Messages: the turns of a conversation.

use super::embedding::{Vector, VectorFormat, read_vector, write_vector};
use super::fold::fold;
use super::members::{name, timestamp};
use super::object::{Object, empty, invalid, missing, quote, unexpected, write_text};
use super::stored::{Draft, RecordKind, SameWords, StoredRecord, TextSource, write_time};
use super::{Content, Role, Scope, id};
use crate::error::Result;
use std::borrow::Cow;

/// The kind of messages: one turn of a conversation, with its role and time.
pub static MESSAGE: RecordKind = RecordKind {
    name: "message",
    label: "MessageNode",
    traced: true,
    read: Draft::parse_message,
    write,
    natural_key: Some(natural_key),
    // The same words at another time are another message.
    same_words: Some(SameWords { key: same_words, at_one_time: true, is_said_again: |_| false }),
    fixed_parts: Some(fixed_parts),
    indexed: TextSource::Text,
    embedded: TextSource::Text,
    heading: |record| record.role.map_or("", Role::name).to_owned(),
    recalled: true,
    ..RecordKind::PLAIN
};

/// The member that holds the content where that is more than a text.
const CONTENT_MEMBER: &str = "content";

impl StoredRecord {
    /// The content of a message, as JSON text.
    pub fn content_json(&self) -> Cow<'_, str> {
        content_json(&self.members, &self.text)
    }
}

fn content_json<'a>(members: &'a Object, text: &str) -> Cow<'a, str> {
    members.get(CONTENT_MEMBER).map_or_else(|| Cow::Owned(quote(text)), Cow::Borrowed)
}

/// Scope, trace, role and content.
fn natural_key(record: &StoredRecord) -> Vec<String> {
    let role = record.role.map_or("", Role::name).to_owned();
    let content = record.content_json().into_owned();
    let scope = record.scope.clone();
    vec![scope.partition, scope.instance, record.trace_id.clone(), role, content]
}

/// Scope, turn, role, the folded text, the parts that have no text, and the time. The turn is the time in a
/// trace that the suite made, which may follow from the text of the question, else the trace.
fn same_words(record: &StoredRecord) -> Option<Vec<String>> {
    let [text, others] = folded_parts(record)?;
    let turn = id::time_digits(&record.trace_id).unwrap_or(&record.trace_id);
    let role = record.role.map_or("", Role::name);
    let time = record.timestamp.to_string();
    let Scope { partition, instance } = &record.scope;
    Some([partition, instance, turn, role, &text, &others, &time].map(str::to_owned).into())
}

/// The folded text of a message, and the parts that have no text; `None` without a text.
pub(super) fn folded_parts(record: &StoredRecord) -> Option<[String; 2]> {
    if *record.kind != MESSAGE {
        return None;
    }
    let content = record.members.get(CONTENT_MEMBER);
    let parts = match content.filter(|json| json.starts_with('[')) {
        Some(json) => Content::Parts(json.into()).folded(),
        None => [fold(&record.text), String::new()],
    };
    (!parts[0].is_empty()).then_some(parts)
}

/// Scope, role and content; trace and time are implied by the id.
fn fixed_parts(record: &StoredRecord) -> Vec<String> {
    let role = record.role.map_or("", Role::name).to_owned();
    vec![
        record.scope.partition.clone(),
        record.scope.instance.clone(),
        role,
        record.content_json().into_owned(),
    ]
}

fn write(record: &StoredRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"role\":");
    write_text(out, record.role.map_or("", Role::name));
    out.extend_from_slice(b",\"content\":");
    match record.members.get(CONTENT_MEMBER) {
        Some(json) => out.extend_from_slice(json.as_bytes()),
        None => write_text(out, &record.text),
    }
    write_time(record.timestamp, out);
    if record.seq != 0 {
        out.extend_from_slice(format!(",\"seq\":{}", record.seq).as_bytes());
    }
    record.members.write_members_except(&[CONTENT_MEMBER], out);
    if let Some(vector) = &record.vector {
        out.extend_from_slice(b",\"embedding\":");
        write_vector(&vector.numbers, VectorFormat::Numbers, out);
        out.extend_from_slice(b",\"embedding_model\":");
        write_text(out, &vector.model);
    }
}

impl Draft {
    /// A message without ids, scope and time.
    pub fn message(role: Role, content: Content) -> Draft {
        let mut draft = Draft { role: Some(role), ..Draft::new(&MESSAGE, String::new()) };
        draft.set_content(content);
        draft
    }

    /// Reads a message line. Errors name the member: `role: expected user, assistant, …, found "usr"`.
    pub fn parse_message(line: Object) -> Result<Draft> {
        let role = line.text("role")?.ok_or_else(|| missing("role"))?.parse()?;
        let content = Content::from_message(&line)?;
        let calls = calls_tools(&line);
        if !calls && matches!(&content, Content::Null) {
            return Err(missing("content"));
        }
        if !calls && matches!(&content, Content::Text(text) if text.is_empty()) {
            return Err(empty("content"));
        }
        let (vector, vector_fault) = vector(&line);
        let mut draft = Draft {
            id: message_id(&line)?,
            trace_id: name(&line, "trace_id")?,
            partition: name(&line, "partition")?,
            instance: name(&line, "instance")?,
            timestamp: timestamp(&line)?,
            seq: seq(&line)?,
            vector,
            vector_fault,
            ..Draft::from_members(role, line)
        };
        draft.set_content(content);
        Ok(draft)
    }

    /// Reads a message of a request or answer body. Members that happen to have a name of rsv's, such as a
    /// provider's `id`, have another meaning there and are dropped. Fails if its role is unknown, or its
    /// content neither text nor parts.
    pub fn from_body(message: Object) -> Result<Draft> {
        // Only the message of an answer may leave its role out.
        let role = message.text("role")?.unwrap_or_else(|| Role::Assistant.name().to_owned()).parse()?;
        let content = Content::from_message(&message)?;
        let mut draft = Draft::from_members(role, message);
        draft.set_content(content);
        Ok(draft)
    }

    /// A message with the members that have no field of their own.
    fn from_members(role: Role, mut line: Object) -> Draft {
        line.retain(|name| !MESSAGE_MEMBERS.contains(&name));
        Draft { role: Some(role), members: line, ..Draft::new(&MESSAGE, String::new()) }
    }

    /// The content of a message.
    pub fn content(&self) -> Content {
        match self.members.get(CONTENT_MEMBER) {
            None => Content::Text(self.text.clone()),
            Some("null") => Content::Null,
            Some(json) => Content::Parts(json.into()),
        }
    }

    /// Replaces the content of a message.
    pub fn set_content(&mut self, content: Content) {
        self.text = content.text();
        match content {
            Content::Text(_) => drop(self.members.take(CONTENT_MEMBER)),
            Content::Parts(json) => self.members.set(CONTENT_MEMBER, json),
            Content::Null => self.members.set(CONTENT_MEMBER, "null"),
        }
    }

    /// Whether a message has a text, parts or tool calls.
    pub fn has_content(&self) -> bool {
        let calls = calls_tools(&self.members);
        match self.members.get(CONTENT_MEMBER) {
            None => calls || !self.text.is_empty(),
            Some("null") => calls,
            Some(_) => true,
        }
    }
}

fn calls_tools(message: &Object) -> bool {
    message.get("tool_calls").is_some_and(|calls| !matches!(calls, "null" | "[]"))
}

/// The members of a message line that have a field of their own, or are written by rsv alone.
const MESSAGE_MEMBERS: [&str; 12] = [
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

/// The id. Reservoir's exports carry its database's own number, or null, which names nothing elsewhere.
fn message_id(line: &Object) -> Result<Option<String>> {
    match line.get("id") {
        Some(json) if json.bytes().all(|b| b.is_ascii_digit()) => Ok(None),
        _ => name(line, "id"),
    }
}

/// The order within one timestamp. Fails if it is no whole number from 0.
pub(super) fn seq(line: &Object) -> Result<Option<u32>> {
    let seq = line.integer("seq")?;
    seq.map(|n| u32::try_from(n).map_err(|_| unexpected("seq", "a whole number from 0", &n.to_string())))
        .transpose()
}

/// The vector of a line, or why it cannot be read; neither for an empty one, as Reservoir writes it.
pub(super) fn vector(line: &Object) -> (Option<Vector>, Option<String>) {
    match read_model_vector(line) {
        Ok(vector) => (vector, None),
        Err(fault) => (None, Some(fault.to_string())),
    }
}

fn read_model_vector(line: &Object) -> Result<Option<Vector>> {
    let Some(json) = line.get("embedding").filter(|json| !matches!(*json, "null" | "[]")) else {
        return Ok(None);
    };
    let numbers = read_vector(json)?;
    let model = match line.text("embedding_model")? {
        Some(model) if !model.is_empty() => model,
        _ => reservoir_model(numbers.len())?.to_owned(),
    };
    Ok(Some(Vector { model, numbers }))
}

/// The models that Reservoir's exports never name: its own had 1024 numbers, its first release asked for
/// text-embedding-ada-002. Fails for another dimension.
pub fn reservoir_model(dim: usize) -> Result<&'static str> {
    match dim {
        1024 => Ok("bge-large-en-v1.5"),
        1536 => Ok("text-embedding-ada-002"),
        _ => Err(invalid("embedding_model", format!("is missing beside an embedding of {dim} numbers"))),
    }
}
