//! The errors of SQLite as kinds, worded for people who do not know SQLite.

use crate::error::Error;
use crate::store::error::{ErrorKind, StoreError};
use rusqlite::ErrorCode;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::time::Duration;

/// The time that a writer waits for the others, in steps of `connection::pause`.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The reason why a walk or a search ended early.
pub(super) enum Stopped {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// The visitor failed.
    Visitor(Error),
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Stopped {
        Stopped::Sqlite(error)
    }
}

/// The number of the system's error that no locks are available.
const NOLCK: i32 = Errno::NOLCK.raw_os_error();

const FULL: &str = "the disk is full";
const OUT_OF_MEMORY: &str = "out of memory";
const NO_LOCKS: &str = "its file system refuses locks";

/// The cause of an error that damage is.
pub(super) const DAMAGED: &str = "the file is damaged";

/// The kind of an error, and the wording of its cause.
pub(super) fn describe(error: &rusqlite::Error) -> (ErrorKind, String) {
    if is_unreadable(error) {
        return (ErrorKind::Corrupt, "reading the file failed".to_owned());
    }
    if let Some(limit) = described_by_system(error) {
        return limit;
    }
    let (kind, cause) = match error.sqlite_error_code() {
        None if is_garbled(error) => (ErrorKind::Corrupt, DAMAGED),
        Some(ErrorCode::DiskFull) => (ErrorKind::Full, FULL),
        Some(ErrorCode::OutOfMemory) => (ErrorKind::OutOfMemory, OUT_OF_MEMORY),
        Some(ErrorCode::NotADatabase) => (ErrorKind::NotADatabase, "is not an rsv store"),
        Some(ErrorCode::DatabaseCorrupt) => (ErrorKind::Corrupt, DAMAGED),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let cause = format!("other programs kept it locked for {} s", LOCK_TIMEOUT.as_secs());
            return (ErrorKind::Locked, cause);
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => (ErrorKind::ReadOnly, "permission denied"),
        Some(ErrorCode::CannotOpen) => (ErrorKind::NotFound, "cannot open the file or its directory"),
        Some(ErrorCode::SystemIoFailure) => (ErrorKind::Io, "reading or writing the file failed"),
        _ => return (ErrorKind::Other, error.to_string()),
    };
    (kind, cause.to_owned())
}

/// An error as that of a store; `attempt` is what failed.
pub(super) fn as_store_error(attempt: String, error: &rusqlite::Error) -> StoreError {
    let (kind, cause) = describe(error);
    StoreError::new(kind, attempt, cause)
}

/// The kind and the wording of an error for which SQLite does not report the system's: the last failed system
/// call on this thread is SQLite's, which has only cleaned up since.
fn described_by_system(error: &rusqlite::Error) -> Option<(ErrorKind, String)> {
    use rusqlite::ffi::{
        SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_IOERR_LOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_SHMLOCK,
    };
    const LOCKING: [i32; 4] =
        [SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_IOERR_LOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_SHMLOCK];
    let extended_code = error.sqlite_error()?.extended_code;
    let (kind, cause) = match error.sqlite_error_code()? {
        ErrorCode::DatabaseBusy if are_locks_refused() => (ErrorKind::NoLocks, NO_LOCKS),
        ErrorCode::SystemIoFailure if LOCKING.contains(&extended_code) => (ErrorKind::NoLocks, NO_LOCKS),
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => match io::Error::last_os_error().kind() {
            io::ErrorKind::StorageFull => (ErrorKind::Full, FULL),
            io::ErrorKind::QuotaExceeded => (ErrorKind::Full, "the quota of the disk is used up"),
            io::ErrorKind::FileTooLarge => (ErrorKind::FileLimit, "the file may not grow"),
            io::ErrorKind::OutOfMemory => (ErrorKind::OutOfMemory, OUT_OF_MEMORY),
            _ => return None,
        },
        _ => return None,
    };
    Some((kind, cause.to_owned()))
}

/// The kind of an error of the system outside of SQLite, if it is one that has a remedy of its own; for
/// others the caller names what mostly keeps that call from succeeding.
pub(super) fn kind_of(error: &io::Error) -> Option<ErrorKind> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(ErrorKind::Full),
        io::ErrorKind::FileTooLarge => Some(ErrorKind::FileLimit),
        _ if error.raw_os_error() == Some(NOLCK) => Some(ErrorKind::NoLocks),
        _ => None,
    }
}

/// Whether the last system call of this thread that failed was one for a lock, and the file system has none.
pub(super) fn are_locks_refused() -> bool {
    io::Error::last_os_error().raw_os_error() == Some(NOLCK)
}

/// Makes another failure the last one of this thread.
pub(super) fn forget_refusal() {
    let _ = File::open("");
}

/// Whether another connection holds a lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the system could not read a part of the file.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    let codes = [rusqlite::ffi::SQLITE_IOERR_READ, rusqlite::ffi::SQLITE_IOERR_SHORT_READ];
    error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code))
}

/// Whether a value is not one that a store holds there, which the types of the columns do not permit.
fn is_garbled(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

/// Whether an error shows that the file is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(describe(error).0, ErrorKind::Corrupt | ErrorKind::NotADatabase)
}
