//! Jobs that only one process may do at a time.

use crate::cli::Diagnostics;
use crate::error::Result;
use crate::store::{Claim, Store};
use std::time::Duration;

/// The time between two checks whether another process has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits until no other process does a job in the store, and keeps others waiting as long as the claim is
/// held. A job has the name of its tool: `embed`, `link`. Fails if the store cannot be locked.
pub fn claim(store: &mut dyn Store, job: &str, diagnostics: &Diagnostics) -> Result<Claim> {
    let mut announced = false;
    loop {
        if let Some(claim) = store.claim(job)? {
            return Ok(claim);
        }
        if !std::mem::replace(&mut announced, true) {
            diagnostics.note(format_args!("waiting for another rsv-{job} that works on this store"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
