//! The short ids and titles for the heads of records, and the questions of turns, read from the store.

use crate::cli::Layout;
use crate::error::Result;
use crate::record::{DOCUMENT, MESSAGE, Role, Scopes, StoredRecord};
use crate::store::{self, Select, Store};
use crate::view::{Heads, Questions};
use std::collections::BTreeSet;

/// The heads of some records, if they are printed for people. Fails if the store cannot be read.
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

/// The question of the turn of each of some records: the last message of the user that has its trace.
pub fn questions(store: &mut dyn Store, records: &[StoredRecord]) -> Result<Questions> {
    let turns: BTreeSet<_> =
        records.iter().map(|record| (record.scope.clone(), record.trace_id.clone())).collect();
    let asked = |(scope, trace): &(_, String)| Select {
        trace_id: Some(trace.clone()),
        roles: vec![Role::User],
        ..Select::messages(Scopes::One(Clone::clone(scope)))
    };
    let found = store.last(&turns.iter().map(asked).collect::<Vec<_>>(), 1)?;
    Ok(turns.into_iter().zip(found).filter_map(|(turn, mut found)| Some((turn, found.pop()?))).collect())
}
