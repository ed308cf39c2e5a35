//! The signals that ask a tool to stop.

use crate::error::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::ffi::c_int;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Calls `stop` once, in a thread of its own, at the first signal that asks the tool to stop.
pub fn on_stop(stop: impl FnOnce() + Send + 'static) -> Result<()> {
    let context = "cannot wait for signals";
    let mut signals = Signals::new(stop_signals()).context(context)?;
    let wait = move || {
        if signals.forever().next().is_some() {
            stop();
        }
    };
    std::thread::Builder::new().spawn(wait).map(drop).context(context)
}

/// Ctrl-C, which stops what the tool is doing instead of ending it.
pub struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// Catches Ctrl-C from now on, until the process ends.
    pub fn catch() -> Result<Interrupts> {
        let pressed = Arc::default();
        flag::register(SIGINT, Arc::clone(&pressed)).context("cannot catch Ctrl-C")?;
        Ok(Interrupts(pressed))
    }

    /// Whether Ctrl-C was pressed since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    /// Waits until Ctrl-C is pressed, unless it was since the last `take`. Panics outside of an event loop.
    pub async fn pressed(&self) {
        // One that is pressed from here on is received, or the flag is set.
        let Ok(mut signals) = signal(SignalKind::interrupt()) else { return pending().await };
        while !self.0.load(Ordering::Relaxed) {
            signals.recv().await;
        }
    }
}

/// SIGTERM, SIGINT and, unless it is ignored, SIGHUP.
pub(super) fn stop_signals() -> Vec<c_int> {
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    [SIGTERM, SIGINT].into_iter().chain(hangup).collect()
}

/// Whether this process was started so that it outlives its terminal, as nohup does: it ignores SIGHUP. A
/// handler would end that, so this must be asked before one is installed.
#[cfg(target_os = "linux")]
pub fn ignores_hangup() -> bool {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    // Without /proc it cannot be told, and the signal keeps its effect.
    status.map_or(true, |status| status.sigign & (1 << (SIGHUP - 1)) != 0)
}

/// The same, where the system does not tell a process what it ignores: the signal keeps its effect.
#[cfg(not(target_os = "linux"))]
pub fn ignores_hangup() -> bool {
    true
}
