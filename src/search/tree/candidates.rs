//! The nodes that words and meaning find below the targets, with their own scores.
//!
//! The own score of a node is that of every hybrid search, and a part for the way in which it has the words
//! of the question: for the neighbours among them that are neighbours in its texts, and for those in its
//! title and its headings. An author puts there what a section is about, and a term of several words names
//! one thing. Words that few candidates have count more. A directory without a text of its own repeats its
//! descendants, and answers less. `scripts/bench tree` measures the worth of each, and of the ways through
//! the tree.

use super::step::{Exclusion, Step};
use crate::error::Result;
use crate::ranking::weights;
use crate::record::{Address, Hit};
use crate::search::options::{By, Options};
use crate::search::request::Request;
use crate::store::{Select, Store};
use crate::text::{Coverage, Languages, Phrasing};
use std::collections::HashMap;

/// A node with a score of its own.
pub(super) struct Candidate {
    pub(super) address: Address,
    /// Its own score.
    pub(super) own: f64,
    /// The hit that it may be; its score is the final one.
    pub(super) hit: Hit,
    /// Whether its directory was visited.
    pub(super) is_visited: bool,
}

impl Candidate {
    /// A candidate whose final score is its own; `None` for a record that has no place in the tree.
    fn of(hit: Hit) -> Option<Candidate> {
        Some(Candidate { address: hit.record.tree_address()?, own: hit.score, hit, is_visited: true })
    }

    /// The step for a candidate that is no hit.
    pub(super) fn excluded(self, reason: Exclusion, same_as: Option<Address>) -> Step {
        let score = Some(self.hit.score).filter(|_| self.is_visited);
        Step::Excluded { uri: self.address, reason, own: Some(self.own), score, same_as }
    }

    /// The step for a candidate whose final score is its own.
    pub(super) fn step(&self) -> Step {
        Step::Candidate { uri: self.address.clone(), own: self.own, parent: None, score: self.hit.score }
    }
}

/// The best nodes of a selection by words and meaning, in no order. Fails as a search does.
pub(super) fn candidates(
    store: &mut dyn Store,
    by: &mut By,
    request: &Request,
    which: &Select,
) -> Result<Vec<Candidate>> {
    let limit = weights::MIN_NODES.max(request.options.limit.saturating_mul(weights::NODES_PER_HIT));
    let options = Options { clock: request.options.clock, ..Options::new(limit) };
    let mut found = Vec::new();
    for question in &request.questions {
        let by = by.again();
        let is_ranked = !matches!(by, By::Words | By::Meaning(..));
        let mut hits = super::super::find(store, by, question, which, &options)?.hits;
        if is_ranked {
            let languages = Languages::of_question(question, store.languages()?);
            add_phrasing(&Phrasing::of(question, languages), &mut hits);
            hits.iter_mut().filter(|hit| is_outline(hit)).for_each(|hit| hit.scale(weights::OUTLINE));
        }
        add_best(&mut found, hits);
    }
    if !request.context.trim().is_empty() {
        add_context(&mut found, super::super::find(store, By::Any, &request.context, which, &options)?.hits);
    }
    Ok(found)
}

/// Adds to the scores for the positions of a question's words in each text.
fn add_phrasing(phrasing: &Phrasing, hits: &mut [Hit]) {
    let text = |hit: &Hit| hit.record.indexed_text().unwrap_or_default().into_owned();
    let texts: Vec<String> = hits.iter().map(text).collect();
    let coverages: Vec<Coverage> = texts.iter().map(|text| phrasing.coverage(text)).collect();
    let idf = phrasing.idf(&coverages);
    for ((hit, text), coverage) in hits.iter_mut().zip(&texts).zip(&coverages) {
        let mut headings = phrasing.coverage(&hit.record.member_text("title"));
        for heading in text.lines().filter_map(|line| line.strip_prefix('#')) {
            headings.add(&phrasing.coverage(heading));
        }
        let parts = [
            ("pairs", weights::PAIRS * idf.share_of_pairs(coverage)),
            ("headings", weights::HEADINGS * idf.share_of_words(&headings)),
        ];
        for (name, part) in parts.into_iter().filter(|(_, part)| *part > 0.0) {
            hit.score += part;
            hit.parts.push((name.to_owned(), part));
        }
    }
}

/// Whether a document only summarizes its descendants.
fn is_outline(hit: &Hit) -> bool {
    hit.record.is_directory() && hit.record.text.trim().is_empty()
}

/// Adds the hits of one of several questions: of two hits with one record, the better one is kept.
pub(super) fn add_best(found: &mut Vec<Candidate>, hits: Vec<Hit>) {
    let mut positions = positions(found);
    for candidate in hits.into_iter().filter_map(Candidate::of) {
        match positions.get(&candidate.hit.record.id) {
            None => {
                positions.insert(candidate.hit.record.id.clone(), found.len());
                found.push(candidate);
            }
            Some(at) if found[*at].own < candidate.own => found[*at] = candidate,
            Some(_) => {}
        }
    }
}

/// Adds a part of the scores of the hits by the words of the context.
fn add_context(found: &mut Vec<Candidate>, hits: Vec<Hit>) {
    let mut positions = positions(found);
    for hit in hits {
        let Some(mut candidate) = Candidate::of(hit) else { continue };
        let added = candidate.own * weights::CONTEXT;
        let at = *positions.entry(candidate.hit.record.id.clone()).or_insert_with(|| {
            (candidate.own, candidate.hit.score) = (0.0, 0.0);
            candidate.hit.parts.clear();
            found.push(candidate);
            found.len() - 1
        });
        let candidate = &mut found[at];
        candidate.own += added;
        candidate.hit.score += added;
        candidate.hit.parts.push(("context".to_owned(), added));
    }
}

fn positions(found: &[Candidate]) -> HashMap<String, usize> {
    found.iter().enumerate().map(|(at, one)| (one.hit.record.id.clone(), at)).collect()
}
