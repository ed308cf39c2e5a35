//! The errors of a server and its driver: which to retry, and how they are worded.

use crate::config::StoreLocation;
use crate::error::Error;
use crate::store::error::{ErrorKind, StoreError};
use neo4rs::Error as Driver;
use std::io;
use std::time::Duration;

/// The beginning of the codes of transient failures.
const TRANSIENT: &str = "Neo.TransientError.";

/// A server with TLS answers a client that speaks without it with these bytes first: an alert, of TLS 1.
const TLS_ALERT: u32 = 0x1503;

/// An error of the server, before it is worded for people.
#[derive(Debug)]
pub(super) enum DbError {
    /// The driver or the server reported an error.
    Driver(Driver),
    /// No connection became available within this time.
    ConnectTimeout(Duration),
    /// A query took longer than this.
    QueryTimeout(Duration),
    /// The answer of the server does not fit the request.
    Unexpected(String),
    /// The graph is of a later release.
    OtherVersion(String),
    /// An argument of the caller cannot be used.
    Invalid(String),
    /// The caller's own visitor ended a walk.
    Visitor(Error),
}

impl From<Driver> for DbError {
    fn from(error: Driver) -> DbError {
        DbError::Driver(error)
    }
}

impl From<neo4rs::DeError> for DbError {
    fn from(error: neo4rs::DeError) -> DbError {
        DbError::Unexpected(error.to_string())
    }
}

pub(super) type DbResult<T> = Result<T, DbError>;

impl DbError {
    /// The error of the store at `place`, to which `attempt` failed (`read`, `write to`).
    pub(super) fn at(self, attempt: &str, place: &StoreLocation) -> StoreError {
        let (kind, cause) = match self {
            DbError::Invalid(cause) => return StoreError::invalid(cause),
            DbError::Visitor(error) => return StoreError::from(error),
            DbError::ConnectTimeout(timeout) => {
                (ErrorKind::Unreachable, format!("no connection within {} s", timeout.as_secs_f64()))
            }
            DbError::QueryTimeout(timeout) => {
                (ErrorKind::TimedOut, format!("no answer within {} s", timeout.as_secs_f64()))
            }
            DbError::Unexpected(cause) => (ErrorKind::Unexpected, cause),
            DbError::OtherVersion(cause) => (ErrorKind::OtherVersion, cause),
            DbError::Driver(error) => describe_driver_error(&error, place),
        };
        StoreError::new(kind, format!("cannot {attempt} store {}", place.address), cause)
    }

    /// Whether a procedure of the server failed, since an index does not exist.
    pub(super) fn is_of_procedure(&self) -> bool {
        matches!(self, DbError::Driver(Driver::Neo4j(error)) if error.code().contains(".Procedure."))
    }

    /// Whether the server says that a retry may succeed.
    pub(super) fn is_transient(&self) -> bool {
        let transient = |code: &str| code.starts_with(TRANSIENT) || code.ends_with(".NotALeader");
        matches!(self, DbError::Driver(Driver::Neo4j(error)) if transient(error.code()))
    }

    /// Whether the server may have closed a connection of the pool meanwhile.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(self, DbError::Driver(Driver::IOError { detail })
            if detail.kind() != io::ErrorKind::ConnectionRefused)
    }

    /// Whether the thing to make exists already.
    pub(super) fn is_already_there(&self) -> bool {
        matches!(self, DbError::Driver(Driver::Neo4j(error)) if error.code().ends_with("AlreadyExists"))
    }
}

/// The kind and the cause of an error of the driver, worded for people who do not know Neo4j.
fn describe_driver_error(error: &Driver, place: &StoreLocation) -> (ErrorKind, String) {
    match error {
        Driver::AuthenticationError(_) => (
            ErrorKind::Unauthenticated,
            format!("the server rejects the user {} or the password", place.server.user),
        ),
        Driver::Neo4j(error) => describe_server_error(error.code(), error.message(), place),
        Driver::UnsupportedVersion(..) => {
            let hint = "use Neo4j 5.26 or a later one";
            (ErrorKind::ServerTooOld { needed: hint }, "the server is too old for Bolt 4.4".to_owned())
        }
        Driver::ProtocolMismatch(answer) if answer >> 16 == TLS_ALERT => {
            (ErrorKind::Tls, "the server wants TLS".to_owned())
        }
        Driver::ProtocolMismatch(_) => (ErrorKind::WrongProtocol, "the server there is not Neo4j".to_owned()),
        Driver::ConnectionTimedOut => (ErrorKind::Unreachable, "the server does not answer".to_owned()),
        Driver::ConnectionError => (ErrorKind::NoConnection, "all connections are in use".to_owned()),
        Driver::IOError { detail } => match detail.kind() {
            io::ErrorKind::UnexpectedEof => (ErrorKind::Tls, "the server closed the connection".to_owned()),
            io::ErrorKind::InvalidData => (ErrorKind::Certificate, detail.to_string()),
            _ => (ErrorKind::Unreachable, detail.to_string()),
        },
        other => (ErrorKind::Unreachable, other.to_string()),
    }
}

/// The kind and the cause of an error with a code of the server.
fn describe_server_error(code: &str, message: &str, place: &StoreLocation) -> (ErrorKind, String) {
    let settings = &place.server;
    if code.ends_with("DatabaseNotFound") {
        let database = settings.database.as_deref().unwrap_or_default();
        (ErrorKind::NoDatabase, format!("there is no database {database}"))
    } else if code.ends_with("CredentialsExpired") {
        (ErrorKind::PasswordExpired, message.to_owned())
    } else if code.contains(".Security.") {
        (ErrorKind::Forbidden, format!("the server does not permit {} to do this: {message}", settings.user))
    } else if code.ends_with(".NotALeader") || code.ends_with("ReadOnlyDatabase") {
        (ErrorKind::NotLeader, message.to_owned())
    } else if code.starts_with(TRANSIENT) {
        (ErrorKind::Transient, message.to_owned())
    } else {
        (ErrorKind::Server, message.to_owned())
    }
}
