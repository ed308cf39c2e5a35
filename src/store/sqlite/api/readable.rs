//! Visits what can be read of a file that may be damaged.

use crate::record::Record;
use crate::store::api::{OpenMode, Visit};
use crate::store::damage::Damage;
use crate::store::error::{ErrorKind, Result, StoreError, StoreFault};
use crate::store::select::Walk;
use crate::store::sqlite::database::{Sqlite, address_of};
use crate::store::sqlite::error::{Stopped, as_store_error, is_damage};
use crate::store::sqlite::recovery::recover::{self, Failure};
use crate::store::sqlite::walk;
use rusqlite::Connection;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A row that continues in other pages has at least this many bytes.
const MIN_CONTINUED: usize = 2000;

impl Sqlite {
    /// Opens the readable part of the file at a path. A missing file is an empty store. Fails if it cannot be
    /// opened or copied.
    pub(crate) fn recovered(path: &Path) -> Result<Sqlite> {
        let opened = Sqlite::alone(path, OpenMode::Existing);
        let is_damaged = match &opened {
            Ok(store) if store.is_missing() => return opened,
            Ok(store) => {
                // As long as this is read, no other process can checkpoint the log and restart it. If it
                // fails, what can be read is read without that.
                let _ = store.connection.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1;");
                false
            }
            Err(error) if matches!(error.kind, ErrorKind::Corrupt) => true,
            Err(_) => return opened,
        };
        let (connection, damage) = read(path)?;
        let damage = Some(damage).filter(|damage| is_damaged || damage.is_noticeable());
        let mut store = Sqlite::of(connection, path, OpenMode::Existing);
        (store.damage, store.origin) = (damage, None);
        Ok(store)
    }

    /// Visits a selection; if that fails for damage, everything else that is readable.
    pub(crate) fn visit_readable(&mut self, what: &Walk, visit: &mut Visit) -> Result<Option<Damage>> {
        let snapshot = self.connection.unchecked_transaction().map_err(|e| self.failed("read", e))?;
        let (mut visited, mut has_doubt) = (0, false);
        let walked = walk::walk_snapshot(&snapshot, what, &mut |record| {
            if self.origin.is_some() && is_doubtful(&record) {
                has_doubt = true;
                return Err(StoreFault::Enough.into());
            }
            visited += 1;
            visit(record)
        });
        let is_damaged = match walked {
            Ok(()) => return Ok(self.damage.clone()),
            Err(Stopped::Sqlite(cause)) if is_damage(&cause) => true,
            Err(Stopped::Visitor(_)) if has_doubt => false,
            Err(stopped) => return Err(self.stopped("read", stopped)),
        };
        let Some(origin) = &self.origin else { return Ok(self.damage.clone()) };
        let mut before = first_of(&snapshot, what, visited);
        let (recovered, damage) = read(&origin.path)?;
        let rest = walk::walk(&recovered, what, &mut |record| {
            if before.remove(&name(&record)) { Ok(()) } else { visit(record) }
        });
        rest.map_err(|stopped| self.stopped("read", stopped))?;
        Ok(Some(damage).filter(|damage| is_damaged || damage.is_noticeable()))
    }
}

/// Whether a text is one that a page of zeros may be a part of, which SQLite does not notice if it is the
/// last.
fn is_doubtful(record: &Record) -> bool {
    matches!(record, Record::Stored(stored) if stored.text.len() > MIN_CONTINUED && stored.text.contains('\0'))
}

/// The names of the first records that a walk visits. It visits the same ones again in the same transaction.
fn first_of(snapshot: &Connection, what: &Walk, count: usize) -> HashSet<Vec<String>> {
    let mut names = HashSet::new();
    let mut left = count;
    // It ends by the damage, if not before.
    let _ = walk::walk_snapshot(snapshot, what, &mut |record| {
        left = left.checked_sub(1).ok_or(StoreFault::Enough)?;
        names.insert(name(&record));
        Ok(())
    });
    names
}

/// The key that distinguishes a record from all others.
fn name(record: &Record) -> Vec<String> {
    match record {
        Record::Tombstone(tombstone) => vec![tombstone.of.clone()],
        Record::Stored(stored) => vec![stored.id.clone()],
        Record::Embedding(embedding) => vec![embedding.of.clone(), embedding.model.clone()],
        Record::Link(link) => vec![link.from.clone(), link.rel.clone(), link.to.clone()],
    }
}

/// Reads what can be read of the file at a path. Closing the file releases the lock that SQLite has on it in
/// this process; nothing is read through its connection after that.
fn read(path: &Path) -> Result<(Connection, Damage)> {
    let address = address_of(path);
    // SQLite has the log beside the file itself, not beside a link to it. `recover` reports a link to
    // nothing.
    let file: PathBuf = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    recover::recover(&file, &address).map_err(|failure| match failure {
        Failure::Io(cause) => {
            StoreError::new(ErrorKind::ReadOnly, format!("cannot read store {address}"), cause.to_string())
        }
        Failure::Sqlite(cause) => {
            let attempt = format!("cannot copy what can be read of store {address} into a temporary file");
            as_store_error(attempt, &cause)
        }
    })
}
