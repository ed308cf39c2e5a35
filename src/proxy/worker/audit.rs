//! Writes the audit into the store, in the background: in the order of the requests, some rows at a time, so
//! that no request waits for the disk.
//!
//! The queue is bounded. A store that fails is tried again until the proxy ends; rows that are not written by
//! then, or for which there is no room meanwhile, are counted and reported.

use super::blocking_pool::BlockingPool;
use super::error::WorkerFault;
use super::store_pool::StorePool;
use crate::error::{Error, Result};
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::record::{AuditRow, id};
use crate::store::Store;
use crate::text::counted;
use std::collections::VecDeque;
use std::process;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The greatest number of rows that wait, and of those that are written together.
const MAX_ROWS: usize = 10_000;
const BATCH_ROWS: usize = 500;
/// The time for which a row waits for others: each write holds up turns that are to be stored.
const GATHER_TIME: Duration = Duration::from_millis(200);
/// The first and the longest pause between two attempts.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// The longest wait at the end of the proxy for rows that are still to be written.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

const DAY: i64 = 24 * 60 * 60 * 1000;

/// The rows of the audit that wait to be written.
pub(in crate::proxy) struct AuditQueue {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    stores: Arc<StorePool>,
    /// Whether there is an audit at all.
    is_on: bool,
    /// The time for which rows are kept, in milliseconds.
    kept: i64,
    /// The name of this proxy's rows, by which they differ from those of other proxies.
    name: String,
    state: Mutex<AuditState>,
    /// Rows were written.
    written: Notify,
    /// There are enough rows for a batch, or the proxy ends.
    wake: Condvar,
    /// The connection by which rows are written, unless the last write failed. Held for a whole write,
    /// without `state`: else a slow disk would stop the requests.
    connection: Mutex<Option<Box<dyn Store>>>,
}

#[derive(Default)]
struct AuditState {
    /// In the order of their requests; the first are being written.
    waiting: VecDeque<AuditRow>,
    /// The number of rows so far.
    count: u64,
    is_running: bool,
    /// Whether a row was lost since the last write.
    is_full: bool,
    /// The error of the last attempt, if it failed.
    last_error: Option<String>,
    deadline: Option<Instant>,
    lost: u64,
}

