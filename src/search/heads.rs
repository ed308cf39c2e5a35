//! The short ids and titles for the heads of records, read from the store.

use crate::cli::Layout;
use crate::error::Result;
use crate::record::{DOCUMENT, MESSAGE, StoredRecord};
use crate::store::{self, Store};
use crate::view::Heads;
use std::collections::BTreeSet;

/// The heads of some records, if they are printed for people.
pub fn heads<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a StoredRecord>,
    layout: Option<&Layout>,
) -> Result<Heads> {
    let Some(layout) = layout else { return Ok(Heads::default()) };
    let (mut ids, mut scopes) = (Vec::new(), BTreeSet::new());
    for record in records {
        // A document has a name of its own, its address.
        if record.kind != &DOCUMENT {
            ids.push(record.id.as_str());
        }
        if record.kind == &MESSAGE && layout.scopes {
            scopes.insert(record.scope.clone());
        }
    }
    Ok(Heads { short_ids: store::short_ids(store, ids)?, titles: store::titles(store, &scopes)? })
}
