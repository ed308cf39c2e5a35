//! The write-ahead log, and the file that it belongs to.
//!
//! SQLite applies every valid log that it finds beside a file, also one of another store, or of a later state
//! of a store that was restored from a backup. So each store has a random id, and the first transaction in an
//! empty log gives the store a new generation and notes the one before, the `log_base`. A file and its log
//! belong together if the file alone has the id that it has through the log, and one of these two
//! generations.

use super::facts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const STORE_ID: &str = "store_id";
const GENERATION: &str = "generation";
const LOG_BASE: &str = "log_base";

/// The attempts at comparing a file with its log: a checkpoint of another process may change the file
/// meanwhile.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(5);

/// The characters that stay as they are in the path of a URI.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// The log beside a file.
pub(super) fn path_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// The length of a log in bytes; 0 if there is none.
pub(super) fn len(log: &Path) -> u64 {
    fs::metadata(log).map_or(0, |log| log.len())
}

/// Gives a new store its id and first generation.
pub(super) fn create_identity(connection: &Connection) -> rusqlite::Result<()> {
    for name in [STORE_ID, GENERATION] {
        connection.execute("INSERT INTO fact (name, value) VALUES (?, hex(randomblob(16)))", [name])?;
    }
    Ok(())
}

/// Begins a transaction that holds the write lock from its beginning: one that read first would fail at its
/// first write if another had written since. Fails if another process holds the lock for too long.
pub(super) fn begin_write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    let log = connection.path().filter(|path| !path.is_empty()).map(|path| path_of(path.as_ref()));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Nobody else can write to the log now.
    if log.is_some_and(|log| len(&log) == 0) {
        let sql = "INSERT OR REPLACE INTO fact (name, value) SELECT ?, value FROM fact WHERE name = ?";
        transaction.prepare_cached(sql)?.execute([LOG_BASE, GENERATION])?;
        let sql = "UPDATE fact SET value = hex(randomblob(16)) WHERE name = ?";
        transaction.prepare_cached(sql)?.execute([GENERATION])?;
    }
    Ok(transaction)
}

/// The identity of a store, as it is read from one place.
pub(super) struct Identity {
    store_id: Option<String>,
    generation: Option<String>,
    log_base: Option<String>,
}

impl Identity {
    fn read(connection: &Connection) -> rusqlite::Result<Identity> {
        Ok(Identity {
            store_id: facts::get(connection, STORE_ID)?,
            generation: facts::get(connection, GENERATION)?,
            log_base: facts::get(connection, LOG_BASE)?,
        })
    }

    /// Whether a file with the identity `alone` belongs to the log through which this one is read.
    fn is_based_on(&self, alone: &Identity) -> bool {
        alone.store_id == self.store_id
            && (alone.generation == self.generation || alone.generation == self.log_base)
    }
}

/// Whether the log of a connection belongs to its file, as far as that can be told; `alone` is the identity
/// of the file without it, from before the connection was made. Fails if the file cannot be read.
pub(super) fn belongs_to_file(
    connection: &Connection,
    file: &Path,
    mut alone: Option<Identity>,
) -> rusqlite::Result<bool> {
    if len(&path_of(file)) == 0 {
        return Ok(true);
    }
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let before = Identity::read(connection)?;
        if attempt > 0 {
            alone = read_alone(file);
        }
        // The tables of a new store may all be in the log.
        let Some(alone) = &alone else { return Ok(true) };
        if before.is_based_on(alone) || Identity::read(connection)?.is_based_on(alone) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The identity of a file without its log; `None` if it has no log, no identity yet, or cannot be read.
pub(super) fn read_alone(file: &Path) -> Option<Identity> {
    if len(&path_of(file)) == 0 {
        return None;
    }
    Identity::read(&open_alone(file).ok()?).ok()
}

/// Opens a file without its log, and without locks, to read it. Fails if it is missing or its rights forbid
/// it.
pub(super) fn open_alone(file: &Path) -> rusqlite::Result<Connection> {
    let path = percent_encode(file.as_os_str().as_bytes(), IN_PATHS);
    let uri = format!("file:{path}?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags)
}
