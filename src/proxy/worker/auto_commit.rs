//! Commits sessions by themselves, in the background: after a number of turns or tokens, or when nothing more
//! is said.

use super::blocking_pool::BlockingPool;
use super::degraded::{FailureReason, Failures};
use super::foreground::Foreground;
use super::session_commit::{ModelFailure, SessionCommits};
use super::store_pool::StorePool;
use super::store_queue::StoreQueue;
use crate::enrich::CutPart;
use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::proxy::visibility::Visibility;
use crate::record::{Role, Scope};
use crate::store::{self, Uncommitted};
use crate::tokens::Counter;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The first and the longest pause before a commit that failed is tried again.
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// The longest time between two looks for open sessions of other proxies, which may have been killed.
const MAX_RESCAN_INTERVAL: Duration = Duration::from_secs(3600);
/// The greatest number of messages that are looked at.
const MAX_MESSAGES: usize = 20_000;
/// The number of commits that may be made at a time.
const MAX_RUNNING: u32 = 1;
/// How long the end of the proxy waits for a commit: by rule one takes milliseconds, and one by a model that
/// is cut off is made again by the next proxy.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of times that a model is tried for a commit before it is made by rule.
const MODEL_ATTEMPTS: usize = 3;

/// When a session is committed; `None` for never.
struct CommitRule {
    turns: Option<usize>,
    tokens: Option<usize>,
    idle: Option<Duration>,
}

/// Commits sessions in the background.
pub(in crate::proxy) struct AutoCommit {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    queue: Arc<StoreQueue>,
    commits: Arc<SessionCommits>,
    rule: CommitRule,
    /// Those who wait for it hold no thread.
    may_run: Semaphore,
    state: Mutex<CommitState>,
    /// Why the last commits of sessions failed.
    failures: Failures<Scope>,
}

#[derive(Default)]
struct CommitState {
    /// The time at which each session will have been idle long enough to be committed; one task awaits it.
    idle_at: HashMap<Scope, Instant>,
    /// The sessions that are about to be looked at.
    waiting: HashSet<Scope>,
    /// The parts of sessions before compactions that were looked at.
    cuts: HashSet<(Scope, CutPart)>,
    /// Whether commits have stopped.
    is_ending: bool,
}

/// The most parts of sessions that are known.
const MAX_CUTS: usize = 1024;

/// Why a session is looked at.
#[derive(Clone, Copy, PartialEq)]
enum Occasion {
    /// A turn was stored.
    Turn,
    /// Nothing was said for a while, or a commit that was due has failed.
    Due,
}

