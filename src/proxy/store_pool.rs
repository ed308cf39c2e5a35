//! The connections by which turns read the store concurrently, on threads that may block.

use super::blocking_pool::BlockingPool;
use super::foreground::Foreground;
use super::proxy_config::ProxyConfig;
use crate::error::{Context, Error, Result};
use crate::store::{self, OpenMode, Store};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// The number of turns that read the store at the same time: more would only wait for processors and for the disk.
const MAX_READERS: usize = 4;

/// Opens the store, and keeps connections to it.
pub(super) struct StorePool {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    /// The connections that no turn uses. One is opened where there is none, and dropped if its work failed.
    idle: Mutex<Vec<Box<dyn Store>>>,
    readers: Arc<Semaphore>,
}

impl StorePool {
    /// A pool without connections; nothing is opened yet.
    pub(super) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
    ) -> StorePool {
        let readers = Arc::new(Semaphore::new(MAX_READERS));
        StorePool {
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            idle: Mutex::default(),
            readers,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<dyn Store>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection that only reads, and for which no turn has to wait.
    pub(super) fn open_to_read(&self) -> Result<Box<dyn Store>> {
        Ok(store::open(&self.config.settings.store()?, OpenMode::Existing)?)
    }

    /// Opens a connection as a server does, and for which no turn has to wait.
    pub(super) fn open_to_serve(&self) -> Result<Box<dyn Store>> {
        Ok(store::open(&self.config.settings.store()?, OpenMode::Pooled)?)
    }

    /// Errors if the store cannot be read. Looks at one record, however many there are.
    pub(super) async fn check(self: &Arc<StorePool>) -> Result<()> {
        let pool = self.clone();
        let checked = self.blocking.spawn(move || Ok(pool.open_to_read()?.scope_of("").map(drop)?));
        checked.await.context("a task of the proxy panicked")?
    }

    /// As `check`; returns why messages of another program cannot be read.
    pub(super) async fn examine(self: &Arc<StorePool>) -> Result<Vec<Error>> {
        let pool = self.clone();
        let examined = self.blocking.spawn(move || {
            let mut store = pool.open_to_read()?;
            store.scope_of("")?;
            store::unreadable(&mut *store)
        });
        examined.await.context("a task of the proxy panicked")?
    }

    /// Runs `work` with a connection on a thread that may block.
    pub(super) async fn with_store<T: Send + 'static>(
        self: &Arc<StorePool>,
        work: impl FnOnce(&mut dyn Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let reader = self.readers.clone().acquire_owned().await.context("a task of the proxy panicked")?;
        let pool = self.clone();
        let done = self.blocking.spawn(move || {
            let (_reader, _active) = (reader, pool.foreground.enter());
            let mut idle = pool.idle().pop();
            let mut store = match idle.take_if(|store| store.check_place().is_ok()) {
                Some(store) => store,
                None => pool.open_to_serve()?,
            };
            let done = work(&mut *store)?;
            pool.idle().push(store);
            Ok(done)
        });
        done.await.context("a task of the proxy panicked")?
    }
}
