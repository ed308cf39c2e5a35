//! Takes from imported records the vectors that do not fit their model, so that the records are stored
//! without them.

use super::entry::Entry;
use super::error::IngestError;
use crate::error::Result;
use crate::record::Record;
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
                entry.without_vector = Some(IngestError::NoVector { why, kind: record.kind.name }.into());
                record.vector = None;
            }
        }
    }
    Ok(())
}
