//! The recall for one request: it ends with its time, and the request continues with what is known by then.

use super::retry_dedup::TurnIdentity;
use crate::api::Request;
use crate::enrich::{self, Begun, Degraded, Memory, RecallStep, Recalled, Schedule, Turn};
use crate::error::Result;
use crate::provider::ServedWindows;
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::proxy::metrics::TurnStep;
use crate::proxy::worker::{BlockingPool, SharedEmbedder, StorePool, WorkerFault, degraded};
use crate::record::{Clock, Scope};
use crate::search::LinkNewest;
use crate::store::{QuestionVector, Store};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The time after which a vector that is not made yet takes its time.
const SOON: Duration = Duration::from_millis(300);

/// The parts of the proxy that a recall needs.
pub(super) struct Recaller {
    pub(super) config: Arc<ProxyConfig>,
    pub(super) blocking: BlockingPool,
    pub(super) stores: Arc<StorePool>,
    pub(super) embedder: Arc<SharedEmbedder>,
    pub(super) windows: ServedWindows,
}

/// The recall for one request.
pub(super) struct RecallJob {
    pub(super) recaller: Arc<Recaller>,
    pub(super) scope: Scope,
    pub(super) first: Option<TurnIdentity>,
    pub(super) options: enrich::Options,
    /// The arrival of the request.
    pub(super) since: Instant,
    /// Alive as long as the result is awaited.
    pub(super) awaited: Weak<()>,
}

impl RecallJob {
    /// Looks up what needs no search, in a time of its own.
    pub(super) async fn begin(self: &Arc<RecallJob>, request: Request, limit: Duration) -> Result<Begun> {
        let (job, clone) = (self.clone(), request.clone());
        let recaller = &self.recaller;
        let look_up = move |store: &mut dyn Store| job.begin_with(Ok(store), clone);
        let begun = tokio::time::timeout(limit, recaller.stores.with_store_since(self.since, look_up)).await;
        let reason = match degraded::judge_recall(begun, limit) {
            Ok(begun) => return Ok(begun),
            Err(reason) => reason,
        };
        recaller.config.diagnostics.note(format_args!("{reason}; the request continues without memory"));
        let job = self.clone();
        let begun = recaller.blocking.spawn(move || job.begin_with(Err(reason), request));
        begun.await.unwrap_or_else(|_| Err(WorkerFault::Panicked.into()))
    }

    fn begin_with(
        &self,
        store: std::result::Result<&mut dyn Store, Degraded>,
        request: Request,
    ) -> Result<Begun> {
        let diagnostics = &self.recaller.config.diagnostics;
        self.with_turn(|turn| enrich::begin(store, request, turn, &self.options, diagnostics))
    }

    /// Recalls, until the end of the schedule: by the question's vector, if it is made in time. While a slow
    /// model makes it, what the words find is looked up.
    pub(super) async fn recall(self: &Arc<RecallJob>, begun: &Arc<Begun>, schedule: Schedule) -> Recalled {
        let Some(question) = begun.question() else { return self.find(begun, None, schedule, None).await };
        let Recaller { config, embedder, .. } = &*self.recaller;
        let made = embedder.question(question, schedule.end_of_meaning());
        let made = config.metrics.timed(TurnStep::Embed, made);
        tokio::pin!(made);
        if let Ok(vector) = tokio::time::timeout(SOON, &mut made).await {
            return self.find(begun, Some(vector), schedule, None).await;
        }
        let (vector, by_words) = tokio::join!(made, self.find(begun, None, schedule, None));
        match vector {
            Ok(_) => self.find(begun, Some(vector), schedule, Some(by_words.by_words())).await,
            Err(error) => by_words.without_meaning(error),
        }
    }

    /// Searches, until the end of the schedule. `vector` is that of the question, if one is made; `known` is
    /// used if the time does not suffice for more.
    async fn find(
        self: &Arc<RecallJob>,
        begun: &Arc<Begun>,
        vector: Option<Result<QuestionVector>>,
        schedule: Schedule,
        known: Option<Recalled>,
    ) -> Recalled {
        let known = Arc::new(Mutex::new(known));
        let (job, searched, published) = (self.clone(), begun.clone(), known.clone());
        let search = move |store: &mut dyn Store| {
            let publish = |recalled: &Recalled| *locked(&published) = Some(recalled.clone());
            job.search(store, &searched, vector, &schedule, &publish)
        };
        let found = self.recaller.stores.with_store_since(self.since, search);
        let found = tokio::time::timeout_at(schedule.end().into(), found);
        let found = self.recaller.config.metrics.timed(TurnStep::Search, found).await;
        degraded::judge_recall(found, schedule.limit()).unwrap_or_else(|reason| {
            let diagnostics = &self.recaller.config.diagnostics;
            diagnostics.note(format_args!("{reason}; the request continues with what was found by then"));
            let known = locked(&known).take();
            known.unwrap_or_else(|| begun.known(&self.options)).interrupted(reason)
        })
    }

    fn search(
        &self,
        store: &mut dyn Store,
        begun: &Begun,
        vector: Option<Result<QuestionVector>>,
        schedule: &Schedule,
        publish: &dyn Fn(&Recalled),
    ) -> Result<Recalled> {
        let ProxyConfig { settings, diagnostics, .. } = &*self.recaller.config;
        let (vector, error) = match vector {
            Some(Ok(vector)) => (Some(vector), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let degraded = degraded::judge_embedder(error, store, settings)?;
        let missing = if degraded.is_some() { vec![RecallStep::Meaning] } else { Vec::new() };
        // Without a model there are no vectors to link.
        let has_model = vector.is_some() || degraded.is_some();
        let link_newest = has_model.then_some(LinkNewest { settings, diagnostics });
        let vector = vector.as_ref();
        let mut memory = Memory { store, vector, link_newest, diagnostics, degraded, missing };
        Ok(self.with_turn(|turn| begun.recall(&mut memory, turn, &self.options, schedule, publish)))
    }

    /// Runs a part of the recall for the turn. A later attempt at a turn has the identity of the first.
    pub(super) fn with_turn<T>(&self, part: impl FnOnce(&Turn) -> T) -> T {
        let (options, recaller) = (&self.options, &self.recaller);
        let served_window = || options.assumed.then(|| recaller.windows.get(&options.model)).flatten();
        let clock = self.first.as_ref().map_or(recaller.config.clock, |first| Clock::fixed(first.timestamp));
        let trace_id = self.first.as_ref().map(|first| first.trace_id.clone());
        let is_awaited = || self.awaited.strong_count() > 0;
        part(&Turn {
            scope: &self.scope,
            trace_id,
            clock: &clock,
            served_window: &served_window,
            is_awaited: &is_awaited,
        })
    }
}
