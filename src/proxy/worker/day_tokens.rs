//! The tokens of a day that descriptions may take; a fact of the store has those that are spent, for all
//! processes.

use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::record::Clock;
use crate::store::Store;
use std::time::Duration;

/// The name of the fact.
const SPENT_FACT: &str = "described_tokens";
const DAY_MS: i64 = 86_400_000;

pub(super) struct DayTokens {
    /// Those of a day.
    pub(super) limit: u64,
    clock: Clock,
}

impl DayTokens {
    pub(super) fn of(config: &ProxyConfig) -> DayTokens {
        let limit = config.settings.integer("documents.tokens_per_day").unwrap_or(0);
        DayTokens { limit: limit.unsigned_abs(), clock: config.clock }
    }

    pub(super) fn until_tomorrow(&self) -> Duration {
        Duration::from_millis((DAY_MS - self.clock.now().rem_euclid(DAY_MS)).unsigned_abs())
    }

    /// Books the tokens that a description is expected to take, before they are spent. Returns whether the
    /// day has them.
    pub(super) fn book(&self, store: &mut dyn Store, expected: u64) -> Result<bool> {
        let spent = self.spent(store)?.saturating_add(expected);
        if spent > self.limit {
            return Ok(false);
        }
        self.set_spent(store, spent)?;
        Ok(true)
    }

    /// Replaces the tokens that were booked by those that were spent.
    pub(super) fn settle(&self, store: &mut dyn Store, booked: u64, tokens: u64) -> Result<()> {
        let spent = self.spent(store)?.saturating_sub(booked).saturating_add(tokens);
        self.set_spent(store, spent)
    }

    /// The tokens that were booked and spent today; none by a fact of another day, or of another form.
    fn spent(&self, store: &mut dyn Store) -> Result<u64> {
        let fact = store.fact(SPENT_FACT)?.unwrap_or_default();
        let (day, tokens) = fact.split_once(' ').unwrap_or_default();
        Ok(if day == self.day().to_string() { tokens.parse().unwrap_or(0) } else { 0 })
    }

    fn set_spent(&self, store: &mut dyn Store, tokens: u64) -> Result<()> {
        Ok(store.set_fact(SPENT_FACT, Some(&format!("{} {tokens}", self.day())))?)
    }

    fn day(&self) -> i64 {
        self.clock.now().div_euclid(DAY_MS)
    }
}
