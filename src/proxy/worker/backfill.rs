//! Makes vectors and synapses for the records that have none, in the background, and reindexes the words of
//! those that an earlier release has indexed.
//!
//! There is no queue: the store knows which they are. A start, a stored turn and a request are signals to
//! look.

use super::blocking_pool::BlockingPool;
use super::embedder::SharedEmbedder;
use super::foreground::Foreground;
use super::store_pool::StorePool;
use crate::backfill;
use crate::error::{Error, Result};
use crate::link::synapse::{self, Plan};
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::record::Scopes;
use crate::store::Store;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// The number of messages that are embedded before requests take precedence.
const BATCH_MESSAGES: usize = 8;
/// The number of messages, its own and older ones, that are embedded and linked for each turn; `rsv-embed
/// --pending` does all.
const ROUND_MESSAGES: usize = 256;
/// The number of updates of the word index in a round.
const ROUND_UPDATES: usize = 32;
/// The time after which a request has it look for messages of other programs.
const IDLE_INTERVAL: Duration = Duration::from_secs(2);
/// The time for which the backfill continues after the last request.
const SHUTDOWN_WORK: Duration = Duration::from_secs(8);
/// The name of the job that one proxy of a store does at a time, and the pause before it is claimed again.
const JOB: &str = "backfill";
const CLAIM_INTERVAL: Duration = Duration::from_millis(200);
/// The longest wait for the backfill when the proxy ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Embeds and links messages without a vector.
pub(in crate::proxy) struct Backfill {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    embedder: Arc<SharedEmbedder>,
    state: Mutex<BackfillState>,
}

#[derive(Default)]
struct BackfillState {
    /// Whether something was stored since the last round began.
    is_wanted: bool,
    /// Whether the worker runs. It looks at `is_wanted` before it ends.
    is_running: bool,
    /// The beginning of the last round.
    last_round: Option<Instant>,
    worker: Option<JoinHandle<()>>,
    /// The time at which to stop.
    deadline: Option<Instant>,
    /// Whether no words are left that an earlier release has indexed.
    are_words_current: bool,
    /// The error of the last round, so that it is not reported at each turn; empty if there was none.
    last_error: String,
    /// The same, unless it is only that no model is installed.
    failure: Option<String>,
}

/// The outcome of a round.
enum Round {
    /// All that was to be done is done.
    Done,
    /// The proxy ends.
    OutOfTime,
    /// Another proxy does it, and may end before it comes to what was stored last.
    Claimed,
}

