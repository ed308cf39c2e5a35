//! Accounts: records of the enrichment of one request.

use super::comparison::Comparison;
use super::file_state::{FileState, files_member};
use super::hit::{NewerStatement, newer_member, quoted_member};
use super::id;
use super::members::{required, timestamp};
use super::object::{Object, missing, quote};
use super::stored::{Draft, Position, RecordKind, StoredRecord};
use super::{Reach, Scope};
use crate::error::Result;
use std::ops::Range;

/// The kind of accounts, which record the enrichment of one request.
pub static ACCOUNT: RecordKind = RecordKind {
    name: "account",
    label: "RsvAccount",
    traced: true,
    read: parse,
    write,
    lookup_key: Some(DIGEST_MEMBER),
    part_lists: &[
        ("recalled", "message"),
        ("recent", "message"),
        ("left_out", "message"),
        ("memories", "memory"),
        ("documents", "document"),
        ("actions", "action"),
    ],
    ..RecordKind::PLAIN
};

/// The member by which later requests of a turn find their account.
const DIGEST_MEMBER: &str = "digest";

/// The member that says of a turn that its scope is a session.
const SESSION_MEMBER: &str = "session";

/// The member with the id of the session of the client's program.
const CLIENT_SESSION: &str = "client_session";
/// The member with the digest of the key that the client gave the request.
const REQUEST_KEY: &str = "request_key";
/// The member that says that the part of the session before a compaction was carried over.
const CARRIED: &str = "carried";

/// The member that says of a part that it is recalled always.
const PINNED: &str = "pinned";
const NEWER: &str = "newer";
const FILES: &str = "files";

/// Reads an account line; all of its head must be there.
fn parse(mut line: Object) -> Result<Draft> {
    let (partition, instance) = (required(&line, "partition")?, required(&line, "instance")?);
    let (id, trace_id) = (required(&line, "id")?, required(&line, "trace_id")?);
    let timestamp = timestamp(&line)?.ok_or_else(|| missing("timestamp"))?;
    line.retain(|name| !["kind", "id", "trace_id", "partition", "instance", "timestamp"].contains(&name));
    Ok(Draft {
        id: Some(id),
        trace_id: Some(trace_id),
        partition: Some(partition),
        instance: Some(instance),
        timestamp: Some(timestamp),
        members: line,
        ..Draft::new(&ACCOUNT, String::new())
    })
}

fn write(record: &StoredRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"timestamp\":{}", record.timestamp).as_bytes());
    record.members.write_members(out);
}

/// The account of the enrichment of one request. All sizes are in tokens.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Account {
    /// The model's window.
    pub window: u64,
    /// The tokens kept free for the answer.
    pub reserve: u64,
    /// The request as it leaves.
    pub counted: u64,
    /// The counter: the name of an encoder, `estimate` or `bound`.
    pub counter: String,
    /// The original request.
    pub request: u64,
    /// The fence around the recalled text.
    pub fence: u64,
    /// Those that are recalled always, then the related records, by score.
    pub recalled: Vec<RecalledPart>,
    /// The most recent records.
    pub recent: Vec<RecalledPart>,
    /// The memories, best first.
    pub memories: Vec<RecalledPart>,
    /// The documents, best first.
    pub documents: Vec<RecalledPart>,
    /// The actions, best first.
    pub actions: Vec<RecalledPart>,
    pub left_out: Vec<LeftOut>,
    pub dropped: Vec<Dropped>,
    /// The digest of the turn, by which later requests of the turn find the account.
    pub digest: Option<String>,
    /// The reason why memory worked only in part.
    pub degraded: Option<String>,
    /// The steps of recall for which there was no time.
    pub missing: Vec<String>,
    /// The reach of recall; `None` if nothing was to be recalled.
    pub reach: Option<Reach>,
    /// The messages among which nothing was found to recall; `None` if something was.
    pub considered: Option<Considered>,
    /// Whether the request continues a session.
    pub session: bool,
    /// The id of the session of the client's program, if it names it.
    pub client_session: Option<String>,
    /// The digest of the key that the client gave the request, so that it is known if it is sent again.
    pub request_key: Option<String>,
    /// The part of the session before a compaction that was carried over.
    pub carried: Option<CarriedPart>,
    /// The prompt tokens that the provider reports.
    pub prompt_tokens: Option<u64>,
    /// The tokens of the answer that the provider reports, and the prompt tokens that it read from its cache.
    pub completion_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    /// Whether the provider read far too little.
    pub cut: bool,
    /// The part of the turn in the comparison of turns with and without recall; `None` if there is none.
    pub comparison: Option<Comparison>,
}

