//! Vectors by one model: from a server, or from the encoder of a model on this machine.

use super::encoder::Encoder;
use super::input_type::InputType;
use super::model::Model;
use super::model_dir::InstalledModel;
use super::registry;
use super::remote::{RemoteEmbedder, RemoteError};
use super::workload::Workload;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::{Error, Result};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes vectors by one model. Clones share the loaded model, and take turns with it.
#[derive(Clone)]
pub struct Embedder {
    model: Arc<Model>,
    source: Arc<Mutex<Source>>,
}

/// The source of vectors.
struct Source {
    settings: Settings,
    work: Workload,
    diagnostics: Diagnostics,
    model: Arc<Model>,
    /// The server, until it turns out not to serve the model.
    remote: Option<RemoteEmbedder>,
    /// The model's files; a server may have it without them.
    installed: Option<InstalledModel>,
    /// Never dropped: freeing it takes longer than embedding a question.
    encoder: Option<ManuallyDrop<Encoder>>,
}

impl Embedder {
    /// The embedder of the settings: `embed.model`, else the best model that is installed. Errors say what
    /// to run if there is none.
    pub fn from_settings(settings: &Settings, work: Workload, diagnostics: &Diagnostics) -> Result<Embedder> {
        Embedder::named(settings, None, work, diagnostics)
    }

    /// The embedder of a model, in any spelling; `None` is that of the settings. A server knows its models by
    /// their own spelling.
    pub fn named(
        settings: &Settings,
        model: Option<&str>,
        work: Workload,
        diagnostics: &Diagnostics,
    ) -> Result<Embedder> {
        let name = model.map(str::to_owned).or(settings.text("embed.model"));
        let mut remote =
            RemoteEmbedder::from_settings(settings, name.as_deref().unwrap_or_default(), diagnostics)?;
        let needed = remote.as_ref().is_none_or(RemoteEmbedder::is_proxy);
        let installed = if needed { InstalledModel::select(settings, model) } else { Err(unnamed()) };
        let (model, installed) = match (installed, &name) {
            (Ok(installed), _) => (installed.model.clone(), Some(installed)),
            (Err(_), Some(name)) if remote.is_some() => {
                (registry::find(name).unwrap_or_else(|| Model::unknown(name)), None)
            }
            (Err(error), _) => return Err(error),
        };
        if let Some(remote) = remote.as_mut().filter(|remote| remote.is_proxy()) {
            remote.set_model(&model.id);
        }
        let (model, settings, diagnostics) = (Arc::new(model), settings.clone(), diagnostics.clone());
        let source =
            Source { settings, work, diagnostics, model: model.clone(), remote, installed, encoder: None };
        Ok(Embedder { model, source: Arc::new(Mutex::new(source)) })
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The canonical id of the model.
    pub fn model(&self) -> &str {
        &self.model.id
    }

    /// The least similarity (raw cosine) of a message that may be related to a question.
    pub fn min_similarity(&self) -> f32 {
        self.model.recall
    }

    /// Whether the model is loaded, or its server has answered, so that a further failure is caused by the text.
    pub fn is_ready(&self) -> bool {
        let source = self.source();
        source.encoder.is_some() || source.remote.as_ref().is_some_and(RemoteEmbedder::has_answered)
    }

    /// Errors if a file of a local model has changed since it was installed.
    pub fn check(&self) -> Result<()> {
        self.source().installed.as_ref().map_or(Ok(()), InstalledModel::verify)
    }

    /// The vectors of texts, in their order: each of length 1, regardless of the other texts. Errors if the
    /// model cannot be loaded, or makes no vector of its dimension.
    pub fn embed(&mut self, texts: &[&str], input_type: InputType) -> Result<Vec<Vec<f32>>> {
        self.source().embed(texts, input_type)
    }
}

impl Source {
    fn embed(&mut self, texts: &[&str], input_type: InputType) -> Result<Vec<Vec<f32>>> {
        if let Some(vectors) = self.ask(texts, input_type)? {
            return Ok(vectors);
        }
        if let (None, Some(installed)) = (&self.encoder, &self.installed) {
            let encoder = Encoder::load(&self.settings, installed, self.work)?;
            self.encoder = Some(ManuallyDrop::new(encoder));
        }
        match &mut self.encoder {
            Some(encoder) => encoder.embed(texts, input_type),
            None => Ok(Vec::new()),
        }
    }

    /// The server's vectors; `None` if the installed model is to be used.
    fn ask(&mut self, texts: &[&str], input_type: InputType) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(remote) = &mut self.remote else { return Ok(None) };
        let result = if remote.is_proxy() {
            remote.embed(texts, input_type)
        } else {
            let prefix = if input_type == InputType::Query { &self.model.query } else { &self.model.passage };
            let worded: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
            remote.embed(&worded.iter().map(String::as_str).collect::<Vec<_>>(), input_type)
        };
        match result {
            Ok(vectors) => Ok(Some(vectors)),
            Err(RemoteError::Absent(error) | RemoteError::Model(error)) if self.installed.is_some() => {
                self.diagnostics.detail(format_args!("{error}; using {} on this machine", self.model.id));
                self.remote = None;
                Ok(None)
            }
            Err(trouble) => Err(trouble.into()),
        }
    }
}

fn unnamed() -> Error {
    Error::new("embed.model is not set, and the server needs the name of a model")
        .hint("rsv-config set embed.model MODEL")
}
