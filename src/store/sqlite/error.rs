//! The errors of SQLite as kinds, worded for people who do not know SQLite.

use super::super::error::ErrorKind;
use crate::error::Error;
use rusqlite::ErrorCode;
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

/// The cause of an error that damage is.
pub(super) const DAMAGED: &str = "the file is damaged";

/// The kind of an error, and the wording of its cause.
pub(super) fn describe(error: &rusqlite::Error) -> (ErrorKind, String) {
    if is_unreadable(error) {
        return (ErrorKind::Corrupt, "reading the file failed".to_owned());
    }
    let (kind, cause) = match error.sqlite_error_code() {
        None if is_garbled(error) => (ErrorKind::Corrupt, DAMAGED),
        Some(ErrorCode::DiskFull) => (ErrorKind::Full, "the disk is full"),
        Some(ErrorCode::OutOfMemory) => (ErrorKind::OutOfMemory, "out of memory"),
        Some(ErrorCode::NotADatabase) => (ErrorKind::NotADatabase, "is not an rsv store"),
        Some(ErrorCode::DatabaseCorrupt) => (ErrorKind::Corrupt, DAMAGED),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let cause = format!("other programs kept it locked for {} s", LOCK_TIMEOUT.as_secs());
            return (ErrorKind::Locked, cause);
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => (ErrorKind::ReadOnly, "permission denied"),
        Some(ErrorCode::CannotOpen) => (ErrorKind::NotFound, "cannot open the file or its directory"),
        Some(ErrorCode::SystemIoFailure) => {
            (ErrorKind::Full, "reading or writing the file failed (is the disk full?)")
        }
        _ => return (ErrorKind::Other, error.to_string()),
    };
    (kind, cause.to_owned())
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
