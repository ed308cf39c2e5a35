//! What goes wrong between rsv and a server, whether to try again, and how it is told.

use crate::config::StorePlace;
use std::time::Duration;

/// What the codes of passing faults begin with.
const TRANSIENT: &str = "Neo.TransientError.";

/// What a server with TLS answers to one who speaks without begins so: an alert, of TLS 1.
const TLS: u32 = 0x1503;
const TLS_OR_NOT: &str = "an address with +s is for a server with TLS, one without it for one without";

/// What went wrong at the server, before it is put in words.
#[derive(Debug)]
pub(super) enum Fault {
    /// The driver or the server says so.
    Driver(neo4rs::Error),
    /// It cannot be connected to within so long.
    NoConnection(Duration),
    /// A query took longer than it may.
    TooLong(Duration),
    /// What the server sent is not what was asked for.
    Odd(String),
}

impl From<neo4rs::Error> for Fault {
    fn from(error: neo4rs::Error) -> Fault {
        Fault::Driver(error)
    }
}

impl From<neo4rs::DeError> for Fault {
    fn from(error: neo4rs::DeError) -> Fault {
        Fault::Odd(error.to_string())
    }
}

pub(super) type Answer<T> = Result<T, Fault>;

impl Fault {
    /// What it says to somebody who knows no Neo4j, and what helps.
    pub(super) fn in_words(&self, place: &StorePlace) -> (String, Option<String>) {
        use neo4rs::Error as Driver;
        let running = "is Neo4j running there? name another store with --store";
        let (cause, hint) = match self {
            Fault::NoConnection(patience) => {
                (format!("no connection within {} s", patience.as_secs_f64()), Some(running))
            }
            Fault::TooLong(patience) => (
                format!("no answer within {} s", patience.as_secs_f64()),
                Some("try again, or raise neo4j_query_timeout"),
            ),
            Fault::Odd(cause) => (cause.clone(), Some("something else changed the graph? rsv-config doctor")),
            Fault::Driver(Driver::AuthenticationError(_)) => (
                format!("the server does not let {} in", place.server.user),
                Some("set NEO4J_USERNAME and NEO4J_PASSWORD"),
            ),
            Fault::Driver(Driver::Neo4j(error)) => match error.code() {
                code if code.ends_with("DatabaseNotFound") => (
                    format!("there is no database {}", place.server.database.as_deref().unwrap_or_default()),
                    Some("set NEO4J_DATABASE, or unset it for the server's default"),
                ),
                code if code.ends_with("CredentialsExpired") => (
                    error.message().to_owned(),
                    Some(
                        "give the user a password of its own: ALTER CURRENT USER SET PASSWORD, in cypher-shell",
                    ),
                ),
                code if code.contains(".Security.") => (
                    format!("the server does not let {} do this: {}", place.server.user, error.message()),
                    Some("set NEO4J_USERNAME and NEO4J_PASSWORD, or give that user the right"),
                ),
                code if code.ends_with(".NotALeader") || code.ends_with("ReadOnlyDatabase") => {
                    (error.message().to_owned(), Some("give the address of the leader"))
                }
                code if code.starts_with(TRANSIENT) => {
                    (error.message().to_owned(), Some("try again; the server may be starting"))
                }
                _ => (error.message().to_owned(), Some("what the server means by that is in its log")),
            },
            Fault::Driver(Driver::UnsupportedVersion(..)) => {
                ("the server is too old for Bolt 4.4".to_owned(), Some("use Neo4j 5.26 or a later one"))
            }
            Fault::Driver(Driver::ProtocolMismatch(said)) if said >> 16 == TLS => {
                ("the server wants TLS".to_owned(), Some(TLS_OR_NOT))
            }
            Fault::Driver(Driver::ProtocolMismatch(_)) => (
                "what answers there is no Neo4j".to_owned(),
                Some("give the port of Bolt, which is 7687 by default"),
            ),
            Fault::Driver(Driver::ConnectionTimedOut) => {
                ("the server does not answer".to_owned(), Some(running))
            }
            Fault::Driver(Driver::ConnectionError) => {
                ("all connections are taken".to_owned(), Some("raise neo4j_max_connections"))
            }
            Fault::Driver(Driver::IOError { detail })
                if detail.kind() == std::io::ErrorKind::UnexpectedEof =>
            {
                ("the server hung up".to_owned(), Some(TLS_OR_NOT))
            }
            Fault::Driver(Driver::IOError { detail }) if detail.kind() == std::io::ErrorKind::InvalidData => {
                (
                    detail.to_string(),
                    Some("an address with +ssc trusts a certificate that nobody vouches for"),
                )
            }
            Fault::Driver(Driver::IOError { detail }) => (detail.to_string(), Some(running)),
            Fault::Driver(other) => (other.to_string(), Some(running)),
        };
        (cause, hint.map(str::to_owned))
    }

    /// Whether a procedure of the server's failed: an index is not there.
    pub(super) fn is_of_procedure(&self) -> bool {
        matches!(self, Fault::Driver(neo4rs::Error::Neo4j(error)) if error.code().contains(".Procedure."))
    }

    /// Whether the server says that the same may succeed later.
    pub(super) fn is_passing(&self) -> bool {
        let passing = |code: &str| code.starts_with(TRANSIENT) || code.ends_with(".NotALeader");
        matches!(self, Fault::Driver(neo4rs::Error::Neo4j(error)) if passing(error.code()))
    }

    /// Whether the server may have closed a connection from the pool meanwhile.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(self, Fault::Driver(neo4rs::Error::IOError { detail })
            if detail.kind() != std::io::ErrorKind::ConnectionRefused)
    }
}
