//! Requests one after the other, each enriched from one store with one embedder.

use super::{Degraded, Enriched, Memory, Options, Turn};
use crate::api::{Api, Request};
use crate::backfill;
use crate::cli::{Common, Diagnostics};
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::{Error, Result};
use crate::provider::ServedWindows;
use crate::record::{Clock, Object, Scope};
use crate::redact::Redactor;
use crate::search::LinkNewest;
use crate::store::{self, OpenMode, Store};

/// Enriches the requests of a tool.
pub struct LineEnricher {
    scope: Scope,
    /// Whether flags named the scope, so that a request's own does not count.
    is_scope_named: bool,
    /// Whether the scope is a session that the requests continue.
    continues_session: bool,
    /// The API of every request, if it is not known by the shape of each.
    api: Option<Api>,
    trace_id: Option<String>,
    clock: Clock,
    diagnostics: Diagnostics,
    windows: ServedWindows,
    memory: std::result::Result<LoadedMemory, Degraded>,
    settings: Settings,
    redactor: Option<Redactor>,
}

/// The store and its embedder.
struct LoadedMemory {
    store: Box<dyn Store>,
    embedder: Option<Embedder>,
    degraded: Option<Degraded>,
}

impl LineEnricher {
    /// Opens the store; notes report missing parts, and requests continue without them. `trace_id` is for
    /// every request, instead of its own or a new one.
    pub fn new(
        settings: Settings,
        common: &Common,
        trace_id: Option<String>,
        clock: Clock,
        diagnostics: Diagnostics,
    ) -> Result<LineEnricher> {
        Ok(LineEnricher {
            scope: common.scope()?,
            is_scope_named: common.partition().is_some() || common.instance.is_some(),
            continues_session: false,
            api: None,
            trace_id,
            clock,
            windows: ServedWindows::new(&settings)?,
            memory: LoadedMemory::open(&settings, &diagnostics),
            diagnostics,
            redactor: Redactor::from_settings(&settings)?,
            settings,
        })
    }

    /// Enriches requests of a session, an instance of the partition.
    pub fn of_session(mut self, session: String) -> LineEnricher {
        self.scope.instance = session;
        (self.continues_session, self.is_scope_named) = (true, true);
        self
    }

    /// Treats every request as one of an API.
    pub fn of_api(self, api: Option<Api>) -> LineEnricher {
        LineEnricher { api, ..self }
    }

    /// Enriches the request of one line.
    pub fn enrich(&mut self, line: Object) -> Result<Enriched> {
        let api = self.api.unwrap_or_else(|| Api::of_request(&line));
        let request = Request::parse(api, line)?;
        if self.continues_session && !request.is_chat() {
            let error = Error::new(format!("a request for {} cannot continue a session of rsv", api.name()));
            return Err(error.hint("leave out --session, or send a request for chat completions"));
        }
        let own = if self.is_scope_named { None } else { request.turns.scope()? };
        let scope = own.as_ref().unwrap_or(&self.scope);
        let mut options = Options::for_request(&self.settings, &request, scope)?;
        options.session = self.continues_session;
        options.redactor = self.redactor.clone();
        let served_window = || options.assumed.then(|| self.windows.get(&options.model)).flatten();
        let trace_id = self.trace_id.clone();
        let turn =
            Turn { scope, trace_id, clock: &self.clock, served_window: &served_window, is_awaited: &|| true };
        let memory = match &mut self.memory {
            Ok(memory) => Ok(Memory {
                store: &mut *memory.store,
                embedder: memory.embedder.as_mut(),
                link_newest: Some(LinkNewest { settings: &self.settings, diagnostics: &self.diagnostics }),
                diagnostics: &self.diagnostics,
                degraded: memory.degraded.clone(),
            }),
            Err(why) => Err(why.clone()),
        };
        let enriched = super::enrich(memory, request, &turn, &options)?;
        self.diagnostics.detail(format_args!("account {}", enriched.account_record.members.to_json()));
        Ok(enriched)
    }
}

impl LoadedMemory {
    fn open(settings: &Settings, diagnostics: &Diagnostics) -> std::result::Result<LoadedMemory, Degraded> {
        let opened = settings.store().and_then(|place| {
            let mut store = store::open(&place, OpenMode::Existing)?;
            for error in store::unreadable(&mut *store)? {
                diagnostics.note(error);
            }
            Ok(store)
        });
        let mut store = opened.map_err(|error| {
            diagnostics.note(format_args!("{error}; requests go on without memory"));
            Degraded::StoreFailed(error.to_string())
        })?;
        let (embedder, degraded) = match backfill::optional(&mut *store, settings, Workload::Few, diagnostics)
        {
            Ok(embedder) => (embedder, None),
            Err(error) => {
                let why = Degraded::EmbedderUnavailable(error);
                diagnostics.note(&why);
                (None, Some(why))
            }
        };
        Ok(LoadedMemory { store, embedder, degraded })
    }
}
