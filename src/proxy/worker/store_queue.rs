//! Stores turns after they were answered, in their order. Turns that arrive during a write are written
//! together, so that clients do not wait for the disk once each.
//!
//! The queue is bounded. A store that fails is tried again until the proxy ends; a turn that is not stored by
//! then, or for which there is no room meanwhile, is named on standard error.

use super::backfill::Backfill;
use super::blocking_pool::BlockingPool;
use super::degraded;
use super::error::WorkerFault;
use super::foreground::Foreground;
use super::store_pool::StorePool;
use crate::enrich::Degraded;
use crate::error::{Error, Result};
use crate::ingest::{Ingest, IngestedLine, Options};
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::proxy::metrics::TurnStep;
use crate::record::Scope;
use crate::store::Store;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The first and the longest pause between two attempts.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// The greatest number of turns in a batch, and of their bytes, unless one alone has more.
const BATCH_TURNS: usize = 64;
const BATCH_BYTES: usize = 8 << 20;
/// The longest time for which an answer waits until its turn is stored.
const STORE_FIRST_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait at the end of the proxy for turns that are still to be stored.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The turns that wait to be stored.
pub(in crate::proxy) struct StoreQueue {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    backfill: Arc<Backfill>,
    max_turns: usize,
    max_bytes: usize,
    state: Mutex<QueueState>,
    /// Something was stored or failed, or a turn ended while the proxy ends.
    changed: Notify,
    /// The proxy ends.
    ending: Condvar,
    /// The connection by which turns are written, unless the last write failed. Held for a whole write,
    /// without `state`: else a slow disk would stop the turns that are queued.
    connection: Mutex<Option<Box<dyn Store>>>,
}

#[derive(Default)]
struct QueueState {
    /// In the order of their answers; the first are being written.
    waiting: VecDeque<Arc<QueuedTurn>>,
    bytes: usize,
    /// The number of turns under way that may still be queued.
    pending: usize,
    is_running: bool,
    /// The time at which the present attempt began.
    attempt: Option<Instant>,
    /// The error of the last attempt, if it failed.
    last_error: Option<String>,
    deadline: Option<Instant>,
    lost: usize,
}

impl QueueState {
    fn degraded(&self) -> Option<Degraded> {
        degraded::judge_storing(self.last_error.as_ref(), self.attempt)
    }
}

/// The numbers of turns that are under way and that wait to be stored, and the bytes of the latter.
pub(in crate::proxy) struct QueueCounts {
    pub(in crate::proxy) active: usize,
    pub(in crate::proxy) waiting: usize,
    pub(in crate::proxy) bytes: usize,
}

/// A turn that is to be stored.
pub(in crate::proxy) struct QueuedTurn {
    /// With one line.
    pub(in crate::proxy) ingest: Ingest,
    pub(in crate::proxy) scope: Scope,
    pub(in crate::proxy) trace_id: String,
    /// Its size in memory, roughly.
    pub(in crate::proxy) bytes: usize,
    /// The time at which it was answered.
    pub(in crate::proxy) since: Instant,
}

/// A turn that is under way as long as this is kept: the end of the proxy waits for it.
pub(in crate::proxy) struct PendingGuard(Arc<StoreQueue>);

impl Drop for PendingGuard {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.pending -= 1;
        // Only the end waits for that; every other wait would be woken for nothing.
        if state.deadline.is_some() {
            self.0.changed.notify_waiters();
        }
    }
}

