//! The imports that a store knows, and the records that undoing one of them takes.

use super::api::{Among, Store};
use super::error::Result;
use super::imports::{ELSEWHERE, IMPORT, StoredImport, UNDONE, stored};
use super::number_ranges::NumberRanges;

/// The imports that a store knows, oldest first. Fails if the store cannot be read.
pub fn imports(store: &mut dyn Store) -> Result<Vec<StoredImport>> {
    Ok(stored(store.facts(IMPORT)?))
}

/// The records of an import.
#[derive(Debug)]
pub struct ImportedRecords {
    /// The ids of the records that it brought, and nobody else did.
    pub ids: Vec<String>,
    /// The number of its records that stay, since this import brought them too; `None` is anything else.
    pub shared: Vec<(Option<String>, usize)>,
}

/// The records of one of the imports that a store knows. Those that it brought again belong to it too, once
/// the import that brought them first is undone. Fails if the store cannot be read.
pub fn records_of(
    store: &mut dyn Store,
    import: &StoredImport,
    all: &[StoredImport],
) -> Result<ImportedRecords> {
    let (mut own, mut shared) = (import.brought(), Vec::new());
    let mut changes = own.clone();
    let others = || all.iter().filter(|other| other.id != import.id);
    for other in others().filter(|other| other.undone.is_some()) {
        own = own.union(&import.again().within(&other.brought()));
        changes = changes.union(&other.brought());
    }
    let elsewhere = store.fact(ELSEWHERE)?.map(|fact| NumberRanges::parse(&fact)).unwrap_or_default();
    let claims = others().filter(|other| other.undone.is_none());
    let claims = claims.map(|other| (Some(other.id.clone()), other.claimed()));
    for (by, claimed) in claims.chain([(None, elsewhere)]) {
        let numbers = &own.within(&claimed);
        let staying = store.identify(Among::Numbers { numbers, changes: &changes })?.len();
        if staying > 0 {
            shared.push((by, staying));
        }
        own = own.without(&claimed);
    }
    let named = store.identify(Among::Numbers { numbers: &own, changes: &changes })?;
    Ok(ImportedRecords { ids: named.into_iter().map(|(id, _)| id).collect(), shared })
}

/// Notes that an import was undone at a time, in milliseconds since 1970, UTC. Fails if the store does.
pub fn set_undone(store: &mut dyn Store, import: &StoredImport, at: i64) -> Result<()> {
    store.set_fact(&format!("{IMPORT}{}{UNDONE}", import.id), Some(&at.to_string()))
}