/// The part of a session before a compaction that was carried over: its records before a time yield the text
/// exactly.
#[derive(Clone, PartialEq, Debug)]
pub struct CarriedPart {
    /// The digest of the session and the summary, by which later requests know the compaction.
    pub digest: String,
    /// The time of the compaction, in milliseconds since 1970, UTC.
    pub before: i64,
    /// The time of the first account of the part, and the position of its last record that the text was made
    /// of: what is stored later changes nothing.
    pub since: Option<i64>,
    pub last: Option<Position>,
    /// The model whose tokens were counted.
    pub model: String,
    /// The number of actions of the part, and of those which the text has.
    pub actions: u64,
    pub shown: u64,
    pub tokens: u64,
}

/// A record that was recalled.
#[derive(Clone, PartialEq, Debug)]
pub struct RecalledPart {
    pub id: String,
    /// The score of the search; `None` for a message that is only recent, or recalled always.
    pub score: Option<f64>,
    /// The number of links between it and a hit.
    pub hop: usize,
    pub tokens: u64,
    /// Whether it is recalled always.
    pub pinned: bool,
    /// The byte ranges of a long message's text that were quoted; `None` if all of it was.
    pub quoted: Option<Vec<Range<usize>>>,
    /// The statements that supersede it, newest first, which is recalled with it.
    pub newer: Vec<NewerStatement>,
    /// The files and commits that a message names and that are not as they were, in the order in which it
    /// says so.
    pub files: Vec<FileState>,
    /// The confidence that was shown with a memory, as it was written; `None` for other records.
    pub confidence: Option<String>,
    /// The shown part of a document; `None` for other records.
    pub document: Option<ShownDocument>,
}

/// The shown part of a document.
#[derive(Clone, PartialEq, Debug)]
pub struct ShownDocument {
    pub uri: String,
    /// The level of detail: 0 the abstract, 1 the overview, 2 the content.
    pub level: u8,
    /// The digest of the version.
    pub sha256: String,
}

/// The messages among which nothing was found to recall.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Considered {
    /// The number within the reach, and beyond it.
    pub within: u64,
    pub beyond: u64,
}

/// A record that was found and is not recalled.
#[derive(Clone, PartialEq, Debug)]
pub struct LeftOut {
    pub id: String,
    pub reason: String,
}

/// A message of the request that did not fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Dropped {
    /// Its place in the request, from 0.
    pub at: u64,
    /// As its client names it, which need not be one of rsv's.
    pub role: Option<String>,
    pub tokens: u64,
}

