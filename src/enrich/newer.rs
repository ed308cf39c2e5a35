//! Puts what supersedes a recalled message before it.

use super::candidate::{Block, Candidate};
use crate::error::Result;
use crate::record::StoredRecord;
use crate::search::Newer;
use crate::store::{Select, Store};
use std::collections::{HashMap, HashSet};

/// The candidates in their order, before each that was corrected the newest correction within a selection, if it
/// passes. So a budget that keeps what was corrected keeps the correction too.
pub(super) fn with_newer(
    candidates: Vec<Candidate>,
    which: &Select,
    store: &mut dyn Store,
    passes: &dyn Fn(&StoredRecord) -> bool,
) -> Result<Vec<Candidate>> {
    let messages = candidates.iter().filter(|candidate| candidate.block() == Block::Messages);
    let ids: Vec<&str> = messages.map(|candidate| candidate.record.id.as_str()).collect();
    let newer = Newer::find(store, &ids, which)?;
    let order: Vec<String> = candidates.iter().map(|candidate| candidate.record.id.clone()).collect();
    let mut left: HashMap<String, Candidate> = order.iter().cloned().zip(candidates).collect();
    let (mut ordered, mut placed) = (Vec::new(), HashSet::new());
    for id in &order {
        let Some(mut candidate) = left.remove(id) else { continue };
        let statements = newer.of(id);
        candidate.newer = statements.iter().map(|record| record.id.clone()).collect();
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
