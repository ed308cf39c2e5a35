//! Clears the rest of removed records from the file and its write-ahead log.
//!
//! SQLite overwrites deleted content (`secure_delete`), except in one place: when it moves the cells of a
//! b-tree page, the unallocated gap between the cell pointers and the cells keeps the old bytes. So a
//! transaction that removes records also clears these gaps. The log is emptied as soon as no process reads an
//! old snapshot from it; until then the store has the fact `erase`, and every writer tries.

use super::connection;
use super::error::is_busy;
use super::facts;
use crate::store::maintenance::ERASE_PENDING;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use std::time::Duration;

/// The beginning of a value of the fact `ERASE_PENDING`: the log is to be emptied. A random token follows, so
/// that a process that has emptied the log does not clear the fact of a later removal.
const LOG: &str = "log";
/// The same: the file is to be rewritten first. Without `sqlite_dbpage`, single pages cannot be cleared.
const FILE: &str = "file";

/// The longest wait for readers of old snapshots.
const READER_TIMEOUT: Duration = Duration::from_secs(5);

/// Clears the gaps of all pages, in the transaction that removed records. Fails if a page cannot be written.
pub(super) fn clear_leftovers(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage')";
    if !connection.query_row(sql, [], |row| row.get(0))? {
        return set_pending(connection, FILE);
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    let cleared = clear_gaps(connection);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    cleared?;
    set_pending(connection, LOG)
}

fn set_pending(connection: &Connection, what: &str) -> rusqlite::Result<()> {
    let token: String = connection.query_row("SELECT hex(randomblob(8))", [], |row| row.get(0))?;
    facts::set(connection, ERASE_PENDING, Some(&format!("{what} {token}")))
}

fn clear_gaps(connection: &Connection) -> rusqlite::Result<()> {
    let mut pages = connection.prepare_cached("SELECT pgno, data FROM sqlite_dbpage")?;
    let mut rows = pages.query([])?;
    let mut changed = Vec::new();
    while let Some(row) = rows.next()? {
        let n: i64 = row.get(0)?;
        let page = row.get_ref(1)?.as_blob()?;
        if let Some(gap) = gap(page, n == 1)
            && page[gap.clone()].iter().any(|byte| *byte != 0)
        {
            changed.push(n);
        }
    }
    drop(rows);
    for n in changed {
        let sql = "SELECT data FROM sqlite_dbpage WHERE pgno = ?";
        let mut page: Vec<u8> = connection.prepare_cached(sql)?.query_row([n], |row| row.get(0))?;
        if let Some(gap) = gap(&page, n == 1) {
            page[gap].fill(0);
        }
        let sql = "UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?";
        connection.prepare_cached(sql)?.execute(params![page, n])?;
    }
    Ok(())
}

/// The unused bytes of a b-tree page between its cell pointers and its cells (SQLite's file format, 1.6).
/// Every other page begins with the number of a page, whose highest byte is 0 in a file of less than 512 GiB.
fn gap(page: &[u8], is_first: bool) -> Option<std::ops::Range<usize>> {
    let header = if is_first { 100 } else { 0 };
    let number = |at: usize| Some(usize::from(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?])));
    let header_bytes = match page.get(header)? {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    let begin = header + header_bytes + 2 * number(header + 3)?;
    let cells = number(header + 5)?;
    let end = if cells == 0 { 65_536 } else { cells };
    (begin <= end && end <= page.len()).then_some(begin..end)
}

/// Finishes the remaining work, unless a reader is active.
pub(super) fn resume(connection: &mut Connection) -> rusqlite::Result<()> {
    finish(connection, Duration::ZERO).map(drop)
}

/// Finishes the remaining work; false if a reader is still active after `READER_TIMEOUT`.
pub(super) fn wait(connection: &mut Connection) -> rusqlite::Result<bool> {
    finish(connection, READER_TIMEOUT)
}

fn finish(connection: &mut Connection, patience: Duration) -> rusqlite::Result<bool> {
    let Some(pending) = facts::get(connection, ERASE_PENDING)? else { return Ok(true) };
    connection.busy_timeout(patience)?;
    let finished = if pending.starts_with(FILE) { rewrite(connection) } else { empty_log(connection) };
    connection::wait_for_locks(connection)?;
    let is_finished = match finished {
        Err(e) if is_busy(&e) => false,
        finished => finished?,
    };
    if is_finished {
        facts::clear(connection, ERASE_PENDING, &pending)?;
        // This page alone is in the log now, and another process may need it there.
        let _ = empty_log(connection);
    }
    Ok(is_finished)
}

/// Copies the log into the file and empties it; false if a process still reads from it.
fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
}

/// Rewrites the file without its unused pages.
fn rewrite(connection: &Connection) -> rusqlite::Result<bool> {
    // The copy is as large as the file: it is not made in memory.
    connection.execute_batch("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;")?;
    empty_log(connection)
}

/// The number of bytes in unused pages.
pub(super) fn unused_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// Returns unused pages to the file system, which also finishes the remaining work. False if a reader is
/// still active after `READER_TIMEOUT`; the file shrinks then as soon as a writer empties the log. Fails if
/// the file cannot be written for another reason.
pub(super) fn compact(connection: &mut Connection) -> rusqlite::Result<bool> {
    let pending = facts::get(connection, ERASE_PENDING)?;
    connection.busy_timeout(READER_TIMEOUT)?;
    let rewritten = rewrite(connection);
    connection::wait_for_locks(connection)?;
    match rewritten {
        Ok(true) => {}
        Ok(false) => return Ok(false),
        Err(e) if is_busy(&e) => return Ok(false),
        Err(e) => return Err(e),
    }
    if let Some(pending) = pending {
        facts::clear(connection, ERASE_PENDING, &pending)?;
        let _ = empty_log(connection); // As in `finish`.
    }
    Ok(true)
}
