//! The signals that ask the proxy to stop.

use crate::error::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives SIGTERM and SIGINT.
pub struct StopSignals {
    term: Signal,
    int: Signal,
}

impl StopSignals {
    /// Catches them from now on. Errors if the system does not allow it.
    pub fn new() -> Result<StopSignals> {
        let of = |kind| signal(kind).context("cannot wait for signals");
        Ok(StopSignals { term: of(SignalKind::terminate())?, int: of(SignalKind::interrupt())? })
    }

    /// Waits for the next signal. Returns whether it was SIGTERM, rather than SIGINT from the keyboard.
    pub async fn recv(&mut self) -> bool {
        tokio::select! {
            _ = self.term.recv() => true,
            _ = self.int.recv() => false,
        }
    }
}
