//! Counts the requests that use the store or the embedder, so that background work gives way to them.

use crate::proxy::lock::locked;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The longest time for which background work gives way, so that it makes progress under constant load too.
const MAX_IDLE_WAIT: Duration = Duration::from_secs(1);

/// The number of requests that use the store or the embedder, or wait for them.
#[derive(Default)]
pub(in crate::proxy) struct Foreground {
    active: Mutex<usize>,
    idle: Condvar,
}

/// A request that is active as long as this is kept.
pub(in crate::proxy) struct ForegroundGuard<'a>(&'a Foreground);

impl Foreground {
    /// Counts a request, which keeps background work from beginning anything.
    pub(in crate::proxy) fn enter(&self) -> ForegroundGuard<'_> {
        *locked(&self.active) += 1;
        ForegroundGuard(self)
    }

    /// Waits until no request is active, within bounds.
    pub(super) fn wait_until_idle(&self) {
        let waited = self.idle.wait_timeout_while(locked(&self.active), MAX_IDLE_WAIT, |active| *active > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for ForegroundGuard<'_> {
    fn drop(&mut self) {
        let mut active = locked(&self.0.active);
        *active -= 1;
        if *active == 0 {
            self.0.idle.notify_all();
        }
    }
}
