//! The lines that flow between the tools: messages, links, embeddings, accounts, hits, and the bodies of
//! requests and answers. `man 5 rsv-record` is the contract.

mod embedding;
mod feed;
pub mod id;
mod lines;
mod link;
mod message;
mod object;
mod query;
mod reader;
mod scope;
pub mod time;

pub use embedding::{Embedding, Vectors, read_vector, write_vector};
pub use feed::{Feed, Next};
pub use link::{Link, RESPONDED_WITH, SYNAPSE};
pub use message::{Content, Draft, Fill, Message, Position, Role, Vector, reservoir_model};
pub use object::{Object, quote};
pub use query::Query;
pub use reader::{Place, Reader, Value, too_long};
pub use scope::{Scope, Scopes};
pub use time::Clock;

use crate::error::{Error, Result};
use object::expected;

/// One line of input, known by its `kind` or, where that is missing, by its shape.
#[derive(Debug)]
pub enum Line {
    Message(Draft),
    Link(Link),
    Embedding(Embedding),
    Account(Account),
    /// An OpenAI chat-completions body.
    Request(Object),
    /// A provider's whole answer.
    Response(Object),
    /// Hits, queries, chunks, errors and kinds that are not stored: passed on as they came.
    Other(Object),
}

impl Line {
    /// Tells what an object is and checks it. Errors begin with the member at fault.
    pub fn parse(line: Object) -> Result<Line> {
        let kind = line.text("kind")?;
        match kind.as_deref().or_else(|| shape(&line)) {
            Some("message") => Draft::parse(line).map(Line::Message),
            Some("link") => Link::parse(line).map(Line::Link),
            Some("embedding") => Embedding::parse(line).map(Line::Embedding),
            Some("account") => Account::parse(line).map(Line::Account),
            Some("request") => Ok(Line::Request(line)),
            Some("response") => Ok(Line::Response(line)),
            Some(_) => Ok(Line::Other(line)),
            None => Err(Error::new("kind: is missing, and no known kind has this shape")
                .hint("a message needs at least role and content, a request messages; man 5 rsv-record has the kinds")),
        }
    }
}

/// The kind that a line without one has by its members.
fn shape(line: &Object) -> Option<&'static str> {
    if line.has("messages") {
        Some("request")
    } else if line.has("choices") {
        let chunk = line.get("object") == Some("\"chat.completion.chunk\"");
        Some(if chunk { "chunk" } else { "response" })
    } else if line.has("from") && line.has("to") && line.has("rel") {
        Some("link")
    } else if line.has("role") || line.has("content") {
        Some("message")
    } else {
        None
    }
}

/// What enrichment did for one request.
#[derive(Clone, PartialEq, Debug)]
pub struct Account {
    pub id: String,
    pub trace_id: String,
    pub scope: Scope,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// window, reserve, counted, recalled and so on, as JSON.
    pub members: Object,
}

impl Account {
    /// Makes the account of a trace; its id follows from the rest.
    pub fn new(trace_id: &str, scope: &Scope, timestamp: i64, members: Object) -> Account {
        let parts = ["account", &scope.partition, &scope.instance, trace_id];
        let id = id::derived(timestamp, &parts);
        Account { id, trace_id: trace_id.into(), scope: scope.clone(), timestamp, members }
    }

    /// Reads an account line; all of its head must be there.
    pub fn parse(mut line: Object) -> Result<Account> {
        let required =
            |member| message::name(&line, member)?.ok_or_else(|| Error::new(format!("{member}: is missing")));
        let scope = Scope::of(Some(&required("partition")?), Some(&required("instance")?))?;
        let (id, trace_id) = (required("id")?, required("trace_id")?);
        let timestamp = message::timestamp(&line)?.ok_or_else(|| Error::new("timestamp: is missing"))?;
        line.retain(|name| !["kind", "id", "trace_id", "partition", "instance", "timestamp"].contains(&name));
        Ok(Account { id, trace_id, scope, timestamp, members: line })
    }

