//! A model that answers requests for JSON.

use super::answer::text;
use super::recipient::Recipient;
use super::request::Request;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::Result;
use crate::forward::{Caller, Forwarder};
use crate::http;
use crate::record::Clock;

/// A model and the way to its provider.
pub struct Model {
    recipient: Recipient,
    forwarder: Forwarder,
    clock: Clock,
}

impl Model {
    /// Takes the provider's address, keys and limits from the settings, and opens nothing. Errors name the setting.
    pub fn new(name: &str, settings: &Settings, clock: Clock, diagnostics: &Diagnostics) -> Result<Model> {
        Ok(Model {
            recipient: Recipient::new(name, settings)?,
            forwarder: Forwarder::new(settings, diagnostics)?,
            clock,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.recipient.name()
    }

    /// Asks, and waits for the text of the answer. Errors if the provider gives none, or the model refuses.
    pub fn ask(&self, request: &Request) -> Result<String> {
        let caller = Caller::default();
        http::run(async {
            let answer = self.forwarder.whole(request.body(&self.recipient), &caller, &self.clock).await;
            answer.map_err(|failure| failure.error()).and_then(|(response, _)| text(&response))
        })
    }
}
