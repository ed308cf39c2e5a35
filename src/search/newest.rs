//! The newest actions of a selection, for a question without words.

use super::options::Options;
use crate::error::Result;
use crate::record::Hit;
use crate::store::{Select, Store};

/// The records that are read at a time: at first, and at most.
const FIRST_BATCH: usize = 256;
const MAX_BATCH: usize = 8192;

/// The newest records of a selection that the options admit, newest first, without scores.
pub(super) fn find(store: &mut dyn Store, which: &Select, options: &Options) -> Result<Vec<Hit>> {
    let mut is_wanted = options.filter();
    let (mut hits, mut which, mut batch) = (Vec::new(), which.clone(), FIRST_BATCH);
    while hits.len() < options.limit {
        let records = store.last_of(&which, batch)?;
        let is_last = records.len() < batch;
        which.before = records.first().map(|record| record.position());
        hits.extend(records.into_iter().rev().map(Hit::unranked).filter(|hit| is_wanted(hit)));
        if is_last {
            break;
        }
        batch = (batch * 2).min(MAX_BATCH);
    }
    hits.truncate(options.limit);
    Ok(hits)
}