impl AutoCommit {
    /// Commits the sessions that `queue` stores, by `commits`.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        stores: &Arc<StorePool>,
        queue: &Arc<StoreQueue>,
        commits: &Arc<SessionCommits>,
    ) -> AutoCommit {
        let limit = |key| config.limit(key).filter(|limit| *limit > 0);
        let rule = CommitRule {
            turns: limit("session.commit_turns"),
            tokens: limit("session.commit_tokens"),
            idle: config.settings.duration("session.commit_idle").filter(|idle| !idle.is_zero()),
        };
        AutoCommit {
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            queue: queue.clone(),
            commits: commits.clone(),
            rule,
            may_run: Semaphore::new(MAX_RUNNING as usize),
            state: Mutex::default(),
            failures: Failures::default(),
        }
    }

    /// The number of sessions that are about to be looked at.
    pub(in crate::proxy) fn waiting(&self) -> usize {
        locked(&self.state).waiting.len()
    }

    /// Why sessions could not be committed by the model, and why not at all: of each the reason for a caller.
    pub(in crate::proxy) fn failures(&self, visibility: &Visibility) -> Vec<FailureReason> {
        [self.commits.model_failure(visibility), self.failures.last(visibility)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Commits the sessions that another proxy leaves once they are idle, as long as this one runs.
    pub(in crate::proxy) fn resume(self: &Arc<AutoCommit>) {
        if let Some(idle) = self.rule.idle {
            let own = self.clone();
            self.blocking.spawn_task(async move { own.await_open_sessions(idle).await });
        }
    }

    /// Waits for the commit that is being made, within bounds; no other is begun.
    pub(in crate::proxy) async fn finish(&self) {
        locked(&self.state).is_ending = true;
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.may_run.acquire_many(MAX_RUNNING)).await;
    }

    async fn await_open_sessions(self: Arc<AutoCommit>, idle: Duration) {
        let all = self.config.settings.boolean("session.auto") == Some(true);
        let mut backoff = MIN_BACKOFF;
        loop {
            let own = self.clone();
            let open = self.blocking.spawn(move || {
                own.foreground.wait_until_idle();
                store::open_sessions(&mut *own.stores.open_to_read()?, all)
            });
            let pause = match open.await {
                Ok(Ok(open)) => {
                    for (session, last) in open {
                        if !locked(&self.state).idle_at.contains_key(&session) {
                            self.await_idle(&session, idle.saturating_sub(self.since(last)));
                        }
                    }
                    backoff = MIN_BACKOFF;
                    idle.clamp(MIN_BACKOFF, MAX_RESCAN_INTERVAL)
                }
                // A store that is not there yet has no sessions.
                Ok(Err(error)) => {
                    self.config.diagnostics.detail(error.at("the sessions of other proxies"));
                    let pause = backoff;
                    backoff = MAX_BACKOFF.min(backoff * 2);
                    pause
                }
                Err(_) => return,
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// The time since another, which is in milliseconds since 1970, UTC.
    fn since(&self, time: i64) -> Duration {
        Duration::from_millis(self.config.clock.now().saturating_sub(time).max(0).unsigned_abs())
    }

    /// Looks at a session after a turn of it was queued.
    pub(in crate::proxy) fn on_turn(self: &Arc<AutoCommit>, session: &Scope) {
        let is_counted = self.rule.turns.is_some() || self.rule.tokens.is_some();
        if is_counted && locked(&self.state).waiting.insert(session.clone()) {
            let (own, session) = (self.clone(), session.clone());
            self.blocking.spawn_task(async move { own.look_at(session, Occasion::Turn).await });
        }
        if let Some(idle) = self.rule.idle {
            self.await_idle(session, idle);
        }
    }

    /// Archives the part of a session of a client before a compaction, once.
    pub(in crate::proxy) fn on_compaction(self: &Arc<AutoCommit>, scope: &Scope, cut: CutPart) {
        let mut state = locked(&self.state);
        if state.cuts.len() >= MAX_CUTS {
            state.cuts.clear();
        }
        if !state.cuts.insert((scope.clone(), cut.clone())) {
            return;
        }
        drop(state);
        let (own, scope) = (self.clone(), scope.clone());
        self.blocking.spawn_task(async move {
            own.queue.stored(&scope).await;
            let permit = own.may_run.acquire().await;
            if locked(&own.state).is_ending {
                return;
            }
            let (commits, name, foreground) = (own.commits.clone(), scope.clone(), own.foreground.clone());
            let done = own.blocking.spawn(move || {
                foreground.wait_until_idle();
                commits.commit_part(&name, &cut)
            });
            // A panic has been printed where it happened.
            if let Ok(Err(error)) = done.await {
                own.config.diagnostics.fault(&error.at(format_args!("the archive of a part of {scope}")));
            }
            drop(permit);
        });
    }

    /// Has a session committed after a time, unless it has another turn.
    fn await_idle(self: &Arc<AutoCommit>, session: &Scope, idle: Duration) {
        let at = Instant::now() + idle;
        let mut state = locked(&self.state);
        let earlier = state.idle_at.get(session).copied();
        state.idle_at.insert(session.clone(), earlier.map_or(at, |earlier| earlier.max(at)));
        drop(state);
        if earlier.is_none() {
            let (own, session) = (self.clone(), session.clone());
            self.blocking.spawn_task(async move { own.look_at_when_idle(session).await });
        }
    }

    /// The time that is left until a session has been idle for long enough; `None` if there is none.
    fn time_until_idle(&self, session: &Scope) -> Option<Duration> {
        let mut state = locked(&self.state);
        let left = state.idle_at.get(session)?.saturating_duration_since(Instant::now());
        if left.is_zero() {
            state.idle_at.remove(session);
        }
        Some(left).filter(|left| !left.is_zero())
    }

    /// Commits a session as soon as it had no turn for a time.
    async fn look_at_when_idle(self: Arc<AutoCommit>, session: Scope) {
        while let Some(left) = self.time_until_idle(&session) {
            tokio::time::sleep(left).await;
        }
        self.look_at(session, Occasion::Due).await;
    }

    /// Commits a session if it is due. A commit that fails is tried again until it is not due any more.
    async fn look_at(self: Arc<AutoCommit>, session: Scope, occasion: Occasion) {
        let mut backoff = MIN_BACKOFF;
        for attempt in 1.. {
            self.queue.stored(&session).await;
            let failure =
                if attempt < MODEL_ATTEMPTS { ModelFailure::Fails } else { ModelFailure::LeadsToRule };
            let (own, name) = (self.clone(), session.clone());
            let permit = self.may_run.acquire().await;
            if locked(&self.state).is_ending {
                return;
            }
            let done = self.blocking.spawn(move || own.commit_if_due(&name, occasion, failure)).await;
            drop(permit);
            match done {
                Ok(Ok(())) => {
                    self.failures.clear(&session);
                    return;
                }
                Ok(Err(error)) => {
                    let reason =
                        FailureReason::of_partition(&session.partition, format!("{session}: {error}"));
                    if self.failures.set(session.clone(), reason) {
                        self.config.diagnostics.fault(&error.at(format_args!("the commit of {session}")));
                    }
                }
                Err(_) => return,
            }
            tokio::time::sleep(backoff).await;
            backoff = MAX_BACKOFF.min(backoff * 2);
        }
    }

    fn commit_if_due(
        self: &Arc<AutoCommit>,
        session: &Scope,
        occasion: Occasion,
        failure: ModelFailure,
    ) -> Result<()> {
        self.foreground.wait_until_idle();
        locked(&self.state).waiting.remove(session);
        let mut store = self.stores.open_to_serve()?;
        let found = store::uncommitted(&mut *store, session, MAX_MESSAGES)?;
        drop(store);
        if let Some(left) = self.time_left(&found).filter(|_| occasion == Occasion::Due) {
            self.await_idle(session, left);
            return Ok(());
        }
        // A turn that is stored from now on begins the next part: its session is not idle.
        let until = found.messages.iter().map(|message| message.timestamp).max();
        if until.is_some() && (occasion == Occasion::Due || self.is_due(&found)) {
            self.commits.commit(session, until, failure)?;
        }
        Ok(())
    }

    /// The time that is left until a session is idle to which another proxy has added a turn; `None` if there
    /// is none.
    fn time_left(&self, found: &Uncommitted) -> Option<Duration> {
        // With a fixed clock, no time passes.
        let last = found.messages.last().filter(|_| !self.config.clock.is_fixed())?;
        let left = self.rule.idle?.saturating_sub(self.since(last.timestamp));
        Some(left).filter(|left| !left.is_zero())
    }

    /// Whether a session has this many uncommitted turns, or tokens in them.
    fn is_due(&self, found: &Uncommitted) -> bool {
        let turns = found.messages.iter().filter(|message| message.role == Some(Role::User)).count();
        if self.rule.turns.is_some_and(|most| turns >= most) {
            return true;
        }
        let Some(most) = self.rule.tokens else { return false };
        let counter = Counter::heuristic("");
        let mut tokens = 0;
        found.messages.iter().any(|message| {
            tokens += counter.text(&message.text);
            tokens >= most
        })
    }
}
