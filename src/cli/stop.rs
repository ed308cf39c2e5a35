//! The signals that ask a tool to stop.

use crate::error::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `stop` once, in a thread of its own, at the first SIGTERM or SIGINT.
pub fn on_stop(stop: impl FnOnce() + Send + 'static) -> Result<()> {
    let context = "cannot wait for signals";
    let mut signals = Signals::new([SIGINT, SIGTERM]).context(context)?;
    let wait = move || {
        if signals.forever().next().is_some() {
            stop();
        }
    };
    std::thread::Builder::new().spawn(wait).map(drop).context(context)
}
