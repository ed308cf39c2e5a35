//! The newest actions of a selection, for a question without words.

use super::options::Options;
use crate::error::Result;
use crate::record::{ActionFilter, Hit};
use crate::store::{Select, Store};
use crate::text::{Occur, Term};

/// The records that are read at a time: at first, and at most.
const FIRST_BATCH: usize = 256;
const MAX_BATCH: usize = 8192;

/// The newest records of a selection that the options admit, newest first. They have no scores, so that none
/// is too low.
pub(super) fn find(store: &mut dyn Store, which: &Select, options: &Options) -> Result<Vec<Hit>> {
    let options = &Options { min_score: None, ..options.clone() };
    let mut is_wanted = options.filter();
    let terms = terms(&options.actions);
    let (mut hits, mut which, mut batch) = (Vec::new(), which.clone(), FIRST_BATCH);
    let mut is_last = false;
    while !is_last && hits.len() < options.limit {
        let mut records = if batch == FIRST_BATCH || terms.is_empty() {
            let records = store.last_of(&which, batch)?;
            is_last = records.len() < batch;
            records
        } else {
            // They are rare, so that their words find them sooner than their times.
            is_last = true;
            let found = store.find(&terms, Occur::All, &which, usize::MAX)?;
            found.into_iter().map(|hit| hit.record).collect()
        };
        records.sort_by_cached_key(|record| record.position());
        which.before = records.first().map(|record| record.position());
        hits.extend(records.into_iter().rev().map(Hit::unranked).filter(|hit| is_wanted(hit)));
        batch = (batch * 2).min(MAX_BATCH);
    }
    hits.truncate(options.limit);
    Ok(hits)
}

/// The terms that all of some actions hold.
pub(super) fn terms(actions: &ActionFilter) -> Vec<Term> {
    actions.words().into_iter().flat_map(|word| Term::parse(&format!("\"{word}\""))).collect()
}
