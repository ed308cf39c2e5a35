//! Watches the clock while the proxy runs, and reports when it leaves the range of valid times, and when it is back.

use crate::cli::Diagnostics;
use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::record::Clock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The clock of the proxy, and whether it was valid when it was last read.
pub(in crate::proxy) struct ClockWatch {
    clock: Clock,
    diagnostics: Diagnostics,
    is_out_of_range: AtomicBool,
}

impl ClockWatch {
    /// Watches the clock from now on: the tool has reported a clock that is out of range already.
    pub(in crate::proxy) fn new(config: &ProxyConfig) -> ClockWatch {
        let ProxyConfig { clock, diagnostics, .. } = config;
        ClockWatch {
            clock: *clock,
            diagnostics: diagnostics.clone(),
            is_out_of_range: clock.check().is_err().into(),
        }
    }

    /// Reads the clock, and reports a change. Errors if it is out of range; the nearest valid time is used then.
    pub(in crate::proxy) fn check(&self) -> Result<()> {
        let checked = self.clock.check();
        if self.is_out_of_range.swap(checked.is_err(), Ordering::Relaxed) != checked.is_err() {
            match &checked {
                Ok(()) => self.diagnostics.note("the clock is between the years 1970 and 9999 again"),
                Err(error) => self.diagnostics.note(error),
            }
        }
        checked
    }
}
