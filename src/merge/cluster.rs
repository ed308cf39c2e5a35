//! A cluster as rsv-link prints it, and the memory that takes the place of its members.

use super::prior::consolidated_prior;
use crate::error::Result;
use crate::memory::{confidence_of, decimal, is_active};
use crate::record::{
    DraftDefaults, MEMORY, Object, Origin, RecordError, StoredRecord, invalid, missing, quote, unexpected,
};
use std::cmp::Ordering;
use std::collections::HashSet;

/// The greatest length of the content of a consolidated memory, in characters.
pub(super) const MAX_CONTENT_CHARS: usize = 10_000;
/// The greatest number of titles in an attribution.
const MAX_TITLES: usize = 10;

/// Similar memories of one partition, category and outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// At least two, by time and id.
    pub(super) members: Vec<StoredRecord>,
    /// The one instance of all members, if they have only one.
    instance: Option<String>,
}

/// How a consolidated memory was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConsolidationType {
    /// One member contains the others.
    Deduplicated,
    /// It is made of the members' sentences.
    Merged,
    /// A model wrote it.
    Synthesized,
}

impl ConsolidationType {
    pub(super) fn name(self) -> &'static str {
        match self {
            ConsolidationType::Deduplicated => "deduplicated",
            ConsolidationType::Merged => "merged",
            ConsolidationType::Synthesized => "synthesized",
        }
    }
}

/// The text of a consolidated memory.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) content: String,
    pub(super) tags: Vec<String>,
    pub(super) attribution: String,
}

impl Cluster {
    /// Whether a line is a cluster.
    pub fn is_cluster(line: &Object) -> bool {
        line.get("kind") == Some("\"cluster\"")
    }

    /// Reads a cluster line. Errors begin with the member at fault.
    pub fn parse(line: &Object) -> Result<Cluster> {
        let lines = line.objects("members")?.ok_or_else(|| missing("members"))?;
        let mut members = Vec::with_capacity(lines.len());
        for (at, line) in lines.into_iter().enumerate() {
            members.push(member(line).map_err(|error| error.at(format_args!("members[{at}]")))?);
        }
        if members.len() < 2 {
            return Err(unexpected("members", "at least 2", &members.len().to_string()));
        }
        let mut ids = HashSet::new();
        if let Some(twice) = members.iter().find(|member| !ids.insert(&member.id)) {
            return Err(invalid("members", format!("{} is given twice", twice.id)));
        }
        for (what, of) in [
            ("partition", (|member| member.scope.partition.clone()) as fn(&StoredRecord) -> String),
            ("outcome", |member| member.member_text("outcome")),
            ("category", StoredRecord::category),
        ] {
            let first = of(&members[0]);
            if let Some(other) = members.iter().map(of).find(|other| *other != first) {
                return Err(unexpected("members", &format!("one {what}"), &format!("{first} and {other}")));
            }
        }
        members.sort_by(|one, other| (one.timestamp, &one.id).cmp(&(other.timestamp, &other.id)));
        let instance = members[0].scope.instance.clone();
        let has_one = members.iter().all(|member| member.scope.instance == instance);
        Ok(Cluster { instance: has_one.then_some(instance), members })
    }

    /// The members, the most confident first; among equals the earliest.
    pub(super) fn by_confidence(&self) -> Vec<&StoredRecord> {
        let mut members: Vec<&StoredRecord> = self.members.iter().collect();
        members.sort_by(|one, other| {
            // JSON has no NaN.
            confidence_of(other).partial_cmp(&confidence_of(one)).unwrap_or(Ordering::Equal)
        });
        members
    }

    /// The outcome that all members have; empty for a category without outcomes.
    pub(super) fn outcome(&self) -> String {
        self.members[0].member_text("outcome")
    }

    /// The tags of all members, each once.
    pub(super) fn tags(&self) -> Vec<String> {
        let mut tags: Vec<String> = Vec::new();
        for tag in self.by_confidence().into_iter().flat_map(|member| member.member_texts("tags")) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        tags
    }

    /// `Consolidated from 3 memories: "Title"; ...`.
    pub(super) fn attribution(&self) -> String {
        let titles = self.members.iter().take(MAX_TITLES).map(|member| quote(&member.member_text("title")));
        let mut titles: Vec<String> = titles.collect();
        if self.members.len() > MAX_TITLES {
            titles.push(format!("{} more", self.members.len() - MAX_TITLES));
        }
        format!("Consolidated from {} memories: {}", self.members.len(), titles.join("; "))
    }

    /// The line of the memory that takes the members' place; `now` is its time in milliseconds since 1970,
    /// UTC.
    pub(super) fn consolidated(&self, words: &Words, how: ConsolidationType, now: i64) -> Object {
        let array = |texts: &mut dyn Iterator<Item = &str>| {
            format!("[{}]", texts.map(quote).collect::<Vec<_>>().join(","))
        };
        let mut line = Object::default();
        line.set_text("kind", MEMORY.name);
        line.set_text("partition", &self.members[0].scope.partition);
        if let Some(instance) = &self.instance {
            line.set_text("instance", instance);
        }
        line.set_text("title", &words.title);
        if !words.description.is_empty() {
            line.set_text("description", &words.description);
        }
        line.set_text("content", &words.content);
        line.set_text("category", &self.members[0].category());
        if !self.outcome().is_empty() {
            line.set_text("outcome", &self.outcome());
        }
        if !words.tags.is_empty() {
            line.set("tags", array(&mut words.tags.iter().map(String::as_str)));
        }
        line.set_text("origin", Origin::Consolidated.name());
        let uses = |member: &StoredRecord| member.members.valid_integer("usage_count").unwrap_or(0);
        let sources: Vec<(f64, u64)> = self
            .members
            .iter()
            .map(|member| (confidence_of(member), uses(member).max(0).unsigned_abs()))
            .collect();
        line.set("prior", decimal(consolidated_prior(&sources)));
        line.set("source_ids", array(&mut self.members.iter().map(|member| member.id.as_str())));
        line.set_text("consolidation_type", how.name());
        line.set_text("source_attribution", &words.attribution);
        line.set("timestamp", now.to_string());
        line
    }
}

/// Reads a member, with its confidence and uses, as they were derived. Fails if a member is missing or
/// invalid, or the memory is archived.
pub(super) fn member(line: Object) -> Result<StoredRecord> {
    for name in ["id", "partition"] {
        if line.text(name)?.is_none_or(|text| text.is_empty()) {
            return Err(missing(name));
        }
    }
    if line.number("confidence")?.is_some_and(|confidence| !(0.0..=1.0).contains(&confidence)) {
        return Err(invalid("confidence", "must be between 0.0 and 1.0"));
    }
    line.integer("usage_count")?;
    let derived =
        ["confidence", "usage_count", "state"].map(|name| (name, line.get(name).map(str::to_owned)));
    let draft = (MEMORY.read)(line)?;
    let timestamp = draft.timestamp.ok_or_else(|| missing("timestamp"))?;
    let (partition, instance, trace_id) = (None, None, String::new());
    let mut member = draft.complete(&DraftDefaults { partition, instance, trace_id, timestamp, seq: 0 })?;
    let prior = member.members.get("prior").unwrap_or("0").to_owned();
    member.members.set("confidence", prior);
    let given = derived.iter().filter_map(|(name, json)| Some((name, json.as_ref()?)));
    for (name, json) in given.filter(|(_, json)| *json != "null") {
        member.members.set(name, json);
    }
    if !is_active(&member) {
        return Err(RecordError::Archived { id: member.id }.into());
    }
    Ok(member)
}
