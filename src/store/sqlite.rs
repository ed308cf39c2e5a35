//! Records in one SQLite file, in WAL mode, shared by any number of processes.

mod changes;
mod code_cache;
mod code_page;
mod collections;
mod connection;
mod database;
mod embedding;
mod erase;
mod error;
mod facts;
mod filter;
mod keyword;
mod link_writer;
mod links;
mod measure;
mod migrations;
mod nearest;
mod newest;
mod postings;
mod raw_pages;
mod raw_rows;
mod readable;
mod record_cache;
mod record_row;
mod records;
mod recover;
mod removal;
mod repair;
mod resemblance;
mod retrieval;
mod row;
mod schema;
mod scope_summaries;
mod segment;
mod segment_draft;
mod snapshot;
mod state;
mod surroundings;
mod synapse;
mod tallies;
mod tombstones;
mod unembedded;
mod unlinked;
mod vectors;
mod wal;
mod walk;
mod word_index;
mod words;
mod write;

use super::api::{OpenMode, Store};
use super::error::Result;
use crate::record::Scope;
use database::Sqlite;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// Opens the file at a path.
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
    let read = || -> rusqlite::Result<Vec<Scope>> {
        // With write access SQLite would make a missing file.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        state::peek_scopes(&connection)
    };
    read().unwrap_or_default()
}
