//! The records without a vector, for every model with vectors. A record with a text to embed is marked when
//! it is written and unmarked when its vector is, so that the cost of listing them grows only with their
//! number.

use crate::store::sqlite::record_row::RecordRow;
use rusqlite::Connection;

/// Marks a new record with a text to embed as lacking a vector of each model.
pub(crate) fn mark(connection: &Connection, record: &RecordRow) -> rusqlite::Result<()> {
    let sql = "INSERT INTO unembedded (model, collection, timestamp, record) SELECT n, ?, ?, ? FROM model";
    let row = [record.collection.n, record.timestamp, record.n];
    connection.prepare_cached(sql)?.execute(row).map(drop)
}

/// Unmarks a record that has got a vector of the model.
pub(crate) fn unmark(connection: &Connection, model: i64, record: &RecordRow) -> rusqlite::Result<()> {
    let sql = "DELETE FROM unembedded WHERE model = ? AND collection = ? AND timestamp = ? AND record = ?";
    let row = [model, record.collection.n, record.timestamp, record.n];
    connection.prepare_cached(sql)?.execute(row).map(drop)
}

/// Unmarks a record that is removed.
pub(crate) fn forget(connection: &Connection, record: &RecordRow) -> rusqlite::Result<()> {
    let sql = "DELETE FROM unembedded WHERE model IN (SELECT n FROM model)
               AND collection = ? AND timestamp = ? AND record = ?";
    let row = [record.collection.n, record.timestamp, record.n];
    connection.prepare_cached(sql)?.execute(row).map(drop)
}

/// Marks every record without a vector of a model, and no others. Fails if the file cannot be written.
pub(crate) fn begin(connection: &Connection, model: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM unembedded WHERE model = ?1
               AND EXISTS (SELECT 1 FROM embedding WHERE record = unembedded.record AND model = ?1)";
    connection.prepare_cached(sql)?.execute([model])?;
    let sql = "INSERT INTO unembedded (model, collection, timestamp, record)
               SELECT ?1, collection, timestamp, n FROM record WHERE embeddable
               AND NOT EXISTS (SELECT 1 FROM embedding WHERE record = record.n AND model = ?1)
               ORDER BY collection, timestamp ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute([model]).map(drop)
}
