//! Visits hits one by one, so that very many need little memory, and the records around them.

use super::quote::note_passages;
use super::{FETCH_GROWTH, Options, parse_terms};
use crate::error::Result;
use crate::record::{Hit, HitEvidence, Scopes, StoredRecord, kinds};
use crate::store::{Around, Select, Store};
use crate::text::{Languages, Occur, SoughtWords};
use std::collections::{HashMap, HashSet};

/// The number of hits that are read together with their neighbours: so few that a store starts no thread for
/// them, whose memory very many hits need.
const PAGE: usize = 32;

/// Visits the hits of a question by its words, best first, without following links; a store that can holds
/// only some of them at once. Hits are dropped by their scores and as duplicates, but all are admitted.
fn visit_alone(
    store: &mut dyn Store,
    question: &str,
    which: &Select,
    options: &Options,
    visit: &mut dyn FnMut(Hit) -> Result<()>,
) -> Result<()> {
    let terms = parse_terms(question)?;
    let sought = SoughtWords::of(question, Languages::of_question(question, store.languages()?));
    let mut is_wanted = options.filter();
    let (mut fetched, mut visited) = (options.limit, 0);
    loop {
        let (mut found, mut last_score) = (0, f64::INFINITY);
        store.visit_found(&terms, Occur::All, which, fetched, &mut |mut hit| {
            found += 1;
            last_score = hit.score;
            // A hit of an earlier, smaller search is a duplicate of itself.
            if visited < options.limit && is_wanted(&hit) {
                visited += 1;
                note_passages(&mut hit, &sought);
                return visit(hit);
            }
            Ok(())
        })?;
        let all = found < fetched || options.min_score.is_some_and(|least| last_score < least);
        if all || !options.deduplicate || visited >= options.limit || fetched >= options.max_fetched {
            return Ok(());
        }
        fetched = fetched.saturating_mul(FETCH_GROWTH).min(options.max_fetched);
    }
}

/// A hit without its record.
struct HitOutline {
    id: String,
    score: f64,
    why: HitEvidence,
    parts: Vec<(String, f64)>,
}

/// Visits the hits of a question by its words, best first, without following links, each with up to `reach`
/// neighbours before and after it as `around` returns them. With `explain`, the hits have the parts of their
/// scores.
pub(super) fn visit_by_words(
    store: &mut dyn Store,
    question: &str,
    which: &Select,
    options: &Options,
    (reach, explain): (usize, bool),
    visit: &mut dyn FnMut(&mut Hit, &Around) -> Result<()>,
) -> Result<()> {
    if reach == 0 {
        let none = Around::default();
        return visit_alone(store, question, which, options, &mut |mut hit| visit(&mut hit, &none));
    }
    // No neighbour is visited that is a hit itself, so all hits must be known first.
    let mut outlines = Vec::new();
    visit_alone(store, question, which, options, &mut |hit| {
        let Hit { record, score, why, mut parts } = hit;
        parts.retain(|_| explain);
        parts.shrink_to_fit();
        outlines.push(HitOutline { id: record.id, score, why, parts });
        Ok(())
    })?;
    let mut neighbours = Neighbours::of(outlines.iter().map(|outline| &outline.id), reach);
    let mut outlines = outlines.into_iter().peekable();
    while outlines.peek().is_some() {
        let page: Vec<HitOutline> = outlines.by_ref().take(PAGE).collect();
        let ids: Vec<&str> = page.iter().map(|outline| outline.id.as_str()).collect();
        let records = store.get(&ids, which)?.into_iter().map(|record| (record.id.clone(), record));
        let mut records: HashMap<String, StoredRecord> = records.collect();
        // A record that was removed meanwhile is not a hit.
        let hits = page.into_iter().filter_map(|HitOutline { id, score, why, parts }| {
            Some(Hit { record: records.remove(&id)?, score, why, parts })
        });
        let mut hits: Vec<Hit> = hits.collect();
        let around = neighbours.read(store, &hits)?;
        hits.iter_mut().zip(&around).try_for_each(|(hit, around)| visit(hit, around))?;
    }
    Ok(())
}

/// The neighbours of each hit in its collection, regardless of the selection of the hits: up to `reach`
/// records before it and as many after it, nearest first. Each record is given once, and no hit is among
/// them.
pub(super) fn around(store: &mut dyn Store, hits: &[Hit], reach: usize) -> Result<Vec<Around>> {
    Neighbours::of(hits.iter().map(|hit| &hit.record.id), reach).read(store, hits)
}

/// Reads the neighbours of hits, each record once.
struct Neighbours {
    reach: usize,
    /// The hits, and the neighbours that were read.
    seen: HashSet<String>,
}

impl Neighbours {
    /// For hits with these ids.
    fn of<'a>(ids: impl Iterator<Item = &'a String>, reach: usize) -> Neighbours {
        let seen = if reach == 0 { HashSet::new() } else { ids.cloned().collect() };
        Neighbours { reach, seen }
    }

    /// The neighbours of each of some hits.
    fn read(&mut self, store: &mut dyn Store, hits: &[Hit]) -> Result<Vec<Around>> {
        if self.reach == 0 {
            return Ok(vec![Around::default(); hits.len()]);
        }
        let found: Vec<&StoredRecord> = hits.iter().map(|hit| &hit.record).collect();
        let mut around = store.around(&found, &Select::records(kinds(), Scopes::All), self.reach)?;
        for side in around.iter_mut().flat_map(|around| [&mut around.before, &mut around.after]) {
            side.retain(|record| self.seen.insert(record.id.clone()));
        }
        Ok(around)
    }
}
