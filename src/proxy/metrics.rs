//! The counts and times of the proxy since its start: atomic counters and short locks, of which a turn takes
//! a dozen.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The upper bounds of the buckets of all times, in seconds: from a lookup to a long answer.
const BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// The number of pairs of a partition and an outcome that are counted by name: clients choose the names of
/// partitions, and each takes memory.
const MAX_TURN_SERIES: usize = 1000;

/// The one label of a family, and its value.
type Label = [(&'static str, &'static str); 1];

/// A step of a turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TurnStep {
    /// It waits for earlier turns of its scope to be stored.
    Wait,
    /// The last messages and the recall of the same turn are looked up, without a search.
    LookUp,
    /// The question's vector is made.
    Embed,
    Search,
    /// Tokens are counted, and what was recalled is placed.
    Prepare,
    /// The provider answers, or begins a streamed answer.
    Provider,
    /// The answered turn waits to be stored, and is.
    Store,
}

impl TurnStep {
    const ALL: [TurnStep; 7] = [
        TurnStep::Wait,
        TurnStep::LookUp,
        TurnStep::Embed,
        TurnStep::Search,
        TurnStep::Prepare,
        TurnStep::Provider,
        TurnStep::Store,
    ];

    fn label(self) -> Label {
        let name = match self {
            TurnStep::Wait => "wait",
            TurnStep::LookUp => "look_up",
            TurnStep::Embed => "embed",
            TurnStep::Search => "search",
            TurnStep::Prepare => "prepare",
            TurnStep::Provider => "provider",
            TurnStep::Store => "store",
        };
        [("step", name)]
    }
}

/// The outcome of a turn that has begun.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TurnEnd {
    /// Its answer came whole.
    Answered,
    /// Its answer broke off.
    Partial,
    /// There was no answer.
    Failed,
}

impl TurnEnd {
    /// The value of its label.
    pub(super) fn name(self) -> &'static str {
        match self {
            TurnEnd::Answered => "answered",
            TurnEnd::Partial => "partial",
            TurnEnd::Failed => "failed",
        }
    }
}

/// The jobs beside turns, of which each ends well or fails.
#[derive(Clone, Debug, Default)]
pub(super) struct JobCounter(Family<Label, Counter>);

impl JobCounter {
    /// Counts a job that has ended.
    pub(super) fn add(&self, is_done: bool) {
        self.0.get_or_create(&JobCounter::label(is_done)).inc();
    }

    fn label(is_done: bool) -> Label {
        [("outcome", if is_done { "done" } else { "failed" })]
    }
}

/// The counters and times of one proxy.
#[derive(Debug)]
pub(super) struct Metrics {
    requests: Family<[(&'static str, u16); 1], Counter>,
    /// The turns by partition and outcome. Those of partitions beyond the limit have no name.
    turns: Mutex<BTreeMap<(String, TurnEnd), u64>>,
    turn_times: Histogram,
    step_times: Family<Label, Histogram>,
    write_times: Histogram,
    connections: Gauge,
    pub(super) degraded_turns: Counter,
    pub(super) stored_turns: Counter,
    pub(super) lost_turns: Counter,
    pub(super) failed_writes: Counter,
    pub(super) audit_rows: Counter,
    pub(super) lost_audit_rows: Counter,
    pub(super) failed_audit_writes: Counter,
    pub(super) commits: JobCounter,
    pub(super) uploads: JobCounter,
    pub(super) descriptions: JobCounter,
    pub(super) description_tokens: Counter,
    /// The time of the last write, in milliseconds since 1970; 0 before the first.
    last_store: AtomicI64,
}

impl Metrics {
    /// All at zero. Each series of a fixed label is there from the start, so that its first increase is seen.
    pub(super) fn new() -> Arc<Metrics> {
        let metrics = Metrics {
            requests: Family::default(),
            turns: Mutex::default(),
            turn_times: new_histogram(),
            step_times: Family::new_with_constructor(new_histogram),
            write_times: new_histogram(),
            connections: Gauge::default(),
            degraded_turns: Counter::default(),
            stored_turns: Counter::default(),
            lost_turns: Counter::default(),
            failed_writes: Counter::default(),
            audit_rows: Counter::default(),
            lost_audit_rows: Counter::default(),
            failed_audit_writes: Counter::default(),
            commits: JobCounter::default(),
            uploads: JobCounter::default(),
            descriptions: JobCounter::default(),
            description_tokens: Counter::default(),
            last_store: AtomicI64::new(0),
        };
        for step in TurnStep::ALL {
            drop(metrics.step_times.get_or_create(&step.label()));
        }
        for jobs in [&metrics.commits, &metrics.uploads, &metrics.descriptions] {
            for is_done in [true, false] {
                drop(jobs.0.get_or_create(&JobCounter::label(is_done)));
            }
        }
        Arc::new(metrics)
    }

    /// Counts a request that was answered with this status.
    pub(super) fn add_request(&self, status: u16) {
        self.requests.get_or_create(&[("status", status)]).inc();
    }

    /// Times a step until what is returned is dropped.
    fn time(&self, step: TurnStep) -> StepTimer<'_> {
        StepTimer { metrics: self, step, began: Instant::now() }
    }

    /// Times a step that is a future, also where that is given up.
    pub(super) async fn timed<T>(&self, step: TurnStep, work: impl Future<Output = T>) -> T {
        let _timer = self.time(step);
        work.await
    }

    /// Adds a step that took this time.
    pub(super) fn add_step(&self, step: TurnStep, took: Duration) {
        self.step_times.get_or_create(&step.label()).observe(took.as_secs_f64());
    }

    /// Begins a turn in a partition, which ends when what is returned is dropped.
    pub(super) fn begin_turn(self: &Arc<Metrics>, partition: &str) -> TurnTimer {
        let partition = partition.to_owned();
        TurnTimer { metrics: self.clone(), partition, began: Instant::now(), outcome: TurnEnd::Failed }
    }

    fn add_turn(&self, partition: &str, outcome: TurnEnd) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (partition.to_owned(), outcome);
        let is_counted = turns.contains_key(&key) || turns.len() < MAX_TURN_SERIES;
        *turns.entry(if is_counted { key } else { (String::new(), outcome) }).or_default() += 1;
    }

