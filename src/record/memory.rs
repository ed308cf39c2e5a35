//! Memories: strategies, warnings and facts, whose confidence follows from signals.

use super::fold::fold;
use super::link::CONSOLIDATED_INTO;
use super::members::{name, texts, time_member, timestamp};
use super::message::seq;
use super::object::{Object, invalid, quote, unexpected, write_member, write_text};
use super::signal::SignalType;
use super::stored::{Draft, RecordKind, Replaces, SameWords, StoredRecord, TextSource, write_time};
use crate::error::Result;

/// The kind of memories: something that was learnt, in a title and a text.
pub static MEMORY: RecordKind = RecordKind {
    name: "memory",
    label: "MemoryNode",
    read: parse,
    write,
    same_words: Some(SameWords {
        key: same_words,
        at_one_time: false,
        is_said_again: |memory| Origin::of(memory) == Origin::Explicit,
    }),
    fixed_parts: Some(fixed_parts),
    replaces: Some(Replaces {
        rel: CONSOLIDATED_INTO,
        ids: |memory| texts(&memory.members, "source_ids").ok().flatten().unwrap_or_default(),
        member: "source_ids",
    }),
    indexed: TextSource::Composed(indexed_text),
    embedded: TextSource::Composed(embedded_text),
    shown: TextSource::Composed(shown_text),
    heading,
    lookup_key: Some(ORIGIN),
    ..RecordKind::PLAIN
};

/// The member that says how a memory came into being.
const ORIGIN: &str = "origin";

/// The category of memories that need an outcome: what to do, or what to avoid.
pub const STRATEGY: &str = "strategy";

const CATEGORIES: [&str; 7] = [STRATEGY, "profile", "preference", "entity", "event", "case", "pattern"];
const OUTCOMES: [&str; 2] = [SUCCESS, FAILURE];
const CONSOLIDATION_TYPES: [&str; 3] = ["merged", "deduplicated", "synthesized"];

/// The outcome of a strategy that worked.
pub const SUCCESS: &str = "success";
/// The outcome of one that did not: a warning.
pub const FAILURE: &str = "failure";

/// The member of a memory that another program archived, with the id of the one that took its place; empty if
/// there is none. It holds without a link, which waits until that memory is there.
pub const ARCHIVED_INTO: &str = "archived_into";

/// How a memory came into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A person or a program wrote it.
    Explicit,
    /// It was made from the summary of a session.
    Distilled,
    /// It was merged from similar memories.
    Consolidated,
    /// It was found in a conversation.
    Extracted,
}

const ORIGINS: [(&str, Origin); 4] = [
    ("explicit", Origin::Explicit),
    ("distilled", Origin::Distilled),
    ("consolidated", Origin::Consolidated),
    ("extracted", Origin::Extracted),
];

impl Origin {
    /// The origin of a memory.
    pub fn of(memory: &StoredRecord) -> Origin {
        let name = memory.members.valid_text("origin");
        // `read` gives each memory one, and refuses others.
        name.and_then(|name| Origin::named(&name)).unwrap_or(Origin::Explicit)
    }

    fn named(name: &str) -> Option<Origin> {
        ORIGINS.into_iter().find(|(known, _)| *known == name).map(|(_, origin)| origin)
    }

    /// Its name in a line.
    pub fn name(self) -> &'static str {
        ORIGINS.into_iter().find(|(_, origin)| *origin == self).map_or("", |(name, _)| name)
    }

    /// The confidence before any signal, 0 to 1, of a memory that names none.
    pub fn prior(self, outcome: Option<&str>) -> f64 {
        match self {
            Origin::Explicit => 0.8,
            Origin::Distilled if outcome == Some(FAILURE) => 0.5,
            Origin::Distilled | Origin::Consolidated | Origin::Extracted => 0.6,
        }
    }
}

/// The members between title and time, in the order in which they are written; `content` has a place of its
/// own.
const ORDER: [&str; 14] = [
    "title",
    "description",
    "content",
    "category",
    "outcome",
    "tags",
    "origin",
    "prior",
    "session_id",
    "completed_at",
    "uri",
    "source_ids",
    "consolidation_type",
    "source_attribution",
];

/// The members that are derived from signals and links whenever a memory is shown.
pub const DERIVED: [&str; 5] = ["confidence", "usage_count", "state", "consolidation_id", "updated_at"];

