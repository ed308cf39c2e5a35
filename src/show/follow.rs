//! Records as they are stored.

use super::{Last, Viewer};
use crate::cli::Outcome;
use crate::error::Result;
use crate::store::{self, Follower, OpenMode};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The time between two looks for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl Viewer<'_> {
    /// Prints the last records of a selection, and from then on those that are stored, until a signal ends
    /// the tool.
    pub fn follow(&mut self, last: Last) -> Result<Outcome> {
        let place = self.settings.store()?;
        // A file that is only being made is read as an empty store, and so is opened again.
        let mut is_made = place.path().is_none() || !self.store.scopes(None)?.is_empty();
        let (mut follower, mut records) =
            Follower::begin(last.which, last.count, self.io.clock.now(), &mut *self.store)?;
        loop {
            records.iter().try_for_each(|record| self.record(record))?;
            self.io.out.flush()?;
            thread::sleep(POLL_INTERVAL);
            if is_made {
                self.store.check_place()?;
            } else if place.path().is_some_and(Path::exists) {
                self.store = store::open(&place, OpenMode::Existing)?;
                is_made = !self.store.scopes(None)?.is_empty();
            }
            records = follower.next(self.io.clock.now(), &mut *self.store)?;
        }
    }
}