impl StoreQueue {
    /// An empty queue, of which the settings say how long it may become.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        stores: &Arc<StorePool>,
        backfill: &Arc<Backfill>,
    ) -> StoreQueue {
        StoreQueue {
            max_turns: config.limit("proxy.queue").unwrap_or(usize::MAX),
            max_bytes: config.limit("proxy.queue_bytes").unwrap_or(usize::MAX),
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            backfill: backfill.clone(),
            state: Mutex::default(),
            changed: Notify::new(),
            ending: Condvar::new(),
            connection: Mutex::new(None),
        }
    }

    /// Has records without a vector looked for, of which some may be of other programs.
    pub(in crate::proxy) fn wake_backfill(&self) {
        self.backfill.wake_if_idle();
    }

    /// The numbers of turns under way and of those that wait, and the bytes of these.
    pub(in crate::proxy) fn counts(&self) -> QueueCounts {
        let state = locked(&self.state);
        QueueCounts { active: state.pending, waiting: state.waiting.len(), bytes: state.bytes }
    }

    /// The reason why nothing can be stored at present, if there is one.
    pub(in crate::proxy) fn degraded(&self) -> Option<Degraded> {
        locked(&self.state).degraded()
    }

    /// Announces a turn.
    pub(in crate::proxy) fn announce(self: &Arc<StoreQueue>) -> PendingGuard {
        locked(&self.state).pending += 1;
        PendingGuard(self.clone())
    }

    /// Waits until all turns of a scope are stored that were answered before; not while the store fails.
    pub(in crate::proxy) async fn settled(&self, scope: &Scope) {
        self.wait_until(|state| {
            state.degraded().is_some() || state.waiting.iter().all(|turn| turn.scope != *scope)
        })
        .await;
    }

    /// Waits until all turns of a scope are stored that were answered before, also while the store fails.
    pub(super) async fn stored(&self, scope: &Scope) {
        self.wait_until(|state| state.waiting.iter().all(|turn| turn.scope != *scope)).await;
    }

    async fn wait_until(&self, mut is_reached: impl FnMut(&mut QueueState) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_reached(&mut locked(&self.state)) {
                return;
            }
            changed.await;
        }
    }

    /// Queues a turn. If there is no room, waits for some; while the store fails, the turn is lost instead.
    /// With `proxy.store_first`, waits until the turn is stored, but for a store that fails or is too slow.
    pub(in crate::proxy) async fn push(self: &Arc<StoreQueue>, turn: QueuedTurn) {
        let turn = Arc::new(turn);
        let mut refusal = None;
        self.wait_until(|state| {
            let has_room = state.waiting.len() < self.max_turns && state.bytes + turn.bytes <= self.max_bytes;
            if has_room || state.waiting.is_empty() {
                state.bytes += turn.bytes;
                state.waiting.push_back(turn.clone());
                refusal = None;
                return true;
            }
            refusal = state.degraded();
            refusal.is_some()
        })
        .await;
        if let Some(reason) = refusal {
            self.report_lost(&turn.trace_id, &format!("too many turns wait for the store: {reason}"));
            return;
        }
        self.start_worker();
        if self.config.stores_first() {
            let stored = self.wait_until(|state| {
                state.last_error.is_some() || !state.waiting.iter().any(|waiting| Arc::ptr_eq(waiting, &turn))
            });
            // The answer must not wait any longer; the turn stays queued.
            let _ = tokio::time::timeout(STORE_FIRST_TIMEOUT, stored).await;
        }
    }

    /// Waits until all is stored, within bounds. A turn that was answered and is not stored then is lost.
    /// Returns the number of turns that were lost since the beginning.
    pub(in crate::proxy) async fn finish(&self) -> usize {
        locked(&self.state).deadline = Some(Instant::now() + SHUTDOWN_TIMEOUT);
        self.ending.notify_all();
        let done = self.wait_until(|state| state.pending == 0 && state.waiting.is_empty());
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, done).await;
        let mut state = locked(&self.state);
        let reason = state.degraded().map(|reason| reason.to_string());
        let reason = reason.unwrap_or_else(|| "rsv-proxy stopped before it could be stored".to_owned());
        let lost = std::mem::take(&mut state.waiting);
        drop(state);
        for turn in lost {
            self.report_lost(&turn.trace_id, &reason);
        }
        locked(&self.state).lost
    }

    /// Closes the connection, unless a write still holds it: the end must not wait for a slow one.
    pub(in crate::proxy) fn close(&self) {
        if let Ok(mut connection) = self.connection.try_lock() {
            *connection = None;
        }
    }

    /// Counts and reports a turn that cannot be stored.
    pub(in crate::proxy) fn report_lost(&self, trace_id: &str, why: &str) {
        locked(&self.state).lost += 1;
        self.config.metrics.lost_turns.inc();
        let (trace_id, why) = (trace_id.to_owned(), why.to_owned());
        self.config.diagnostics.fault(&WorkerFault::LostTurn { trace_id, why }.into());
    }

    fn start_worker(self: &Arc<StoreQueue>) {
        let mut state = locked(&self.state);
        if !state.is_running && !state.waiting.is_empty() {
            state.is_running = true;
            let queue = self.clone();
            self.blocking.spawn(move || queue.work());
        }
    }

    /// Writes the turns that wait, until none does or the proxy has ended.
    fn work(&self) {
        // By hand: a success resets the delays, which a delay of backon cannot do.
        let mut backoff = MIN_BACKOFF;
        while let Some(turns) = self.next_batch() {
            let began = Instant::now();
            match self.write(&turns) {
                Ok(done) => {
                    self.config.metrics.add_write(began.elapsed(), self.config.clock.now());
                    backoff = MIN_BACKOFF;
                    self.on_written(&turns, done);
                }
                Err(error) => {
                    self.on_failed(error);
                    if !self.pause(backoff) {
                        break;
                    }
                    backoff = MAX_BACKOFF.min(backoff * 2);
                }
            }
        }
    }

    /// The turns that are written next.
    fn next_batch(&self) -> Option<Vec<Arc<QueuedTurn>>> {
        let mut state = locked(&self.state);
        let mut bytes = 0;
        let fits = |turn: &&Arc<QueuedTurn>| {
            let is_first = bytes == 0;
            bytes += turn.bytes;
            is_first || bytes <= BATCH_BYTES
        };
        let batch: Vec<_> = state.waiting.iter().take(BATCH_TURNS).take_while(fits).cloned().collect();
        state.is_running = !batch.is_empty();
        state.attempt = state.is_running.then(Instant::now);
        state.is_running.then_some(batch)
    }

    /// Writes turns, all of them or none. Returns the result of each.
    fn write(&self, turns: &[Arc<QueuedTurn>]) -> Result<Vec<IngestedLine>> {
        let _active = self.foreground.enter();
        let mut connection = locked(&self.connection);
        let mut store = match connection.take() {
            Some(mut store) => match store.check_place() {
                Ok(()) => store,
                Err(error) => {
                    let store = self.stores.open_to_serve()?;
                    self.config.diagnostics.note(format_args!("{error}; the file that is there now is used"));
                    store
                }
            },
            None => self.stores.open_to_serve()?,
        };
        let mut batch = Ingest::new(Options::default(), self.config.clock);
        for turn in turns {
            batch.append(turn.ingest.clone());
        }
        let done = batch.commit(&mut *store)?;
        *connection = Some(store);
        Ok(done)
    }

    fn on_written(&self, turns: &[Arc<QueuedTurn>], done: Vec<IngestedLine>) {
        for (turn, done) in turns.iter().zip(done) {
            if let Err(error) = done.line {
                if done.conflicts > 0 {
                    self.config.diagnostics.fault(&error.at(format_args!("the turn {}", turn.trace_id)));
                    continue;
                }
                self.report_lost(&turn.trace_id, &error.to_string());
                continue;
            }
            self.config.metrics.add_step(TurnStep::Store, turn.since.elapsed());
            self.config.metrics.stored_turns.inc();
        }
        let mut state = locked(&self.state);
        for turn in turns {
            state.waiting.pop_front();
            state.bytes -= turn.bytes;
        }
        let had_failed = state.last_error.take().is_some();
        // A standard error that nobody reads must not hold up turns that are queued.
        drop(state);
        if had_failed {
            self.config.diagnostics.note("the store can be written to again");
        }
        self.changed.notify_waiters();
        self.backfill.wake();
    }

    fn on_failed(&self, error: Error) {
        self.config.metrics.failed_writes.inc();
        let text = error.to_string();
        let last_error = locked(&self.state).last_error.replace(text.clone());
        if last_error.as_ref() != Some(&text) {
            self.config.diagnostics.fault(&error.at("turns wait to be stored"));
        }
        self.changed.notify_waiters();
    }

    /// Waits before the next attempt, until the proxy ends. Returns whether there is time for another
    /// attempt.
    fn pause(&self, backoff: Duration) -> bool {
        let state = locked(&self.state);
        let backoff = if state.deadline.is_some() { MIN_BACKOFF } else { backoff };
        let waited = self.ending.wait_timeout_while(state, backoff, |state| state.deadline.is_none());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }
}
