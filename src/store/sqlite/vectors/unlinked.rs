//! The unlinked vectors: a vector is marked when it is written, and unmarked when its synapses are.

use crate::record::SYNAPSE;
use crate::store::sqlite::record_row::RecordRow;
use rusqlite::{Connection, params};

/// Marks a new vector as unlinked. The version distinguishes it from any other vector of the record.
pub(crate) fn mark(connection: &Connection, model: i64, record: &RecordRow) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO unlinked (model, collection, record, version) VALUES (?, ?, ?, random())";
    connection.prepare_cached(sql)?.execute([model, record.collection.n, record.n]).map(drop)
}

/// Marks every vector of a model in a collection, and no others.
pub(crate) fn begin(connection: &Connection, model: i64, collection: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM unlinked WHERE model = ?1 AND collection = ?2
               AND NOT EXISTS (SELECT 1 FROM embedding WHERE record = unlinked.record AND model = ?1)";
    connection.prepare_cached(sql)?.execute([model, collection])?;
    let sql = "INSERT INTO unlinked (model, collection, record, version)
               SELECT ?1, collection, n, random() FROM record INDEXED BY record_number
               WHERE collection = ?2 AND EXISTS (SELECT 1 FROM embedding WHERE record = record.n AND model = ?1)
               ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute([model, collection]).map(drop)
}

/// Unmarks a record whose vector is removed.
pub(crate) fn unmark(connection: &Connection, model: i64, record: &RecordRow) -> rusqlite::Result<()> {
    let sql = "DELETE FROM unlinked WHERE model = ? AND collection = ? AND record = ?";
    connection.prepare_cached(sql)?.execute([model, record.collection.n, record.n]).map(drop)
}

/// Removes the synapses of a removed vector.
pub(crate) fn remove_synapses(connection: &Connection, model: &str, record: i64) -> rusqlite::Result<()> {
    for end in ["source", "target"] {
        let sql = format!("DELETE FROM link WHERE {end} = ? AND rel = ? AND model = ?");
        connection.prepare_cached(&sql)?.execute(params![record, SYNAPSE, model])?;
    }
    Ok(())
}
