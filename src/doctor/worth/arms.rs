//! The turns with recall and those without, by conversation, as their accounts have them.

use super::interval::{Cluster, Estimate, Ratio, difference, ratio};
use crate::error::Result;
use crate::record::{ACCOUNT, Account, Arm, Scopes, StoredRecord};
use crate::store::{Select, Store};
use rustc_hash::{FxHashMap, FxHashSet};

/// The greatest number of requests that are compared, the last ones, and of those that are held at once.
const MAX_REQUESTS: usize = 50_000;
const PAGE: usize = 1000;

/// A conversation in an arm.
#[derive(Default, Debug)]
struct Conversation {
    turns: FxHashSet<String>,
    /// The turns whose provider reported the tokens.
    reported: FxHashSet<String>,
    /// The turns that correct the answer before, or ask the same again.
    follow_ups: FxHashSet<String>,
    prompt: u64,
    completion: u64,
    cached: u64,
    /// The prompt tokens of which the provider reported how many it had in its cache.
    cacheable: u64,
}

/// The conversations of both arms.
#[derive(Default, Debug)]
pub(super) struct Arms {
    recall: FxHashMap<String, Conversation>,
    holdout: FxHashMap<String, Conversation>,
}

/// A row of the comparison.
#[derive(Debug)]
pub(super) struct Row {
    /// Its name in JSON, and for people.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) is_share: bool,
    pub(super) recall: Option<Estimate>,
    pub(super) holdout: Option<Estimate>,
    /// With recall less without.
    pub(super) difference: Option<Estimate>,
}

impl Arms {
    /// Reads the accounts of the last requests in some scopes. Fails if the store cannot be read.
    pub(super) fn read(store: &mut dyn Store, scopes: &Scopes) -> Result<Arms> {
        let mut arms = Arms::default();
        let mut which = Select::records(vec![&ACCOUNT], scopes.clone());
        for _ in 0..MAX_REQUESTS / PAGE {
            let page = store.last_of(&which, PAGE)?;
            for account in &page {
                arms.add(account);
            }
            match page.first() {
                Some(first) if page.len() == PAGE => which.before = Some(first.position()),
                _ => break,
            }
        }
        Ok(arms)
    }

    fn add(&mut self, record: &StoredRecord) {
        let account = Account::from_record(record);
        let Some(comparison) = account.comparison else { return };
        let arm = match comparison.arm {
            Arm::Recall => &mut self.recall,
            Arm::Holdout => &mut self.holdout,
        };
        let conversation = arm.entry(comparison.conversation).or_default();
        conversation.turns.insert(record.trace_id.clone());
        if comparison.follow_up.is_some() {
            conversation.follow_ups.insert(record.trace_id.clone());
        }
        let Some(prompt) = account.prompt_tokens else { return };
        conversation.reported.insert(record.trace_id.clone());
        // Imported accounts may have any numbers.
        let add = |sum: &mut u64, tokens: u64| *sum = sum.saturating_add(tokens);
        add(&mut conversation.prompt, prompt);
        add(&mut conversation.completion, account.completion_tokens.unwrap_or_default());
        if let Some(cached) = account.cached_tokens {
            add(&mut conversation.cached, cached);
            add(&mut conversation.cacheable, prompt);
        }
    }

    /// Whether no turn was compared.
    pub(super) fn is_empty(&self) -> bool {
        self.recall.is_empty() && self.holdout.is_empty()
    }

    /// The rows of the comparison.
    pub(super) fn rows(&self) -> Vec<Row> {
        let turns = |one: &Conversation| one.turns.len() as f64;
        let reported = |one: &Conversation| one.reported.len() as f64;
        let count = |name, title, count: &dyn Fn(&Conversation) -> f64| {
            let value = |arm: &FxHashMap<String, Conversation>| {
                Some(Estimate {
                    value: arm.values().map(count).fold(0.0, |sum, one| sum + one),
                    interval: None,
                })
            };
            let (recall, holdout) = (value(&self.recall), value(&self.holdout));
            Row { name, title, is_share: false, recall, holdout, difference: None }
        };
        vec![
            count("conversations", "conversations", &|_| 1.0),
            count("turns", "turns", &turns),
            count("turns_with_usage", "turns with usage", &reported),
            self.row(("prompt_tokens", "tokens in a turn"), Ratio::Amount, &reported, &|one| {
                one.prompt as f64
            }),
            self.row(("completion_tokens", "tokens out a turn"), Ratio::Amount, &reported, &|one| {
                one.completion as f64
            }),
            self.row(
                ("cached", "cached tokens in"),
                Ratio::ShareOfAmount,
                &|one| one.cacheable as f64,
                &|one| one.cached as f64,
            ),
            self.row(("follow_ups", "corrects or repeats"), Ratio::ShareOfTurns, &turns, &|one| {
                one.follow_ups.len() as f64
            }),
        ]
    }

    fn row(
        &self,
        (name, title): (&'static str, &'static str),
        kind: Ratio,
        size: &dyn Fn(&Conversation) -> f64,
        sum: &dyn Fn(&Conversation) -> f64,
    ) -> Row {
        let estimate = |arm: &FxHashMap<String, Conversation>| {
            let clusters = arm.values().map(|one| Cluster { size: size(one), sum: sum(one) });
            let mut clusters: Vec<Cluster> = clusters.filter(|cluster| cluster.size > 0.0).collect();
            // Sums of numbers in any order differ in their last digits.
            clusters.sort_by(|a, b| a.size.total_cmp(&b.size).then(a.sum.total_cmp(&b.sum)));
            ratio(&clusters, kind)
        };
        let (recall, holdout) = (estimate(&self.recall), estimate(&self.holdout));
        let difference = recall.as_ref().zip(holdout.as_ref()).map(|(one, other)| difference(one, other));
        Row { name, title, is_share: kind != Ratio::Amount, recall, holdout, difference }
    }
}