/// The members with the evidence, which are derived too. Exports do not have them, so that a line may have
/// members of these names that are others, and are kept.
const EVIDENCE: [&str; 3] = ["alpha", "beta", "signals"];

/// Whether the members of a line that are named as the evidence are that.
fn has_evidence(line: &Object) -> bool {
    let signals = line.valid_object("signals");
    signals.is_some_and(|signals| SignalType::ALL.iter().all(|known| signals.has(known.name())))
}

/// The members with a field of their own.
const HEAD: [&str; 9] =
    ["kind", "id", "partition", "instance", "project_id", "content", "timestamp", "created_at", "seq"];

/// Reads a memory line, also as ReasoningBank writes it: with `project_id`, and with its confidence in place
/// of `prior`. Errors begin with the member at fault.
fn parse(line: Object) -> Result<Draft> {
    let text = |member, what: &str| match line.text(member)? {
        Some(text) if !text.trim().is_empty() => Ok(text),
        _ => Err(invalid(member, format!("memory {what} cannot be empty"))),
    };
    text("title", "title")?;
    let content = text("content", "content")?;
    let partition = match (line.text("partition")?, line.text("project_id")?) {
        (None, None) => None,
        (Some(name), _) | (None, Some(name)) if !name.is_empty() => Some(name),
        _ => return Err(invalid("partition", "project ID cannot be empty")),
    };
    let outcome = line.text("outcome")?;
    let category = chosen(&line, "category", &CATEGORIES)?;
    let is_strategy = category.as_deref().is_none_or(|category| category == STRATEGY);
    match outcome.as_deref() {
        None | Some("") if !is_strategy => {}
        Some(outcome) if OUTCOMES.contains(&outcome) => {}
        _ => return Err(invalid("outcome", "must be 'success' or 'failure'")),
    }
    chosen(&line, "consolidation_type", &CONSOLIDATION_TYPES)?;
    let (sources, tags) = (texts(&line, "source_ids")?, texts(&line, "tags")?);
    for member in ["description", "session_id", "uri", "source_attribution"] {
        line.text(member)?;
    }
    time_member(&line, "completed_at")?;
    let origin = match line.text("origin")? {
        Some(name) => Origin::named(&name)
            .ok_or_else(|| unexpected("origin", &ORIGINS.map(|(name, _)| name).join(", "), &name))?,
        None if sources.is_some() => Origin::Consolidated,
        None => Origin::Explicit,
    };
    let prior = match (probability(&line, "prior")?, line.get("prior")) {
        (Some(_), Some(json)) => json.to_owned(),
        _ => match (probability(&line, "confidence")?, line.get("confidence")) {
            (Some(_), Some(json)) => json.to_owned(),
            _ => origin.prior(outcome.as_deref()).to_string(),
        },
    };
    let mut members = Object::default();
    for member in ORDER.iter().filter(|member| **member != "content") {
        let json = match *member {
            "origin" => Some(quote(origin.name())),
            "prior" => Some(prior.clone()),
            "tags" if tags.as_ref().is_none_or(Vec::is_empty) => None,
            member => line.get(member).filter(|json| !matches!(*json, "null" | "\"\"")).map(str::to_owned),
        };
        if let Some(json) = json {
            members.set(member, json);
        }
    }
    let has_evidence = has_evidence(&line);
    let is_derived = |name: &str| DERIVED.contains(&name) || has_evidence && EVIDENCE.contains(&name);
    let is_other = |name: &str| !ORDER.contains(&name) && !HEAD.contains(&name) && !is_derived(name);
    for (name, json) in line.iter().filter(|(name, _)| is_other(name)) {
        members.set(name, json);
    }
    Ok(Draft {
        id: name(&line, "id")?,
        partition,
        instance: name(&line, "instance")?,
        timestamp: timestamp(&line)?,
        seq: seq(&line)?,
        members,
        ..Draft::new(&MEMORY, content)
    })
}

/// A member that must be one of some names.
fn chosen(line: &Object, member: &str, names: &[&str]) -> Result<Option<String>> {
    match line.text(member)? {
        Some(name) if !name.is_empty() && !names.contains(&name.as_str()) => {
            Err(unexpected(member, &names.join(", "), &name))
        }
        name => Ok(name.filter(|name| !name.is_empty())),
    }
}

