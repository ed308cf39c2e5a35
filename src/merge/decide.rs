//! Decides about the memories of a commit: each is skipped, created, merged into a stored one, or takes its
//! place.

use super::cluster::{ConsolidationType, MAX_CONTENT_CHARS};
use super::decide_by_model::by_model;
use super::decision::{Candidate, Decision};
use super::prior::consolidated_prior;
use super::sentences::{SentenceMerger, key};
use crate::error::Result;
use crate::memory::{confidence_of, decimal};
use crate::record::{Commit, EXTRACTED_FROM_MEMBER, MEMORY, Object, Origin, StoredRecord, id, quote, texts};
use crate::structured::Model;

/// The category of which a partition has one memory that grows.
const PROFILE: &str = "profile";

/// Decides about the memories of a commit, by a model if there is one; the decisions become steps. `note`
/// gets the reason if a model fails for a candidate, about which the rule decides then.
pub fn decide(mut commit: Commit, model: Option<&Model>, note: &mut dyn FnMut(String)) -> Result<Commit> {
    let mut decided = Decided::default();
    for line in std::mem::take(&mut commit.memories) {
        let candidate = Candidate::read(line)?;
        let (decision, reason) = match model.filter(|_| !candidate.near.is_empty()) {
            None => by_rule(&candidate),
            Some(model) => by_model(&candidate, model).unwrap_or_else(|error| {
                note(format!("{}: decided by rule: {error}", quote(&candidate.text("title"))));
                by_rule(&candidate)
            }),
        };
        decided.apply(candidate, decision, &reason);
    }
    commit.memories = decided.memories;
    commit.steps.extend(decided.steps);
    Ok(commit)
}

/// The same words skip, a profile is merged, all else is created.
fn by_rule(candidate: &Candidate) -> (Decision, String) {
    let words = format!(" {} ", key(&candidate.text("content")));
    let says_it = |near: &StoredRecord| format!(" {} ", key(&near.text)).contains(&words);
    if let Some(at) = candidate.near.iter().position(says_it) {
        return (Decision::Skip(at), "it says the same".to_owned());
    }
    if candidate.text("category") == PROFILE && !candidate.near.is_empty() {
        return (Decision::Merge(0, None), "there is one profile".to_owned());
    }
    (Decision::Create, String::new())
}

/// The memories and steps of the decisions so far.
#[derive(Default)]
struct Decided {
    memories: Vec<Object>,
    steps: Vec<Object>,
    /// The memories of the commit that take the place of stored ones: the id of the stored one, and a
    /// position.
    replaced: Vec<(String, usize)>,
}

impl Decided {
    fn apply(&mut self, candidate: Candidate, decision: Decision, reason: &str) {
        let (event, at) = match &decision {
            Decision::Skip(at) => ("skip", Some(*at)),
            Decision::Create => ("create", None),
            Decision::Merge(at, _) => ("merge", Some(*at)),
            Decision::ArchiveAndCreate(at) => ("archive_and_create", Some(*at)),
        };
        let near = at.map(|at| &candidate.near[at]);
        let mut step = Object::default();
        step.set_text("kind", "step");
        step.set_text("event", event);
        for (member, text) in [("uri", candidate.text("uri")), ("id", candidate.text("id"))] {
            step.set_text(member, &text);
        }
        if let Some(near) = near {
            step.set_text("of", &near.id);
            for score in ["similarity", "keyword"] {
                if let Some(json) = near.members.get(score) {
                    step.set("score", json);
                }
            }
        }
        if !reason.is_empty() {
            step.set_text("reason", reason);
        }
        let line = match decision {
            Decision::Skip(_) => None,
            Decision::Create => Some(candidate.line),
            Decision::Merge(at, words) => self.merged(&candidate, &candidate.near[at], words),
            Decision::ArchiveAndCreate(at) => self.in_place(&candidate, &candidate.near[at]),
        };
        if let Some(line) = line {
            step.set_text("id", &line.valid_text("id").unwrap_or_default());
            self.memories.push(line);
        }
        self.steps.push(step);
    }

