//! One turn in its steps: enrich the request, forward it to its provider, keep the answer. The answer is the
//! line that the pipe of the tools gives.

use super::chat_request::ChatRequest;
use super::histories::Histories;
use super::memory_headers::TurnReport;
use super::memory_mode::{MEMORY_HEADER, MemoryMode};
use super::recall_job::{RecallJob, Recaller};
use super::retry_dedup::{Attempt, RetryDedup, TurnIdentity};
use super::stored_attempts::StoredAttempts;
use crate::api::Request;
use crate::config::Settings;
use crate::enrich::{self, CutPart, Degraded, Enriched, RequestIdentity, Schedule};
use crate::error;
use crate::forward::{Caller, Failure, Forwarder, Stream};
use crate::http::HeaderMap;
use crate::ingest::Options;
use crate::provider::ServedWindows;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::BYTES;
use crate::proxy::metrics::{TurnStep, TurnTimer};
use crate::proxy::worker::{
    AutoCommit, BlockingPool, PendingGuard, Purse, QueuedTurn, SharedEmbedder, StorePool, StoreQueue,
    WorkerFault,
};
use crate::record::{Object, RequestScope, Scope};
use std::borrow::Cow;
use std::mem::take;
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::Semaphore;

/// The result of a turn whose answer comes whole.
pub(super) struct TurnOutcome {
    /// The report on its enrichment, if the turn came so far.
    pub(super) report: Option<TurnReport>,
    /// The provider's headers and the line of the answer.
    pub(super) answer: Result<(HeaderMap, Vec<u8>), Failure>,
}

/// A turn from its beginning until its answer is kept.
pub(in crate::proxy) struct ActiveTurn {
    scope: Scope,
    /// Whether its scope is a session, which is committed by itself.
    is_session: bool,
    attempt: Attempt,
    request: RequestIdentity,
    /// Whether an earlier attempt is stored.
    is_stored: bool,
    mode: MemoryMode,
    /// The part of its session before a compaction, which is to be archived.
    cut: Option<CutPart>,
    client: Weak<()>,
    purse: Option<Purse>,
    timer: TurnTimer,
    _pending: PendingGuard,
}

/// Takes turns through their steps.
pub(in crate::proxy) struct TurnPipeline {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    recaller: Arc<Recaller>,
    queue: Arc<StoreQueue>,
    forwarder: Forwarder,
    dedup: RetryDedup,
    stored_attempts: StoredAttempts,
    histories: Histories,
    /// A permit for each request whose tokens are counted at the same time, which takes memory.
    preparing: Semaphore,
    auto_commit: Option<Arc<AutoCommit>>,
}

