//! The records by the digests of their ids, for short ids.

use crate::record::digest_number;
use rusqlite::{Connection, params};

/// Adds a record by its number and its id.
pub(super) fn add(connection: &Connection, n: i64, id: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO id_digest (digest, record) VALUES (?, ?)";
    connection.prepare_cached(sql)?.execute(params![digest_number(id), n])?;
    Ok(())
}

/// Removes a record.
pub(super) fn remove(connection: &Connection, n: i64, id: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM id_digest WHERE digest = ? AND record = ?";
    connection.prepare_cached(sql)?.execute(params![digest_number(id), n])?;
    Ok(())
}

/// Makes all of them again.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM id_digest", [])?;
    let mut records = connection.prepare("SELECT n, id FROM record")?;
    let mut rows = records.query([])?;
    while let Some(row) = rows.next()? {
        add(connection, row.get(0)?, row.get_ref(1)?.as_str()?)?;
    }
    Ok(())
}
