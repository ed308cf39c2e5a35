//! Requests one after the other, each enriched from one store with one embedder.

use super::refusal::EnrichError;
use super::{Begun, ClientProject, Degraded, Enriched, Memory, Options, RecallStep, Schedule, Turn};
use crate::api::{Api, Request};
use crate::backfill;
use crate::cli::{Common, Diagnostics};
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::{Error, Result};
use crate::provider::ServedWindows;
use crate::record::{Clock, Object, Reach, RequestScope, Scope};
use crate::redact::Redactor;
use crate::search::LinkNewest;
use crate::store::{self, OpenMode, QuestionVector, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Enriches the requests of a tool.
pub struct LineEnricher {
    scope: RequestScope,
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
    memory: std::result::Result<LoadedMemory, MissingMemory>,
    settings: Settings,
    redactor: Option<Redactor>,
    /// The project of the working directory.
    project: Option<ClientProject>,
}

/// The next attempt to open the store comes after this many times as long as the last one took.
const RETRY_AFTER: u32 = 10;

/// Why there is no memory, and when to try again.
struct MissingMemory {
    why: Error,
    retry_at: Instant,
}

/// The store and its embedder.
struct LoadedMemory {
    store: Box<dyn Store>,
    embedder: Option<Embedder>,
    degraded: Option<Degraded>,
    /// The file, if there was none when it was opened: an empty store stands for it.
    awaited: Option<PathBuf>,
}

impl LineEnricher {
    /// Opens the store; notes report missing parts, and requests continue without them until later attempts
    /// succeed. `trace_id` is for every request, instead of its own or a new one. Fails if the settings or
    /// the flags are invalid.
    pub fn new(
        settings: Settings,
        common: &Common,
        trace_id: Option<String>,
        clock: Clock,
        diagnostics: Diagnostics,
    ) -> Result<LineEnricher> {
        let memory = LoadedMemory::open(&settings, &diagnostics);
        if let Err(MissingMemory { why, .. }) = &memory {
            diagnostics.note(format_args!("{why}; requests continue without memory"));
        }
        Ok(LineEnricher {
            scope: common.request_scope()?,
            is_scope_named: common.partition.is_some() || common.instance.is_some(),
            continues_session: false,
            api: None,
            trace_id,
            clock,
            windows: ServedWindows::new(&settings)?,
            memory,
            diagnostics,
            redactor: Redactor::from_settings(&settings)?,
            project: ClientProject::here(&settings),
            settings,
        })
    }

    /// Enriches requests of a session, an instance of the partition, of which all is recalled.
    pub fn of_session(mut self, session: String) -> LineEnricher {
        (self.scope.scope.instance, self.scope.reach) = (session, Reach::Partition);
        (self.continues_session, self.is_scope_named) = (true, true);
        self
    }

    /// Treats every request as one of an API.
    pub fn of_api(self, api: Option<Api>) -> LineEnricher {
        LineEnricher { api, ..self }
    }

    /// The scope of requests that name none.
    pub fn scope(&self) -> &Scope {
        &self.scope.scope
    }

    /// The store, if it is open.
    pub fn store(&mut self) -> Option<&mut dyn Store> {
        Some(&mut *self.memory.as_mut().ok()?.store)
    }

    /// Opens the store if it could not be opened before and a file is there now, or it is time to try again.
    fn reopen_memory(&mut self) {
        let may_open = match &self.memory {
            Ok(loaded) => loaded.awaited.as_ref().is_some_and(|file| file.exists()),
            Err(missing) => missing.retry_at <= Instant::now(),
        };
        if may_open {
            self.memory = LoadedMemory::open(&self.settings, &self.diagnostics);
        }
    }

    /// Enriches the request of one line. Fails if the request is invalid, not if the memory fails.
    pub fn enrich(&mut self, line: Object) -> Result<Enriched> {
        let api = self.api.unwrap_or_else(|| Api::of_request(&line));
        let request = Request::parse(api, line)?;
        if self.continues_session && !request.is_chat() {
            return Err(EnrichError::NoSession { api: api.name() }.into());
        }
        self.reopen_memory();
        let own = if self.is_scope_named { None } else { request.turns.scope()? };
        let scope = own.as_ref().unwrap_or(&self.scope);
        let mut options = Options::for_request(&self.settings, &request, scope)?;
        options.session = self.continues_session;
        options.redactor = self.redactor.clone();
        options.compare_with(self.project.as_ref(), &scope.scope);
        let served_window = || options.assumed.then(|| self.windows.get(&options.model)).flatten();
        let trace_id = self.trace_id.clone();
        let turn = Turn {
            scope: &scope.scope,
            trace_id,
            clock: &self.clock,
            served_window: &served_window,
            is_awaited: &|| true,
        };
        let limit = self.settings.duration("enrich.timeout").unwrap_or(Duration::MAX);
        let diagnostics = &self.diagnostics;
        let recalled = match &mut self.memory {
            Ok(loaded) => {
                let begun = super::begin(Ok(&mut *loaded.store), request, &turn, &options, diagnostics)?;
                let mut schedule = Schedule::begin(limit);
                let meaning = loaded.find_meaning(&begun, &turn, &options, &schedule, diagnostics);
                if loaded.embedder.as_ref().is_some_and(|embedder| !embedder.is_remote()) {
                    // The work of this machine cannot be cut short, and was not for nothing.
                    schedule = Schedule::begin(limit);
                }
                let mut memory = Memory {
                    store: &mut *loaded.store,
                    vector: meaning.vector.as_ref(),
                    link_newest: Some(LinkNewest { settings: &self.settings, diagnostics }),
                    diagnostics,
                    degraded: meaning.degraded,
                    missing: meaning.missing,
                };
                let recalled = begun.recall(&mut memory, &turn, &options, &schedule, &|_| {});
                Arc::new(begun).prepare(recalled, &turn, &options)
            }
            Err(MissingMemory { why, .. }) => {
                let why = Degraded::StoreFailed(why.to_string());
                let begun = super::begin(Err(why), request, &turn, &options, diagnostics)?;
                let known = begun.known(&options);
                Arc::new(begun).prepare(known, &turn, &options)
            }
        };
        let enriched = recalled?.place()?;
        self.diagnostics.detail(format_args!("account {}", enriched.account_record.members.to_json()));
        Ok(enriched)
    }
}

/// The question's vector, and what is missing without it.
#[derive(Default)]
struct Meaning {
    vector: Option<QuestionVector>,
    degraded: Option<Degraded>,
    missing: Vec<RecallStep>,
}

impl LoadedMemory {
    /// Makes the vector of a question, and then those of the newest records that have none, within their
    /// time.
    fn find_meaning(
        &mut self,
        begun: &Begun,
        turn: &Turn,
        options: &Options,
        schedule: &Schedule,
        diagnostics: &Diagnostics,
    ) -> Meaning {
        let mut meaning = Meaning { degraded: self.degraded.clone(), ..Meaning::default() };
        let (Some(question), Some(embedder)) = (begun.question(), &self.embedder) else { return meaning };
        match embedder.embed_question_until(&question, schedule.end_of_meaning()) {
            Ok(numbers) => {
                let min_similarity = f64::from(embedder.min_similarity());
                let model = embedder.model().to_owned();
                meaning.vector = Some(QuestionVector { model, numbers, min_similarity });
            }
            Err(error) => {
                let why = Degraded::EmbedderUnavailable(error);
                diagnostics.note(&why);
                meaning.degraded = Some(why);
                meaning.missing.push(RecallStep::Meaning);
                return meaning;
            }
        }
        let end = schedule.end_of_vectors();
        let (which, limit) = (options.searched(turn.scope), options.catch_up);
        if !backfill::catch_up_until(&mut *self.store, embedder, &which, limit, end, diagnostics) {
            meaning.missing.push(RecallStep::Vectors);
        }
        meaning
    }

    fn open(
        settings: &Settings,
        diagnostics: &Diagnostics,
    ) -> std::result::Result<LoadedMemory, MissingMemory> {
        let begin = Instant::now();
        let opened = settings.store().and_then(|place| {
            let awaited = place.path().filter(|file| !file.exists()).map(Path::to_owned);
            let mut store = store::open(&place, OpenMode::Existing)?;
            for error in store::unreadable(&mut *store)? {
                diagnostics.note(error);
            }
            Ok((store, awaited))
        });
        let (mut store, awaited) = opened.map_err(|why| {
            let now = Instant::now();
            MissingMemory { why, retry_at: now + RETRY_AFTER * now.duration_since(begin) }
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
        Ok(LoadedMemory { store, embedder, degraded, awaited })
    }
}