impl Account {
    /// Reads a stored account. A member that is missing or has another type counts as absent.
    pub fn from_record(record: &StoredRecord) -> Account {
        let members = &record.members;
        let part = |entry: &Object| {
            let hop = number(entry, "hop") as usize;
            let score = entry.valid_number("score");
            let confidence = entry.get("confidence").map(str::to_owned);
            let tokens = number(entry, "tokens");
            let document = ShownDocument::parse(entry);
            let quoted =
                entry.get("quoted").and_then(|json| serde_json::from_str::<Vec<[usize; 2]>>(json).ok());
            let quoted = quoted.map(|ranges| ranges.into_iter().map(|[start, end]| start..end).collect());
            let pinned = entry.get(PINNED) == Some("true");
            let newer = list(entry, NEWER).iter().filter_map(NewerStatement::parse).collect();
            let files = list(entry, FILES).iter().filter_map(FileState::parse).collect();
            Some(RecalledPart {
                id: text(entry, "id")?,
                score,
                hop,
                tokens,
                pinned,
                quoted,
                newer,
                files,
                confidence,
                document,
            })
        };
        let left_out = |entry: &Object| {
            Some(LeftOut { id: text(entry, "id")?, reason: text(entry, "reason").unwrap_or_default() })
        };
        let dropped = |entry: &Object| Dropped {
            at: number(entry, "at"),
            role: text(entry, "role"),
            tokens: number(entry, "tokens"),
        };
        let reported = |name| members.valid_integer(name).map(i64::unsigned_abs);
        Account {
            window: number(members, "window"),
            reserve: number(members, "reserve"),
            counted: number(members, "counted"),
            counter: text(members, "counter").unwrap_or_default(),
            request: number(members, "request"),
            fence: number(members, "fence"),
            recalled: list(members, "recalled").iter().filter_map(part).collect(),
            recent: list(members, "recent").iter().filter_map(part).collect(),
            memories: list(members, "memories").iter().filter_map(part).collect(),
            documents: list(members, "documents").iter().filter_map(part).collect(),
            actions: list(members, "actions").iter().filter_map(part).collect(),
            left_out: list(members, "left_out").iter().filter_map(left_out).collect(),
            dropped: list(members, "dropped").iter().map(dropped).collect(),
            digest: text(members, DIGEST_MEMBER),
            degraded: text(members, "degraded"),
            missing: members
                .get("missing")
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default(),
            reach: text(members, "reach").and_then(|name| Reach::named(&name)),
            considered: members.has("considered").then(|| Considered {
                within: number(members, "considered"),
                beyond: number(members, "beyond_reach"),
            }),
            session: members.get(SESSION_MEMBER) == Some("true"),
            client_session: text(members, CLIENT_SESSION),
            request_key: text(members, REQUEST_KEY),
            carried: members.valid_object(CARRIED).and_then(|part| CarriedPart::parse(&part)),
            prompt_tokens: reported("prompt_tokens"),
            completion_tokens: reported("completion_tokens"),
            cached_tokens: reported("cached_tokens"),
            cut: members.get("cut") == Some("true"),
            comparison: Comparison::parse(members),
        }
    }

    /// The account of a trace as it is stored; its id follows from scope, trace and time (milliseconds since
    /// 1970, UTC).
    pub fn to_record(&self, trace_id: &str, scope: &Scope, timestamp: i64) -> StoredRecord {
        StoredRecord {
            kind: &ACCOUNT,
            id: id::derived(timestamp, &[ACCOUNT.name, &scope.partition, &scope.instance, trace_id]),
            scope: scope.clone(),
            trace_id: trace_id.to_owned(),
            timestamp,
            seq: 0,
            role: None,
            text: String::new(),
            members: self.to_members(),
            vector: None,
        }
    }

    fn to_members(&self) -> Object {
        let mut members = Object::default();
        members.set("window", self.window.to_string());
        members.set("reserve", self.reserve.to_string());
        members.set("counted", self.counted.to_string());
        members.set_text("counter", &self.counter);
        members.set("request", self.request.to_string());
        members.set("fence", self.fence.to_string());
        members.set("recalled", array(&self.recalled, RecalledPart::to_json));
        members.set("recent", array(&self.recent, RecalledPart::to_json));
        let lists =
            [("memories", &self.memories), ("documents", &self.documents), ("actions", &self.actions)];
        for (name, parts) in lists {
            if !parts.is_empty() {
                members.set(name, array(parts, RecalledPart::to_json));
            }
        }
        members.set("left_out", array(&self.left_out, LeftOut::to_json));
        members.set("dropped", array(&self.dropped, Dropped::to_json));
        let reach = self.reach.map(Reach::name);
        let texts = [
            (DIGEST_MEMBER, self.digest.as_deref()),
            ("degraded", self.degraded.as_deref()),
            ("reach", reach),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                members.set_text(name, text);
            }
        }
        if !self.missing.is_empty() {
            members.set("missing", array(&self.missing, |step| quote(step)));
        }
        if let Some(Considered { within, beyond }) = self.considered {
            members.set("considered", within.to_string());
            members.set("beyond_reach", beyond.to_string());
        }
        if self.session {
            members.set(SESSION_MEMBER, "true");
        }
        if let Some(session) = &self.client_session {
            members.set_text(CLIENT_SESSION, session);
        }
        if let Some(key) = &self.request_key {
            members.set_text(REQUEST_KEY, key);
        }
        if let Some(carried) = &self.carried {
            members.set(CARRIED, carried.to_json());
        }
        if let Some(comparison) = &self.comparison {
            comparison.set_members(&mut members);
        }
        let reported = [
            ("prompt_tokens", self.prompt_tokens),
            ("completion_tokens", self.completion_tokens),
            ("cached_tokens", self.cached_tokens),
        ];
        for (name, tokens) in reported {
            if let Some(tokens) = tokens {
                members.set(name, tokens.to_string());
            }
        }
        if self.cut {
            members.set("cut", "true");
        }
        members
    }
}