/// A member that must be a number from 0 to 1.
fn probability(line: &Object, member: &'static str) -> Result<Option<f64>> {
    match line.number(member)? {
        Some(number) if !(0.0..=1.0).contains(&number) => Err(invalid(member, "must be between 0.0 and 1.0")),
        number => Ok(number),
    }
}

fn fixed_parts(memory: &StoredRecord) -> Vec<String> {
    let member = |name: &str| memory.members.get(name).unwrap_or_default().to_owned();
    let (partition, instance) = (memory.scope.partition.clone(), memory.scope.instance.clone());
    vec![partition, instance, member("title"), memory.text.clone(), member("outcome"), member("prior")]
}

/// Scope, the folded title and the folded content; an empty title if the content contains it, or its part
/// after a label. `None` for a consolidated memory: it has the words of others, and is forgotten on its own.
fn same_words(memory: &StoredRecord) -> Option<Vec<String>> {
    if Origin::of(memory) == Origin::Consolidated {
        return None;
    }
    let (title, content) = (fold(&memory.member_text("title")), fold(&memory.text));
    let title = uncut(&title);
    let unlabelled = title.split_once(": ").map_or(title, |(_, rest)| rest);
    let says_more = ![title, unlabelled].iter().any(|title| content.contains(title));
    let title = if says_more { title } else { "" };
    let key = [&memory.scope.partition, &memory.scope.instance, title, &content].map(str::to_owned);
    (!content.is_empty()).then_some(key.into())
}

fn write(memory: &StoredRecord, out: &mut Vec<u8>) {
    for member in ORDER {
        if member == "content" {
            out.extend_from_slice(b",\"content\":");
            write_text(out, &memory.text);
        } else if let Some(json) = memory.members.get(member) {
            write_member(out, member, json);
        }
    }
    write_time(memory.timestamp, out);
    if memory.seq != 0 {
        out.extend_from_slice(format!(",\"seq\":{}", memory.seq).as_bytes());
    }
    memory.members.write_members_except(&ORDER, out);
}

impl StoredRecord {
    /// The category of a memory, which need not name that of strategies.
    pub fn category(&self) -> String {
        Some(self.member_text("category"))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| STRATEGY.to_owned())
    }

    /// A text among the members; empty if there is none. Those of a stored record were checked before.
    pub fn member_text(&self, name: &str) -> String {
        self.members.valid_text(name).unwrap_or_default()
    }

    /// The texts of a member that is an array of texts; none if there is no such member.
    pub fn member_texts(&self, name: &str) -> Vec<String> {
        texts(&self.members, name).ok().flatten().unwrap_or_default()
    }
}

fn indexed_text(memory: &StoredRecord) -> String {
    let tags = memory.member_texts("tags").join(" ");
    let texts = [memory.member_text("title"), memory.member_text("description"), memory.text.clone(), tags];
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn embedded_text(memory: &StoredRecord) -> String {
    format!("{}\n\n{}", memory.member_text("title"), memory.text)
}

/// A folded title without the dots at the end of one that was cut.
fn uncut(title: &str) -> &str {
    title.trim_end_matches(['.', ' '])
}

/// The title and the content; the content alone if it begins with the title.
fn shown_text(memory: &StoredRecord) -> String {
    let title = fold(&memory.member_text("title"));
    if fold(&memory.text).starts_with(uncut(&title)) { memory.text.clone() } else { embedded_text(memory) }
}

/// The word for a failed strategy.
const WARNING: &str = "warning";

/// Whether the heading of a memory may begin with a word.
pub fn begins_memory_heading(word: &str) -> bool {
    word == WARNING || CATEGORIES.contains(&word)
}

/// Its category, or the word for a failed strategy, and the confidence, if it was derived: `warning,
/// confidence 0.82`.
fn heading(memory: &StoredRecord) -> String {
    let category = memory.member_text("category");
    let what = match memory.member_text("outcome").as_str() {
        FAILURE => WARNING,
        _ if category.is_empty() => STRATEGY,
        _ => category.as_str(),
    };
    let confidence = memory.members.valid_number("confidence");
    let confidence = confidence.map(|confidence| format!(", confidence {confidence:.2}")).unwrap_or_default();
    format!("{what}{confidence}")
}
