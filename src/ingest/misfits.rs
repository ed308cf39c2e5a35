//! Takes from imported records the vectors that do not fit their model, so that the records are stored without them.

use super::entry::Entry;
use crate::error::{Error, Result};
use crate::record::{Record, RecordKind};
use crate::store::{Store, dimension_mismatch};
use std::collections::HashMap;

/// Takes from records the vectors that have another length than those of their model, in the store and
/// earlier in the batch. Their entries say so. Fails if the store cannot be read.
pub(super) fn take(entries: &mut [Entry], records: &mut [Record], store: &mut dyn Store) -> Result<()> {
    let has_vector = |record: &Record| record.stored().is_some_and(|record| record.vector.is_some());
    if !records.iter().any(has_vector) {
        return Ok(());
    }
    let mut dims: HashMap<String, usize> =
        store.models()?.into_iter().map(|model| (model.name, model.dim)).collect();
    for entry in entries {
        for record in &mut records[entry.records.clone()] {
            let Record::Stored(record) = record else { continue };
            let Some(vector) = &record.vector else { continue };
            let dim = *dims.entry(vector.model.clone()).or_insert(vector.numbers.len());
            if let Some(why) = dimension_mismatch(&vector.model, vector.numbers.len(), dim) {
                entry.without_vector = Some(error(&why, record.kind));
                record.vector = None;
            }
        }
    }
    Ok(())
}

/// The error for a record of a kind that is stored without its vector.
pub(super) fn error(why: &str, kind: &RecordKind) -> Error {
    Error::new(format!("{why}; the {} is stored without it", kind.name))
        .hint("embed it with the model in use: rsv-embed --pending")
}
