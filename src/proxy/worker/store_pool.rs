//! The connections by which turns read the store concurrently, on threads that may block.

use super::blocking_pool::BlockingPool;
use super::error::WorkerFault;
use super::foreground::Foreground;
use crate::error::{Context, Error, Result};
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::store::{self, Among, OpenMode, Store};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Weak};
use std::thread::available_parallelism;
use std::time::Instant;
use tokio::sync::oneshot;

/// The greatest number of turns that read the store at the same time, and the least of a file: more readers
/// than processors would only slow the writer down, for which other turns wait.
const MAX_READERS: usize = 4;
const MIN_READERS: usize = 2;

/// Opens the store, and keeps connections to it.
pub(in crate::proxy) struct StorePool {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    max_readers: usize,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// The jobs that wait for a reader, in the order of `since`.
    jobs: VecDeque<Job>,
    readers: usize,
    /// The connections that no reader uses.
    idle: Vec<Box<dyn Store>>,
    /// Whether connections that are not used are closed.
    is_closed: bool,
}

/// The work of a reader with its connection.
type Work = dyn FnOnce(&StorePool, &mut Connection) + Send;

/// Work of a reader.
struct Job {
    run: Box<Work>,
    /// Alive as long as its request waits.
    awaited: Weak<()>,
    /// The arrival of its request, which may have waited for something else before.
    since: Instant,
}

impl Job {
    fn is_awaited(&self) -> bool {
        self.awaited.strong_count() > 0
    }
}

/// The connection of a reader, opened where there is none.
type Connection = Option<Box<dyn Store>>;

impl StorePool {
    /// A pool without connections; nothing is opened yet.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
    ) -> StorePool {
        let is_file = config.settings.store().is_ok_and(|place| place.path().is_some());
        let processors = available_parallelism().map_or(MIN_READERS, usize::from);
        StorePool {
            max_readers: if is_file { processors.clamp(MIN_READERS, MAX_READERS) } else { MAX_READERS },
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            state: Mutex::default(),
        }
    }

    /// Opens a connection that only reads, and for which no turn has to wait. Fails as `store::open` does.
    pub(in crate::proxy) fn open_to_read(&self) -> Result<Box<dyn Store>> {
        Ok(store::open(&self.config.settings.store()?, OpenMode::Existing)?)
    }

    /// Opens a connection as a server does, and for which no turn has to wait. Fails as `store::open` does.
    pub(super) fn open_to_serve(&self) -> Result<Box<dyn Store>> {
        Ok(store::open(&self.config.settings.store()?, OpenMode::Pooled)?)
    }

    /// The same, if the store is there: nothing is made. Fails if it cannot be opened.
    pub(super) fn open_existing(&self) -> Result<Option<Box<dyn Store>>> {
        let is_missing = self.config.settings.store()?.path().is_some_and(|path| !path.exists());
        if is_missing { Ok(None) } else { self.open_to_serve().map(Some) }
    }

    /// The number of requests that wait for a reader.
    pub(in crate::proxy) fn waiting(&self) -> usize {
        locked(&self.state).jobs.len()
    }

    /// Runs `work` with a connection of its own. Errors if the store cannot be read: one record is looked at
    /// first, however many there are.
    pub(in crate::proxy) async fn read<T: Send + 'static>(
        self: &Arc<StorePool>,
        work: impl FnOnce(&mut dyn Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let pool = self.clone();
        let done = self.blocking.spawn(move || {
            let mut store = pool.open_to_read()?;
            store.identify(Among::Ids(&[""]))?;
            work(&mut *store)
        });
        done.await.context(WorkerFault::Panicked)?
    }

    /// Returns why messages of another program cannot be read. Errors if the store cannot be read.
    pub(in crate::proxy) async fn examine(self: &Arc<StorePool>) -> Result<Vec<Error>> {
        self.read(store::unreadable).await
    }

    /// Runs `work` with a connection on a thread that may block. If nobody waits for it any more when its
    /// turn comes, it is not begun. Fails as `work` does, or if the store cannot be opened.
    pub(in crate::proxy) async fn with_store<T: Send + 'static>(
        self: &Arc<StorePool>,
        work: impl FnOnce(&mut dyn Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.with_store_since(Instant::now(), work).await
    }

    /// As `with_store`, before the work of all requests that came later. Fails as that does.
    pub(in crate::proxy) async fn with_store_since<T: Send + 'static>(
        self: &Arc<StorePool>,
        since: Instant,
        work: impl FnOnce(&mut dyn Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, done) = oneshot::channel();
        let run = Box::new(move |pool: &StorePool, connection: &mut Connection| {
            // The request may have given up meanwhile.
            let _ = sender.send(pool.run(connection, work));
        });
        let awaited = Arc::new(());
        self.start(Job { run, awaited: Arc::downgrade(&awaited), since });
        let done = done.await;
        drop(awaited);
        done.context(WorkerFault::Panicked)?
    }

    /// Queues a job, with a thread for it if there may be one more: a thread that continues with the next job
    /// is cheaper than one that has to be woken for it.
    fn start(self: &Arc<StorePool>, job: Job) {
        let mut state = locked(&self.state);
        // The jobs of requests that gave up may be many.
        state.jobs.retain(Job::is_awaited);
        let place = state.jobs.partition_point(|earlier| earlier.since <= job.since);
        state.jobs.insert(place, job);
        if state.readers < self.max_readers {
            state.readers += 1;
            let pool = self.clone();
            self.blocking.spawn(move || pool.work());
        }
    }

    /// Closes the connections, those of readers when they have ended. No request waits for the lock any more.
    pub(in crate::proxy) fn close(&self) {
        let mut state = locked(&self.state);
        state.is_closed = true;
        state.idle.clear();
    }

    /// Does the queued jobs, until there are none.
    fn work(&self) {
        let mut connection = locked(&self.state).idle.pop();
        loop {
            let mut state = locked(&self.state);
            let Some(job) = state.jobs.pop_front() else {
                state.readers -= 1;
                if !state.is_closed {
                    state.idle.extend(connection);
                }
                return;
            };
            drop(state);
            if !job.is_awaited() {
                continue;
            }
            let _active = self.foreground.enter();
            if catch_unwind(AssertUnwindSafe(|| (job.run)(self, &mut connection))).is_err() {
                connection = None;
            }
        }
    }

    /// Runs `work` with a connection, which is dropped if that fails.
    fn run<T>(
        &self,
        connection: &mut Connection,
        work: impl FnOnce(&mut dyn Store) -> Result<T>,
    ) -> Result<T> {
        let mut store = match connection.take_if(|store| store.check_place().is_ok()) {
            Some(store) => store,
            None => self.open_to_serve()?,
        };
        let done = work(&mut *store)?;
        *connection = Some(store);
        Ok(done)
    }
}
