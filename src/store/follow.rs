//! The records that come into a store while it is watched.

use super::api::Store;
use super::changes::Mark;
use super::error::Result;
use super::select::Select;
use crate::record::StoredRecord;
use std::collections::HashMap;

/// How much earlier than the last record a new one may be dated, in milliseconds: a turn is stored when it
/// has ended, and another may have begun later and ended sooner.
const MAX_DELAY_MILLIS: i64 = 60 * 60 * 1000;

/// Watches a selection.
pub struct Follower {
    which: Select,
    /// The timestamps of the records that were returned, or there at the beginning, by their ids.
    seen: HashMap<String, i64>,
    mark: Option<Mark>,
}

impl Follower {
    /// Begins to watch. Also returns the last `count` records, oldest first. Fails if the store does.
    pub fn begin(
        which: Select,
        count: usize,
        now: i64,
        store: &mut dyn Store,
    ) -> Result<(Follower, Vec<StoredRecord>)> {
        let mut follower = Follower { which, seen: HashMap::new(), mark: None };
        if let Some(last) = store.last_of(&follower.which, 1)?.pop() {
            follower.see(&[last]);
        }
        follower.next(now, store)?;
        // One that comes meanwhile is returned now, or next if it is not among the last.
        let last = store.last_of(&follower.which, count)?;
        follower.see(&last);
        Ok((follower, last))
    }

    /// The records that came since the last call, oldest first. Fails if the store cannot be read.
    pub fn next(&mut self, now: i64, store: &mut dyn Store) -> Result<Vec<StoredRecord>> {
        let mark = store.change_state(&[])?.mark;
        if mark.is_some() && mark == self.mark {
            return Ok(Vec::new());
        }
        self.mark = mark;
        let latest = self.seen.values().copied().max();
        let earliest = latest.map(|latest| latest.min(now).saturating_sub(MAX_DELAY_MILLIS));
        let window = Select { since: self.which.since.max(earliest), ..self.which.clone() };
        let mut new = store.last_of(&window, usize::MAX)?;
        new.retain(|record| !self.seen.contains_key(&record.id));
        // The others are not read again.
        self.seen.retain(|_, timestamp| earliest.is_none_or(|earliest| *timestamp >= earliest));
        self.see(&new);
        Ok(new)
    }

    fn see(&mut self, records: &[StoredRecord]) {
        self.seen.extend(records.iter().map(|record| (record.id.clone(), record.timestamp)));
    }
}
