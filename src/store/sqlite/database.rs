//! A store in a file: its connection, a second one for parallel reads, and the caches of the process.

use super::collections::KnownCollections;
use super::connection::{self, Opened};
use super::error::{Stopped, as_store_error};
use super::migrations;
use super::record_cache::RecordCache;
use super::repair;
use super::vectors::code_cache::CodeCache;
use super::words::refold;
use crate::store::api::OpenMode;
use crate::store::damage::Damage;
use crate::store::error::{ErrorKind, Result, StoreError};
use crate::store::outdated::report_outdated;
use rusqlite::Connection;
use std::cell::{Cell, RefCell};
use std::mem::replace;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// A store in a file.
pub(super) struct Sqlite {
    pub(super) connection: Connection,
    address: String,
    pub(super) origin: Option<Origin>,
    /// The damage of the file, if the connection is to what could be read of it.
    pub(super) damage: Option<Damage>,
    pub(super) known_collections: KnownCollections,
    pub(super) cache: RefCell<CodeCache>,
    /// The records that this process keeps, if it answers many requests.
    pub(super) records: Option<Arc<RecordCache>>,
    second: SecondConnection,
    /// Whether the file is mapped into memory; `None` while it is as it was opened.
    is_mapped: Cell<Option<bool>>,
}

/// The file that was opened, by its path and by its device and inode.
pub(super) struct Origin {
    pub(super) path: PathBuf,
    file: (u64, u64),
}

impl Origin {
    /// The file at a path, if there is one.
    fn of(path: &Path) -> Option<Origin> {
        Some(Origin { path: path.to_owned(), file: file_at(path)? })
    }
}