    /// The number of turns by partition and outcome.
    pub(super) fn turns(&self) -> BTreeMap<(String, TurnEnd), u64> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a connection, until what is returned is dropped.
    pub(super) fn open_connection(&self) -> OpenConnection {
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }

    /// The number of open connections of clients.
    pub(super) fn connections(&self) -> i64 {
        self.connections.get()
    }

    /// Adds a write to the store that succeeded at `now`, in milliseconds since 1970.
    pub(super) fn add_write(&self, took: Duration, now: i64) {
        self.write_times.observe(took.as_secs_f64());
        self.mark_stored(now);
    }

    /// Remembers that something was stored at `now`, in milliseconds since 1970.
    pub(super) fn mark_stored(&self, now: i64) {
        self.last_store.fetch_max(now, Ordering::Relaxed);
    }

    /// The time of the last write to the store, in milliseconds since 1970; `None` before the first.
    pub(super) fn last_store(&self) -> Option<i64> {
        Some(self.last_store.load(Ordering::Relaxed)).filter(|time| *time > 0)
    }

    /// Registers all but the turns, of which not every caller may see all.
    pub(super) fn register(&self, registry: &mut Registry) {
        let Metrics { requests, turn_times, step_times, write_times, commits, uploads, .. } = self;
        registry.register("rsv_http_requests", "Requests answered, by status", requests.clone());
        let seconds = Unit::Seconds;
        let help = "Time of a turn, from its request to the end of its answer";
        registry.register_with_unit("rsv_turn", help, seconds.clone(), turn_times.clone());
        let help = "Time of the steps of a turn";
        registry.register_with_unit("rsv_turn_step", help, seconds.clone(), step_times.clone());
        let help = "Time of a write of turns to the store";
        registry.register_with_unit("rsv_store_write", help, seconds, write_times.clone());
        for (name, help, counter) in [
            ("rsv_turns_degraded", "Turns whose recall worked only in part", &self.degraded_turns),
            ("rsv_turns_stored", "Turns stored", &self.stored_turns),
            (
                "rsv_description_tokens",
                "Tokens of descriptions, of requests and answers",
                &self.description_tokens,
            ),
            ("rsv_turns_lost", "Turns that were answered and could not be stored", &self.lost_turns),
            ("rsv_store_write_failures", "Writes of turns that failed, and are retried", &self.failed_writes),
            ("rsv_audit_rows", "Rows of the audit written", &self.audit_rows),
            ("rsv_audit_rows_lost", "Rows of the audit that could not be written", &self.lost_audit_rows),
            (
                "rsv_audit_write_failures",
                "Writes of the audit that failed, and are retried",
                &self.failed_audit_writes,
            ),
        ] {
            registry.register(name, help, counter.clone());
        }
        registry.register("rsv_commits", "Commits of sessions, by outcome", commits.0.clone());
        let help = "Descriptions of documents by a model, by outcome";
        registry.register("rsv_descriptions", help, self.descriptions.0.clone());
        registry.register("rsv_uploads", "Uploaded files, by outcome", uploads.0.clone());
    }
}

fn new_histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

/// A step that is timed until this is dropped.
struct StepTimer<'a> {
    metrics: &'a Metrics,
    step: TurnStep,
    began: Instant,
}

impl Drop for StepTimer<'_> {
    fn drop(&mut self) {
        self.metrics.add_step(self.step, self.began.elapsed());
    }
}

/// A turn that is timed until this is dropped. It has failed unless its outcome is set.
pub(super) struct TurnTimer {
    metrics: Arc<Metrics>,
    partition: String,
    began: Instant,
    outcome: TurnEnd,
}

impl TurnTimer {
    /// Ends a turn that was answered, whole or in part.
    pub(super) fn end(mut self, is_whole: bool) {
        self.outcome = if is_whole { TurnEnd::Answered } else { TurnEnd::Partial };
    }
}

impl Drop for TurnTimer {
    fn drop(&mut self) {
        self.metrics.turn_times.observe(self.began.elapsed().as_secs_f64());
        self.metrics.add_turn(&self.partition, self.outcome);
    }
}

/// A connection that is open until this is dropped.
pub(super) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}
