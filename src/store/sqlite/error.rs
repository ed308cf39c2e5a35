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

/// The kind of an error, and the wording of its cause.
pub(super) fn describe(error: &rusqlite::Error) -> (ErrorKind, String) {
    let (kind, cause) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => (ErrorKind::Full, "the disk is full"),
        Some(ErrorCode::OutOfMemory) => (ErrorKind::OutOfMemory, "out of memory"),
        Some(ErrorCode::NotADatabase) => (ErrorKind::NotADatabase, "is not an rsv store"),
        Some(ErrorCode::DatabaseCorrupt) => (ErrorKind::Corrupt, "the file is damaged"),
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
