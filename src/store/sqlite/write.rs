//! Writes, replaces and removes records, each batch in one transaction that holds the write lock from its
//! beginning: SQLite refuses the lock to a transaction that began by reading once another writer has
//! committed, however long it waits.

use super::collections::KnownCollections;
use super::links::link_writer;
use super::record_columns;
use super::removal::{self, RemovedRecords};
use super::words::refold;
use super::words::segment_draft::DraftBuilder;
use super::words::word_index;
use super::writer::Writer;
use super::{tombstones, wal};
use crate::record::{Record, StoredRecord, Tombstone};
use crate::store::forgetting::{Received, WriteRules};
use crate::store::identity::{RefusedIds, WriteOutcome};
use crate::store::imports;
use crate::store::languages;
use crate::store::write_plan;
use rusqlite::{Connection, Transaction};
use std::time::Duration;

/// The time that each write gives to the words of an earlier folding: with what begins before its end, less
/// than 50 ms.
const REFOLD_TIME: Duration = Duration::from_millis(20);

/// Writes a batch; returns the outcome of each record. Fails, writing nothing, if the file cannot be written.
pub(super) fn write(
    connection: &mut Connection,
    known_collections: &mut KnownCollections,
    batch: &[Record],
    rules: WriteRules,
) -> rusqlite::Result<Vec<WriteOutcome>> {
    let transaction = wal::begin_write(connection)?;
    // The tombstones of a batch go first, since they apply to all its records.
    let received = receive(&transaction, batch)?;
    let mut writer = Writer::new(&transaction, known_collections)?;
    if batch.len() as i64 >= word_index::MAX_UNINDEXED {
        writer.draft = DraftBuilder::start();
    }
    let written = write_plan::write(&mut writer, batch, rules, &received, &mut RefusedIds::default())?;
    let (brought, new_languages) =
        (std::mem::take(&mut writer.brought), std::mem::take(&mut writer.languages));
    writer.flush()?;
    // A store that only tools write to has no background that would refold it.
    refold::resume(&transaction, REFOLD_TIME)?;
    languages::note(new_languages, &mut &*transaction, |transaction| newest_texts(transaction))?;
    imports::note(rules.import, brought, &mut &*transaction)?;
    transaction.commit()?;
    Ok(written)
}

/// The newest texts, by which the language of short ones is told.
fn newest_texts(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT text FROM record ORDER BY n DESC LIMIT ?")?;
    statement.query_map([languages::TOGETHER as i64], |row| row.get(0))?.collect()
}

/// Moves records to what `renamed` makes of them, under new numbers; their vectors, links and synapses stay.
/// Returns the numbers before and after. Must be called within a transaction that checks references at its
/// end. Fails if `renamed` does, or the file cannot be written.
pub(super) fn move_records(
    transaction: &Transaction,
    known_collections: &mut KnownCollections,
    numbers: &[i64],
    renamed: &dyn Fn(&StoredRecord) -> rusqlite::Result<StoredRecord>,
) -> rusqlite::Result<Vec<(i64, i64)>> {
    let mut writer = Writer::new(transaction, known_collections)?;
    let (mut removed, mut moved) = (RemovedRecords::default(), Vec::with_capacity(numbers.len()));
    for n in numbers {
        let Some(existing) = record_columns::nth(transaction, *n)? else { continue };
        moved.push((*n, writer.move_record(*n, &existing, &renamed(&existing)?, &mut removed)?));
    }
    removed.flush(transaction)?;
    writer.flush()?;
    Ok(moved)
}

/// Writes the tombstones of a batch and removes what they are of. They go first, because they apply to the
/// records of the batch too.
fn receive(transaction: &Transaction, batch: &[Record]) -> rusqlite::Result<Received> {
    let tombstones: Vec<&Tombstone> = batch.iter().filter_map(Record::tombstone).collect();
    if tombstones.is_empty() {
        return Ok(Received::default());
    }
    let (mut received, ids) = tombstones::receive(transaction, tombstones.into_iter())?;
    link_writer::remove_links(transaction, &mut received)?;
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    removal::remove_all(transaction, &ids, None)?;
    Ok(received)
}
