//! Stores turns after they were answered, in their order, off the way of the answer. What came while others were
//! written is written at once: nobody waits for a disk as often as there are clients.
//!
//! What waits is bounded. A store that fails is tried again until the proxy ends; what cannot be kept by then, or
//! finds no room meanwhile, is named on standard error.

use super::Proxy;
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::ingest::{Done, Ingest, Options};
use crate::record::Scope;
use crate::store::{self, OpenMode, Store};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The pauses between two attempts: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How many turns are written at once, and how many bytes of them, unless one alone has more.
const AT_ONCE: (usize, usize) = (64, 8 << 20);
/// How long one attempt may take before it counts as trouble.
const SLOW: Duration = Duration::from_secs(2);
/// How long the proxy's end waits for what is still to be stored.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// What waits, and how storing goes.
pub(super) struct Writer {
    most: (usize, usize),
    state: Mutex<State>,
    /// Something was stored, or failed, or ended.
    changed: Notify,
    /// It is to end.
    ending: Condvar,
    store: Mutex<Option<Box<dyn Store>>>,
}

#[derive(Default)]
struct State {
    /// In the order of their answers; the first are being written.
    waiting: VecDeque<Arc<Turn>>,
    bytes: usize,
    /// How many turns are on their way to here.
    coming: usize,
    running: bool,
    /// When the present attempt began.
    begun: Option<Instant>,
    /// Why the last attempt failed.
    failed: Option<String>,
    end: Option<Instant>,
    lost: usize,
}

impl State {
    /// Why nothing can be stored at present, if so.
    fn trouble(&self) -> Option<String> {
        let slow = self.begun.filter(|begun| begun.elapsed() > SLOW);
        let slow = || {
            slow.map(|begun| format!("the store has kept a turn waiting for {} s", begun.elapsed().as_secs()))
        };
        self.failed.clone().or_else(slow)
    }
}

/// A turn that is to be stored.
pub(super) struct Turn {
    /// With one line.
    pub(super) ingest: Ingest,
    pub(super) scope: Scope,
    pub(super) trace_id: String,
    /// Its size in memory, roughly.
    pub(super) bytes: usize,
}

/// A turn that is on its way as long as this is kept: the end waits for it.
pub(super) struct Coming(Arc<Proxy>);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.writer.state().coming -= 1;
        self.0.writer.changed.notify_waiters();
    }
}

