//! A call: its part of the server, the store that it opens, and its reports of progress.

use super::client_scope::ClientScope;
use super::error::McpError;
use super::options::Options;
use crate::backfill;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::Result;
use crate::ingest::{self, Ingest};
use crate::memory::{self, NewSignal, PriorRule};
use crate::recall_rules::RecallRules;
use crate::record::{Clock, Hit, MEMORY, Object, Scope, SignalType, StoredRecord};
use crate::redact::Redactor;
use crate::search::{self, Request, Searcher};
use crate::store::{self, OpenMode, Store};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// The number of calls that work at the same time: more would only wait for processors and for the disk.
const MAX_WORKING: usize = 4;

/// The state that all calls share.
pub(super) struct Server {
    pub(super) settings: Settings,
    pub(super) options: Options,
    pub(super) clock: Clock,
    pub(super) diagnostics: Diagnostics,
    /// The embedder of the last search by meaning, whose model is loaded when it is first needed.
    embedder: Arc<Mutex<Option<Embedder>>>,
    /// A permit for each call that works.
    pub(super) working: Arc<Semaphore>,
}

impl Server {
    pub(super) fn new(
        settings: Settings,
        options: Options,
        clock: Clock,
        diagnostics: Diagnostics,
    ) -> Server {
        Server {
            settings,
            options,
            clock,
            diagnostics,
            embedder: Arc::default(),
            working: Arc::new(Semaphore::new(MAX_WORKING)),
        }
    }

    /// The same with other options.
    pub(super) fn with_options(&self, options: Options) -> Server {
        let Server { settings, clock, diagnostics, embedder, working, .. } = self;
        let (settings, diagnostics) = (settings.clone(), diagnostics.clone());
        let (embedder, working) = (embedder.clone(), working.clone());
        Server { settings, options, clock: *clock, diagnostics, embedder, working }
    }

    /// The embedder for a store; `None` if there is none.
    fn embedder(&self, store: &mut dyn Store) -> Option<Embedder> {
        // Held while the embedder is made, so that calls that begin together share one.
        let mut held = self.embedder.lock().unwrap_or_else(PoisonError::into_inner);
        // A search goes by words without it; if the store cannot be read at all, the search itself says so.
        let model = backfill::model_of(store).ok()?;
        let is_current = |held: &Embedder| model.as_deref().is_none_or(|model| model == held.model());
        if !held.as_ref().is_some_and(is_current) {
            *held = backfill::embedder(store, &self.settings, Workload::Few, &self.diagnostics).ok();
        }
        held.clone()
    }
}

/// A step of a call: the amount done, the total, and a message.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Progress {
    pub(super) done: usize,
    pub(super) total: Option<usize>,
    pub(super) message: String,
}

/// The progress reports of a call, and its cancellation.
pub(super) struct Job {
    /// Gets the steps; those of a client that wants none are lost.
    pub(super) report: Box<dyn Fn(Progress) + Send>,
    pub(super) is_cancelled: Box<dyn Fn() -> bool + Send>,
}

/// Lines that were stored.
pub(super) struct Ingested {
    /// As they are stored.
    pub(super) lines: Vec<Object>,
    /// A note of the redacted secrets.
    note: Option<String>,
}

impl Ingested {
    /// A text for the client, with the note of redacted secrets.
    pub(super) fn with_notes(&self, text: String) -> String {
        self.note.as_ref().map_or(text.clone(), |note| format!("{text}; {note}"))
    }
}

/// A call of a client.
pub(super) struct Call<'a> {
    pub(super) server: &'a Server,
    pub(super) scope: &'a ClientScope,
    pub(super) job: &'a Job,
}

