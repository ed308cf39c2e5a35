//! What the heads of records show of the store, for people.

use crate::cli::Layout;
use crate::error::Result;
use crate::record::{DOCUMENT, StoredRecord};
use crate::store::{self, Store};
use crate::view::Heads;

/// The heads of some records, if they are printed for people.
pub fn heads<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a StoredRecord>,
    layout: Option<&Layout>,
) -> Result<Heads> {
    if layout.is_none() {
        return Ok(Heads::default());
    }
    // A document has a name of its own, its address.
    let named = records.into_iter().filter(|record| record.kind != &DOCUMENT);
    let ids = named.map(|record| record.id.as_str());
    Ok(Heads { short_ids: store::short_ids(store, ids)?, ..Heads::default() })
}