    /// Appends the record, without a line end.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        message::head("account", &self.id, &self.trace_id, &self.scope, out);
        out.extend_from_slice(format!(",\"timestamp\":{}", self.timestamp).as_bytes());
        self.members.write_members(out);
        out.push(b'}');
    }
}

/// Anything that a store holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    Message(Message),
    Account(Account),
    Embedding(Embedding),
    Link(Link),
}

impl Record {
    /// Appends the record as one line.
    pub fn write_line(&self, vectors: Vectors, out: &mut Vec<u8>) {
        match self {
            Record::Message(message) => {
                out.push(b'{');
                message.write_members("message", out);
                out.push(b'}');
            }
            Record::Account(account) => account.write(out),
            Record::Embedding(embedding) => embedding.write(vectors, out),
            Record::Link(link) => link.write(out),
        }
        out.push(b'\n');
    }
}

/// A message that a search found.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    pub message: Message,
    /// What the order is by, higher first.
    pub score: f64,
    /// What speaks for it, by name.
    pub why: Object,
    /// What the score is the sum of, by name.
    pub parts: Vec<(String, f64)>,
}

impl Hit {
    /// A message for which one thing speaks.
    pub fn by(name: &str, message: Message, score: f64) -> Hit {
        let mut why = Object::default();
        why.set(name, score.to_string());
        Hit { message, score, why, parts: vec![(name.to_owned(), score)] }
    }

    /// Tells the parts of the score too, as `parts` of what speaks for it.
    pub fn explain(&mut self) {
        let mut parts = Object::default();
        self.parts.iter().for_each(|(name, part)| parts.set(name, part.to_string()));
        self.why.set("parts", parts.to_json());
    }

    /// The best hits in their order: by score, then newest first, then by id.
    pub fn best(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
        hits.sort_by(|a, b| {
            let by_time = b.message.timestamp.cmp(&a.message.timestamp);
            b.score.total_cmp(&a.score).then(by_time).then_with(|| a.message.id.cmp(&b.message.id))
        });
        hits.truncate(limit);
        hits
    }

    /// Appends the hit as one line; `rank` counts from 1. Of many questions, `query` names the one.
    pub fn write_line(&self, rank: usize, query: Option<&Query>, out: &mut Vec<u8>) {
        let members = format!(",\"rank\":{rank},\"score\":{}", self.score);
        write_found(&self.message, "hit", &members, &self.why, query, out);
    }

    /// Appends a message that stands around the hit as one line.
    pub fn write_neighbour(&self, message: &Message, query: Option<&Query>, out: &mut Vec<u8>) {
        let mut why = Object::default();
        why.set_text("context", &self.message.id);
        write_found(message, "message", "", &why, query, out);
    }
}

/// The members that a search adds: what a message itself has under these names, because it was found once and
/// kept, would stand there twice.
const ADDED: [&str; 4] = ["rank", "score", "why", "query"];

/// Appends what a search found as one line; `members` stand before those that all have, with a comma in front.
fn write_found(
    message: &Message,
    kind: &str,
    members: &str,
    why: &Object,
    query: Option<&Query>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    if ADDED.iter().any(|name| message.extra.has(name)) {
        let mut message = message.clone();
        message.extra.retain(|name| !ADDED.contains(&name));
        message.write_members(kind, out);
    } else {
        message.write_members(kind, out);
    }
    let query = query.map_or(String::new(), |query| format!(",\"query\":{}", query.name));
    out.extend_from_slice(format!("{members},\"why\":{}{query}}}\n", why.to_json()).as_bytes());
}

/// An error that a stream's reader must see, as one line.
pub fn error_line(code: &str, message: &str, members: &Object) -> String {
    let mut line = Object::default();
    line.set_text("kind", "error");
    line.set_text("code", code);
    line.set_text("message", message);
    members.iter().for_each(|(name, json)| line.set(name, json));
    line.to_json() + "\n"
}

/// `rank: expected a string, found 12`, for rooms that read members of their own.
pub fn unexpected(member: &str, wanted: &str, found: &str) -> Error {
    expected(member, wanted, found)
}
