//! Commits sessions by themselves, in the background: after so many turns or tokens, or when nothing more is said.

use super::blocking_pool::BlockingPool;
use super::foreground::Foreground;
use super::proxy_config::ProxyConfig;
use super::session_commit::SessionCommits;
use super::store_pool::StorePool;
use super::store_queue::StoreQueue;
use crate::error::Result;
use crate::record::{Role, Scope};
use crate::store::{self, Uncommitted};
use crate::tokens::Counter;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The first and the longest pause before a commit that failed is tried again.
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// The greatest number of messages that are looked at.
const MAX_MESSAGES: usize = 20_000;

/// When a session is committed; `None` for never.
struct CommitRule {
    turns: Option<usize>,
    tokens: Option<usize>,
    idle: Option<Duration>,
}

/// Commits sessions in the background.
pub(super) struct AutoCommit {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    queue: Arc<StoreQueue>,
    commits: Arc<SessionCommits>,
    rule: CommitRule,
    state: Mutex<CommitState>,
}

#[derive(Default)]
struct CommitState {
    /// The number of turns of each session, by which it is known whether one is still idle.
    turns: HashMap<Scope, u64>,
    /// The sessions that are about to be looked at.
    waiting: HashSet<Scope>,
    /// Why the last commits of sessions failed.
    failures: BTreeMap<Scope, String>,
}

/// Why a session is looked at.
#[derive(Clone, Copy, PartialEq)]
enum Occasion {
    /// A turn was stored.
    Turn,
    /// Nothing was said for a while, or a commit that was due has failed.
    Due,
}

impl AutoCommit {
    /// Commits by `commits` what `queue` stores.
    pub(super) fn new(
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
            idle: limit("session.commit_idle").map(|seconds| Duration::from_secs(seconds as u64)),
        };
        AutoCommit {
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            queue: queue.clone(),
            commits: commits.clone(),
            rule,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, CommitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why sessions could not be committed, if some could not.
    pub(super) fn failure(&self) -> Option<String> {
        let state = self.state();
        state.failures.iter().next_back().map(|(session, error)| format!("{session}: {error}"))
    }

    /// Looks at a session after a turn of it was queued.
    pub(super) fn on_turn(self: &Arc<AutoCommit>, session: &Scope) {
        let is_counted = self.rule.turns.is_some() || self.rule.tokens.is_some();
        if is_counted && self.state().waiting.insert(session.clone()) {
            let (own, session) = (self.clone(), session.clone());
            self.blocking.spawn_task(async move { own.look_at(session, Occasion::Turn).await });
        }
        if let Some(idle) = self.rule.idle {
            let (own, session) = (self.clone(), session.clone());
            self.blocking.spawn_task(async move { own.look_at_when_idle(session, idle).await });
        }
    }

    /// Commits a session if it has no other turn for a time.
    async fn look_at_when_idle(self: Arc<AutoCommit>, session: Scope, idle: Duration) {
        let count_turn = |state: &mut CommitState| {
            let turns = state.turns.entry(session.clone()).or_default();
            *turns += 1;
            *turns
        };
        let turn = count_turn(&mut self.state());
        tokio::time::sleep(idle).await;
        let is_idle = self.state().turns.get(&session) == Some(&turn);
        if is_idle {
            self.state().turns.remove(&session);
            self.look_at(session, Occasion::Due).await;
        }
    }

    /// Commits a session if it is due. A commit that fails is tried again until it is not due any more.
    async fn look_at(self: Arc<AutoCommit>, session: Scope, occasion: Occasion) {
        let mut backoff = MIN_BACKOFF;
        loop {
            self.queue.settled(&session).await;
            let (own, name) = (self.clone(), session.clone());
            let done = self.blocking.spawn(move || own.commit_if_due(&name, occasion)).await;
            match done {
                Ok(Ok(())) => {
                    self.state().failures.remove(&session);
                    return;
                }
                Ok(Err(error)) => {
                    let text = error.to_string();
                    if self.state().failures.insert(session.clone(), text.clone()).as_ref() != Some(&text) {
                        self.config.diagnostics.fault(&error.at(format_args!("the commit of {session}")));
                    }
                }
                Err(_) => return,
            }
            tokio::time::sleep(backoff).await;
            backoff = MAX_BACKOFF.min(backoff * 2);
        }
    }

    fn commit_if_due(&self, session: &Scope, occasion: Occasion) -> Result<()> {
        self.foreground.wait_until_idle();
        self.state().waiting.remove(session);
        let mut store = self.stores.open_to_serve()?;
        let found = store::uncommitted(&mut *store, session, MAX_MESSAGES)?;
        drop(store);
        if !found.messages.is_empty() && (occasion == Occasion::Due || self.is_due(&found)) {
            self.commits.commit(session)?;
        }
        Ok(())
    }

    /// Whether a session has so many uncommitted turns, or tokens in them.
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
