//! The hits of a search, and their evidence.

use super::object::{Object, quote};
use super::query::Query;
use super::recall_rule::{RULE, RecallRule};
use super::stored::StoredRecord;
use std::ops::Range;

/// A record that a search found.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    pub record: StoredRecord,
    /// The score by which hits are ordered, highest first.
    pub score: f64,
    pub why: HitEvidence,
    /// The parts that add up to the score, by name.
    pub parts: Vec<(String, f64)>,
}

/// The evidence for a hit.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HitEvidence {
    /// The score by words: BM25 times the part of the question's words that it holds.
    pub keyword: Option<f64>,
    /// The part of the question's words that it holds, weighed by their rarity, 0 to 1.
    pub share: Option<f64>,
    /// The raw cosine of its vector with the question's.
    pub similarity: Option<f64>,
    /// The part of the score that comes from its neighbours in the conversation.
    pub around: Option<f64>,
    /// The estimated probability that it is related to the question.
    pub relevance: Option<f64>,
    /// The link by which it was reached, unless it is a hit itself.
    pub via: Option<LinkHop>,
    /// The kinds of the secrets that it holds, where secrets are searched for.
    pub secrets: Vec<String>,
    /// The byte ranges of a long message's text that answer the question, a member of the hit itself; `None`
    /// if all of it is quoted.
    pub quoted: Option<Vec<Range<usize>>>,
    /// Whether it is recalled. A member of the hit itself, unless it is `Auto`.
    pub rule: RecallRule,
    /// The statements that supersede it, newest first; a member of the hit itself.
    pub newer: Vec<NewerStatement>,
}

/// The reason of a link CORRECTS.
const CORRECTED: &str = "corrected";
/// All reasons: a correction; a phrase that tells a change; another value of the same; a denial.
const REASONS: [&str; 4] = [CORRECTED, "changed", "value", "denied"];

/// A later statement that supersedes another one.
#[derive(Clone, PartialEq, Debug)]
pub struct NewerStatement {
    pub id: String,
    /// How it is known: `corrected` by a link; or the rule's reason.
    pub reason: &'static str,
}

impl NewerStatement {
    /// One that a link CORRECTS leads from.
    pub fn corrected(id: &str) -> NewerStatement {
        NewerStatement { id: id.to_owned(), reason: CORRECTED }
    }

    /// Whether a person or a program has said that it corrects the other.
    pub fn is_correction(&self) -> bool {
        self.reason == CORRECTED
    }

    /// Reads one of an account. `None` if it is of another shape.
    pub(super) fn parse(entry: &Object) -> Option<NewerStatement> {
        let reason = entry.text("reason").ok()??;
        let reason = REASONS.into_iter().find(|known| *known == reason)?;
        Some(NewerStatement { id: entry.text("id").ok()??, reason })
    }
}

/// The last step on the way from a hit to a record along links.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkHop {
    /// The number of steps from the hit, from 1.
    pub hop: usize,
    /// The id of the record before it.
    pub from: String,
}

impl HitEvidence {
    /// The member `why` of a hit, without `share`, which is for the ranking alone, and without what are
    /// members of the hit itself.
    fn to_object(&self) -> Object {
        let mut object = Object::default();
        let numbers = [
            ("keyword", self.keyword),
            ("similarity", self.similarity),
            ("around", self.around),
            ("relevance", self.relevance),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                object.set(name, number.to_string());
            }
        }
        if !self.secrets.is_empty() {
            let secrets: Vec<String> = self.secrets.iter().map(|kind| quote(kind)).collect();
            object.set("secrets", format!("[{}]", secrets.join(",")));
        }
        if let Some(LinkHop { hop, from }) = &self.via {
            object.set("hop", hop.to_string());
            object.set_text("via", from);
        }
        object
    }
}

/// The name of the score by words among the parts of a score.
pub const KEYWORD: &str = "keyword";
/// The name of the cosine among them.
pub const SIMILARITY: &str = "similarity";

impl Hit {
    /// A record that words found, with the part of the question's words that it holds if that is known.
    pub fn by_words(record: StoredRecord, score: f64, share: Option<f64>) -> Hit {
        let why = HitEvidence { keyword: Some(score), share, ..HitEvidence::default() };
        Hit { record, score, why, parts: vec![(KEYWORD.to_owned(), score)] }
    }

    /// A record whose vector has this cosine with the question's.
    pub fn by_meaning(record: StoredRecord, cosine: f64) -> Hit {
        let why = HitEvidence { similarity: Some(cosine), ..HitEvidence::default() };
        Hit { record, score: cosine, why, parts: vec![(SIMILARITY.to_owned(), cosine)] }
    }

    /// A record, without its secrets, that holds secrets of these kinds.
    pub fn by_secrets(record: StoredRecord, secrets: Vec<String>) -> Hit {
        let score = secrets.len() as f64;
        Hit { record, score, why: HitEvidence { secrets, ..HitEvidence::default() }, parts: Vec::new() }
    }

