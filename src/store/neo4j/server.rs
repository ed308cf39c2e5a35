//! The connection to the server, for threads that may block: runs statements and returns rows, each within a
//! timeout.

use super::error::{DbError, DbResult};
use super::statements::in_one;
use super::values::{Params, Row};
use crate::config::{ServerOptions as Settings, StoreLocation};
use backon::{BlockingRetryable, ExponentialBuilder};
use neo4rs::{Config, ConfigBuilder, Graph, Query, Txn};
use serde::de::DeserializeOwned;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// The number of rows that the server sends at a time, or lists in one row.
pub(super) const FETCH_SIZE: usize = 1000;

/// A larger request, in bytes, is sent in several segments, and the last waits 40 ms for the acknowledgement
/// of the first, since the driver does not disable Nagle's algorithm.
const PROMPT_REQUEST: usize = 8192;

/// The bytes of a request that a number of a question's vector takes, and those that the parameters of a
/// selection take.
const NUMBER_BYTES: usize = 5;
const SELECTION_BYTES: usize = 400;

/// The least number of ids in a request that is kept short.
const LEAST_IDS: usize = 20;

/// The number of attempts after a connection failed. Errors that the server calls transient, such as a
/// conflict with another transaction or a change of the leader, are retried until the connect timeout. The
/// backoff grows by half of itself each time.
const TRIES: u32 = 8;
const BACKOFF: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(20))
    .with_factor(1.5)
    .with_max_delay(Duration::from_millis(500))
    .without_max_times();

/// The time that the server may take to roll back a transaction.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(1);

/// A server, and the connection pool that all stores of this process share.
#[derive(Clone)]
pub(super) struct Server {
    config: Config,
    graph: Arc<Mutex<Graph>>,
    connect_timeout: Duration,
    query_timeout: Duration,
}

/// The event loop of every connection, in the proxy too: a connection stays with the loop that made it, and
/// the callers are threads without a loop. The waiting thread drives it.
fn runtime() -> DbResult<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_current_thread().enable_all().build();
    let made = made.map_err(|e| DbError::Unexpected(format!("cannot start an event loop: {e}")))?;
    Ok(RUNTIME.get_or_init(|| made))
}

fn wait<T>(task: impl Future<Output = DbResult<T>>) -> DbResult<T> {
    runtime()?.block_on(task)
}

