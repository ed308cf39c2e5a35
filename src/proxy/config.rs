//! The settings, the clock, the diagnostics and the metrics, which the parts of the proxy share.
//!
//! A setting with a default always has a value: what stands behind `unwrap_or` for one is never used.

use super::metrics::Metrics;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::enrich::ClientProject;
use crate::ingest::{Ingest, Options};
use crate::record::Clock;
use crate::redact::Redactor;
use std::sync::Arc;
use std::time::Duration;

/// The configuration that all parts share.
pub(super) struct ProxyConfig {
    pub(super) settings: Settings,
    /// The same for turns of the chat backend.
    pub(super) chat_settings: Settings,
    pub(super) clock: Clock,
    /// The diagnostics of the proxy for people.
    pub(super) diagnostics: Diagnostics,
    /// Replaces the secrets in stored records.
    pub(super) redactor: Option<Redactor>,
    /// The project that all clients work in, if it is known.
    pub(super) project: Option<ClientProject>,
    pub(super) metrics: Arc<Metrics>,
}

impl ProxyConfig {
    /// The value of a setting that limits something; `None` if there is no limit.
    pub(super) fn limit(&self, key: &str) -> Option<usize> {
        self.settings.integer(key).and_then(|n| usize::try_from(n).ok())
    }

    /// The time that memory may take for a request.
    pub(super) fn memory_timeout(&self) -> Duration {
        self.settings.duration("enrich.timeout").unwrap_or(Duration::MAX)
    }

    /// A batch for incoming turns.
    pub(super) fn new_batch(&self, options: Options) -> Ingest {
        Ingest::new(Options { redactor: self.redactor.clone(), ..options }, self.clock)
    }

    /// Reports the secrets that were redacted in a batch.
    pub(super) fn note_redaction(&self, batch: &Ingest) {
        if let Some(note) = batch.redaction_note() {
            self.diagnostics.note(note);
        }
    }

    /// Whether a turn is stored before its answer ends.
    pub(super) fn stores_first(&self) -> bool {
        self.settings.boolean("proxy.store_first") == Some(true)
    }
}