impl Call<'_> {
    /// Reports a step. Errors if the client has cancelled the call.
    pub(super) fn step(&self, done: usize, total: Option<usize>, message: impl Into<String>) -> Result<()> {
        if (self.job.is_cancelled)() {
            return Err(McpError::Cancelled.into());
        }
        (self.job.report)(Progress { done, total, message: message.into() });
        Ok(())
    }

    /// Opens the store to read it.
    pub(super) fn open_to_read(&self) -> Result<Box<dyn Store>> {
        Ok(store::open(&self.server.settings.store()?, OpenMode::Existing)?)
    }

    /// Opens the store to write to it.
    pub(super) fn open_to_write(&self) -> Result<Box<dyn Store>> {
        Ok(store::open(&self.server.settings.store()?, OpenMode::Create)?)
    }

    /// The rule by which confidence follows from signals.
    pub(super) fn prior(&self) -> PriorRule {
        PriorRule::from_settings(&self.server.settings)
    }

    /// The embedder for a store; `None` if there is none.
    pub(super) fn embedder(&self, store: &mut dyn Store) -> Result<Option<Embedder>> {
        let embedder = self.server.embedder(store);
        if embedder.as_ref().is_some_and(|embedder| !embedder.is_ready()) {
            self.step(0, None, "loading the embedding model")?;
        }
        Ok(embedder)
    }

    /// The hits of a request, as rsv-search finds them, for a model: of long messages what is quoted, and
    /// none that is never recalled.
    pub(super) fn hits(
        &self,
        store: &mut dyn Store,
        request: &Request,
        level: Option<u8>,
    ) -> Result<Vec<Hit>> {
        let Server { settings, diagnostics, .. } = self.server;
        let embedder = if request.is_by_meaning() { self.embedder(store)? } else { None };
        let mut searcher = Searcher::new(settings, diagnostics).with_embedder(embedder.map(Ok));
        let rules = RecallRules::read(store, &request.which.scopes)?;
        let is_recalled = |hit: &Hit| !rules.is_never(&hit.record.id) && (request.options.admits)(hit);
        let options =
            search::Options { admits: &is_recalled, clock: self.server.clock, ..request.options.clone() };
        let request = &Request { options, ..request.clone() };
        let mut hits = searcher.run(store, request)?.hits;
        request.describe(store, &mut hits, level, false)?;
        search::ready_for_model(&mut hits);
        Ok(hits)
    }

    /// Stores lines as rsv-ingest does, in a scope; `add` adds them. Errors with the first line that is
    /// refused.
    pub(super) fn ingest(
        &self,
        scope: &Scope,
        corrects: Option<&str>,
        add: &mut dyn FnMut(&mut Ingest) -> Result<()>,
    ) -> Result<Ingested> {
        let options = ingest::Options {
            partition: Some(scope.partition.clone()),
            instance: Some(scope.instance.clone()),
            max_line: Some(self.server.settings.max_line()),
            redactor: Redactor::from_settings(&self.server.settings)?,
            ..ingest::Options::default()
        };
        let mut ingest = Ingest::new(options, self.server.clock);
        add(&mut ingest)?;
        let mut store = self.open_to_write()?;
        if let Some(id) = corrects {
            let corrected = ingest.add_correction(id, &mut *store);
            corrected.map_err(|error| error.hint("recall gives the ids of messages"))?;
        }
        let mut lines = Vec::new();
        for done in ingest.commit(&mut *store)? {
            lines.push(Object::parse_bytes(done.line?.trim_ascii_end())?);
        }
        Ok(Ingested { lines, note: ingest.redaction_note() })
    }

    /// Counts a use of the memories that were shown, as 'rsv-signal --used' does. A store that cannot be
    /// written to is only reported.
    pub(super) fn count_uses(&self, shown: &[StoredRecord]) {
        let is_memory = |record: &&StoredRecord| record.kind == &MEMORY;
        let ids: Vec<String> = shown.iter().filter(is_memory).map(|memory| memory.id.clone()).collect();
        if ids.is_empty() || !self.server.options.adds {
            return;
        }
        let signal = NewSignal { signal_type: SignalType::Usage, positive: true, session_id: None };
        let counted = self.open_to_write().and_then(|mut store| {
            let scopes = self.scope.to_read(None)?;
            memory::store_signals(&mut *store, &ids, &signal, &scopes, &self.server.clock)
        });
        if let Err(error) = counted {
            self.server.diagnostics.note(format_args!("the use of memories is not counted: {error}"));
        }
    }
}
