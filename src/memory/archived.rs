//! Memories that another program archived: the links to those that took their places.

use crate::error::Result;
use crate::record::{ARCHIVED_INTO, CONSOLIDATED_INTO, Link, MEMORY, Record, Scopes};
use crate::store::{Select, Store, Walk, WriteRules};
use std::collections::HashSet;

/// The number of links that are written together.
const BATCH: usize = 1000;

/// Links archived memories to those that took their places, as far as these are there. Returns the ids of the
/// memories whose link waits, with the ids of those that they wait for. Fails if the store does.
pub fn link_archived(store: &mut dyn Store) -> Result<Vec<(String, String)>> {
    let memories = Select::records(vec![&MEMORY], Scopes::All);
    if store.count(&memories, 1)? == 0 {
        return Ok(Vec::new());
    }
    let mut ids = HashSet::new();
    let mut archived = Vec::new();
    store.walk(&Walk { texts: false, ..Walk::records(memories) }, &mut |record| {
        let Record::Stored(memory) = record else { return Ok(()) };
        let into = memory.member_text(ARCHIVED_INTO);
        ids.insert(memory.id.clone());
        if !into.is_empty() {
            archived.push((memory.id, into, memory.timestamp));
        }
        Ok(())
    })?;
    let (there, missing): (Vec<_>, Vec<_>) =
        archived.into_iter().partition(|(_, into, _)| ids.contains(into));
    for some in there.chunks(BATCH) {
        let link = |(id, into, at): &(String, String, i64)| {
            Record::Link(Link::plain(CONSOLIDATED_INTO, id, into, *at))
        };
        store.write(&some.iter().map(link).collect::<Vec<_>>(), WriteRules::KEEP_OUT)?;
    }
    Ok(missing.into_iter().map(|(id, into, _)| (id, into)).collect())
}
