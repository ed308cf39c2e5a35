//! The connection to the server, for threads that may wait: statements in, rows out, each within its time.

use super::statements::in_one;
use super::values::{Params, Row};
use crate::config::{Server as Settings, StorePlace};
use neo4rs::{Config, ConfigBuilder, Graph, Query, Txn};
use serde::de::DeserializeOwned;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// How many rows the server sends at a time, or lists in one row.
const FETCHED: usize = 1000;

/// A request of more bytes goes out in pieces, the last of which waits until the server has acknowledged the first:
/// 40 ms, since the driver leaves Nagle's algorithm on.
const PROMPT: usize = 8192;

/// What a number of a question's vector takes of them, and what the values of a selection take.
const NUMBER: usize = 5;
const SELECTION: usize = 400;

/// A request that is kept short holds so many of what it is about at least.
const WORTHWHILE: usize = 20;

/// How often it is tried to send what did not arrive. What the server itself calls passing, as that it met another
/// transaction or that the leader changes, is tried as long as one waits for a connection. The pause before the second
/// try grows by half of it each time.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long the server may take to take a transaction back.
const TAKING_BACK: Duration = Duration::from_secs(1);

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
    fn is_passing(&self) -> bool {
        let passing = |code: &str| code.starts_with(TRANSIENT) || code.ends_with(".NotALeader");
        matches!(self, Fault::Driver(neo4rs::Error::Neo4j(error)) if passing(error.code()))
    }

    /// Whether the server may have closed a connection from the pool meanwhile.
    fn is_of_connection(&self) -> bool {
        matches!(self, Fault::Driver(neo4rs::Error::IOError { detail })
            if detail.kind() != std::io::ErrorKind::ConnectionRefused)
    }
}

/// A server, and the connections to it that all stores of this process share.
#[derive(Clone)]
pub(super) struct Server {
    config: Config,
    graph: Arc<Mutex<Graph>>,
    patience: Duration,
    query_patience: Duration,
}

/// The event loop of every connection, in the proxy too: a connection stays with the loop that made it, and who asks
/// are threads without one. Whoever waits drives it.
fn runtime() -> Result<&'static Runtime, Fault> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_current_thread().enable_all().build();
    let made = made.map_err(|e| Fault::Odd(format!("no event loop: {e}")))?;
    Ok(RUNTIME.get_or_init(|| made))
}

fn wait<T>(task: impl Future<Output = Answer<T>>) -> Answer<T> {
    runtime()?.block_on(task)
}

