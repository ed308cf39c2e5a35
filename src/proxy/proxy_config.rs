//! The settings, the clock and the diagnostics, which the parts of the proxy share.

use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::record::Clock;

/// The configuration that all parts share.
pub(super) struct ProxyConfig {
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    /// The diagnostics of the proxy for people.
    pub(super) diagnostics: Diagnostics,
}

impl ProxyConfig {
    /// The value of a setting that limits something; `None` if there is no limit.
    pub(super) fn limit(&self, key: &str) -> Option<usize> {
        self.settings.integer(key).and_then(|n| usize::try_from(n).ok())
    }

    /// Whether a turn is stored before its answer ends.
    pub(super) fn stores_first(&self) -> bool {
        self.settings.boolean("proxy.store_first") == Some(true)
    }
}
