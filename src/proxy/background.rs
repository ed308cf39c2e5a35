//! Vectors for what the proxy has stored, and its synapses, made when nobody waits for anything.
//!
//! There is no queue: the store knows which messages have no vector, and a stored turn is a sign to look.

use super::Proxy;
use crate::error::{Error, Result};
use crate::fill;
use crate::link::synapse::{self, Plan};
use crate::record::Scopes;
use crate::store::{self, OpenMode, Select, Store};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// What is to be done, and what is known of what is left.
#[derive(Default)]
pub(super) struct Background(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whether something was stored since the store was looked at.
    wanted: bool,
    /// Whether somebody looks, or will before he ends.
    running: bool,
    worker: Option<JoinHandle<()>>,
    /// When to stop.
    end: Option<Instant>,
    /// What was told last, so that it is not told at each turn.
    told: String,
}

/// How many messages are embedded before others go first.
const MESSAGES: usize = 8;
/// How many messages each turn has embedded, and linked, its own and older ones; `rsv-embed --pending` does all.
const AT_ONCE: usize = 256;
/// How long is worked on after the end of the last request.
const LAST_WORK: Duration = Duration::from_secs(8);
/// How long the last of it is waited for.
const LAST_WAIT: Duration = Duration::from_secs(10);

impl Background {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is something to do, and time for it; else the worker ends.
    fn begin(&self) -> bool {
        let in_time = self.has_time();
        let mut state = self.state();
        state.running = state.wanted && in_time;
        if state.running {
            state.wanted = false;
        }
        state.running
    }

    fn has_time(&self) -> bool {
        self.state().end.is_none_or(|end| Instant::now() < end)
    }

    /// Waits for what is being worked on, within bounds. Whether it came to its end.
    pub(super) async fn finish(&self) -> bool {
        let worker = {
            let mut state = self.state();
            state.end = Some(Instant::now() + LAST_WORK);
            state.worker.take().filter(|_| state.running)
        };
        let ended = match worker {
            Some(worker) => tokio::time::timeout(LAST_WAIT, worker).await.is_ok(),
            None => true,
        };
        ended && !self.state().wanted
    }
}

impl Proxy {
    /// Something was stored.
    pub(super) fn wake(self: &Arc<Proxy>) {
        let mut state = self.background.state();
        state.wanted = true;
        if !state.running {
            state.running = true;
            let proxy = self.clone();
            state.worker = Some(self.apart(move || proxy.work_off()));
        }
    }

    fn work_off(&self) {
        while self.background.begin() {
            let error = match self.catch_up() {
                Ok(Ended::ForNow) => String::new(),
                Ok(Ended::TooEarly) => {
                    self.background.state().wanted = true;
                    continue;
                }
                Err(error) => {
                    let text = error.to_string();
                    if self.background.state().told != text {
                        self.tell(error);
                    }
                    text
                }
            };
            self.background.state().told = error;
        }
    }

    /// Embeds what has no vector, newest first.
    fn catch_up(&self) -> Result<Ended> {
        self.to_embed()?;
        // A store of its own: no turn has to wait until this one is free.
        let mut store = store::open(&self.settings.store()?, OpenMode::Pooled)?;
        self.follow(&mut *store)?;
        let all = Select::of(Scopes::All);
        for _ in 0..AT_ONCE / MESSAGES {
            self.embedder.leisure();
            if !self.background.has_time() {
                return Ok(Ended::TooEarly);
            }
            let filled = fill::some(&mut *store, &mut self.to_embed()?, &all, MESSAGES)?;
            if filled.remaining == 0 {
                break;
            }
        }
        self.link(&mut *store)?;
        Ok(Ended::ForNow)
    }

    /// Links what has got a vector, unless another process does.
    fn link(&self, store: &mut dyn Store) -> Result<()> {
        let Some(plan) = Plan::of(store, &self.settings, None, None)? else { return Ok(()) };
        let Some(_claim) = store.claim("link")? else { return Ok(()) };
        synapse::grow(store, &plan, &Scopes::All, AT_ONCE, &mut |_, _| {}, &mut |_| Ok(()))
    }

    /// Nothing is amiss where there is no model, and nobody asked for one.
    fn tell(&self, error: Error) {
        let named = self.settings.text("embed.model").is_some();
        let local = self.settings.text("embed.via").is_none_or(|via| via == "local");
        if local && !named && self.to_embed().is_err() {
            self.notes.detail(format_args!("messages get no vectors: {error}"));
        } else {
            self.notes.fault(&error.at("messages stay without a vector"));
        }
    }
}

/// How a round of work ended.
enum Ended {
    /// With all that was to be done.
    ForNow,
    /// With the proxy.
    TooEarly,
}
