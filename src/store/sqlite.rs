//! Records in one SQLite file, in WAL mode, shared by any number of processes. A `rusqlite::Result` is an
//! error if the file cannot be read or, by functions that change it, written: locked too long, damaged, or on
//! a full disk. A count below 0, which SQLite's signed numbers could hold, is damage, and counts as 0.

mod digests; // 0 short ids
mod error; // 0 errors of SQLite
mod facts; // 0 named facts
mod row; // 0 rows as links
mod snapshot; // 0 reading at one moment

mod audit; // 1 rows of the audit
mod collections; // 1 kinds in scopes
mod record_columns; // 1 the columns of records
mod wal; // 1 the log beside the file

mod filter; // 2 conditions of a selection
mod migrations; // 2 files of earlier releases
mod record_row; // 2 the columns that indexes need
mod tallies; // 2 sums
mod tombstones; // 2 tombstones, and the parts that they drop

mod changes; // 3 the numbers of changes
mod record_cache; // 3 records that a server keeps
mod scope_summaries; // 3 summaries of scopes
mod walk; // 3 all of a selection, in order

mod newest; // 4 the last of a selection
mod schema; // 4 the tables

mod recovery; // 5 damaged files, without SQLite

mod connection; // 6 opening a file

mod erase; // 7 clearing removed text
mod vectors; // 7 vectors and their index

mod links; // 8 links and synapses
mod surroundings; // 8 the neighbours of records
mod words; // 8 the index of words

mod removal; // 9 removing records
mod repair; // 9 rebuilding what is derived

mod writer; // 10 writing the records of a batch

mod write; // 11 writing batches

mod database; // 12 two connections to a file
mod rename; // 12 another name of a partition

mod api; // 13 the traits of a store

use crate::record::Scope;
use crate::store::api::{OpenMode, Store};
use crate::store::error::Result;
use database::Sqlite;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;
pub use words::fuzz_postings;

/// Opens the file at a path. Fails if it cannot be made, is no store, of a later release, damaged, or locked.
pub(super) fn open(path: &Path, mode: OpenMode) -> Result<Box<dyn Store>> {
    let store = match mode {
        OpenMode::Recover => Sqlite::recovered(path),
        mode => Sqlite::open(path, mode),
    };
    Ok(Box::new(store?))
}

/// Whether a file is the user's own, and others can read or change it.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    connection::is_open_to_others(path)
}

/// The scopes in a file, if they can be read at once.
pub(super) fn peek_scopes(path: &Path) -> Vec<Scope> {
    peek(path, api::state::peek_scopes)
}

/// The titles of the instances of a partition in a file, if they can be read at once.
pub(super) fn peek_titles(path: &Path, partition: &str) -> Vec<(Scope, String)> {
    peek(path, |connection| api::state::peek_titles(connection, partition))
}

/// Reads for a completion, which neither waits nor reports an error: nothing is read then.
fn peek<T>(path: &Path, read: impl Fn(&Connection) -> rusqlite::Result<Vec<T>>) -> Vec<T> {
    let read = || -> rusqlite::Result<Vec<T>> {
        // With write access SQLite would make a missing file.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        read(&connection)
    };
    read().unwrap_or_default()
}