impl RecalledPart {
    fn to_json(&self) -> String {
        let score = self.score.map_or(String::new(), |score| format!(",\"score\":{score}"));
        let hop = if self.hop > 0 { format!(",\"hop\":{}", self.hop) } else { String::new() };
        let confidence = self.confidence.as_ref().map(|json| format!(",\"confidence\":{json}"));
        let confidence = confidence.unwrap_or_default();
        let document = self.document.as_ref().map_or(String::new(), ShownDocument::to_members);
        let quoted = self.quoted.as_deref().map_or(String::new(), quoted_member);
        let pinned = if self.pinned { format!(",\"{PINNED}\":true") } else { String::new() };
        let (newer, files) = (newer_member(&self.newer), files_member(&self.files));
        let (id, tokens) = (quote(&self.id), self.tokens);
        format!(
            "{{\"id\":{id}{score}{hop},\"tokens\":{tokens}{pinned}{quoted}{newer}{files}{confidence}{document}}}"
        )
    }
}

impl CarriedPart {
    fn parse(part: &Object) -> Option<CarriedPart> {
        Some(CarriedPart {
            digest: text(part, "digest")?,
            before: part.integer("before").ok()??,
            since: part.valid_integer("since"),
            last: part.valid_object("last").and_then(|last| {
                let seq = u32::try_from(last.integer("seq").ok()??).ok()?;
                Some(Position { timestamp: last.integer("timestamp").ok()??, seq, id: text(&last, "id")? })
            }),
            model: text(part, "model").unwrap_or_default(),
            actions: number(part, "actions"),
            shown: number(part, "shown"),
            tokens: number(part, "tokens"),
        })
    }

    fn to_json(&self) -> String {
        let CarriedPart { digest, before, since, last, model, actions, shown, tokens } = self;
        let (digest, model) = (quote(digest), quote(model));
        let since = since.map_or(String::new(), |since| format!(",\"since\":{since}"));
        let last = last.as_ref().map_or(String::new(), |Position { timestamp, seq, id }| {
            format!(",\"last\":{{\"timestamp\":{timestamp},\"seq\":{seq},\"id\":{}}}", quote(id))
        });
        format!(
            "{{\"digest\":{digest},\"before\":{before}{since}{last},\"model\":{model},\"actions\":{actions},\"shown\":{shown},\"tokens\":{tokens}}}"
        )
    }
}

impl ShownDocument {
    fn parse(part: &Object) -> Option<ShownDocument> {
        let level = u8::try_from(part.integer("level").ok()??).ok()?;
        Some(ShownDocument { uri: text(part, "uri")?, level, sha256: text(part, "sha256")? })
    }

    fn to_members(&self) -> String {
        let ShownDocument { uri, level, sha256 } = self;
        format!(",\"uri\":{},\"level\":{level},\"sha256\":{}", quote(uri), quote(sha256))
    }
}

impl LeftOut {
    fn to_json(&self) -> String {
        format!("{{\"id\":{},\"reason\":{}}}", quote(&self.id), quote(&self.reason))
    }
}

impl Dropped {
    fn to_json(&self) -> String {
        let role = self.role.as_deref().map_or("null".to_owned(), quote);
        format!("{{\"at\":{},\"role\":{role},\"tokens\":{}}}", self.at, self.tokens)
    }
}

fn array<T>(entries: &[T], to_json: impl Fn(&T) -> String) -> String {
    format!("[{}]", entries.iter().map(to_json).collect::<Vec<_>>().join(","))
}

fn list(members: &Object, name: &str) -> Vec<Object> {
    members.valid_objects(name).unwrap_or_default()
}

fn text(members: &Object, name: &str) -> Option<String> {
    members.valid_text(name)
}

fn number(members: &Object, name: &str) -> u64 {
    members.valid_integer(name).map_or(0, i64::unsigned_abs)
}