impl Backfill {
    /// A backfill that has nothing to do yet.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        stores: &Arc<StorePool>,
        embedder: &Arc<SharedEmbedder>,
    ) -> Backfill {
        Backfill {
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            embedder: embedder.clone(),
            state: Mutex::default(),
        }
    }

    /// Starts the worker, unless it runs: something was stored.
    pub(in crate::proxy) fn wake(self: &Arc<Backfill>) {
        let mut state = locked(&self.state);
        state.is_wanted = true;
        if !state.is_running {
            state.is_running = true;
            let backfill = self.clone();
            state.worker = Some(self.blocking.spawn(move || backfill.work()));
        }
    }

    /// As `wake`, unless it looked a moment ago.
    pub(in crate::proxy) fn wake_if_idle(self: &Arc<Backfill>) {
        let is_idle = locked(&self.state).last_round.is_none_or(|begin| begin.elapsed() > IDLE_INTERVAL);
        if is_idle {
            self.wake();
        }
    }

    /// Why records could not get vectors, links or words, if the last round failed.
    pub(in crate::proxy) fn failure(&self) -> Option<String> {
        locked(&self.state).failure.clone()
    }

    /// Waits for the worker, within bounds. Returns whether all is done.
    pub(in crate::proxy) async fn finish(&self) -> bool {
        let worker = {
            let mut state = locked(&self.state);
            state.deadline = Some(Instant::now() + SHUTDOWN_WORK);
            state.worker.take().filter(|_| state.is_running)
        };
        let ended = match worker {
            Some(worker) => tokio::time::timeout(SHUTDOWN_TIMEOUT, worker).await.is_ok(),
            None => true,
        };
        ended && !locked(&self.state).is_wanted
    }

    fn work(&self) {
        while self.begin_round() {
            let (error, is_failure) = match self.run_round() {
                Ok(Round::Done) => (String::new(), false),
                Ok(Round::OutOfTime) => {
                    locked(&self.state).is_wanted = true;
                    continue;
                }
                Ok(Round::Claimed) => {
                    locked(&self.state).is_wanted = true;
                    std::thread::sleep(CLAIM_INTERVAL);
                    continue;
                }
                Err(error) => {
                    let (text, is_failure) = (error.to_string(), !self.is_without_model());
                    if locked(&self.state).last_error != text {
                        self.report(error, is_failure);
                    }
                    (text, is_failure)
                }
            };
            let mut state = locked(&self.state);
            state.failure = is_failure.then(|| error.clone());
            state.last_error = error;
        }
    }

    /// Whether there is something to do, and time for it; else the worker ends.
    fn begin_round(&self) -> bool {
        let has_time = self.has_time();
        let mut state = locked(&self.state);
        state.is_running = state.is_wanted && has_time;
        if state.is_running {
            state.is_wanted = false;
            state.last_round = Some(Instant::now());
        }
        state.is_running
    }

    fn has_time(&self) -> bool {
        locked(&self.state).deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    /// Embeds messages without a vector, newest first, and links them.
    fn run_round(&self) -> Result<Round> {
        // A connection of its own: no turn has to wait for it.
        let are_words_current = locked(&self.state).are_words_current;
        let mut store = if are_words_current { None } else { self.stores.open_existing()? };
        if let Some(store) = &mut store
            && let Round::OutOfTime = self.update_words(&mut **store)?
        {
            return Ok(Round::OutOfTime);
        }
        if self.embedder.get()?.outage().is_some() {
            return Ok(Round::Done);
        }
        let mut store = store.map_or_else(|| self.stores.open_to_serve(), Ok)?;
        self.embedder.follow(&mut *store)?;
        let Some(_claim) = store.claim(JOB)? else { return Ok(Round::Claimed) };
        let all = backfill::embeddable(Scopes::All);
        for _ in 0..ROUND_MESSAGES / BATCH_MESSAGES {
            self.foreground.wait_until_idle();
            if !self.has_time() {
                return Ok(Round::OutOfTime);
            }
            let filled = backfill::newest(&mut *store, &mut self.embedder.get()?, &all, BATCH_MESSAGES)?;
            if filled.remaining == 0 {
                break;
            }
        }
        self.link(&mut *store)?;
        Ok(Round::Done)
    }

    /// Reindexes words of an earlier release, if there are any; the rest in another round.
    fn update_words(&self, store: &mut dyn Store) -> Result<Round> {
        let mut remaining = store.outdated_words()?;
        for _ in 0..ROUND_UPDATES {
            if remaining == 0 {
                break;
            }
            self.foreground.wait_until_idle();
            if !self.has_time() {
                return Ok(Round::OutOfTime);
            }
            remaining = store.update_words()?;
        }
        let mut state = locked(&self.state);
        state.are_words_current = remaining == 0;
        state.is_wanted |= remaining > 0;
        Ok(Round::Done)
    }

    /// Links the embedded messages, unless another process does.
    fn link(&self, store: &mut dyn Store) -> Result<()> {
        let Some(plan) = Plan::from_settings(store, &self.config.settings, None, None)? else {
            return Ok(());
        };
        // The second claim beside that of the job: neither is waited for, so no processes block each other.
        let Some(_claim) = store.claim("link")? else { return Ok(()) };
        synapse::grow(store, &plan, &Scopes::All, ROUND_MESSAGES, &mut |_, _| {}, &mut |_| Ok(()))
    }

    /// Whether no model is installed, and none was requested.
    fn is_without_model(&self) -> bool {
        let settings = &self.config.settings;
        let is_named = settings.text("embed.model").is_some();
        let is_local = settings.text("embed.via").is_none_or(|via| via == "local");
        is_local && !is_named && self.embedder.get().is_err()
    }

    /// Reports an error; only as a detail if it is no failure.
    fn report(&self, error: Error, is_failure: bool) {
        let diagnostics = &self.config.diagnostics;
        if is_failure {
            diagnostics.fault(&error.at("cannot add vectors to messages"));
        } else {
            diagnostics.detail(format_args!("messages are stored without vectors: {error}"));
        }
    }
}
