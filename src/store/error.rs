//! The errors of a store: a kind for the program, and for people the cause and a hint.

use super::rename::Rename;
use crate::error::{Error, Failure, failures, plain};
use crate::record::Scope;
use std::path::PathBuf;

/// A result of a store.
pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// A failed attempt, with its cause.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct StoreError {
    pub kind: ErrorKind,
    text: String,
}

// The kinds of failures of a store.
failures! { #[derive(Clone)] pub enum ErrorKind {
    NotAnAddress ("the address is not one of a store") => "use sqlite:PATH or bolt://HOST",
    Directory ("the address names a directory") => "name a file in it, such as --store DIRECTORY/store.db",
    NotFound ("a file or a directory cannot be found or made")
        => "check the permissions, or name another store with --store",
    ReadOnly ("the system does not permit writing")
        => "check the permissions, or name another store with --store",
    NotADatabase ("the file is not a database") => "name another store with --store",
    ForeignFile ("the database belongs to another program") => "name another store with --store",
    /// Its schema is one that this version does not read.
    OtherVersion ("the store was made by another version of rsv")
        => "export it with the version that made it, then import the export: rsv-export > FILE, rsv-import FILE",
    ForeignLog ("the write-ahead log beside the file belongs to another file")
        => "a backup was restored beside the log of a later state? move the log away, then try again",
    Moved ("the file was removed, renamed or replaced while it was in use")
        => "run the command again for the lines that were not printed",
    Locked ("others kept it locked too long") => "stop the program that locks it, then try again",
    Full ("the disk is full") => "free some space and try again; nothing is half-written",
    FileLimit ("a limit of the system forbids a longer file")
        => "raise the limit (ulimit -f) and try again; nothing is half-written",
    Io ("the system could not read or write the file")
        => "look for a fault of the disk or its file system in the system's log; nothing is half-written",
    NoLocks ("the file system has no locks")
        => "mount the file system with locks, or move the store to a local disk",
    OutOfMemory ("there is not enough memory") => "ask for less at a time, or allow more memory (ulimit -v)",
    Corrupt ("the database is damaged")
        => "restore a backup, or save what can be read; the commands: rsv-config doctor --store STORE",
    Unexpected ("a server sent an answer that does not fit the request")
        => "did another program change the graph? check with: rsv-config doctor",
    Unreachable ("no server answers") => "is Neo4j running there? name another store with --store",
    WrongProtocol ("the server speaks another protocol") => "give the port of Bolt, which is 7687 by default",
    Tls ("one side speaks TLS, the other does not")
        => "use an address with +s for a server with TLS, and without it for one without TLS",
    Certificate ("the certificate is not trusted")
        => "use an address with +ssc to accept a self-signed certificate",
    /// `needed` names the oldest supported release.
    ServerTooOld { needed: &'static str } ("the server is too old") => "{needed}",
    Unauthenticated ("the server does not know the user, or the password")
        => "set NEO4J_USERNAME and NEO4J_PASSWORD",
    Forbidden ("the user lacks the permission")
        => "set NEO4J_USERNAME and NEO4J_PASSWORD, or grant that user the privilege",
    PasswordExpired ("the password must be changed first")
        => "set a new password in cypher-shell: ALTER CURRENT USER SET PASSWORD",
    SecretInAddress ("a secret stands in the address") => "set NEO4J_USERNAME and NEO4J_PASSWORD",
    NoDatabase ("the server has no such database")
        => "set NEO4J_DATABASE, or unset it for the server's default",
    NotLeader ("the server accepts no writes") => "give the address of the leader",
    Transient ("a retry may succeed") => "try again; the server may be starting",
    TimedOut ("a query took too long") => "try again, or raise neo4j_query_timeout",
    NoConnection ("every connection is in use") => "raise neo4j_max_connections",
    Server ("the server refused a statement") => "see the log of the server",
    /// The cause names the fault.
    Invalid ("an argument cannot be used"),
    Stopped { error: Error } ("the caller's own visitor ended a walk"),
    Other ("the store failed"),
} }

// The reason why a request to a store, or what is done with it, cannot be met.
failures! { pub enum StoreFault {
    AmbiguousId { id: String, count: usize, candidates: String }
        ("the id {id} is ambiguous: {count} records begin with it") => "give more letters: {candidates}",
    AmbiguousInstance { scope: Scope, count: usize, candidates: String }
        ("the instance {} is ambiguous: {count} of the partition {} begin with it", .scope.instance, .scope.partition)
        => "give more letters: {candidates}",
    SameName { name: String } ("the partition {name} has this name already") => "give another name",
    Renaming { rename: Rename } ("the partition {} is being renamed to {}", .rename.from, .rename.to)
        => "finish that first: {rename}",
    Unreadable { others: usize } ("cannot read {others} other nodes of the label MessageNode"),
    Exists { path: PathBuf } ("cannot write {path}: file exists") => "name a file that does not exist yet",
    NoCursor { path: PathBuf, source: serde_json::Error } ("{path}: is no cursor")
        => "leave out --new-since once; an import of the whole export changes nothing that is there",
    OtherCursor { fault: &'static str } ("{fault}")
        => "leave out --new-since once; an import of the whole export changes nothing that is there",
    Damaged { address: String, what: String } ("{address} is damaged: {what}")
        => "restore a backup, or see how to replace the file: rsv-config doctor --store STORE",
    /// The store, or another line of the input, refuses a record.
    Refused { why: String } ("{why}"),
    NoImport { id: String, last: String } ("the store knows no import {id}") => "{last}",
    ManyImports { id: String, count: usize, last: String } ("{count} imports have ids that begin with {id}")
        => "{last}",
    Leftovers ("the records are removed, but their text is still in the store's log")
        => "another program is reading the store; the next one that writes clears the log",
    NoRetention { of: String } ("no retention is set{of}")
        => "set one with 'rsv-config set retention 365d', or of one partition partitions.NAME.retention",
    NoQuestion ("there is nothing to search for") => "give a word",
    /// A walk ends early: its visitor has what it needs.
    Enough ("the walk has ended"),
} }

impl StoreError {
    /// A failure of a kind: `attempt` is the failed action, such as `cannot open store sqlite:/x`; if it is
    /// empty, the cause is the whole message.
    pub(super) fn new(kind: ErrorKind, attempt: impl Into<String>, cause: impl Into<String>) -> StoreError {
        let (attempt, cause) = (attempt.into(), cause.into());
        let text = if attempt.is_empty() { cause } else { format!("{attempt}: {}", plain(&cause)) };
        StoreError { kind, text }
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

/// The error with which a visitor ends a walk.
impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        StoreError::new(ErrorKind::Stopped { error: error.clone() }, "", error.to_string())
    }
}

impl Failure for StoreError {
    fn hint(&self) -> Option<String> {
        self.kind.hint()
    }

    fn into_error(self) -> Error {
        match self.kind {
            ErrorKind::Stopped { error } => error,
            _ => Error::of(self),
        }
    }
}