/// The device and inode of the file at a path.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The address of the store at a path.
pub(super) fn address_of(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// The second connection, which is opened when it is needed.
enum SecondConnection {
    Closed(PathBuf, OpenMode),
    Open(Box<Sqlite>),
    /// There is none.
    Never,
}

impl SecondConnection {
    /// A second connection to the file at a path, if it exists; none with `Pooled`: a server with many
    /// requests keeps its processors busy anyway, and a second thread for each only competes (measured: no
    /// faster, and a fifth more memory).
    fn to(path: &Path, mode: OpenMode) -> SecondConnection {
        if mode == OpenMode::Pooled || !path.exists() {
            return SecondConnection::Never;
        }
        SecondConnection::Closed(path.to_owned(), mode)
    }

    fn open(&mut self) -> Option<&mut Sqlite> {
        if let SecondConnection::Closed(path, mode) = self {
            *self = match Sqlite::alone(path, *mode) {
                Ok(store) => SecondConnection::Open(Box::new(store)),
                Err(_) => SecondConnection::Never, // One connection reads all then.
            };
        }
        match self {
            SecondConnection::Open(store) => Some(store),
            _ => None,
        }
    }
}

impl Sqlite {
    /// Opens the file at a path. Fails as `connection::open` does.
    pub(super) fn open(path: &Path, mode: OpenMode) -> Result<Sqlite> {
        let (mut store, is_exclusive) = Sqlite::connect(path, mode)?;
        if !is_exclusive {
            store.second = SecondConnection::to(path, mode);
        }
        Ok(store)
    }

    /// The same, without a second connection. Fails as `connection::open` does.
    pub(super) fn alone(path: &Path, mode: OpenMode) -> Result<Sqlite> {
        Sqlite::connect(path, mode).map(|(store, _)| store)
    }

    /// The same, and whether its connection admits no second one.
    fn connect(path: &Path, mode: OpenMode) -> Result<(Sqlite, bool)> {
        let address = address_of(path);
        let Opened { mut connection, is_exclusive } = connection::open(path, mode, &address)?;
        let outdated = migrations::run(&mut connection, repair::index_words)
            .and_then(|is_migrated| if is_migrated { refold::remaining(&connection) } else { Ok(0) });
        let attempt = || format!("cannot bring store {address} up to date");
        report_outdated(outdated.map_err(|error| as_store_error(attempt(), &error))?);
        Ok((Sqlite::of(connection, path, mode), is_exclusive))
    }

    /// The store at a path, read through a connection.
    pub(super) fn of(connection: Connection, path: &Path, mode: OpenMode) -> Sqlite {
        let origin = Origin::of(path);
        let kept = origin.as_ref().filter(|_| mode == OpenMode::Pooled);
        Sqlite {
            connection,
            address: address_of(path),
            records: kept.map(|origin| RecordCache::of(origin.file)),
            origin,
            damage: None,
            known_collections: KnownCollections::default(),
            cache: RefCell::new(CodeCache::new(mode)),
            second: SecondConnection::Never,
            is_mapped: Cell::default(),
        }
    }

    /// Whether there is no file, or an empty one.
    pub(super) fn is_missing(&self) -> bool {
        self.connection.path() == Some("")
    }

    /// Maps the file into memory, for random reads; a connection for writing does not by default.
    pub(super) fn map(&self) -> rusqlite::Result<()> {
        self.set_mapped(true)
    }

    /// Unmaps the file, for sequential reads.
    pub(super) fn unmap(&self) -> rusqlite::Result<()> {
        self.set_mapped(false)
    }

    fn set_mapped(&self, mapped: bool) -> rusqlite::Result<()> {
        if self.is_mapped.get() != Some(mapped) {
            connection::set_mapped(&self.connection, mapped)?;
            self.is_mapped.set(Some(mapped));
        }
        Ok(())
    }

    /// Errors if the file has left its path: writes would be lost.
    pub(super) fn check_origin(&self) -> Result<()> {
        match &self.origin {
            Some(origin) if file_at(&origin.path) != Some(origin.file) => {
                let cause = "the file was removed, renamed or replaced";
                Err(StoreError::new(ErrorKind::Moved, self.attempt("write to"), cause))
            }
            _ => Ok(()),
        }
    }

    /// Errors if a later release has brought the file to its version since it was opened: this one would not
    /// keep up what it does not know.
    pub(super) fn check_version(&self) -> Result<()> {
        let version = migrations::version(&self.connection).map_err(|e| self.failed("read", e))?;
        if version > migrations::VERSION {
            let cause = migrations::other_version(version);
            return Err(StoreError::new(ErrorKind::OtherVersion, self.attempt("use"), cause));
        }
        Ok(())
    }

    /// Runs a change. Errors if the file was not at its path before or after it, or is of a later release.
    pub(super) fn durably<T>(&mut self, change: impl FnOnce(&mut Sqlite) -> Result<T>) -> Result<T> {
        self.check_origin()?;
        self.check_version()?;
        let done = change(self)?;
        self.check_origin()?;
        Ok(done)
    }

    /// An error of SQLite as an error of this store; `attempt` is a verb such as `read`.
    pub(super) fn failed(&self, attempt: &str, cause: rusqlite::Error) -> StoreError {
        as_store_error(self.attempt(attempt), &cause)
    }

    /// `cannot read store sqlite:/x`.
    pub(super) fn attempt(&self, attempt: &str) -> String {
        format!("cannot {attempt} store {}", self.address)
    }

    /// The error for an attempt whose visits ended early.
    pub(super) fn stopped(&self, attempt: &str, stopped: Stopped) -> StoreError {
        match stopped {
            Stopped::Sqlite(cause) => self.failed(attempt, cause),
            Stopped::Visitor(error) => error.into(),
        }
    }

    /// Runs two reads in parallel, each on its own snapshot; one after the other if there is no second
    /// connection or no thread. Fails if one of them does; both are run to their ends.
    pub(super) fn in_parallel<A: Send, B>(
        &mut self,
        one: impl Fn(&mut Sqlite) -> Result<A> + Sync,
        other: impl FnOnce(&mut Sqlite) -> Result<B>,
    ) -> Result<(A, B)> {
        let (mut second, mut first) = (replace(&mut self.second, SecondConnection::Never), None);
        let other = thread::scope(|scope| {
            let thread = match second {
                SecondConnection::Never => None,
                _ => {
                    let look = || first = second.open().map(&one);
                    thread::Builder::new().spawn_scoped(scope, look).ok() // Else `one` runs below.
                }
            };
            let other = other(self);
            if let Some(thread) = thread {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            other
        });
        self.second = second;
        let first = match first {
            Some(found) => found,
            None => one(self),
        };
        Ok((first?, other?))
    }
}
