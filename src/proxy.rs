//! The tools chained behind HTTP: enrich, forward and ingest in one process, for clients of OpenAI's chat
//! completions. It decides nothing that a shell pipe would not do. Beside that it embeds, since it has a model
//! in memory that a tool would have to load.

mod again;
mod answer;
mod background;
mod body;
mod check;
mod command;
mod embedder;
mod embeddings;
mod guard;
mod health;
mod log;
mod memory;
mod models;
mod ollama;
mod route;
mod serve;
mod streamed;
mod tee;
mod turn;
mod unread;
mod upstream;
mod with;
mod writer;

pub use log::Log;
pub use serve::Stop;
pub use with::{Client, is_served};

use crate::cli::Notes;
use crate::config::Settings;
use crate::error::{Context, Result};
use crate::forward::Forwarder;
use crate::provider::Windows;
use crate::record::{Clock, Scope};
use crate::store::{self, OpenMode, Store};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// How many turns read the store at the same time: more have to wait for processors and for the disk anyway.
const READERS: usize = 4;

/// What every request shares.
pub struct Proxy {
    settings: Settings,
    /// The longest body, in bytes.
    longest: usize,
    /// How long a client may be silent that has not said all.
    patience: Duration,
    /// The scope of requests whose address names none.
    scope: Scope,
    forwarder: Forwarder,
    windows: Windows,
    clock: Clock,
    notes: Notes,
    /// Connections to the store for turns, which read it side by side. One is opened where none is free, and not
    /// used again after it failed.
    stores: Mutex<Vec<Box<dyn Store>>>,
    /// How many more of them may be used.
    readers: Arc<Semaphore>,
    /// The event loop whose threads wait for the store and the embedder, whichever loop asks: each such thread costs
    /// memory, and the fewer the less.
    home: OnceLock<Handle>,
    embedder: embedder::Shared,
    background: background::Background,
    guard: guard::Guard,
    upstream: upstream::Upstream,
    turns: again::Turns,
    writer: writer::Writer,
    log: Log,
}

impl Proxy {
    /// Takes everything from the settings; nothing is opened yet. Errors name the setting.
    pub fn new(settings: Settings, scope: Scope, clock: Clock, notes: Notes) -> Result<Proxy> {
        let forwarder = Forwarder::new(&settings, &notes)?;
        let windows = Windows::new(&settings)?;
        Ok(Proxy {
            guard: guard::Guard::new(&settings),
            upstream: upstream::Upstream::new(&settings, &notes)?,
            turns: again::Turns::default(),
            writer: writer::Writer::new(&settings),
            log: Log::None,
            longest: settings.max_line(),
            patience: settings.duration("proxy.idle_timeout").unwrap_or(Duration::from_secs(60)),
            settings,
            scope,
            forwarder,
            windows,
            clock,
            notes,
            stores: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS)),
            home: OnceLock::new(),
            embedder: embedder::Shared::default(),
            background: background::Background::default(),
        })
    }

    /// Has every request told on standard error.
    pub fn logging(mut self, log: Log) -> Proxy {
        self.log = log;
        self
    }

    /// Does what may take its time on a thread that may wait.
    fn apart<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.home.get_or_init(Handle::current).spawn_blocking(work)
    }

    /// Whether the store can be read: by one look at its records, however many there are.
    async fn check(self: &Arc<Proxy>) -> Result<()> {
        let proxy = self.clone();
        let looked = self.apart(move || Ok(proxy.to_read()?.scope_of("").map(drop)?));
        looked.await.context("a step was cut short")?
    }

    /// Works with the store on a thread that may wait for it.
    async fn with_store<T: Send + 'static>(
        self: &Arc<Proxy>,
        work: impl FnOnce(&Proxy, &mut dyn Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let reader = self.readers.clone().acquire_owned().await.context("a step was cut short")?;
        let proxy = self.clone();
        let done = self.apart(move || {
            let (_reader, _at_work) = (reader, proxy.embedder.at_work());
            let stores = || proxy.stores.lock().unwrap_or_else(PoisonError::into_inner);
            let free = stores().pop();
            let mut store = match free {
                Some(store) => store,
                None => store::open(&proxy.settings.store()?, OpenMode::Pooled)?,
            };
            let done = work(&proxy, &mut *store)?;
            stores().push(store);
            Ok(done)
        });
        done.await.context("a step was cut short")?
    }
}
