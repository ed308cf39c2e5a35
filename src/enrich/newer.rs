//! Puts what supersedes a recalled message before it.

use super::candidate::{Block, Candidate};
use crate::error::Result;
use crate::record::StoredRecord;
use crate::search::{self, Newer};
use crate::store::{Select, Store};
use std::collections::{HashMap, HashSet};

/// The candidates in their order, before each that is superseded the newest statement within a selection, if
/// it passes. So a budget that keeps what is superseded keeps the newer one too. `by_rule` says whether the
/// rule looks for more than corrections. Fails if the store cannot be read.
pub(super) fn with_newer(
    candidates: Vec<Candidate>,
    which: &Select,
    by_rule: bool,
    store: &mut dyn Store,
    passes: &dyn Fn(&StoredRecord) -> bool,
) -> Result<Vec<Candidate>> {
    let messages = candidates.iter().filter(|candidate| candidate.block() == Block::Messages);
    let records: Vec<&StoredRecord> = messages.map(|candidate| &candidate.record).collect();
    let newer = if by_rule {
        Newer::find_by_rule(store, &records, which)?
    } else {
        let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
        Newer::find(store, &ids, which)?
    };
    let order: Vec<String> = candidates.iter().map(|candidate| candidate.record.id.clone()).collect();
    let mut left: HashMap<String, Candidate> = order.iter().cloned().zip(candidates).collect();
    let (mut ordered, mut placed) = (Vec::new(), HashSet::new());
    for id in &order {
        let Some(mut candidate) = left.remove(id) else { continue };
        let statements = newer.of(id);
        candidate.newer = newer.statements(id);
        if let Some(newest) = statements.into_iter().next().filter(|newest| !placed.contains(&newest.id)) {
            let known = left.remove(&newest.id);
            let found = || Candidate::new(newest.clone(), candidate.score, candidate.hop);
            ordered.extend(known.or_else(|| passes(newest).then(found)));
            placed.insert(newest.id.clone());
        }
        placed.insert(id.clone());
        ordered.push(candidate);
    }
    Ok(ordered)
}

/// Marks the memories among candidates that were made of what is superseded. Fails if the store does.
pub(super) fn mark_stale(
    candidates: &mut [Candidate],
    which: &Select,
    by_rule: bool,
    store: &mut dyn Store,
) -> Result<()> {
    let memories: Vec<&StoredRecord> = candidates.iter().map(|candidate| &candidate.record).collect();
    let mut stale = search::stale(store, &memories, which, by_rule)?;
    for candidate in candidates {
        candidate.newer = stale.remove(&candidate.record.id).unwrap_or_default();
    }
    Ok(())
}