    /// A memory with the words of a stored one and the candidate; `None` if one of the commit already took
    /// its place, to which the candidate is added.
    fn merged(
        &mut self,
        candidate: &Candidate,
        near: &StoredRecord,
        words: Option<[String; 2]>,
    ) -> Option<Object> {
        let content = candidate.text("content");
        if let Some((_, at)) = self.replaced.iter().find(|(id, _)| *id == near.id) {
            let known = self.memories[*at].valid_text("content").unwrap_or_default();
            self.memories[*at].set_text("content", &joined(&known, &content));
            let messages =
                [&self.memories[*at], &candidate.line].map(|line| texts_of(line, EXTRACTED_FROM_MEMBER));
            set_texts(&mut self.memories[*at], EXTRACTED_FROM_MEMBER, &messages.concat());
            return None;
        }
        let how = if words.is_some() { ConsolidationType::Synthesized } else { ConsolidationType::Merged };
        let [title, content] =
            words.unwrap_or_else(|| [near.member_text("title"), joined(&near.text, &content)]);
        let attribution =
            format!("Merged from a session and the memory {}", quote(&near.member_text("title")));
        Some(self.replacement(candidate, near, how, &[&title, &content, &attribution]))
    }

    /// The candidate in the place of a stored memory; as it is, if one of the commit already took that place.
    fn in_place(&mut self, candidate: &Candidate, near: &StoredRecord) -> Option<Object> {
        if self.replaced.iter().any(|(id, _)| *id == near.id) {
            return Some(candidate.line.clone());
        }
        let (title, content) = (candidate.text("title"), candidate.text("content"));
        let attribution = format!("Takes the place of the memory {}", quote(&near.member_text("title")));
        let how = ConsolidationType::Synthesized;
        Some(self.replacement(candidate, near, how, &[&title, &content, &attribution]))
    }

    fn replacement(
        &mut self,
        candidate: &Candidate,
        near: &StoredRecord,
        how: ConsolidationType,
        [title, content, attribution]: &[&str; 3],
    ) -> Object {
        let uses = near.members.valid_integer("usage_count").unwrap_or_default().max(0).unsigned_abs();
        let prior = consolidated_prior(&[(confidence_of(near), uses), (Origin::Extracted.prior(None), 0)]);
        // Only for the id: a line without a time gets one when it is stored.
        let timestamp = candidate.line.valid_integer("timestamp").unwrap_or_default();
        let mut tags = near.member_texts("tags");
        tags.extend(texts_of(&candidate.line, "tags"));
        let mut line = candidate.line.clone();
        line.set_text("kind", MEMORY.name);
        line.set_text("id", &id::derived(timestamp, &["merged", &candidate.text("id"), &near.id, content]));
        line.set_text("title", title);
        line.set_text("content", content);
        line.set_text("origin", Origin::Consolidated.name());
        line.set("prior", decimal(prior));
        if !tags.is_empty() {
            set_texts(&mut line, "tags", &tags);
        }
        line.set("source_ids", format!("[{}]", quote(&near.id)));
        line.set_text("consolidation_type", how.name());
        line.set_text("source_attribution", attribution);
        self.replaced.push((near.id.clone(), self.memories.len()));
        line
    }
}

/// The sentences of both texts, each once.
fn joined(one: &str, other: &str) -> String {
    let mut merger = SentenceMerger::default();
    for text in [one, other] {
        merger.add(text, MAX_CONTENT_CHARS);
    }
    merger.finish()
}

fn texts_of(line: &Object, member: &str) -> Vec<String> {
    texts(line, member).ok().flatten().unwrap_or_default()
}

/// Sets a list of texts, each once.
fn set_texts(line: &mut Object, member: &str, texts: &[String]) {
    let mut unique: Vec<String> = Vec::new();
    for text in texts.iter().map(|text| quote(text)) {
        if !unique.contains(&text) {
            unique.push(text);
        }
    }
    line.set(member, format!("[{}]", unique.join(",")));
}
