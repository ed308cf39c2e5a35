//! Rebuilds all that follows from the records: their derived columns, the indexes by words and by meaning,
//! the marks of unembedded and unlinked records, and the sums. Dangling references are removed.

use super::collections::{self, CollectionRow};
use super::record_columns::{self, AFTER, COLUMNS, TABLES};
use super::vectors::{code_pool, embedding};
use super::words::refold::{self, REFOLD_FROM};
use super::words::segment_draft::Draft;
use super::words::word_index;
use super::{digests, facts, tallies, wal};
use crate::text::counted;
use rusqlite::{Connection, params_from_iter};
use std::time::Duration;

/// The references of the tables that hold what users stored, by column, to a table and its key.
const REFERENCES: [[&str; 4]; 4] = [
    ["embedding", "record", "record", "n"],
    ["embedding", "model", "model", "n"],
    ["link", "source", "record", "n"],
    ["link", "target", "record", "n"],
];
/// The tables whose rows are all derived, and that are filled again: those of the word index, and those of
/// vectors.
const WORDS: [&str; 5] = ["removed_slot", "posting", "segment_docs", "segment_words", "segment"];
const VECTORS: [&str; 5] = ["unembedded", "unlinked", "pending_code", "code_page", "index_checksum"];

/// Rebuilds the indexes of vectors that differ from the vectors; returns in words what was done.
pub(super) fn vector_indexes(connection: &mut Connection) -> rusqlite::Result<Vec<String>> {
    let rebuilt = embedding::repair(connection)?;
    Ok(if rebuilt > 0 { vec![format!("{rebuilt} vector indexes were rebuilt")] } else { Vec::new() })
}

/// Brings words in the index from an earlier folding to the present one until `time` is over, at least a few;
/// returns the number of documents that are left. Fails if the file cannot be written.
pub(super) fn words(connection: &mut Connection, time: Duration) -> rusqlite::Result<u64> {
    if refold::remaining(connection)? == 0 {
        return Ok(0);
    }
    let transaction = wal::begin_write(connection)?;
    refold::resume(&transaction, time)?;
    let remaining = refold::remaining(&transaction)?;
    transaction.commit()?;
    Ok(remaining)
}

/// Rebuilds the sums; returns in words what was wrong. Fails if the file cannot be written.
pub(super) fn sums(connection: &mut Connection) -> rusqlite::Result<Vec<String>> {
    let transaction = wal::begin_write(connection)?;
    let differed = tallies::rebuild(&transaction)?;
    transaction.commit()?;
    Ok(if differed { vec!["the counts of signals differed".to_owned()] } else { Vec::new() })
}

/// Repairs a file; returns in words what was wrong and what was done. Fails if a needed page is damaged.
pub(super) fn repair(connection: &mut Connection) -> rusqlite::Result<Vec<String>> {
    // Damaged rows must not prevent the repair of the rest.
    connection.pragma_update(None, "foreign_keys", false)?;
    let repaired = repair_all(connection);
    connection.pragma_update(None, "foreign_keys", true)?;
    repaired
}

fn repair_all(connection: &mut Connection) -> rusqlite::Result<Vec<String>> {
    let mut done = Vec::new();
    let first: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if first != "ok" {
        connection.execute_batch("REINDEX")?;
        done.push(format!(
            "the indexes of the tables were rebuilt: {}",
            first.lines().next_back().unwrap_or("")
        ));
    }
    let transaction = wal::begin_write(connection)?;
    let dangling = remove_dangling(&transaction)?;
    if dangling > 0 {
        done.push(match dangling {
            1 => "1 vector or link of a record that does not exist was removed".to_owned(),
            many => format!("{many} vectors and links of records that do not exist were removed"),
        });
    }
    let columns = mend_columns(&transaction)?;
    if columns > 0 {
        done.push(format!("{} had wrong marks, which were corrected", counted(columns as u64, "record")));
    }
    digests::rebuild(&transaction)?;
    for table in VECTORS {
        transaction.execute(&format!("DELETE FROM {table}"), [])?;
    }
    code_pool::begin(&transaction)?;
    done.push(format!(
        "the word index was rebuilt, of {}",
        counted(index_words(&transaction)? as u64, "record")
    ));
    let (vectors, wrong) = index_vectors(&transaction)?;
    done.push(format!(
        "the vector indexes were rebuilt, of {}, compared again for links",
        counted(vectors as u64, "vector")
    ));
    if wrong > 0 {
        done.push(format!("{} had a wrong number of vectors, which was corrected", counted(wrong, "model")));
    }
    let differed = tallies::rebuild(&transaction)?;
    let sums = if differed { "differed, and were rebuilt" } else { "were right" };
    done.push(format!("the counts of signals {sums}"));
    transaction.commit()?;
    Ok(done)
}

