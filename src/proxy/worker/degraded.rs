//! Decides whether memory is degraded, and for which reason, by the results of recall and storing: for the
//! turn pipeline, the store queue, the header of responses and `GET /health`.

use crate::backfill;
use crate::config::Settings;
use crate::enrich::Degraded;
use crate::error::{Error, Result};
use crate::proxy::lock::locked;
use crate::proxy::visibility::Visibility;
use crate::record::Account;
use crate::store::Store;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::time::error::Elapsed;

/// The time that one attempt to store turns may take before the store counts as too slow.
const SLOW_WRITE: Duration = Duration::from_secs(2);

/// Judges a recall that could take as long as `limit`.
pub(in crate::proxy) fn judge_recall<T>(
    recalled: std::result::Result<Result<T>, Elapsed>,
    limit: Duration,
) -> std::result::Result<T, Degraded> {
    match recalled {
        Ok(Ok(recalled)) => Ok(recalled),
        Ok(Err(error)) => Err(Degraded::StoreFailed(error.to_string())),
        Err(_) => Err(Degraded::RecallTimedOut(limit)),
    }
}

/// Judges the embedder of a recall by its error. Nothing is degraded if none is installed and none was
/// requested. Errors if the store cannot be read.
pub(in crate::proxy) fn judge_embedder(
    error: Option<Error>,
    store: &mut dyn Store,
    settings: &Settings,
) -> Result<Option<Degraded>> {
    let Some(error) = error else { return Ok(None) };
    Ok(backfill::is_wanted(store, settings)?.then_some(Degraded::EmbedderUnavailable(error)))
}

/// Judges storing, by the error of the last attempt and the beginning of the present one.
pub(super) fn judge_storing(last_error: Option<&String>, attempt: Option<Instant>) -> Option<Degraded> {
    if let Some(error) = last_error {
        return Some(Degraded::StoreFailed(error.clone()));
    }
    let waited = attempt.map(|started| started.elapsed()).filter(|waited| *waited > SLOW_WRITE);
    waited.map(Degraded::StoreSlow)
}

/// Judges the store as a whole, by whether it can be read, and the state of storing.
pub(in crate::proxy) fn judge_store(
    read: Result<()>,
    storing: impl FnOnce() -> Option<Degraded>,
) -> Option<Degraded> {
    match read {
        Ok(()) => storing(),
        Err(error) => Some(Degraded::StoreFailed(error.to_string())),
    }
}

/// Why work beside requests fails.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::proxy) struct FailureReason {
    /// The partition that it is about; `None` if it names nothing of one.
    pub(in crate::proxy) partition: Option<String>,
    pub(in crate::proxy) text: String,
}

impl FailureReason {
    /// A reason that is about no partition.
    pub(in crate::proxy) fn new(text: String) -> FailureReason {
        FailureReason { partition: None, text }
    }

    /// A reason that is about something in a partition.
    pub(super) fn of_partition(partition: &str, text: String) -> FailureReason {
        FailureReason { partition: Some(partition.to_owned()), text }
    }

    /// Whether a caller may see it.
    pub(in crate::proxy) fn is_visible(&self, visibility: &Visibility) -> bool {
        self.partition.as_ref().is_none_or(|partition| visibility.includes(partition))
    }
}

/// Why work fails at present, by what it is about.
pub(super) struct Failures<K>(Mutex<BTreeMap<K, FailureReason>>);

impl<K> Default for Failures<K> {
    fn default() -> Failures<K> {
        Failures(Mutex::default())
    }
}

impl<K: Ord> Failures<K> {
    /// Remembers why the work on something fails. Returns whether it is another reason than before.
    pub(super) fn set(&self, about: K, reason: FailureReason) -> bool {
        locked(&self.0).insert(about, reason.clone()) != Some(reason)
    }

    /// Forgets why the work on something failed.
    pub(super) fn clear(&self, about: &K) {
        locked(&self.0).remove(about);
    }

    /// Forgets the failures of all for which this does not hold.
    pub(super) fn retain(&self, mut is_kept: impl FnMut(&K) -> bool) {
        locked(&self.0).retain(|about, _| is_kept(about));
    }

    /// The last reason that a caller may see; if there are only others, one of them.
    pub(super) fn last(&self, visibility: &Visibility) -> Option<FailureReason> {
        let reasons = locked(&self.0);
        let visible = reasons.values().rev().find(|reason| reason.is_visible(visibility));
        visible.or_else(|| reasons.values().next()).cloned()
    }
}

/// The reason that a response gives if recall and storing both have one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::proxy) enum Precedence {
    Recall,
    Storing,
}

/// Judges a turn, by the account of its enrichment, if it has one, and the state of storing.
pub(in crate::proxy) fn judge_turn(
    account: Option<&Account>,
    storing: Option<Degraded>,
    precedence: Precedence,
) -> Option<Degraded> {
    let recall = account.and_then(|account| account.degraded.clone()).map(Degraded::Enrichment);
    match precedence {
        Precedence::Recall => recall.or(storing),
        Precedence::Storing => storing.or(recall),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(degraded: Option<Degraded>) -> String {
        degraded.map_or_else(|| "whole".to_owned(), |reason| reason.to_string())
    }

    #[test]
    fn storing_is_degraded_by_an_error_or_by_a_slow_attempt() {
        let now = Instant::now();
        let slow = now.checked_sub(Duration::from_secs(3));
        let error = "cannot open store".to_owned();
        assert_eq!(words(judge_storing(None, None)), "whole");
        assert_eq!(words(judge_storing(None, Some(now))), "whole");
        assert_eq!(words(judge_storing(None, slow)), "the store has kept a turn waiting for 3 s");
        assert_eq!(words(judge_storing(Some(&error), slow)), "cannot open store");
    }

    #[tokio::test]
    async fn recall_is_degraded_by_an_error_or_by_its_limit() {
        let limit = Duration::from_millis(1);
        let late = tokio::time::timeout(limit, std::future::pending::<Result<()>>()).await;
        assert_eq!(words(judge_recall(late, limit).err()), "memory did not answer within 1ms");
        assert_eq!(words(judge_recall::<()>(Ok(Err(Error::new("no store"))), limit).err()), "no store");
        assert_eq!(judge_recall(Ok(Ok(7)), limit).ok(), Some(7));
    }

    #[test]
    fn a_store_that_cannot_be_read_goes_before_one_that_cannot_be_written() {
        let storing = || Some(Degraded::StoreFailed("unwritable".to_owned()));
        assert_eq!(words(judge_store(Err(Error::new("unreadable")), storing)), "unreadable");
        assert_eq!(words(judge_store(Ok(()), storing)), "unwritable");
        assert_eq!(words(judge_store(Ok(()), || None)), "whole");
    }

    #[test]
    fn a_turn_has_the_reason_that_goes_first() {
        let account = Account { degraded: Some("recall".to_owned()), ..Account::default() };
        let storing = || Some(Degraded::StoreFailed("storing".to_owned()));
        for (storing, precedence, expected) in [
            (storing(), Precedence::Recall, "recall"),
            (storing(), Precedence::Storing, "storing"),
            (None, Precedence::Storing, "recall"),
        ] {
            assert_eq!(words(judge_turn(Some(&account), storing, precedence)), expected);
        }
        assert_eq!(words(judge_turn(None, storing(), Precedence::Recall)), "storing");
        assert_eq!(words(judge_turn(None, None, Precedence::Recall)), "whole");
    }
}