impl Server {
    /// The server at a location; nothing is sent yet. Fails if the address is invalid.
    pub(super) fn for_location(place: &StoreLocation) -> DbResult<Server> {
        static SERVERS: LazyLock<Mutex<Vec<(String, Server)>>> = LazyLock::new(Mutex::default);
        let Settings { user, password, database, .. } = &place.server;
        let name = format!("{}\n{user}\n{}\n{database:?}", place.address, password.expose());
        // Held while a pool is made, which sends nothing: a second pool would exceed the connections set.
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, server)) = servers.iter().find(|(key, _)| *key == name) {
            return Ok(server.clone());
        }
        let server = Server::new(place, place.server.connections)?;
        servers.push((name, server.clone()));
        Ok(server)
    }

    /// As `for_location`, with its own connections, which are closed when it is dropped. Fails as that does.
    pub(super) fn new(place: &StoreLocation, connections: usize) -> DbResult<Server> {
        // The same crypto provider as for HTTPS; the first one installed stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Settings { user, password, database, connect_timeout, query_timeout, .. } = &place.server;
        let mut config = ConfigBuilder::default()
            .uri(place.address.as_str())
            .user(user.as_str())
            .password(password.expose())
            .max_connections(connections)
            // This bounds the wait for a free connection. It ends before the wait for the server, so that the
            // error names the right cause.
            .max_lifetime(Some(connect_timeout.mul_f64(0.9)))
            .fetch_size(FETCH_SIZE)
            // This bounds every read too.
            .connection_timeout((*query_timeout).max(*connect_timeout));
        if let Some(database) = database {
            config = config.db(database.as_str());
        }
        let config = config.build()?;
        let graph = Arc::new(Mutex::new(connect(&config)?));
        Ok(Server { config, graph, connect_timeout: *connect_timeout, query_timeout: *query_timeout })
    }

    /// A handle of the pool, so that no lock is held while a statement runs.
    fn graph(&self) -> Graph {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Abandons the connections and makes a new pool: a connection that still waits for a lock cannot be
    /// cancelled, and would keep the lock once it gets it. An abandoned connection is closed when it is no
    /// longer in use.
    fn replace_pool(&self) {
        if let Ok(graph) = connect(&self.config) {
            *self.graph.lock().unwrap_or_else(PoisonError::into_inner) = graph;
        }
    }

    /// The rows of a statement that changes nothing. Fails if the server cannot be reached, refuses, or is
    /// later than the query timeout.
    pub(super) fn rows(&self, statement: &str, params: Params) -> DbResult<Vec<Row>> {
        collect(|visit| self.each(statement, params, visit))
    }

    /// Visits the rows of a statement as they arrive. Fails as `rows` does, and as `visit` does.
    pub(super) fn each(
        &self,
        statement: &str,
        params: Params,
        visit: &mut dyn FnMut(Row) -> DbResult<()>,
    ) -> DbResult<()> {
        let late = || DbError::QueryTimeout(self.query_timeout);
        let mut stream = self.retry(|| {
            let graph = self.graph();
            wait(async {
                let sent = graph.execute_read(query(statement, params.clone()));
                Ok(timeout(self.query_timeout, sent).await.map_err(|_| late())??)
            })
        })?;
        while let Some(row) =
            wait(async { Ok(timeout(self.query_timeout, stream.next()).await.map_err(|_| late())??) })?
        {
            visit(Row(row))?;
        }
        Ok(())
    }

    /// The lists that a statement returns as `row`: in one row, unless `most` is too many for the server to
    /// hold.
    pub(super) fn lists<T: DeserializeOwned>(
        &self,
        statement: &str,
        params: Params,
        most: usize,
    ) -> DbResult<Vec<T>> {
        if most > FETCH_SIZE {
            return self.rows(statement, params)?.iter().map(|row| row.get("row")).collect();
        }
        let row = self.row(&in_one(statement), params)?;
        row.map_or_else(|| Ok(Vec::new()), |row| row.get("rows"))
    }

    /// Waits for a connection, no longer than the connect timeout. Fails if the server gives none.
    pub(super) fn reach(&self) -> DbResult<()> {
        self.begin().map(drop)
    }

    /// The first row of a statement that changes nothing. Fails as `rows` does.
    pub(super) fn row(&self, statement: &str, params: Params) -> DbResult<Option<Row>> {
        Ok(self.rows(statement, params)?.into_iter().next())
    }

    /// Starts a transaction. Fails if the server refuses, or is later than the connect timeout.
    pub(super) fn begin(&self) -> DbResult<Transaction> {
        let transaction = self.retry(|| {
            let graph = self.graph();
            let transaction = wait(async {
                let transaction = timeout(self.connect_timeout, graph.start_txn()).await;
                Ok(transaction.map_err(|_| DbError::ConnectTimeout(self.connect_timeout))??)
            })?;
            Ok(transaction)
        })?;
        Ok(Transaction { inner: Some(transaction), query_timeout: self.query_timeout })
    }

    /// Runs `work` in one transaction, and commits it. After a conflict, or if it is unknown whether the
    /// commit succeeded, the whole transaction is retried: so `work` must be idempotent. Fails as `work`
    /// does, or if the commit keeps failing.
    pub(super) fn write<T>(&self, mut work: impl FnMut(&mut Transaction) -> DbResult<T>) -> DbResult<T> {
        let mut once = || {
            let mut transaction = self.begin()?;
            let done = work(&mut transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        self.retry(|| {
            once().inspect_err(|error| {
                if let DbError::QueryTimeout(_) = error {
                    self.replace_pool();
                }
            })
        })
    }

    fn retry<T>(&self, work: impl FnMut() -> DbResult<T>) -> DbResult<T> {
        let (began, mut tried) = (Instant::now(), 0);
        let may_retry = |error: &DbError| {
            tried += 1;
            let has_try = error.is_transient() || error.is_of_connection() && tried < TRIES;
            has_try && began.elapsed() < self.connect_timeout
        };
        work.retry(BACKOFF).when(may_retry).call()
    }

    /// Makes something that must exist, in a transaction of its own; another process may have made it
    /// meanwhile. Fails if the server refuses it otherwise.
    pub(super) fn make(&self, statement: &str, params: Params) -> DbResult<()> {
        match self.run(statement, params) {
            Err(error) if error.is_already_there() => Ok(()),
            other => other,
        }
    }

    /// Runs one statement that must stand outside of a transaction of several. Fails if the server cannot be
    /// reached, refuses, or is late.
    pub(super) fn run(&self, statement: &str, params: Params) -> DbResult<()> {
        self.retry(|| {
            let graph = self.graph();
            wait(async {
                let run = graph.run(query(statement, params.clone()));
                let done = timeout(self.query_timeout, run).await;
                Ok(done.map_err(|_| DbError::QueryTimeout(self.query_timeout))??)
            })
        })
    }
}

/// The number of ids, of `each` bytes, that fit into one prompt request beside a question's vector of
/// dimension `dim`; no limit if fewer than `LEAST_IDS` would fit.
pub(super) fn ids_per_request(statement: &str, dim: usize, each: usize) -> usize {
    let free_bytes = PROMPT_REQUEST.saturating_sub(statement.len() + NUMBER_BYTES * dim + SELECTION_BYTES);
    Some(free_bytes / each).filter(|count| *count >= LEAST_IDS).unwrap_or(usize::MAX)
}

/// A pool of connections; none is made yet.
fn connect(config: &Config) -> DbResult<Graph> {
    let _inside = runtime()?.enter();
    Ok(Graph::connect(config.clone())?)
}

fn query(statement: &str, params: Params) -> Query {
    Query::new(statement.to_owned()).with_params(params.into())
}

/// The rows that `each` visits.
fn collect(each: impl FnOnce(&mut dyn FnMut(Row) -> DbResult<()>) -> DbResult<()>) -> DbResult<Vec<Row>> {
    let mut rows = Vec::new();
    each(&mut |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// A transaction, which is rolled back unless it is committed.
pub(super) struct Transaction {
    inner: Option<Txn>,
    query_timeout: Duration,
}

impl Transaction {
    /// The rows of a statement. Fails if the server refuses or is late.
    pub(super) fn rows(&mut self, statement: &str, params: Params) -> DbResult<Vec<Row>> {
        collect(|visit| self.each(statement, params, visit))
    }

    /// Visits the rows of a statement as they arrive. Fails if the server refuses or is late, or `visit`
    /// fails.
    pub(super) fn each(
        &mut self,
        statement: &str,
        params: Params,
        visit: &mut dyn FnMut(Row) -> DbResult<()>,
    ) -> DbResult<()> {
        let query_timeout = self.query_timeout;
        let late = || DbError::QueryTimeout(query_timeout);
        let inner = self.inner()?;
        wait(async {
            let sent = inner.execute(query(statement, params));
            let mut stream = timeout(query_timeout, sent).await.map_err(|_| late())??;
            loop {
                let next = timeout(query_timeout, stream.next(inner.handle()));
                match next.await.map_err(|_| late())?? {
                    Some(row) => visit(Row(row))?,
                    None => return Ok(()),
                }
            }
        })
    }

    /// The first row of a statement. Fails as `rows` does.
    pub(super) fn row(&mut self, statement: &str, params: Params) -> DbResult<Option<Row>> {
        Ok(self.rows(statement, params)?.into_iter().next())
    }

    /// Runs a statement and discards its rows. Fails if the server refuses or is late.
    pub(super) fn run(&mut self, statement: &str, params: Params) -> DbResult<()> {
        let query_timeout = self.query_timeout;
        let inner = self.inner()?;
        wait(async {
            let done = timeout(query_timeout, inner.run(query(statement, params))).await;
            Ok(done.map_err(|_| DbError::QueryTimeout(query_timeout))??)
        })
    }

    /// The same transaction with another query timeout.
    pub(super) fn within(&mut self, query_timeout: Duration) -> &mut Transaction {
        self.query_timeout = query_timeout;
        self
    }

    /// Rolls back; the transaction cannot be used any more.
    pub(super) fn rollback(&mut self) {
        if let (Some(inner), Ok(runtime)) = (self.inner.take(), runtime()) {
            // If it fails, the server rolls back when the connection ends.
            let _ = runtime.block_on(async { timeout(ROLLBACK_TIMEOUT, inner.rollback()).await });
        }
    }

    fn inner(&mut self) -> DbResult<&mut Txn> {
        self.inner.as_mut().ok_or_else(|| DbError::Unexpected("the transaction has ended".to_owned()))
    }

    fn commit(mut self) -> DbResult<()> {
        let query_timeout = self.query_timeout;
        match self.inner.take() {
            Some(inner) => wait(async {
                let done = timeout(query_timeout, inner.commit()).await;
                Ok(done.map_err(|_| DbError::QueryTimeout(query_timeout))??)
            }),
            None => Ok(()),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // Else the server would keep its locks until the connection is used again.
        self.rollback();
    }
}
