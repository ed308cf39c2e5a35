//! One turn: recalls, asks the provider, stores. The answer is the line that the pipe gives.

use super::Proxy;
use crate::chat::Request;
use crate::config::Secret;
use crate::embed::Embedder;
use crate::enrich::{self, Enriched, Memory, Turn};
use crate::error::{Error, Result};
use crate::fill;
use crate::forward::Failure;
use crate::ingest::{Ingest, Options};
use crate::record::{Account, Object, Scope};
use crate::store::Store;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// What a client asks for.
pub(super) struct Asked {
    pub(super) body: Object,
    pub(super) scope: Scope,
    pub(super) bearer: Option<Secret>,
    /// What is to be recalled, if the client says so.
    pub(super) recall: Option<String>,
}

/// What came of it.
pub(super) struct Told {
    /// What enrichment did, if it came to that.
    pub(super) account: Option<Account>,
    pub(super) answer: std::result::Result<Vec<u8>, Failure>,
}

impl Proxy {
    /// Memory that fails is told on standard error, and the turn goes on without it.
    pub(super) async fn turn(self: &Arc<Proxy>, asked: Asked) -> Told {
        let bearer = asked.bearer.clone();
        let enriched = match self.enriched(asked).await {
            Ok(enriched) => enriched,
            Err(failure) => return Told { account: None, answer: Err(failure) },
        };
        self.notes.detail(format_args!("account {}", enriched.account.members.to_json()));
        let answer = self.answered(enriched.line, enriched.too_long, bearer).await;
        Told { account: Some(enriched.account), answer }
    }

    async fn answered(
        self: &Arc<Proxy>,
        line: Object,
        too_long: Option<Error>,
        bearer: Option<Secret>,
    ) -> std::result::Result<Vec<u8>, Failure> {
        let strict = self.settings.boolean("enrich.strict") == Some(true);
        let response = match too_long {
            Some(error) if strict => return Err(Failure::too_long(&error)),
            Some(_) => line,
            None => self.forwarder.whole(line, bearer.as_ref(), &self.clock).await?,
        };
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

    /// The request with what is recalled; without it, and saying so, if memory does not serve in time.
    async fn enriched(self: &Arc<Proxy>, mut asked: Asked) -> std::result::Result<Enriched, Failure> {
        // Nobody outside chooses a scope or an account.
        asked.body.take("rsv");
        if asked.body.get("stream") == Some("true") {
            return Err(Error::new("stream: is not supported, send false or leave it out").into());
        }
        let request = Request::parse(asked.body)?;
        let mut settings = Cow::Borrowed(&self.settings);
        if let Some(recall) = &asked.recall {
            settings.to_mut().overrule("enrich.recall", "x-rsv-recall", recall)?;
        }
        let options = Arc::new(enrich::Options::of(&settings, &request, &asked.scope)?);
        let limit = settings.duration("enrich.timeout").unwrap_or(Duration::MAX);
        let scope = Arc::new(asked.scope);
        let with_memory = {
            let (request, scope, options) = (request.clone(), scope.clone(), options.clone());
            self.with_store(move |proxy, store| proxy.enrich(Ok(store), request, &scope, &options))
        };
        let why = match tokio::time::timeout(limit, with_memory).await {
            Ok(Ok(enriched)) => return Ok(enriched),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("memory did not answer within {limit:?}"),
        };
        self.notes.note(format_args!("{why}; the request goes on without memory"));
        let proxy = self.clone();
        let without =
            tokio::task::spawn_blocking(move || proxy.enrich(Err(why), request, &scope, &options)).await;
        Ok(without.unwrap_or_else(|_| Err(Error::new("a step was cut short")))?)
    }

    fn enrich(
        &self,
        store: std::result::Result<&mut dyn Store, String>,
        request: Request,
        scope: &Scope,
        options: &enrich::Options,
    ) -> Result<Enriched> {
        let served = || options.assumed.then(|| self.windows.of(&options.model)).flatten();
        let turn = Turn { scope, trace_id: None, clock: &self.clock, served: &served };
        let store = match store {
            Ok(store) => store,
            Err(why) => return enrich::enrich(Err(why), request, &turn, options),
        };
        let wanted = fill::is_wanted(store, &self.settings)?;
        let mut enrich = |embedder: Option<&mut Embedder>, request, degraded| {
            let memory = Memory { store: &mut *store, embedder, notes: &self.notes, degraded };
            enrich::enrich(Ok(memory), request, &turn, options)
        };
        match self.with_embedder(|embedder| enrich(Some(embedder), request.clone(), None)) {
            Ok(enriched) => enriched,
            // No model is installed.
            Err(error) => {
                let why = wanted.then(|| format!("{error}; messages are found by their words only"));
                enrich(None, request, why)
            }
        }
    }

    fn ingest(&self, store: &mut dyn Store, response: &Object) -> Result<Vec<u8>> {
        let mut ingest = Ingest::new(Options::default(), self.clock);
        ingest.add_response(response)?;
        ingest.commit(store)?.pop().map_or(Ok(Vec::new()), |done| done.line)
    }
}
