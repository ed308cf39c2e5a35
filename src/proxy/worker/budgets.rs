//! The tokens of models that callers with a daily budget have spent.
//!
//! Each proxy counts what it has spent, and keeps it as a fact of the store, under a name of its own: so the
//! proxies of a store share the budgets without waiting for each other, and a proxy that restarts continues
//! from what was spent.

use super::store_pool::StorePool;
use crate::access::Caller;
use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::record::{hexadecimal, time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The beginning of the names of the facts: `spent/DAY/TOKEN/PROXY`.
const FACTS: &str = "spent/";

/// The time for which the sums of other proxies are taken as known, and for which the store may take to tell
/// them.
const REREAD: Duration = Duration::from_secs(5);

const DAY_MS: i64 = 86_400_000;

/// Counts what is spent.
pub(in crate::proxy) struct Budgets {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
    /// By which this proxy's facts differ from those of others.
    proxy: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The day of `spent`, in days since 1970, UTC.
    day: i64,
    spent: BTreeMap<String, Spent>,
    is_written: bool,
}

/// The tokens of models that one token has spent in a day.
#[derive(Default)]
struct Spent {
    /// By this proxy, and how much of that is in the store.
    own: u64,
    stored: u64,
    /// By others, as of a time.
    others: u64,
    read: Option<Instant>,
}

/// A caller whose tokens are counted.
#[derive(Clone)]
pub(in crate::proxy) struct Purse {
    budgets: Arc<Budgets>,
    name: String,
}

/// A budget that is spent.
pub(in crate::proxy) struct Exhausted {
    pub(in crate::proxy) text: String,
    /// The seconds until there is a new one.
    pub(in crate::proxy) wait: u64,
}

impl Budgets {
    /// Nothing is known yet of what was spent.
    pub(in crate::proxy) fn new(config: &Arc<ProxyConfig>, stores: &Arc<StorePool>) -> Budgets {
        let mut random = [0; 8];
        // Without random numbers, proxies of one machine still differ by their process.
        let proxy = match getrandom::fill(&mut random) {
            Ok(()) => hexadecimal(&random),
            Err(_) => std::process::id().to_string(),
        };
        Budgets { config: config.clone(), stores: stores.clone(), proxy, state: Mutex::default() }
    }

    /// The purse of a caller; `None` if it has no budget. Errors if that of today is spent: a request that
    /// begins before is answered whole.
    pub(in crate::proxy) async fn open(
        self: &Arc<Budgets>,
        caller: &Caller,
    ) -> std::result::Result<Option<Purse>, Exhausted> {
        let (Some(most), Some(name)) = (caller.daily_tokens(), caller.name()) else { return Ok(None) };
        let now = self.config.clock.now();
        self.read_others(name, now.div_euclid(DAY_MS)).await;
        let spent = self.state_of(now.div_euclid(DAY_MS)).spent.get(name).map_or(0, Spent::sum);
        if spent < most {
            return Ok(Some(Purse { budgets: self.clone(), name: name.to_owned() }));
        }
        let reset = (now.div_euclid(DAY_MS) + 1) * DAY_MS;
        let text = format!(
            "the token {name} has spent the {most} tokens that it has a day; it has new ones at {}",
            time::rfc3339(reset)
        );
        Err(Exhausted { text, wait: u64::try_from((reset - now).div_euclid(1000) + 1).unwrap_or(1) })
    }

    /// Reads what other proxies have spent, unless that was done a moment ago. Without a store, what is known
    /// counts; a fact that is no number is of no proxy.
    async fn read_others(self: &Arc<Budgets>, name: &str, day: i64) {
        let is_known = |spent: &Spent| spent.read.is_some_and(|read| read.elapsed() < REREAD);
        if self.state_of(day).spent.get(name).is_some_and(is_known) {
            return;
        }
        let (prefix, own) = (format!("{FACTS}{day}/{name}/"), self.fact(day, name));
        let read = self.stores.with_store(move |store| {
            let others = store.facts(&prefix)?.into_iter().filter(|(fact, _)| *fact != own);
            Ok(others.filter_map(|(_, value)| value.parse::<u64>().ok()).sum())
        });
        if let Ok(Ok(others)) = tokio::time::timeout(REREAD, read).await {
            let mut state = locked(&self.state);
            if state.day == day {
                let spent = state.spent.entry(name.to_owned()).or_default();
                (spent.others, spent.read) = (others, Some(Instant::now()));
            }
        }
    }

    fn spend(self: &Arc<Budgets>, name: &str, tokens: u64) {
        let day = self.config.clock.now().div_euclid(DAY_MS);
        let mut state = self.state_of(day);
        let spent = state.spent.entry(name.to_owned()).or_default();
        spent.own = spent.own.saturating_add(tokens);
        if !std::mem::replace(&mut state.is_written, true) {
            drop(state);
            tokio::spawn(self.clone().write());
        }
    }

    /// Writes what was spent, until there is nothing new. If the store fails, what is spent next is written
    /// with it.
    async fn write(self: Arc<Budgets>) {
        loop {
            let changed = {
                let mut state = locked(&self.state);
                let day = state.day;
                let changed = state.spent.iter().filter(|(_, spent)| spent.own > spent.stored);
                let changed: Vec<(String, u64)> =
                    changed.map(|(name, spent)| (name.clone(), spent.own)).collect();
                if changed.is_empty() {
                    state.is_written = false;
                    return;
                }
                (day, changed)
            };
            if let Err(error) = self.store(changed.0, &changed.1).await {
                self.config.diagnostics.note(format_args!("what tokens have spent is not stored: {error}"));
                locked(&self.state).is_written = false;
                return;
            }
            let mut state = locked(&self.state);
            let is_present = state.day == changed.0;
            for (name, stored) in changed.1 {
                if let Some(spent) = state.spent.get_mut(&name).filter(|_| is_present) {
                    spent.stored = stored;
                }
            }
        }
    }

    /// Stores what some tokens have spent on a day, and removes what is of earlier days.
    async fn store(&self, day: i64, spent: &[(String, u64)]) -> Result<()> {
        let facts: Vec<(String, u64)> =
            spent.iter().map(|(name, spent)| (self.fact(day, name), *spent)).collect();
        let is_earlier = move |fact: &str| {
            let of = fact.strip_prefix(FACTS).and_then(|rest| rest.split('/').next()?.parse::<i64>().ok());
            of.is_some_and(|of| of < day)
        };
        let stored = self.stores.with_store(move |store| {
            for (fact, spent) in &facts {
                store.set_fact(fact, Some(&spent.to_string()))?;
            }
            for (fact, _) in store.facts(FACTS)?.iter().filter(|(fact, _)| is_earlier(fact)) {
                store.set_fact(fact, None)?;
            }
            Ok(())
        });
        stored.await
    }

    /// Waits until what was spent is stored.
    pub(in crate::proxy) async fn finish(self: &Arc<Budgets>) {
        locked(&self.state).is_written = true;
        self.clone().write().await;
    }

    fn fact(&self, day: i64, name: &str) -> String {
        format!("{FACTS}{day}/{name}/{}", self.proxy)
    }

    /// The state on a day; what was spent on an earlier one is over. A day that is over already is the
    /// present one.
    fn state_of(&self, day: i64) -> MutexGuard<'_, State> {
        let mut state = locked(&self.state);
        if state.day < day {
            state.day = day;
            state.spent.clear();
        }
        state
    }
}

impl Spent {
    fn sum(&self) -> u64 {
        self.own.saturating_add(self.others)
    }
}

impl Purse {
    /// Counts tokens that a request took.
    pub(in crate::proxy) fn spend(&self, tokens: u64) {
        self.budgets.spend(&self.name, tokens);
    }

    /// A request that is about to be sent, which spends this many tokens if nobody waits for its answer.
    pub(in crate::proxy) fn sending(self, tokens: u64) -> Sending {
        Sending(Some((self, tokens)))
    }
}

/// A request whose answer has not begun: when it is dropped, its own tokens are spent.
pub(in crate::proxy) struct Sending(Option<(Purse, u64)>);

impl Sending {
    /// The purse for the answer, which has begun.
    pub(in crate::proxy) fn answered(mut self) -> Option<Purse> {
        self.0.take().map(|(purse, _)| purse)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some((purse, tokens)) = self.0.take() {
            purse.spend(tokens);
        }
    }
}
