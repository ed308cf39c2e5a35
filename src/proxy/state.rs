//! The state of the proxy at one moment, as `GET /health` and `GET /metrics` report it.

use super::config::ProxyConfig;
use super::http::ConnectionLimits;
use super::visibility::Visibility;
use super::worker::{
    AutoCommit, Backfill, BlockingPool, DescribeJobs, DocumentJobs, FailureReason, Foreground, QueueCounts,
    SessionCommits, SharedEmbedder, StorePool, StoreQueue, WorkerFault, degraded,
};
use crate::enrich::Degraded;
use crate::error::Result;
use crate::store::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The longest time for which a report waits for the store.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The parts of a proxy that its routes share, whose state is reported.
pub(super) struct ProxyParts {
    pub(super) config: Arc<ProxyConfig>,
    pub(super) blocking: BlockingPool,
    pub(super) foreground: Arc<Foreground>,
    pub(super) stores: Arc<StorePool>,
    /// A permit for the one read of the store that reports may have in flight.
    pub(super) may_read: Arc<Semaphore>,
    pub(super) queue: Arc<StoreQueue>,
    pub(super) embedder: Arc<SharedEmbedder>,
    pub(super) backfill: Arc<Backfill>,
    pub(super) commits: Arc<SessionCommits>,
    pub(super) auto_commit: Arc<AutoCommit>,
    pub(super) document_jobs: Arc<DocumentJobs>,
    pub(super) describe_jobs: Arc<DescribeJobs>,
    pub(super) limits: ConnectionLimits,
    /// A permit for each request to a provider that may be in transit.
    pub(super) provider_permits: Arc<Semaphore>,
}

/// A part that may work only in part, by the name that reports have for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Store,
    Embedder,
    Backfill,
    Commits,
    Documents,
    Descriptions,
}

impl Part {
    pub(super) const ALL: [Part; 6] =
        [Part::Store, Part::Embedder, Part::Backfill, Part::Commits, Part::Documents, Part::Descriptions];

    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Store => "store",
            Part::Embedder => "embedder",
            Part::Backfill => "backfill",
            Part::Commits => "commits",
            Part::Documents => "documents",
            Part::Descriptions => "descriptions",
        }
    }
}

/// A part that works only in part.
pub(super) struct DegradedPart {
    pub(super) part: Part,
    /// At least one, the best to report last.
    reasons: Vec<FailureReason>,
}

impl DegradedPart {
    /// The reason that a caller may see. `None` if it works for the caller, who must not learn of others.
    pub(super) fn reason(&self, visibility: &Visibility) -> Option<&str> {
        let seen = self.reasons.iter().rev().find(|reason| reason.is_visible(visibility));
        let others = visibility.includes_process().then_some("it fails in another partition");
        seen.map(|reason| reason.text.as_str()).or(others)
    }
}

/// The lengths of the queues, in the order of the ways through the proxy.
pub(super) struct Queues {
    /// Turns that are under way, and those that wait to be stored.
    pub(super) turns: QueueCounts,
    /// Requests that wait for a reader of the store.
    pub(super) reads: usize,
    /// Sessions that are about to be looked at for a commit.
    pub(super) commits: usize,
    /// Uploaded files that are not stored yet.
    pub(super) uploads: usize,
    /// Uploads that wait to be described.
    pub(super) descriptions: usize,
}

