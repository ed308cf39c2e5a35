//! The signals that ask the proxy to stop.

use crate::cli;
use crate::error::{Context, Result};
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// Receives SIGTERM, SIGINT and, unless the proxy was started to ignore it, SIGHUP.
pub struct StopSignals {
    term: unix::Signal,
    int: unix::Signal,
    /// `None` if it is ignored, or has come.
    hangup: Option<unix::Signal>,
}

impl StopSignals {
    /// Catches them from now on. Errors if the system does not allow it.
    pub fn new() -> Result<StopSignals> {
        let of = |kind| signal(kind).context("cannot wait for signals");
        let hangup = if cli::ignores_hangup() { None } else { Some(of(SignalKind::hangup())?) };
        Ok(StopSignals { term: of(SignalKind::terminate())?, int: of(SignalKind::interrupt())?, hangup })
    }

    /// Waits for the next signal.
    pub async fn recv(&mut self) -> Signal {
        let StopSignals { term, int, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        let received = tokio::select! {
            _ = term.recv() => Signal::TERM,
            _ = int.recv() => Signal::INT,
            _ = hung_up => Signal::HUP,
        };
        if received == Signal::HUP {
            // One terminal that closes may send it twice, by its shell and by the system.
            *hangup = None;
        }
        received
    }
}