impl TurnPipeline {
    /// A pipeline without turns.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        stores: &Arc<StorePool>,
        embedder: &Arc<SharedEmbedder>,
        queue: &Arc<StoreQueue>,
        forwarder: Forwarder,
        windows: ServedWindows,
    ) -> TurnPipeline {
        let recaller = Recaller {
            config: config.clone(),
            blocking: blocking.clone(),
            stores: stores.clone(),
            embedder: embedder.clone(),
            windows,
        };
        TurnPipeline {
            config: config.clone(),
            blocking: blocking.clone(),
            recaller: Arc::new(recaller),
            queue: queue.clone(),
            forwarder,
            dedup: RetryDedup::default(),
            stored_attempts: StoredAttempts::new(config, stores),
            histories: Histories::default(),
            preparing: Semaphore::new(MAX_PREPARING),
            auto_commit: None,
        }
    }

    /// Has sessions committed when turns of theirs were stored.
    pub(in crate::proxy) fn committing(mut self, auto_commit: &Arc<AutoCommit>) -> TurnPipeline {
        self.auto_commit = Some(auto_commit.clone());
        self
    }

    /// Runs all steps of a turn whose answer is not streamed. A failure of memory is reported on standard
    /// error, and the turn continues without it.
    pub(super) async fn run(self: &Arc<TurnPipeline>, request: ChatRequest) -> TurnOutcome {
        let caller = request.caller.clone();
        let (turn, mut enriched) = match self.begin(request).await {
            Ok(started) => started,
            Err(failure) => return TurnOutcome { report: None, answer: Err(failure) },
        };
        let report = Some(TurnReport::take(&mut enriched));
        let response = match enriched.too_long {
            Some(error) if self.is_strict() => Err(Failure::too_long(&error)),
            Some(_) => Ok((enriched.line, HeaderMap::new())),
            None => self.whole(enriched.line, &caller).await,
        };
        let (response, headers) = match response {
            Ok(answered) => answered,
            Err(failure) => return TurnOutcome { report, answer: Err(failure) },
        };
        self.keep(turn, &response).await;
        TurnOutcome { report, answer: Ok((headers, (response.to_json() + "\n").into_bytes())) }
    }

    /// The first step: enriches the request. Fails if the request is invalid; the account names a memory that
    /// fails.
    pub(in crate::proxy) async fn begin(
        self: &Arc<TurnPipeline>,
        mut request: ChatRequest,
    ) -> Result<(ActiveTurn, Enriched), Failure> {
        // A client must not choose a scope or an account.
        request.body.take("rsv");
        let mut body = match request.parsed.take() {
            Some(parsed) => parsed,
            None => Request::parse(request.api, take(&mut request.body))?,
        };
        body.name_session(request.client_session.take());
        if request.mode != MemoryMode::Off {
            self.histories.mark(&request.scope.scope, &mut body);
        }
        let settings = self.settings_of(&request)?;
        let scope = &request.scope.scope;
        let mut attempt = self.dedup.begin(scope, request.token.as_deref(), &body.attempt_key());
        let retry = &request.retry;
        let identity = RequestIdentity::new(&body, scope, retry.key.as_deref(), retry.is_retry);
        // Before anything is awaited: a proxy that ends waits for the turns that are announced.
        let (pending, timer) = (self.queue.announce(), self.config.metrics.begin_turn(&scope.partition));
        let mut options = enrich::Options::for_request(&settings, &body, &request.scope)?;
        options.session = request.is_session;
        options.request_key = identity.key.clone();
        options.counts_others = request.counts_others;
        options.target = request.target.take().unwrap_or(options.target);
        options.redactor = self.config.redactor.clone();
        options.compare_with(self.config.project.as_ref(), scope);
        // Unknown to this process, the first attempt may have met another proxy, or an earlier run of this
        // one.
        let earlier =
            if attempt.first.is_none() { self.stored_attempts.find(&identity, scope).await } else { None };
        let is_stored = earlier.is_some();
        attempt.first = attempt.first.or(earlier);
        let mut enriched = self.enrich(body, scope, attempt.first.clone(), options).await?;
        let cut = enriched.cut.take();
        if enriched.account.degraded.is_some() {
            self.config.metrics.degraded_turns.inc();
        }
        let record = &enriched.account_record;
        self.dedup.identify(&attempt, &record.trace_id, record.timestamp);
        self.config.diagnostics.detail(format_args!("account {}", record.members.to_json()));
        let ChatRequest { scope: RequestScope { scope, .. }, is_session, mode, client, purse, .. } = request;
        let turn = ActiveTurn {
            scope,
            is_session,
            attempt,
            request: identity,
            is_stored,
            mode,
            cut,
            client,
            purse,
            timer,
            _pending: pending,
        };
        Ok((turn, enriched))
    }

    /// The settings for a request, with its own overrides. Fails if one of these is invalid.
    fn settings_of(&self, request: &ChatRequest) -> error::Result<Cow<'_, Settings>> {
        let ProxyConfig { settings, chat_settings, .. } = &*self.config;
        let mut settings = Cow::Borrowed(if request.is_session { chat_settings } else { settings });
        for one in &request.overrides {
            settings.to_mut().set_override(&one.key, one.source, &one.value)?;
        }
        if !request.mode.recalls() {
            settings.to_mut().set_override("enrich.recall", MEMORY_HEADER, "none")?;
        }
        Ok(settings)
    }

    /// The second step where the answer is streamed: asks the provider. Fails unless it accepts.
    pub(in crate::proxy) async fn stream(&self, line: Object, caller: &Caller) -> Result<Stream, Failure> {
        let asked = self.forwarder.stream(line, caller, &self.config.clock);
        self.config.metrics.timed(TurnStep::Provider, asked).await
    }

    /// The second step where the answer comes whole: asks the provider. Fails if it cannot be reached or
    /// refuses, or its answer is invalid.
    pub(in crate::proxy) async fn answer(&self, line: Object, caller: &Caller) -> Result<Object, Failure> {
        Ok(self.whole(line, caller).await?.0)
    }

    async fn whole(&self, line: Object, caller: &Caller) -> Result<(Object, HeaderMap), Failure> {
        let asked = self.forwarder.whole(line, caller, &self.config.clock);
        self.config.metrics.timed(TurnStep::Provider, asked).await
    }

    /// The last step: has a turn stored after it was answered. An answer that its client no longer waits for
    /// is stored only if there was no later attempt at the turn.
    pub(in crate::proxy) async fn keep(&self, turn: ActiveTurn, response: &Object) {
        let is_awaited = turn.client.strong_count() > 0;
        let is_superseded = self.dedup.is_superseded(&turn.attempt);
        let rsv = response.valid_object("rsv").unwrap_or_default();
        let is_whole = !rsv.has("partial");
        // The provider was paid, whether the turn is stored or not.
        if let Some(purse) = &turn.purse {
            purse.spend(spent(&rsv, response));
        }
        turn.timer.end(is_whole);
        if is_awaited && is_whole {
            self.dedup.mark_answered(&turn.attempt);
        }
        if !turn.mode.stores()
            || !is_awaited && is_superseded
            || !is_whole && self.dedup.mark_partial(&turn.attempt)
        {
            return;
        }
        let trace_id = rsv.valid_text("trace_id").unwrap_or_default();
        if turn.is_stored && self.stored_attempts.has_answer(&turn.scope, &trace_id, response).await
            || !is_awaited && self.stored_attempts.is_superseded(&turn.request, &turn.scope, &trace_id).await
        {
            return;
        }
        let options = Options { max_line: Some(self.config.settings.max_line()), ..Options::default() };
        let mut ingest = self.config.new_batch(options);
        match ingest.add_response(response) {
            Ok(()) => {
                self.config.note_redaction(&ingest);
                let bytes = response.iter().map(|(name, json)| name.len() + json.len()).sum();
                let scope = turn.scope.clone();
                let queued = QueuedTurn { ingest, scope: turn.scope, trace_id, bytes, since: Instant::now() };
                self.queue.push(queued).await;
                let is_committed =
                    turn.is_session || self.config.settings.boolean("session.auto") == Some(true);
                if let Some(commits) = self.auto_commit.as_ref().filter(|_| is_committed) {
                    commits.on_turn(&scope);
                }
                if let (Some(commits), Some(cut)) = (&self.auto_commit, turn.cut) {
                    commits.on_compaction(&scope, cut);
                }
            }
            Err(error) => self.queue.report_lost(&trace_id, &error.to_string()),
        }
    }

    /// Whether a request that does not fit is refused, instead of answered by rsv.
    pub(in crate::proxy) fn is_strict(&self) -> bool {
        self.config.settings.boolean("enrich.strict") == Some(true)
    }

    /// The reason why turns cannot be stored at present, if there is one.
    pub(super) fn storing_degraded(&self) -> Option<Degraded> {
        self.queue.degraded()
    }

    /// Enriches the request. Turns of the scope that were answered before are stored first. If memory fails
    /// or takes too long, the request continues with what is known by then, and the account says so.
    async fn enrich(
        self: &Arc<TurnPipeline>,
        request: Request,
        scope: &Scope,
        first: Option<TurnIdentity>,
        options: enrich::Options,
    ) -> Result<Enriched, Failure> {
        let (since, awaited) = (Instant::now(), Arc::new(()));
        let limit = self.config.memory_timeout();
        let job = RecallJob {
            recaller: self.recaller.clone(),
            scope: scope.clone(),
            first,
            options,
            since,
            awaited: Arc::downgrade(&awaited),
        };
        let job = Arc::new(job);
        let metrics = &self.config.metrics;
        let settled = tokio::time::timeout(limit, self.queue.settled(scope));
        let settled = metrics.timed(TurnStep::Wait, settled).await;
        let begun = Arc::new(metrics.timed(TurnStep::LookUp, job.begin(request, limit)).await?);
        let recalled = if settled.is_err() {
            begun.known(&job.options).interrupted(Degraded::RecallTimedOut(limit))
        } else if begun.is_open() {
            self.queue.wake_backfill();
            job.recall(&begun, Schedule::begin(limit)).await
        } else {
            begun.known(&job.options)
        };
        let prepare = move || job.with_turn(|turn| begun.prepare(recalled, turn, &job.options));
        let prepared = metrics.timed(TurnStep::Prepare, async {
            // The semaphore is never closed.
            let _permit = self.preparing.acquire().await;
            self.blocking.spawn(prepare).await
        });
        let prepared = prepared.await;
        // While it lives, the work of this recall has a reader; a client that leaves drops it earlier.
        drop(awaited);
        let prepared = prepared.unwrap_or_else(|_| Err(WorkerFault::Panicked.into()))?;
        Ok(prepared.place()?)
    }
}

/// The tokens of a turn: those that its provider reports, else its own count of the request, and an estimate
/// of the answer.
fn spent(rsv: &Object, response: &Object) -> u64 {
    let account = rsv.valid_object("account").unwrap_or_default();
    let number = |name| account.valid_integer(name).and_then(|number| u64::try_from(number).ok());
    let request = number("prompt_tokens").or(number("counted")).unwrap_or_default();
    let bytes = response.get("choices").map_or(0, str::len) as u64;
    request.saturating_add(number("completion_tokens").unwrap_or(bytes / BYTES))
}
/// The greatest number of requests whose tokens are counted at the same time.
const MAX_PREPARING: usize = 2;
