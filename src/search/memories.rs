//! Search among memories: only active ones with enough confidence are found, and consolidated ones count
//! more.

use super::options::Options;
use crate::error::Result;
use crate::memory::{self, PriorRule};
use crate::ranking::weights;
use crate::record::{Hit, MEMORY, Origin, Scopes, StoredRecord};
use crate::store::{Select, Store};
use std::cmp::Ordering;

/// The number of hits to fetch for each that is wanted, of which those that do not qualify are dropped.
const FETCHED_PER_HIT: usize = 2;

/// The number of hits beyond which no more are fetched only because a consolidated memory, or one of the same
/// score and a higher confidence, may be among them.
const MAX_FETCHED_FOR_ORDER: usize = 200;

/// The filters of a search among memories.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryRule {
    pub(super) prior: PriorRule,
    /// The least confidence; `None` for the floor of the memory's origin.
    pub(super) min_confidence: Option<f64>,
}

/// The hits of a search whose selection may contain memories of some scopes: these have their derived
/// members. `search` is called with greater limits until there are enough. Fails if `search` does, or the
/// store cannot be read.
pub(super) fn run_with_memories(
    store: &mut dyn Store,
    scopes: &Scopes,
    options: &Options,
    rule: MemoryRule,
    mut search: impl FnMut(&mut dyn Store, &Options) -> Result<Vec<Hit>>,
) -> Result<Vec<Hit>> {
    let mut limit = options.limit.saturating_mul(FETCHED_PER_HIT);
    let has_consolidated = has_consolidated(store, scopes)?;
    loop {
        // Of those that say the same, the best is the one with the highest confidence, which is not known
        // yet.
        let wanted = Options { limit, min_score: None, deduplicate: false, ..options.clone() };
        let found = search(store, &wanted)?;
        // Linked records follow the hits.
        let (mut hits, linked): (Vec<Hit>, Vec<Hit>) = found.into_iter().partition(|hit| hit.hop() == 0);
        let all = hits.len() < limit;
        let lowest = hits.last().map_or(0.0, |hit| hit.score);
        qualify(store, &mut hits, rule)?;
        let hits = best(hits, options);
        // Records that were not fetched score at most this. One of the same score may have a higher
        // confidence.
        let bound = if has_consolidated { lowest * weights::CONSOLIDATED } else { lowest };
        let are_best = limit >= MAX_FETCHED_FOR_ORDER || hits.last().is_none_or(|last| last.score > bound);
        if all || are_best && hits.len() >= options.limit || limit >= options.max_fetched {
            return finish(store, hits, linked, options, rule);
        }
        limit = limit.saturating_mul(4).min(options.max_fetched);
    }
}

/// Whether any memory of some scopes is consolidated.
fn has_consolidated(store: &mut dyn Store, scopes: &Scopes) -> Result<bool> {
    let key = Some(Origin::Consolidated.name().to_owned());
    let which = Select { key, ..Select::records(vec![&MEMORY], scopes.clone()) };
    Ok(store.count(&which, 1)? > 0)
}

/// The best hits in their order: by score, then by confidence, which other records than memories do not have,
/// then newest first, then by id; with `deduplicate`, of those that say the same only the best.
fn best(hits: Vec<Hit>, options: &Options) -> Vec<Hit> {
    let mut hits = Hit::best(hits, usize::MAX);
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| by_confidence(&a.record, &b.record)));
    let others = Options { min_score: None, admits: &|_| true, ..options.clone() };
    hits.retain(others.filter());
    hits.truncate(options.limit);
    hits
}

/// The order of two records of the same score: the one with the higher confidence first.
pub(super) fn by_confidence(a: &StoredRecord, b: &StoredRecord) -> Ordering {
    let confidence =
        |record: &StoredRecord| if record.kind == &MEMORY { memory::confidence_of(record) } else { 0.0 };
    confidence(b).total_cmp(&confidence(a))
}

/// Drops memories that do not qualify, and raises the scores of consolidated ones.
fn qualify(store: &mut dyn Store, hits: &mut Vec<Hit>, rule: MemoryRule) -> Result<()> {
    memory::derive_untimed(store, hits.iter_mut().map(|hit| &mut hit.record), rule.prior)?;
    hits.retain(|Hit { record, .. }| {
        record.kind != &MEMORY || memory::is_active(record) && memory::is_trusted(record, rule.min_confidence)
    });
    for hit in hits {
        if hit.record.kind == &MEMORY && Origin::of(&hit.record) == Origin::Consolidated {
            let added = hit.score * (weights::CONSOLIDATED - 1.0);
            hit.score += added;
            hit.parts.push(("consolidated".to_owned(), added));
        }
    }
    Ok(())
}

/// The hits with a score that is high enough, followed by the records linked to them.
fn finish(
    store: &mut dyn Store,
    mut hits: Vec<Hit>,
    mut linked: Vec<Hit>,
    options: &Options,
    rule: MemoryRule,
) -> Result<Vec<Hit>> {
    if let Some(least) = options.min_score {
        hits.retain(|hit| hit.score >= least);
        linked.retain(|hit| hit.score >= least);
    }
    qualify(store, &mut linked, rule)?;
    linked.truncate(options.limit);
    hits.append(&mut linked);
    memory::derive_times(store, hits.iter_mut().map(|hit| &mut hit.record))?;
    Ok(hits)
}
