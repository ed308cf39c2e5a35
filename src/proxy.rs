//! The tools chained behind HTTP: enrich, forward and ingest in one process, for clients of OpenAI's chat
//! completions. It decides nothing that a shell pipe would not do. Beside that it embeds, since it has a model
//! in memory that a tool would have to load.

mod answer;
mod background;
mod command;
mod embedder;
mod embeddings;
mod route;
mod serve;

use crate::chat::{Request, Rsv};
use crate::cli::Notes;
use crate::config::{Secret, Settings};
use crate::embed::Embedder;
use crate::enrich::{self, Memory, Turn};
use crate::error::{Context, Result};
use crate::forward::{Failure, Forwarder};
use crate::ingest::{Ingest, Options};
use crate::record::{Clock, Object, Scope, id};
use crate::store::{self, Access, Store};
use std::sync::{Arc, Mutex, PoisonError};

/// What every request shares.
pub struct Proxy {
    settings: Settings,
    /// The scope of requests whose address names none.
    scope: Scope,
    forwarder: Forwarder,
    clock: Clock,
    notes: Notes,
    /// Opened at the first use, and again after it failed.
    store: Mutex<Option<Box<dyn Store>>>,
    embedder: embedder::Shared,
    background: background::Background,
}

impl Proxy {
    pub fn new(settings: Settings, scope: Scope, clock: Clock, notes: Notes) -> Result<Proxy> {
        let forwarder = Forwarder::new(&settings)?;
        Ok(Proxy {
            settings,
            scope,
            forwarder,
            clock,
            notes,
            store: Mutex::new(None),
            embedder: embedder::Shared::default(),
            background: background::Background::default(),
        })
    }

    /// One turn: recalls, asks the provider, stores. The answer is the line that the pipe gives. Memory that
    /// fails is told on standard error, and the turn goes on without it.
    async fn turn(
        self: &Arc<Proxy>,
        mut body: Object,
        scope: Scope,
        bearer: Option<Secret>,
    ) -> std::result::Result<Vec<u8>, Failure> {
        // Nobody outside chooses a scope or an account.
        body.take("rsv");
        let request = Request::parse(body)?;
        let enriched = {
            let (request, scope) = (request.clone(), scope.clone());
            self.with_store(move |proxy, store| proxy.enrich(store, request, &scope)).await
        };
        let request = match enriched {
            Ok(enriched) => enriched,
            Err(error) => {
                self.notes.fault(&error.at("the request goes on without memory"));
                self.plain(request, &scope)?
            }
        };
        let response = self.forwarder.whole(request, bearer.as_ref(), &self.clock).await?;
        let stored = {
            let response = response.clone();
            self.with_store(move |proxy, store| proxy.ingest(store, &response)).await
        };
        if stored.is_ok() {
            self.wake();
        }
        Ok(stored.unwrap_or_else(|error| {
            self.notes.fault(&error.at("the turn is not stored"));
            (response.to_json() + "\n").into_bytes()
        }))
    }

    fn enrich(&self, store: &mut dyn Store, request: Request, scope: &Scope) -> Result<Object> {
        let options = enrich::Options::of(&self.settings, &request, scope)?;
        let turn = Turn { scope, trace_id: None, clock: &self.clock };
        let mut enrich = |embedder: Option<&mut Embedder>, request| {
            enrich::enrich(Memory { store, embedder, notes: &self.notes }, request, &turn, &options)
        };
        let enriched = match self.with_embedder(|embedder| enrich(Some(embedder), request.clone())) {
            Ok(enriched) => enriched?,
            // No model is installed.
            Err(_) => enrich(None, request)?,
        };
        self.notes.detail(format_args!("account {}", enriched.account.members.to_json()));
        Ok(enriched.request)
    }

    /// The request with nothing recalled, so that its turn can still be stored.
    fn plain(&self, mut request: Request, scope: &Scope) -> Result<Object> {
        let rsv = Rsv {
            partition: Some(scope.partition.clone()),
            instance: Some(scope.instance.clone()),
            trace_id: Some(id::fresh(&self.clock, "plain")?),
            user: request.user().cloned(),
            ..Rsv::default()
        };
        Ok(request.into_object(&rsv))
    }

    fn ingest(&self, store: &mut dyn Store, response: &Object) -> Result<Vec<u8>> {
        let mut ingest = Ingest::new(Options::default(), self.clock);
        ingest.add_response(response)?;
        ingest.commit(store)?.pop().map_or(Ok(Vec::new()), |done| done.line)
    }

    /// Whether the store can be read: by one look at its records, however many there are.
    async fn check(self: &Arc<Proxy>) -> Result<()> {
        self.with_store(|_, store| store.scope_of("").map(drop)).await
    }

    /// Works with the store on a thread that may wait for it. After an error it is opened anew.
    async fn with_store<T: Send + 'static>(
        self: &Arc<Proxy>,
        work: impl FnOnce(&Proxy, &mut dyn Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let proxy = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _at_work = proxy.embedder.at_work();
            let mut held = proxy.store.lock().unwrap_or_else(PoisonError::into_inner);
            let mut store = match held.take() {
                Some(store) => store,
                None => store::open(&proxy.settings.store()?, Access::Write)?,
            };
            let done = work(&proxy, &mut *store)?;
            *held = Some(store);
            Ok(done)
        });
        done.await.context("a step was cut short")?
    }
}
