//! How a tool makes its texts.

use super::model::Model;
use super::recipient::Recipient;
use crate::cli::Io;
use crate::config::Settings;
use crate::error::Result;
use std::sync::Arc;

/// By rule, or by a model.
pub enum Method {
    ByRule,
    ByModel(Arc<Model>),
    /// The requests to this model are printed instead of being sent.
    EmitRequests(Recipient),
}

impl Method {
    /// The method that flags ask for. Fails if the model's provider or its settings are invalid.
    pub fn new(model: Option<&str>, emits_requests: bool, settings: &Settings, io: &Io) -> Result<Method> {
        Ok(match model {
            None => Method::ByRule,
            Some(model) if emits_requests => Method::EmitRequests(Recipient::new(model, settings)?),
            Some(model) => {
                Method::ByModel(Arc::new(Model::new(model, settings, io.clock, &io.diagnostics())?))
            }
        })
    }
}