impl Server {
    /// The server at a place; nothing is sent yet.
    pub(super) fn of(place: &StorePlace) -> Answer<Server> {
        static SERVERS: LazyLock<Mutex<Vec<(String, Server)>>> = LazyLock::new(Mutex::default);
        let Settings { user, password, database, .. } = &place.server;
        let name = format!("{}\n{user}\n{}\n{database:?}", place.address, password.expose());
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, server)) = servers.iter().find(|(known, _)| *known == name) {
            return Ok(server.clone());
        }
        let server = Server::new(place, place.server.connections)?;
        servers.push((name, server.clone()));
        Ok(server)
    }

    /// As `of`, with connections of its own, which are closed when it is dropped.
    pub(super) fn new(place: &StorePlace, connections: usize) -> Answer<Server> {
        // The same maker of keys as for HTTPS; who was first stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Settings { user, password, database, patience, query_patience, .. } = &place.server;
        let mut config = ConfigBuilder::default()
            .uri(place.address.as_str())
            .user(user.as_str())
            .password(password.expose())
            .max_connections(connections)
            // This bounds the wait for one that is free; it ends before that for the server does, so that one is
            // told what was waited for.
            .max_lifetime(Some(patience.mul_f64(0.9)))
            .fetch_size(FETCHED)
            // This bounds every read as well.
            .connection_timeout((*query_patience).max(*patience));
        if let Some(database) = database {
            config = config.db(database.as_str());
        }
        let config = config.build()?;
        let graph = Arc::new(Mutex::new(connect(&config)?));
        Ok(Server { config, graph, patience: *patience, query_patience: *query_patience })
    }

    fn graph(&self) -> Graph {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Leaves the connections to themselves: one that still waits for the server cannot tell it to stop waiting, and
    /// who gets the lock that it waits for would keep it. They are closed when nobody uses them.
    fn leave(&self) {
        if let Ok(graph) = connect(&self.config) {
            *self.graph.lock().unwrap_or_else(PoisonError::into_inner) = graph;
        }
    }

    /// The rows that a statement gives; the statement changes nothing.
    pub(super) fn rows(&self, statement: &str, params: Params) -> Answer<Vec<Row>> {
        let mut rows = Vec::new();
        self.each(statement, params, &mut |row| {
            rows.push(row);
            Ok::<_, Fault>(())
        })?;
        Ok(rows)
    }

    /// Visits the rows that a statement gives, as they come.
    pub(super) fn each<E: From<Fault>>(
        &self,
        statement: &str,
        params: Params,
        visit: &mut dyn FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let late = || Fault::TooLong(self.query_patience);
        let mut stream = self.again(|| {
            let graph = self.graph();
            wait(async {
                let sent = graph.execute_read(query(statement, params.clone()));
                Ok(timeout(self.query_patience, sent).await.map_err(|_| late())??)
            })
        })?;
        while let Some(row) =
            wait(async { Ok(timeout(self.query_patience, stream.next()).await.map_err(|_| late())??) })?
        {
            visit(Row(row))?;
        }
        Ok(())
    }

    /// The lists that a statement gives as `row`, of which there may be `most`: together, unless they are so many that
    /// the server should not hold them all.
    pub(super) fn lists<T: DeserializeOwned>(
        &self,
        statement: &str,
        params: Params,
        most: usize,
    ) -> Answer<Vec<T>> {
        if most > FETCHED {
            return self.rows(statement, params)?.iter().map(|row| row.get("row")).collect();
        }
        let row = self.row(&in_one(statement), params)?;
        row.map_or_else(|| Ok(Vec::new()), |row| row.get("rows"))
    }

    /// Waits for a connection, no longer than for that.
    pub(super) fn reach(&self) -> Answer<()> {
        self.begin().map(drop)
    }

    /// The first row of a statement that changes nothing.
    pub(super) fn row(&self, statement: &str, params: Params) -> Answer<Option<Row>> {
        Ok(self.rows(statement, params)?.into_iter().next())
    }

    /// Starts a transaction.
    pub(super) fn begin(&self) -> Answer<Transaction> {
        let begun = self.again(|| {
            let graph = self.graph();
            let begun = wait(async {
                let begun = timeout(self.patience, graph.start_txn()).await;
                Ok(begun.map_err(|_| Fault::NoConnection(self.patience))??)
            })?;
            Ok(begun)
        })?;
        Ok(Transaction { inner: Some(begun), patience: self.query_patience })
    }

    /// Works in one transaction, and commits it. If it met another it is tried again as a whole, also where
    /// nobody knows whether it was committed: what is there already must change nothing.
    pub(super) fn write<T>(&self, mut work: impl FnMut(&mut Transaction) -> Answer<T>) -> Answer<T> {
        let mut once = || {
            let mut transaction = self.begin()?;
            let done = work(&mut transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        self.again(|| {
            once().inspect_err(|fault| {
                if let Fault::TooLong(_) = fault {
                    self.leave();
                }
            })
        })
    }

    fn again<T>(&self, mut work: impl FnMut() -> Answer<T>) -> Answer<T> {
        let began = Instant::now();
        let (mut tried, mut pause) = (0, PAUSE);
        loop {
            tried += 1;
            let again = |fault: &Fault| fault.is_passing() || fault.is_of_connection() && tried < TRIES;
            match work() {
                Err(fault) if again(&fault) && began.elapsed() < self.patience => {
                    std::thread::sleep(pause);
                    pause = (pause + pause / 2).min(LONGEST_PAUSE);
                }
                other => return other,
            }
        }
    }

    /// Makes something that must be there, in a transaction of its own; another process may have done it meanwhile.
    pub(super) fn make(&self, statement: &str, params: Params) -> Answer<()> {
        match self.run(statement, params) {
            Err(Fault::Driver(neo4rs::Error::Neo4j(error))) if error.code().ends_with("AlreadyExists") => {
                Ok(())
            }
            other => other,
        }
    }

    /// Runs one statement that must stand outside of a transaction of several.
    pub(super) fn run(&self, statement: &str, params: Params) -> Answer<()> {
        self.again(|| {
            let graph = self.graph();
            wait(async {
                let run = graph.run(query(statement, params.clone()));
                let done = timeout(self.query_patience, run).await;
                Ok(done.map_err(|_| Fault::TooLong(self.query_patience))??)
            })
        })
    }
}

/// How many of the things that a statement is about fit into one prompt request, beside a question's vector of so
/// many numbers, if each takes so many bytes; no end of them if that is hardly any.
pub(super) fn promptly(statement: &str, dim: usize, each: usize) -> usize {
    let room = PROMPT.saturating_sub(statement.len() + NUMBER * dim + SELECTION);
    Some(room / each).filter(|count| *count >= WORTHWHILE).unwrap_or(usize::MAX)
}

/// A pool of connections; none is made yet.
fn connect(config: &Config) -> Answer<Graph> {
    let _inside = runtime()?.enter();
    Ok(Graph::connect(config.clone())?)
}

fn query(statement: &str, params: Params) -> Query {
    Query::new(statement.to_owned()).with_params(params.into())
}

/// A transaction, which is taken back unless it is committed.
pub(super) struct Transaction {
    inner: Option<Txn>,
    patience: Duration,
}

impl Transaction {
    /// The rows that a statement gives.
    pub(super) fn rows(&mut self, statement: &str, params: Params) -> Answer<Vec<Row>> {
        let patience = self.patience;
        let inner = self.inner()?;
        let all = async {
            let mut rows = Vec::new();
            let mut stream = inner.execute(query(statement, params)).await?;
            while let Some(row) = stream.next(inner.handle()).await? {
                rows.push(Row(row));
            }
            Ok(rows)
        };
        wait(async { timeout(patience, all).await.map_err(|_| Fault::TooLong(patience))? })
    }

    /// The first row that a statement gives.
    pub(super) fn row(&mut self, statement: &str, params: Params) -> Answer<Option<Row>> {
        Ok(self.rows(statement, params)?.into_iter().next())
    }

    /// Runs a statement whose rows nobody wants.
    pub(super) fn run(&mut self, statement: &str, params: Params) -> Answer<()> {
        let patience = self.patience;
        let inner = self.inner()?;
        wait(async {
            let done = timeout(patience, inner.run(query(statement, params))).await;
            Ok(done.map_err(|_| Fault::TooLong(patience))??)
        })
    }

    /// The same, each of whose statements may take so long.
    pub(super) fn within(&mut self, patience: Duration) -> &mut Transaction {
        self.patience = patience;
        self
    }

    /// Takes back what it did; nothing more can be done in it.
    pub(super) fn take_back(&mut self) {
        if let (Some(inner), Ok(runtime)) = (self.inner.take(), runtime()) {
            let _ = runtime.block_on(async { timeout(TAKING_BACK, inner.rollback()).await });
        }
    }

    fn inner(&mut self) -> Answer<&mut Txn> {
        self.inner.as_mut().ok_or_else(|| Fault::Odd("the transaction has ended".to_owned()))
    }

    fn commit(mut self) -> Answer<()> {
        let patience = self.patience;
        match self.inner.take() {
            Some(inner) => wait(async {
                let done = timeout(patience, inner.commit()).await;
                Ok(done.map_err(|_| Fault::TooLong(patience))??)
            }),
            None => Ok(()),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // Else the server would keep its locks until the connection is used again.
        self.take_back();
    }
}