impl Writer {
    pub(super) fn new(settings: &Settings) -> Writer {
        let most = |key| settings.integer(key).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        Writer {
            most: (most("proxy.queue"), most("proxy.queue_bytes")),
            state: Mutex::default(),
            changed: Notify::new(),
            ending: Condvar::new(),
            store: Mutex::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many turns are under way, or wait to be stored.
    pub(super) fn pending(&self) -> usize {
        let state = self.state();
        state.waiting.len() + state.coming
    }

    /// Why nothing can be stored at present, if so.
    pub(super) fn trouble(&self) -> Option<String> {
        self.state().trouble()
    }

    /// Waits until all turns of a scope are stored that were answered before; not while the store fails.
    pub(super) async fn settled(&self, scope: &Scope) {
        self.until(|state| {
            state.trouble().is_some() || state.waiting.iter().all(|turn| turn.scope != *scope)
        })
        .await;
    }

    async fn until(&self, mut come: impl FnMut(&mut State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if come(&mut self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until all is stored, within bounds; what was answered and is not stored then is lost. How many are.
    pub(super) async fn finish(&self, lose: impl Fn(&str, &str)) -> usize {
        self.state().end = Some(Instant::now() + LAST_WAIT);
        self.ending.notify_all();
        let done = self.until(|state| state.coming == 0 && state.waiting.is_empty());
        let _ = tokio::time::timeout(LAST_WAIT, done).await;
        let mut state = self.state();
        let why = state.trouble().unwrap_or_else(|| "there was no time left".to_owned());
        for turn in std::mem::take(&mut state.waiting) {
            lose(&turn.trace_id, &why);
            state.lost += 1;
        }
        state.lost
    }

    /// Writes turns, all of them or none; what came of each.
    fn write(&self, proxy: &Proxy, turns: &[Arc<Turn>]) -> Result<Vec<Done>> {
        let _at_work = proxy.embedder.at_work();
        let mut held = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut store = match held.take() {
            Some(store) => store,
            None => store::open(&proxy.settings.store()?, OpenMode::Pooled)?,
        };
        let mut batch = Ingest::new(Options::default(), proxy.clock);
        turns.iter().for_each(|turn| batch.append(turn.ingest.clone()));
        let done = batch.commit(&mut *store)?;
        *held = Some(store);
        Ok(done)
    }

    /// Waits for the next attempt; less if the proxy is to end, and at its end no more.
    fn pause(&self, pause: Duration) -> bool {
        let state = self.state();
        let pause = if state.end.is_some() { PAUSES.0 } else { pause };
        let ended = self.ending.wait_timeout_while(state, pause, |state| state.end.is_none());
        let (state, _) = ended.unwrap_or_else(PoisonError::into_inner);
        state.end.is_none_or(|end| Instant::now() < end)
    }
}

impl Proxy {
    /// Announces a turn.
    pub(super) fn coming(self: &Arc<Proxy>) -> Coming {
        self.writer.state().coming += 1;
        Coming(self.clone())
    }

    /// Has a turn stored; waits for room where there is none, but not for the store.
    pub(super) async fn store(self: &Arc<Proxy>, turn: Turn) {
        let (most, most_bytes) = self.writer.most;
        let mut turn = Some(Arc::new(turn));
        let mut refused = None;
        self.writer
            .until(|state| {
                let Some(next) = &turn else { return true };
                let room = state.waiting.len() < most && state.bytes + next.bytes <= most_bytes;
                if room || state.waiting.is_empty() {
                    state.bytes += next.bytes;
                    state.waiting.extend(turn.take());
                    return true;
                }
                refused = state.trouble();
                refused.is_some()
            })
            .await;
        match turn {
            Some(turn) => {
                self.writer.state().lost += 1;
                self.lose(
                    &turn.trace_id,
                    &format!("too many wait for the store: {}", refused.unwrap_or_default()),
                );
            }
            None => self.work(),
        }
    }

    fn work(self: &Arc<Proxy>) {
        let mut state = self.writer.state();
        if !state.running && !state.waiting.is_empty() {
            state.running = true;
            let proxy = self.clone();
            self.apart(move || proxy.write_off());
        }
    }

    /// Writes what waits, until nothing does or the end has come.
    fn write_off(self: &Arc<Proxy>) {
        let mut pause = PAUSES.0;
        while let Some(turns) = self.next() {
            match self.writer.write(self, &turns) {
                Ok(done) => {
                    pause = PAUSES.0;
                    self.written(&turns, done);
                }
                Err(error) => {
                    self.failing(error);
                    if !self.writer.pause(pause) {
                        break;
                    }
                    pause = PAUSES.1.min(pause * 2);
                }
            }
        }
    }

    /// What is to be written at once.
    fn next(&self) -> Option<Vec<Arc<Turn>>> {
        let mut state = self.writer.state();
        let mut bytes = 0;
        let fits = |turn: &&Arc<Turn>| {
            let first = bytes == 0;
            bytes += turn.bytes;
            first || bytes <= AT_ONCE.1
        };
        let next: Vec<_> = state.waiting.iter().take(AT_ONCE.0).take_while(fits).cloned().collect();
        state.running = !next.is_empty();
        state.begun = state.running.then(Instant::now);
        state.running.then_some(next)
    }

    fn written(self: &Arc<Proxy>, turns: &[Arc<Turn>], done: Vec<Done>) {
        for (turn, done) in turns.iter().zip(done) {
            if let Err(error) = done.line {
                self.writer.state().lost += 1;
                self.lose(&turn.trace_id, &error.to_string());
            }
        }
        {
            let mut state = self.writer.state();
            for turn in turns {
                state.waiting.pop_front();
                state.bytes -= turn.bytes;
            }
            if state.failed.take().is_some() {
                self.notes.note("the store can be written again");
            }
        }
        self.writer.changed.notify_waiters();
        self.wake();
    }

    fn failing(&self, error: Error) {
        let text = error.to_string();
        let told = self.writer.state().failed.replace(text.clone());
        if told.as_ref() != Some(&text) {
            self.notes.fault(&error.at("turns wait to be stored"));
        }
        self.writer.changed.notify_waiters();
    }

    /// Tells that a turn cannot be stored.
    pub(super) fn lose(&self, trace_id: &str, why: &str) {
        self.notes.fault(&Error::new(format!("the turn {trace_id} is lost: {why}")));
    }
}