/// Removes what refers to records or models that are not there; returns the number of rows.
fn remove_dangling(connection: &Connection) -> rusqlite::Result<usize> {
    let mut removed = 0;
    for [table, column, other, key] in REFERENCES {
        let sql = format!("DELETE FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {other})");
        removed += connection.execute(&sql, [])?;
    }
    // A rule is made again when its collection is linked.
    let sql = "DELETE FROM synapse_rule WHERE model NOT IN (SELECT n FROM model)
               OR collection NOT IN (SELECT n FROM collection)";
    connection.execute(sql, [])?;
    Ok(removed)
}

/// Corrects the columns of records that follow from the others; returns the number of records.
fn mend_columns(connection: &Connection) -> rusqlite::Result<usize> {
    let mut mended = 0;
    let mut update = connection.prepare(&record_columns::correct())?;
    let sql = format!("SELECT {COLUMNS}, record.n FROM {TABLES} WHERE record.collection = ?");
    for collection in collections::all(connection)? {
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([collection.n])?;
        while let Some(row) = rows.next()? {
            let (record, n) = (record_columns::record(row)?, row.get::<_, i64>(AFTER)?);
            let values = [n.into()].into_iter().chain(record_columns::derived(&record));
            mended += update.execute(params_from_iter(values))?;
        }
    }
    Ok(mended)
}

/// Indexes the words of all records; returns their number. Collections that fill a segment go first, one by
/// one, and the small ones together: once a pool has a segment, no record with a number before its end may be
/// added.
pub(super) fn index_words(connection: &Connection) -> rusqlite::Result<i64> {
    for table in WORDS {
        connection.execute(&format!("DELETE FROM {table}"), [])?;
    }
    facts::set(connection, REFOLD_FROM, None)?;
    connection.execute("UPDATE collection SET indexed_up_to = 0, unindexed = 0", [])?;
    collections::mend_pools(connection)?;
    let (mut all, mut small) = (0, Vec::new());
    for collection in collections::all(connection)?.into_iter().filter(|one| one.kind.indexed.is_some()) {
        let sql = "SELECT count(*) FROM record WHERE collection = ?";
        let count: i64 = connection.prepare_cached(sql)?.query_row([collection.n], |row| row.get(0))?;
        all += count;
        if count < word_index::MAX_UNINDEXED {
            small.push((collection, count));
        } else {
            word_index::grow(connection, [(collection, count)], Draft::default())?;
        }
    }
    word_index::grow(connection, small, Draft::default())?;
    Ok(all)
}

/// Indexes all vectors, and marks them as unlinked, and the records without one as unembedded; returns the
/// number of vectors, and of models that had counted another.
fn index_vectors(connection: &Connection) -> rusqlite::Result<(i64, u64)> {
    let all = collections::all(connection)?;
    let (mut vectors, mut wrong) = (0, 0);
    let models: Vec<(i64, i64)> = {
        let mut statement = connection.prepare("SELECT n, vectors FROM model")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?
    };
    for (model, counted) in models {
        let sql = "SELECT DISTINCT collection FROM embedding JOIN record ON n = record WHERE model = ?";
        let mut statement = connection.prepare(sql)?;
        let existing: Vec<i64> = statement.query_map([model], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let within: Vec<CollectionRow> =
            all.iter().filter(|collection| existing.contains(&collection.n)).copied().collect();
        embedding::rebuild(connection, model, &within)?;
        let sql = "SELECT vectors FROM model WHERE n = ?";
        let count: i64 = connection.prepare_cached(sql)?.query_row([model], |row| row.get(0))?;
        vectors += count;
        wrong += u64::from(count != counted);
    }
    embedding::drop_empty_models(connection)?;
    Ok((vectors, wrong))
}
