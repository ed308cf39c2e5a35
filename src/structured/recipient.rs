//! The model that a request is for.

use crate::config::Settings;
use crate::error::Result;
use crate::provider::Providers;

/// A model, and what its provider knows of schemas.
pub struct Recipient {
    name: String,
    enforces_lengths: bool,
}

impl Recipient {
    /// Takes the provider from the settings. It need not be reachable. Fails if an address is invalid.
    pub fn new(name: &str, settings: &Settings) -> Result<Recipient> {
        let target = Providers::new(settings)?.target(name);
        let enforces_lengths = target.is_ok_and(|target| target.enforces_lengths());
        Ok(Recipient { name: name.to_owned(), enforces_lengths })
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the lengths of texts in a schema bind its answers.
    pub(super) fn enforces_lengths(&self) -> bool {
        self.enforces_lengths
    }
}
