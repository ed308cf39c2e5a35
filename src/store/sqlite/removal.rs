//! Removes records with all that follows from them.

use super::collections::CollectionRow;
use super::record_row::{self, RecordRow};
use super::vectors::embedding::{self, RemovedVectors, TakenVector};
use super::vectors::unembedded;
use super::words::word_index;
use super::{digests, erase, record_columns, tallies, tombstones, wal};
use crate::record::{RecordKind, StoredRecord, identity_digest, kinds};
use crate::store::forgetting::NewTombstones;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Removes records with their vectors, links and index entries; returns their number. They get tombstones, if
/// these are given. Fails, and removes nothing, if the file cannot be written.
pub(super) fn remove(
    connection: &mut Connection,
    ids: &[&str],
    new: &NewTombstones,
) -> rusqlite::Result<u64> {
    let transaction = wal::begin_write(connection)?;
    let count = remove_all(&transaction, ids, Some(new))?;
    transaction.commit()?;
    Ok(count)
}

/// The same, within a transaction. Fails if the file cannot be written.
pub(super) fn remove_all(
    connection: &Connection,
    ids: &[&str],
    new: Option<&NewTombstones>,
) -> rusqlite::Result<u64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let mut removed = RemovedRecords::default();
    let mut ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    while let Some(id) = ids.pop() {
        let id = id.as_str();
        if let Some((_, existing)) = record_columns::by_id(connection, id)?
            && let Some(record) = record_row::by_id(connection, id)?
        {
            ids.extend(records_about(connection, &existing)?);
            if let Some(new) = new {
                let before = tombstones::get(connection, &identity_digest(existing.kind.name, id))?;
                for tombstone in new.of(&existing, before.as_ref()) {
                    tombstones::put(connection, &tombstone)?;
                }
            }
            removed.add(connection, &record, &existing)?;
            for end in ["source", "target"] {
                let sql = format!("DELETE FROM link WHERE {end} = ?");
                connection.prepare_cached(&sql)?.execute([record.n])?;
            }
            connection.prepare_cached("DELETE FROM record WHERE n = ?")?.execute([record.n])?;
            digests::remove(connection, record.n, id)?;
        }
    }
    let count = removed.count;
    removed.flush(connection)?;
    embedding::drop_empty_models(connection)?;
    if count > 0 {
        erase::clear_leftovers(connection)?;
    }
    Ok(count)
}

/// The ids of the records that are about a record.
fn records_about(connection: &Connection, subject: &StoredRecord) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    let about = |kind: &&RecordKind| kind.subject.is_some_and(|about| about.kind == subject.kind.name);
    for kind in kinds().into_iter().filter(about) {
        let sql = "SELECT record.id FROM record JOIN collection ON collection.n = record.collection
                   WHERE record.key = ? AND collection.kind = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let ids = statement.query_map((&subject.id, kind.name), |row| row.get(0))?;
        found.extend(ids.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    Ok(found)
}

/// The records to remove, for the indexes.
#[derive(Default)]
pub(super) struct RemovedRecords {
    count: u64,
    vectors: RemovedVectors,
    /// Their numbers and indexed texts, by collection.
    texts: BTreeMap<i64, (CollectionRow, Vec<(i64, String)>)>,
}

impl RemovedRecords {
    /// Removes the vectors of a record, and notes its entries in the indexes.
    pub(super) fn add(
        &mut self,
        connection: &Connection,
        record: &RecordRow,
        existing: &StoredRecord,
    ) -> rusqlite::Result<()> {
        self.count += 1;
        tallies::add(connection, existing, -1)?;
        self.vectors.all_vectors(connection, record)?;
        unembedded::forget(connection, record)?;
        if let Some(text) = existing.indexed_text() {
            let of_collection = self.texts.entry(record.collection.n);
            let (_, texts) = of_collection.or_insert((record.collection, Vec::new()));
            texts.push((record.n, text.into_owned()));
        }
        Ok(())
    }

    /// Takes the vectors of a record that moves, before it is added.
    pub(super) fn take_vectors(
        &mut self,
        connection: &Connection,
        record: &RecordRow,
    ) -> rusqlite::Result<Vec<TakenVector>> {
        self.vectors.take(connection, record)
    }

    /// Removes the records from the indexes. Fails if the file cannot be written.
    pub(super) fn flush(self, connection: &Connection) -> rusqlite::Result<()> {
        self.vectors.flush(connection)?;
        for (collection, texts) in self.texts.into_values() {
            word_index::remove(connection, collection, &texts)?;
        }
        Ok(())
    }
}
