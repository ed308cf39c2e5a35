//! The stored memories that are near those of a commit.

use crate::backfill;
use crate::cli::Diagnostics;
use crate::embed::{Embedder, InputType};
use crate::error::Result;
use crate::memory::{self, PriorRule};
use crate::record::{Commit, DraftDefaults, Hit, MEMORY, NEAR, Object, Scopes, StoredRecord};
use crate::store::{Select, Store, topic_terms};
use crate::text::Occur;

/// The greatest number of memories that are near one.
const MAX_NEAR: usize = 5;
/// The least cosine of one, if there is a model.
const MIN_COSINE: f64 = 0.7;
/// The number of memories that are read for one; those of other categories are dropped.
const FETCHED: usize = 50;

/// Finds memories of the same partition and category, by meaning if there is an embedder, else by words.
pub struct Nearness<'a> {
    pub embedder: Option<&'a mut Embedder>,
    pub prior: PriorRule,
}

impl Nearness<'_> {
    /// Adds to each memory of a commit the active ones that are near it, best first, each with its
    /// `similarity` or, without a model, its score by words as `keyword`.
    pub fn add_to(&mut self, commit: &mut Commit, store: &mut dyn Store) -> Result<()> {
        drop_forgotten(commit, store)?;
        let which = Select::records(vec![&MEMORY], Scopes::Partition(commit.scope.partition.clone()));
        let texts = commit.memories.iter().map(embedded_text).collect::<Result<Vec<String>>>()?;
        let vectors = self.vectors(&texts)?;
        let name = if vectors.is_empty() { "keyword" } else { "similarity" };
        for (at, candidate) in commit.memories.iter_mut().enumerate() {
            let hits = match (&self.embedder, vectors.get(at)) {
                (Some(embedder), Some(vector)) => {
                    let mut hits = store.nearest(embedder.model(), vector, &which, FETCHED)?;
                    hits.retain(|hit| hit.score >= MIN_COSINE);
                    hits
                }
                _ => by_words(store, &texts[at], &which)?,
            };
            let near = self.near(candidate, hits, store)?;
            let lines: Result<Vec<String>> =
                near.iter().map(|(one, score)| near_line(one, name, *score)).collect();
            candidate.set(NEAR, format!("[{}]", lines?.join(",")));
        }
        Ok(())
    }

    /// The vectors of some texts, each of length 1; none without an embedder.
    fn vectors(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        match &mut self.embedder {
            Some(embedder) if !texts.is_empty() => {
                embedder.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>(), InputType::Passage)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The active memories among some hits that are of a candidate's category, with their scores.
    fn near(
        &self,
        candidate: &Object,
        hits: Vec<Hit>,
        store: &mut dyn Store,
    ) -> Result<Vec<(StoredRecord, f64)>> {
        let (id, category) = (candidate.text("id")?, candidate.text("category")?.unwrap_or_default());
        let is_other = |hit: &Hit| Some(&hit.record.id) != id.as_ref() && hit.record.category() == category;
        let (records, scores): (Vec<StoredRecord>, Vec<f64>) =
            hits.into_iter().filter(is_other).map(|hit| (hit.record, hit.score)).unzip();
        let (mut records, mut scores) = (records.into_iter(), scores.into_iter());
        let mut near = Vec::new();
        while near.len() < MAX_NEAR {
            // Most are active, so that the first ones suffice.
            let mut next: Vec<StoredRecord> = records.by_ref().take(MAX_NEAR).collect();
            if next.is_empty() {
                break;
            }
            memory::derive_untimed(store, &mut next, self.prior)?;
            near.extend(next.into_iter().zip(scores.by_ref()).filter(|(one, _)| memory::is_active(one)));
        }
        near.truncate(MAX_NEAR);
        Ok(near)
    }
}

/// Removes from a commit the memories with forgotten words, so that they are not merged into others.
fn drop_forgotten(commit: &mut Commit, store: &mut dyn Store) -> Result<()> {
    let scope = &commit.scope;
    let complete = |line: &Object| {
        let mut draft = (MEMORY.read)(line.clone())?;
        draft.partition.get_or_insert_with(|| scope.partition.clone());
        draft.complete(&DraftDefaults::default())
    };
    let memories = commit.memories.iter().map(complete).collect::<Result<Vec<StoredRecord>>>()?;
    let are_forgotten = store.are_kept_out(&memories)?;
    for (line, is_forgotten) in std::mem::take(&mut commit.memories).into_iter().zip(are_forgotten) {
        if !is_forgotten {
            commit.memories.push(line);
            continue;
        }
        let mut step = Object::default();
        step.set_text("kind", "step");
        step.set_text("event", "skip");
        for member in ["uri", "id"] {
            step.set_text(member, &line.text(member)?.unwrap_or_default());
        }
        step.set_text("reason", "it was forgotten");
        commit.steps.push(step);
    }
    Ok(())
}

/// The text of a memory that is compared.
fn embedded_text(memory: &Object) -> Result<String> {
    Ok((MEMORY.read)(memory.clone())?.embedded_text().unwrap_or_default())
}

fn by_words(store: &mut dyn Store, text: &str, which: &Select) -> Result<Vec<Hit>> {
    let terms = topic_terms(text, store.languages()?);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    Ok(store.find(&terms, Occur::Any, which, FETCHED)?)
}

/// Embeds the memories of a partition that lack a vector, as a search does.
pub fn embed_pending(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    partition: &str,
    limit: usize,
    diagnostics: &Diagnostics,
) {
    let which = Select::records(vec![&MEMORY], Scopes::Partition(partition.to_owned()));
    backfill::catch_up(store, embedder, &which, limit, diagnostics);
}

fn near_line(record: &StoredRecord, name: &str, score: f64) -> Result<String> {
    let mut line = Vec::new();
    record.write(&mut line);
    let mut line = Object::parse_bytes(&line)?;
    line.set(name, memory::decimal(score));
    Ok(line.to_json())
}
