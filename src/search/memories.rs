//! Search among memories: only active ones with enough confidence are found, and consolidated ones count more.

use super::options::Options;
use crate::error::Result;
use crate::memory::{self, PriorRule};
use crate::ranking::weights;
use crate::record::{Hit, MEMORY, Origin, Scopes};
use crate::store::{Select, Store};

/// The number of hits to fetch for each that is wanted, of which those that do not qualify are dropped.
const FETCHED_PER_HIT: usize = 2;

/// The number of hits beyond which no more are fetched only because a consolidated memory may be among them.
const MAX_FETCHED_FOR_BOOST: usize = 200;

/// The filters of a search among memories.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryRule {
    pub(super) prior: PriorRule,
    /// The least confidence; `None` for the floor of the memory's origin.
    pub(super) min_confidence: Option<f64>,
}

/// The hits of a search whose selection may contain memories of some scopes: these have their derived members. `search`
/// is called with greater limits until there are enough.
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
        let wanted = Options { limit, min_score: None, ..options.clone() };
        let found = search(store, &wanted)?;
        // Linked records follow the hits.
        let (mut hits, linked): (Vec<Hit>, Vec<Hit>) = found.into_iter().partition(|hit| hit.hop() == 0);
        let all = hits.len() < limit;
        let lowest = hits.last().map_or(0.0, |hit| hit.score);
        qualify(store, &mut hits, rule)?;
        let hits = Hit::best(hits, options.limit);
        // Records that were not fetched score at most this.
        let bound = lowest * weights::CONSOLIDATED;
        let are_best = !has_consolidated
            || limit >= MAX_FETCHED_FOR_BOOST
            || hits.last().is_none_or(|last| last.score >= bound);
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