impl AuditQueue {
    /// An empty queue. Errors if the system gives no random bytes.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        stores: &Arc<StorePool>,
    ) -> Result<AuditQueue> {
        let days = config.settings.integer("proxy.audit_days").unwrap_or(i64::MAX);
        Ok(AuditQueue {
            is_on: config.settings.boolean("proxy.audit") == Some(true),
            kept: days.saturating_mul(DAY),
            name: id::fresh(&config.clock, &format!("audit {}", process::id()))?,
            config: config.clone(),
            blocking: blocking.clone(),
            stores: stores.clone(),
            state: Mutex::default(),
            written: Notify::new(),
            wake: Condvar::new(),
            connection: Mutex::new(None),
        })
    }

    /// Whether there is an audit.
    pub(in crate::proxy) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Queues a row, which gets its id here. Without room for it, it is lost.
    pub(in crate::proxy) fn note(self: &Arc<AuditQueue>, row: AuditRow) {
        if !self.is_on {
            return;
        }
        let mut state = locked(&self.state);
        if state.waiting.len() >= MAX_ROWS {
            state.lost += 1;
            let is_first = !std::mem::replace(&mut state.is_full, true);
            drop(state);
            self.config.metrics.lost_audit_rows.inc();
            if is_first {
                self.config.diagnostics.fault(&WorkerFault::AuditFull.into());
            }
            return;
        }
        let id = format!("{}-{:012}", self.name, state.count);
        state.count += 1;
        state.waiting.push_back(AuditRow { id, ..row });
        if state.waiting.len() >= BATCH_ROWS {
            self.wake.notify_all();
        }
        if !state.is_running {
            state.is_running = true;
            let queue = self.clone();
            self.blocking.spawn(move || queue.work());
        }
    }

    /// Waits until all rows are written, within bounds. Returns the number of rows that were lost since the
    /// beginning.
    pub(in crate::proxy) async fn finish(&self) -> u64 {
        locked(&self.state).deadline = Some(Instant::now() + SHUTDOWN_TIMEOUT);
        self.wake.notify_all();
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.settled()).await;
        let mut state = locked(&self.state);
        let lost = std::mem::take(&mut state.waiting).len() as u64;
        state.lost += lost;
        let (total, reason) = (state.lost, state.last_error.take());
        drop(state);
        self.config.metrics.lost_audit_rows.inc_by(lost);
        if lost > 0 {
            let why = reason.unwrap_or_else(|| "rsv-proxy stopped before they could be written".to_owned());
            let fault = WorkerFault::LostRows { rows: counted(lost, "lost row"), why };
            self.config.diagnostics.fault(&fault.into());
        }
        total
    }

    async fn settled(&self) {
        loop {
            let written = self.written.notified();
            if locked(&self.state).waiting.is_empty() {
                return;
            }
            written.await;
        }
    }

    /// Closes the connection, unless a write that takes too long still holds it.
    pub(in crate::proxy) fn close(&self) {
        if let Ok(mut connection) = self.connection.try_lock() {
            *connection = None;
        }
    }

    /// Writes the rows that wait, until none does or the proxy has ended.
    fn work(&self) {
        let mut backoff = MIN_BACKOFF;
        while let Some(rows) = self.next_batch() {
            match self.write(&rows) {
                Ok(()) => {
                    backoff = MIN_BACKOFF;
                    self.on_written(rows.len());
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

    /// The rows that are written next, once there are some or none came for a while.
    fn next_batch(&self) -> Option<Vec<AuditRow>> {
        let mut state = locked(&self.state);
        if !state.waiting.is_empty() {
            let has_few =
                |state: &mut AuditState| state.deadline.is_none() && state.waiting.len() < BATCH_ROWS;
            let waited = self.wake.wait_timeout_while(state, GATHER_TIME, has_few);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let batch: Vec<AuditRow> = state.waiting.iter().take(BATCH_ROWS).cloned().collect();
        state.is_running = !batch.is_empty();
        state.is_running.then_some(batch)
    }

    /// Writes rows, all of them or none, and removes some that are too old.
    fn write(&self, rows: &[AuditRow]) -> Result<()> {
        let mut connection = locked(&self.connection);
        let mut store = match connection.take_if(|store| store.check_place().is_ok()) {
            Some(store) => store,
            None => self.stores.open_to_serve()?,
        };
        let clock = &self.config.clock;
        // By a clock that is out of range, nothing is too old.
        let before = if clock.check().is_ok() { clock.now().saturating_sub(self.kept) } else { i64::MIN };
        store.append_audit(rows, before)?;
        *connection = Some(store);
        Ok(())
    }

    fn on_written(&self, count: usize) {
        self.config.metrics.audit_rows.inc_by(count as u64);
        let mut state = locked(&self.state);
        // At the end of the proxy, those that are too late were taken out.
        let count = count.min(state.waiting.len());
        state.waiting.drain(..count);
        state.is_full = false;
        let had_failed = state.last_error.take().is_some();
        // A standard error that nobody reads must not hold up requests.
        drop(state);
        if had_failed {
            self.config.diagnostics.note("the audit can be written again");
        }
        self.written.notify_waiters();
    }

    fn on_failed(&self, error: Error) {
        self.config.metrics.failed_audit_writes.inc();
        let text = error.to_string();
        let last_error = locked(&self.state).last_error.replace(text.clone());
        if last_error.as_ref() != Some(&text) {
            self.config.diagnostics.fault(&error.at("rows of the audit wait to be written"));
        }
    }

    /// Waits before the next attempt, until the proxy ends. Returns whether there is time for another
    /// attempt.
    fn pause(&self, backoff: Duration) -> bool {
        let state = locked(&self.state);
        let backoff = if state.deadline.is_some() { MIN_BACKOFF } else { backoff };
        let waited = self.wake.wait_timeout_while(state, backoff, |state| state.deadline.is_none());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }
}