impl Queues {
    /// The lengths of the queues, by name.
    pub(super) fn lengths(&self) -> [(&'static str, usize); 6] {
        [
            ("active_turns", self.turns.active),
            ("turns", self.turns.waiting),
            ("reads", self.reads),
            ("commits", self.commits),
            ("uploads", self.uploads),
            ("descriptions", self.descriptions),
        ]
    }
}

/// The state at one moment.
pub(super) struct ProxyState {
    pub(super) degraded: Vec<DegradedPart>,
    pub(super) queues: Queues,
    pub(super) connections: usize,
    pub(super) provider_requests: usize,
    /// The memory of the process, in bytes; `None` where the system does not tell.
    pub(super) resident_bytes: Option<u64>,
    pub(super) open_descriptors: Option<usize>,
    /// The time of the last write to the store, in milliseconds since 1970; `None` before the first.
    pub(super) last_store: Option<i64>,
}

impl ProxyState {
    /// Why a part works only in part, if it does.
    pub(super) fn degraded(&self, part: Part) -> Option<&DegradedPart> {
        self.degraded.iter().find(|degraded| degraded.part == part)
    }
}

impl ProxyParts {
    /// The present state, for a caller. The store is read; providers are not asked.
    pub(super) async fn state(&self, visibility: &Visibility) -> ProxyState {
        let ProxyParts { config, limits, .. } = self;
        let process = self.blocking.spawn(process_figures).await;
        // Only figures would be missing.
        let (resident_bytes, open_descriptors) = process.unwrap_or_default();
        ProxyState {
            degraded: self.degraded(visibility).await,
            queues: Queues {
                turns: self.queue.counts(),
                reads: self.stores.waiting(),
                commits: self.auto_commit.waiting(),
                uploads: self.document_jobs.unfinished(),
                descriptions: self.describe_jobs.waiting(),
            },
            connections: usize::try_from(config.metrics.connections()).unwrap_or(0), // never less than 0
            provider_requests: limits.answers.saturating_sub(self.provider_permits.available_permits()),
            resident_bytes,
            open_descriptors,
            last_store: config.metrics.last_store(),
        }
    }

    /// Reads the store, and judges the embedder. Errors if that fails or takes too long, as it does while the
    /// read of an earlier report hangs.
    async fn read_store(&self) -> Result<Option<Degraded>> {
        let (config, unavailable) = (self.config.clone(), self.embedder.unavailable());
        let read = async {
            let permit = self.may_read.clone().acquire_owned().await;
            let judge = move |store: &mut dyn Store| {
                let _permit = permit;
                degraded::judge_embedder(unavailable, store, &config.settings)
            };
            self.stores.read(judge).await
        };
        let late = |_| Err(WorkerFault::StoreSilent { limit: READ_TIMEOUT }.into());
        tokio::time::timeout(READ_TIMEOUT, read).await.unwrap_or_else(late)
    }

    /// The parts that work only in part, in the order of `Part::ALL`, with the reasons for a caller.
    async fn degraded(&self, visibility: &Visibility) -> Vec<DegradedPart> {
        let (store, embedder) = match self.read_store().await {
            Ok(embedder) => (Ok(()), embedder),
            Err(error) => (Err(error), None),
        };
        let reasons = |part| -> Vec<FailureReason> {
            let one = |reason: Option<String>| reason.map(FailureReason::new).into_iter().collect();
            match part {
                Part::Store => {
                    let store = store.clone();
                    let judged = degraded::judge_store(store, || self.queue.degraded());
                    one(judged.map(|reason| reason.to_string()))
                }
                Part::Embedder => {
                    let outage = self.embedder.outage().map(|error| error.to_string());
                    one(outage.or_else(|| embedder.as_ref().map(|reason| reason.to_string())))
                }
                Part::Backfill => one(self.backfill.failure()),
                Part::Commits => self.auto_commit.failures(visibility),
                Part::Documents => self.document_jobs.failure(visibility).into_iter().collect(),
                Part::Descriptions => self.describe_jobs.failure(visibility).into_iter().collect(),
            }
        };
        let degraded = Part::ALL.into_iter().map(|part| DegradedPart { part, reasons: reasons(part) });
        degraded.filter(|degraded| !degraded.reasons.is_empty()).collect()
    }
}

/// The memory and the open descriptors of the process, where the system tells them: some containers do not.
#[cfg(target_os = "linux")]
fn process_figures() -> (Option<u64>, Option<usize>) {
    let Ok(process) = procfs::process::Process::myself() else { return (None, None) };
    let memory = process.statm().map(|memory| memory.resident * procfs::page_size());
    (memory.ok(), process.fd_count().ok())
}

#[cfg(not(target_os = "linux"))]
fn process_figures() -> (Option<u64>, Option<usize>) {
    (None, None)
}
