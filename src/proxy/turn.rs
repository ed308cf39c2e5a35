//! One turn in its steps: what is recalled, what the provider answers, what is stored. The answer is the line that
//! the pipe gives.

use super::Proxy;
use super::again::{First, Try};
use super::memory::Memory as Mode;
use super::writer::{self, Coming};
use crate::chat::{self, Request};
use crate::config::Settings;
use crate::enrich::{self, Enriched, Memory, Turn};
use crate::error::{Error, Result};
use crate::fill;
use crate::forward::{Caller, Failure};
use crate::http::HeaderMap;
use crate::ingest::{Ingest, Options};
use crate::record::{Clock, Object, Scope, StoredRecord};
use crate::store::Store;
use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What a client asks for.
pub(super) struct Asked {
    pub(super) body: Object,
    pub(super) scope: Scope,
    pub(super) caller: Caller,
    pub(super) memory: Mode,
    /// Settings that are the request's own: the key, who says so, the value.
    pub(super) overrules: Vec<(String, &'static str, String)>,
    /// Lives as long as the client waits.
    pub(super) client: Weak<()>,
}

/// What came of it.
pub(super) struct Told {
    /// What enrichment did, if it came to that.
    pub(super) account: Option<StoredRecord>,
    pub(super) answer: std::result::Result<(HeaderMap, Vec<u8>), Failure>,
}

/// A turn from its beginning to where its answer is stored.
pub(super) struct Begun {
    scope: Scope,
    one: Try,
    memory: Mode,
    client: Weak<()>,
    /// The end of the proxy waits for it.
    _coming: Coming,
}

impl Proxy {
    /// The three steps of a turn whose answer comes whole. Memory that fails is told on standard error, and the turn
    /// goes on without it.
    pub(super) async fn turn(self: &Arc<Proxy>, asked: Asked) -> Told {
        let caller = asked.caller.clone();
        let (begun, enriched) = match self.begin(asked).await {
            Ok(begun) => begun,
            Err(failure) => return Told { account: None, answer: Err(failure) },
        };
        let account = Some(enriched.account);
        let strict = self.settings.boolean("enrich.strict") == Some(true);
        let response = match enriched.too_long {
            Some(error) if strict => Err(Failure::too_long(&error)),
            Some(_) => Ok((enriched.line, HeaderMap::new())),
            None => self.forwarder.whole(enriched.line, &caller, &self.clock).await,
        };
        let (response, headers) = match response {
            Ok(answered) => answered,
            Err(failure) => return Told { account, answer: Err(failure) },
        };
        self.keep(begun, &response).await;
        Told { account, answer: Ok((headers, (response.to_json() + "\n").into_bytes())) }
    }

    /// The first step: the request with what is recalled.
    pub(super) async fn begin(
        self: &Arc<Proxy>,
        mut asked: Asked,
    ) -> std::result::Result<(Begun, Enriched), Failure> {
        // Nobody outside chooses a scope or an account.
        asked.body.take("rsv");
        let request = Request::parse(asked.body)?;
        let mut settings = Cow::Borrowed(&self.settings);
        for (key, who, value) in &asked.overrules {
            settings.to_mut().overrule(key, who, value)?;
        }
        if !asked.memory.recalls() {
            settings.to_mut().overrule("enrich.recall", super::memory::HEADER, "none")?;
        }
        let one = self.turns.begin(&asked.scope, &chat::array(&request.messages));
        let coming = self.coming();
        let enriched = self.enriched(request, &asked.scope, one.first.clone(), &settings).await?;
        let account = &enriched.account;
        self.turns.known(&one, &account.trace_id, account.timestamp);
        self.notes.detail(format_args!("account {}", account.members.to_json()));
        let (scope, memory, client) = (asked.scope, asked.memory, asked.client);
        Ok((Begun { scope, one, memory, client, _coming: coming }, enriched))
    }

    /// The last step: has a turn stored, after it was answered. An answer that nobody waits for any more is stored
    /// only if nobody asked for another.
    pub(super) async fn keep(self: &Arc<Proxy>, begun: Begun, response: &Object) {
        let waits = begun.client.strong_count() > 0;
        let followed = self.turns.is_followed(&begun.one);
        let rsv = response.object("rsv").ok().flatten().unwrap_or_default();
        let whole = !rsv.has("partial");
        if waits && whole {
            self.turns.answered(&begun.one);
        }
        if !begun.memory.stores() || !waits && followed || !whole && self.turns.began(&begun.one) {
            return;
        }
        let trace_id = rsv.text("trace_id").ok().flatten().unwrap_or_default();
        let mut ingest = Ingest::new(Options::default(), self.clock);
        match ingest.add_response(response) {
            Ok(()) => {
                let bytes = response.iter().map(|(name, json)| name.len() + json.len()).sum();
                self.store(writer::Turn { ingest, scope: begun.scope, trace_id, bytes }).await;
            }
            Err(error) => self.lose(&trace_id, &error.to_string()),
        }
    }

    /// The request with what is recalled; without it, and saying so, if memory does not serve in time. What was
    /// answered before in its scope is seen.
    async fn enriched(
        self: &Arc<Proxy>,
        request: Request,
        scope: &Scope,
        first: Option<First>,
        settings: &Settings,
    ) -> std::result::Result<Enriched, Failure> {
        let options = Arc::new(enrich::Options::of(settings, &request, scope)?);
        let limit = settings.duration("enrich.timeout").unwrap_or(Duration::MAX);
        let (scope, first) = (Arc::new(scope.clone()), Arc::new(first));
        let with_memory = async {
            self.writer.settled(&scope).await;
            let (request, scope, first, options) =
                (request.clone(), scope.clone(), first.clone(), options.clone());
            let work = move |proxy: &Proxy, store: &mut dyn Store| {
                proxy.enrich(Ok(store), request, &scope, first.as_ref().as_ref(), &options)
            };
            self.with_store(work).await
        };
        let why = match tokio::time::timeout(limit, with_memory).await {
            Ok(Ok(enriched)) => return Ok(enriched),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("memory did not answer within {limit:?}"),
        };
        self.notes.note(format_args!("{why}; the request goes on without memory"));
        let proxy = self.clone();
        let without =
            self.apart(move || proxy.enrich(Err(why), request, &scope, first.as_ref().as_ref(), &options));
        Ok(without.await.unwrap_or_else(|_| Err(Error::new("a step was cut short")))?)
    }

    fn enrich(
        &self,
        store: std::result::Result<&mut dyn Store, String>,
        request: Request,
        scope: &Scope,
        first: Option<&First>,
        options: &enrich::Options,
    ) -> Result<Enriched> {
        let served = || options.assumed.then(|| self.windows.of(&options.model)).flatten();
        let clock = first.map_or(self.clock, |first| Clock::fixed(first.timestamp));
        let trace_id = first.map(|first| first.trace_id.clone());
        let turn = Turn { scope, trace_id, clock: &clock, served: &served };
        let store = match store {
            Ok(store) => store,
            Err(why) => return enrich::enrich(Err(why), request, &turn, options),
        };
        let mut embedder = self.to_embed();
        let degraded = match &embedder {
            Err(error) if fill::is_wanted(store, &self.settings)? => {
                Some(format!("{error}; messages are found by their words only"))
            }
            // It is there, or none is installed and nobody asked for one.
            _ => None,
        };
        let memory = Memory { store, embedder: embedder.as_mut().ok(), notes: &self.notes, degraded };
        enrich::enrich(Ok(memory), request, &turn, options)
    }
}
