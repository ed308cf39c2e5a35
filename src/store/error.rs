//! The errors of a store: a kind for the program, and for people the cause and a hint.

use crate::error::{Error, Failure, Hint, plain};

/// A result of a store.
pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// A failed attempt, with its cause.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", joined(.attempt, .cause))]
pub struct StoreError {
    pub kind: ErrorKind,
    /// Such as `cannot open store sqlite:/x`; empty if the cause is the whole message.
    attempt: String,
    cause: String,
}

/// The kinds of failures; each has its remedy.
#[derive(Clone, Debug)]
pub enum ErrorKind {
    /// The address is not one of a store.
    NotAnAddress,
    /// The address names a directory.
    Directory,
    /// A file or a directory cannot be found or made.
    NotFound,
    /// The system does not permit writing.
    ReadOnly,
    /// The file is not a database.
    NotADatabase,
    /// The database belongs to another program.
    ForeignFile,
    /// The store was made by another version of rsv, whose schema this one does not read.
    OtherVersion,
    /// The write-ahead log beside the file belongs to another file.
    ForeignLog,
    /// The file was removed, renamed or replaced while it was in use.
    Moved,
    /// Others kept it locked too long.
    Locked,
    /// The disk is full.
    Full,
    /// A limit of the system forbids a longer file.
    FileLimit,
    /// The system could not read or write the file.
    Io,
    /// The file system has no locks.
    NoLocks,
    /// There is not enough memory.
    OutOfMemory,
    /// The database is damaged.
    Corrupt,
    /// A server sent an answer that does not fit the request.
    Unexpected,
    /// No server answers.
    Unreachable,
    /// The server speaks another protocol.
    WrongProtocol,
    /// One side speaks TLS, the other does not.
    Tls,
    /// The certificate is not trusted.
    Certificate,
    /// The server is too old; contains the oldest supported release.
    ServerTooOld(&'static str),
    /// The server does not know the user, or the password.
    Unauthenticated,
    /// The user lacks the permission.
    Forbidden,
    /// The password must be changed first.
    PasswordExpired,
    /// A secret stands in the address.
    SecretInAddress,
    /// The server has no such database.
    NoDatabase,
    /// The server accepts no writes.
    NotLeader,
    /// A retry may succeed.
    Transient,
    /// A query took too long.
    TimedOut,
    /// Every connection is in use.
    NoConnection,
    /// The server refused a statement.
    Server,
    /// An argument cannot be used; the cause names the fault.
    Invalid,
    /// The caller's own visitor ended a walk.
    Stopped(Error),
    /// Anything else.
    Other,
}

impl StoreError {
    /// A failure of a kind: `attempt` is the failed action, `cause` the reason.
    pub(super) fn new(kind: ErrorKind, attempt: impl Into<String>, cause: impl Into<String>) -> StoreError {
        StoreError { kind, attempt: attempt.into(), cause: cause.into() }
    }

    /// The error of a question's vector with another dimension than those of its model.
    pub(super) fn dimension_mismatch(model: &str, given: usize, dim: usize) -> StoreError {
        let cause = format!("the question's vector has {given} numbers, but those of {model} have {dim}");
        StoreError::invalid(cause)
    }

    /// An argument that cannot be used; `cause` is the whole message.
    pub(super) fn invalid(cause: impl Into<String>) -> StoreError {
        StoreError::new(ErrorKind::Invalid, "", cause)
    }
}

/// The attempt and the cause, or the cause alone as it is.
fn joined(attempt: &str, cause: &str) -> String {
    if attempt.is_empty() { cause.to_owned() } else { format!("{attempt}: {}", plain(cause)) }
}

/// The error with which a visitor ends a walk.
impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        StoreError::new(ErrorKind::Stopped(error.clone()), "", error.to_string())
    }
}

impl ErrorKind {
    /// The command or setting that helps.
    fn hint(&self) -> Option<&str> {
        Some(match self {
            ErrorKind::NotAnAddress => "use sqlite:PATH or bolt://HOST",
            ErrorKind::Directory => "name a file in it, such as --store DIRECTORY/store.db",
            ErrorKind::NotFound | ErrorKind::ReadOnly => {
                "check the permissions, or name another store with --store"
            }
            ErrorKind::NotADatabase | ErrorKind::ForeignFile => "name another store with --store",
            ErrorKind::ForeignLog => {
                "a backup was restored beside the log of a later state? move the log away, then try again"
            }
            ErrorKind::Moved => "run the command again for the lines that were not printed",
            ErrorKind::OtherVersion => {
                "export it with the version that made it, then import the export: rsv-export > FILE, rsv-import FILE"
            }
            ErrorKind::Locked => "stop the program that locks it, then try again",
            ErrorKind::Full => "free some space and try again; nothing is half-written",
            ErrorKind::FileLimit => "raise the limit (ulimit -f) and try again; nothing is half-written",
            ErrorKind::Io => {
                "look for a fault of the disk or its file system in the system's log; nothing is half-written"
            }
            ErrorKind::NoLocks => "mount the file system with locks, or move the store to a local disk",
            ErrorKind::OutOfMemory => "ask for less at a time, or allow more memory (ulimit -v)",
            ErrorKind::Corrupt => {
                "restore a backup, or save what can be read; the commands: rsv-config doctor --store STORE"
            }
            ErrorKind::Unexpected => "did another program change the graph? check with: rsv-config doctor",
            ErrorKind::Unreachable => "is Neo4j running there? name another store with --store",
            ErrorKind::WrongProtocol => "give the port of Bolt, which is 7687 by default",
            ErrorKind::Tls => {
                "use an address with +s for a server with TLS, and without it for one without TLS"
            }
            ErrorKind::Certificate => "use an address with +ssc to accept a self-signed certificate",
            ErrorKind::ServerTooOld(needed) => needed,
            ErrorKind::Unauthenticated | ErrorKind::SecretInAddress => {
                "set NEO4J_USERNAME and NEO4J_PASSWORD"
            }
            ErrorKind::Forbidden => "set NEO4J_USERNAME and NEO4J_PASSWORD, or grant that user the privilege",
            ErrorKind::PasswordExpired => {
                "set a new password in cypher-shell: ALTER CURRENT USER SET PASSWORD"
            }
            ErrorKind::NoDatabase => "set NEO4J_DATABASE, or unset it for the server's default",
            ErrorKind::NotLeader => "give the address of the leader",
            ErrorKind::Transient => "try again; the server may be starting",
            ErrorKind::TimedOut => "try again, or raise neo4j_query_timeout",
            ErrorKind::NoConnection => "raise neo4j_max_connections",
            ErrorKind::Server => "see the log of the server",
            ErrorKind::Stopped(error) => return error.remedy(),
            ErrorKind::Invalid | ErrorKind::Other => return None,
        })
    }
}

impl Failure for StoreError {
    fn hint(&self) -> Hint {
        self.kind.hint().map(|hint| hint.to_owned().into())
    }

    fn into_error(self) -> Error {
        match self.kind {
            ErrorKind::Stopped(error) => error,
            _ => Error::of(self),
        }
    }
}