    /// A record that was found by conditions alone.
    pub fn unranked(record: StoredRecord) -> Hit {
        Hit { record, score: 0.0, why: HitEvidence::default(), parts: Vec::new() }
    }

    /// Whether its score says anything.
    pub fn is_ranked(&self) -> bool {
        self.score != 0.0 || self.why.keyword.is_some() || self.why.similarity.is_some()
    }

    /// The number of links from a hit to this record; 0 for a hit itself.
    pub fn hop(&self) -> usize {
        self.why.via.as_ref().map_or(0, |via| via.hop)
    }

    /// Multiplies the score and its parts.
    pub fn scale(&mut self, factor: f64) {
        self.score *= factor;
        self.parts.iter_mut().for_each(|(_, part)| *part *= factor);
    }

    /// The best hits in their order: by score, then newest first, then by id.
    pub fn best(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
        hits.sort_by(|a, b| {
            let by_time = b.record.timestamp.cmp(&a.record.timestamp);
            b.score.total_cmp(&a.score).then(by_time).then_with(|| a.record.id.cmp(&b.record.id))
        });
        hits.truncate(limit);
        hits
    }

    /// Appends the hit as one line; `rank` counts from 1. Of many questions, `query` names the one. With
    /// `explain` the parts of the score are written too.
    pub fn write_line(&self, rank: usize, explain: bool, query: Option<&Query>, out: &mut Vec<u8>) {
        let mut why = self.why.to_object();
        if explain {
            let mut parts = Object::default();
            for (name, part) in &self.parts {
                parts.set(name, part.to_string());
            }
            why.set("parts", parts.to_json());
        }
        let rule = match self.why.rule {
            RecallRule::Auto => String::new(),
            rule => format!(",\"{RULE}\":{}", quote(rule.name())),
        };
        let quoted = self.why.quoted.as_deref().map_or(String::new(), quoted_member);
        let newer = newer_member(&self.why.newer);
        let members = format!("{rule}{newer},\"rank\":{rank},\"score\":{}{quoted}", self.score);
        write_found(&self.record, HIT_KIND, &members, &why, query, out);
    }

    /// Appends a neighbour of the hit as one line.
    pub fn write_neighbour(&self, record: &StoredRecord, query: Option<&Query>, out: &mut Vec<u8>) {
        let mut why = Object::default();
        why.set_text("context", &self.record.id);
        write_found(record, record.kind.name, "", &why, query, out);
    }
}

/// The member `quoted`, with a comma in front: an array of pairs, the first byte of each range and the one
/// after its last.
pub(super) fn quoted_member(ranges: &[Range<usize>]) -> String {
    let ranges: Vec<String> = ranges.iter().map(|range| format!("[{},{}]", range.start, range.end)).collect();
    format!(",\"quoted\":[{}]", ranges.join(","))
}

/// The member `newer`, with a comma in front; nothing where nothing is newer.
pub(super) fn newer_member(newer: &[NewerStatement]) -> String {
    if newer.is_empty() {
        return String::new();
    }
    format!(",\"newer\":{}", newer_json(newer))
}

/// The statements as a JSON array of objects with `id` and `reason`.
pub fn newer_json(newer: &[NewerStatement]) -> String {
    let newer: Vec<String> = newer
        .iter()
        .map(|NewerStatement { id, reason }| format!("{{\"id\":{},\"reason\":{}}}", quote(id), quote(reason)))
        .collect();
    format!("[{}]", newer.join(","))
}

/// The kind of the line of a hit.
const HIT_KIND: &str = "hit";

/// The kind of the found record if a hit does not name it.
const DEFAULT_HIT_RECORD: &str = "message";

/// The members that a search adds. Members of the record with these names, from a stored hit of an earlier
/// search, are left out.
const SEARCH_MEMBERS: [&str; 7] = ["rank", "score", "quoted", "newer", "why", "query", RULE];

/// Appends a record that a search found as one line; `members` come first, with a comma in front.
fn write_found(
    record: &StoredRecord,
    kind: &str,
    members: &str,
    why: &Object,
    query: Option<&Query>,
    out: &mut Vec<u8>,
) {
    let found = if kind == HIT_KIND && record.kind.name != DEFAULT_HIT_RECORD {
        format!(",\"record\":{}", quote(record.kind.name))
    } else {
        String::new()
    };
    let is_added = |name: &str| SEARCH_MEMBERS.contains(&name) || !found.is_empty() && name == "record";
    out.push(b'{');
    if record.members.iter().any(|(name, _)| is_added(name)) {
        let mut record = record.clone();
        record.members.retain(|name| !is_added(name));
        record.write_members(kind, out);
    } else {
        record.write_members(kind, out);
    }
    let query = query.map_or(String::new(), |query| format!(",\"query\":{}", query.name));
    out.extend_from_slice(format!("{found}{members},\"why\":{}{query}}}\n", why.to_json()).as_bytes());
}
