//! Text into vectors: by a model on this machine, or by somebody else's server.
//!
//! Nothing is loaded before the first text is embedded, so that asking which model is used costs nothing.

use crate::cli::Notes;
use crate::config::Settings;
use crate::error::{Error, Result};

/// What a text is: some models want questions worded otherwise than what answers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What is searched for.
    Query,
    /// What is found.
    Passage,
}

/// How much is going to be embedded: it decides what is worth preparing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A question and a few messages, in a process that ends soon.
    Few,
    /// Many texts, or a process that stays.
    Many,
}

/// Makes vectors by one model.
pub struct Embedder {
    model: String,
}

impl Embedder {
    /// The embedder of the settings: `embed.model`, else the best model that is installed. Errors say what
    /// to run if there is none.
    pub fn of(settings: &Settings, work: Work, notes: &Notes) -> Result<Embedder> {
        Embedder::named(settings, None, work, notes)
    }

    /// The embedder of a model, in any spelling; `None` is that of the settings.
    pub fn named(settings: &Settings, model: Option<&str>, work: Work, notes: &Notes) -> Result<Embedder> {
        let _ = (settings, work, notes, model);
        Err(Error::new("no embedding model is installed").hint("rsv-embed --fetch all-minilm-l6-v2"))
    }

    /// The canonical id of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// A similarity (raw cosine) below which two texts have nothing to do with each other by this model.
    pub fn floor(&self) -> f32 {
        0.0
    }

    /// The vectors of texts, in their order: each of length 1, the same whatever else is embedded with it.
    /// Errors if the model cannot be loaded, or a vector is none (not finite, of another dimension).
    pub fn embed(&mut self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        let _ = (texts, side);
        Err(Error::new("no embedding model is installed"))
    }
}
