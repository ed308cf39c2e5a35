//! Vectors by one model: from a server, or from the encoder of a model on this machine.

#[cfg(not(feature = "local-models"))]
use super::absent::NoEncoder as Encoder;
#[cfg(feature = "local-models")]
use super::encoder::Encoder;
use super::error::EmbedError;
use super::input_type::InputType;
use super::model::Model;
use super::model_dir::InstalledModel;
use super::outage::Outage;
use super::registry;
use super::remote::{RemoteEmbedder, RemoteError};
use super::workload::Workload;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Makes vectors by one model. Clones share the loaded model, and take turns with it, a few texts at a time;
/// a server they ask at the same time.
#[derive(Clone)]
pub struct Embedder {
    model: Arc<Model>,
    /// Held while a model is loaded, not while it embeds: so it comes before the locks of the environment and
    /// the workers, and no other is taken with it.
    source: Arc<Mutex<Source>>,
    /// The time at which a server is no longer awaited; it is asked only once then.
    deadline: Option<Instant>,
}

/// The source of vectors.
struct Source {
    settings: Settings,
    work: Workload,
    diagnostics: Diagnostics,
    /// The server, until it turns out not to serve the model.
    remote: Option<RemoteEmbedder>,
    /// Its failures to answer a question, once they were looked for.
    outage: Option<Outage>,
    /// The model's files; a server may have it without them.
    installed: Option<InstalledModel>,
    /// Never dropped: freeing it takes longer than embedding a question.
    encoder: Option<&'static Encoder>,
}

impl Embedder {
    /// The embedder of the settings: `embed.model`, else the best model that is installed. Errors say what
    /// to run if there is none.
    pub fn from_settings(settings: &Settings, work: Workload, diagnostics: &Diagnostics) -> Result<Embedder> {
        Embedder::named(settings, None, work, diagnostics)
    }

    /// The embedder of a model, in any spelling; `None` is that of the settings. A server knows its models by
    /// their own spelling. Fails if no model is installed or served under this name.
    pub fn named(
        settings: &Settings,
        model: Option<&str>,
        work: Workload,
        diagnostics: &Diagnostics,
    ) -> Result<Embedder> {
        let name = model.map(str::to_owned).or(settings.text("embed.model"));
        let mut remote =
            // A server without a name of a model is refused below, except a proxy, which gets it there.
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
        let source = Source { settings, work, diagnostics, remote, outage: None, installed, encoder: None };
        Ok(Embedder { model, source: Arc::new(Mutex::new(source)), deadline: None })
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        // Held while the model is loaded, so that it is loaded once, and never while it embeds. ONNX
        // Runtime's environment is locked after it, not before.
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

    /// Whether the model is loaded, or its server has answered, so that a further failure is caused by the
    /// text.
    pub fn is_ready(&self) -> bool {
        let source = self.source();
        source.encoder.is_some() || source.remote.as_ref().is_some_and(RemoteEmbedder::has_answered)
    }

    /// Whether a server makes the vectors.
    pub fn is_remote(&self) -> bool {
        self.source().remote.is_some()
    }

    /// The error of the last question, if its server did not answer it in time, and the time until it may be
    /// asked again.
    pub fn outage(&self) -> Option<(Error, Duration)> {
        let mut source = self.source();
        let outage = source.outage()?;
        outage.error().map(|error| (error, outage.pause()))
    }

    /// Errors if a file of a local model has changed since it was installed.
    pub fn check(&self) -> Result<()> {
        self.source().installed.as_ref().map_or(Ok(()), InstalledModel::verify)
    }

    /// The vectors of texts, in their order: each of length 1, regardless of the other texts. Errors if the
    /// model cannot be loaded, or makes no vector of its dimension.
    pub fn embed(&mut self, texts: &[&str], input_type: InputType) -> Result<Vec<Vec<f32>>> {
        match self.ask(texts, input_type)? {
            Some(vectors) => Ok(vectors),
            None => {
                let encoder = self.source().encoder()?;
                // Without a server there is an installed model (`named`): an encoder is always there.
                encoder.map_or(Ok(Vec::new()), |encoder| encoder.embed(texts, input_type))
            }
        }
    }

    /// The same, which asks a server once, and waits for it until `deadline`.
    pub fn until(&self, deadline: Instant) -> Embedder {
        Embedder { deadline: Some(deadline), ..self.clone() }
    }

    /// The server's vectors, each of length 1; `None` if the installed model is to be used.
    fn ask(&self, texts: &[&str], input_type: InputType) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(mut remote) = self.source().remote.clone() else { return Ok(None) };
        remote.client.deadline = self.deadline;
        let result = if remote.is_proxy() {
            remote.embed(texts, input_type)
        } else {
            let prefix = if input_type == InputType::Query { &self.model.query } else { &self.model.passage };
            let worded: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
            remote.embed(&worded.iter().map(String::as_str).collect::<Vec<_>>(), input_type)
        };
        let mut source = self.source();
        if let (Some(_), InputType::Query) = (self.deadline, input_type) {
            source.note_outcome(&result);
        }
        match result {
            Ok(vectors) => {
                source.take_back(remote);
                Ok(Some(vectors))
            }
            Err(RemoteError::Absent(error) | RemoteError::Model(error)) if source.installed.is_some() => {
                source.diagnostics.detail(format_args!("{error}; using {} on this machine", self.model.id));
                source.remote = None;
                Ok(None)
            }
            Err(trouble) => {
                source.take_back(remote);
                Err(trouble.into())
            }
        }
    }
}

impl Source {
    /// The failures of the server to answer questions in time; `None` if the model is on this machine.
    fn outage(&mut self) -> Option<&mut Outage> {
        let address = self.remote.as_ref()?.address();
        Some(self.outage.get_or_insert_with(|| Outage::of_server(&address)))
    }

    /// Remembers whether the server answered a question. One that refuses the text has answered.
    fn note_outcome(&mut self, result: &std::result::Result<Vec<Vec<f32>>, RemoteError>) {
        let has_model = self.installed.is_some();
        let Some(outage) = self.outage() else { return };
        match result {
            Ok(_) | Err(RemoteError::Size(_)) => outage.end(),
            Err(RemoteError::Absent(_) | RemoteError::Model(_)) if has_model => {}
            Err(RemoteError::Absent(error) | RemoteError::Model(error) | RemoteError::Failed(error)) => {
                outage.fail(error);
            }
        }
    }

    /// Keeps what a copy of the server's client has learnt.
    fn take_back(&mut self, remote: RemoteEmbedder) {
        if self.remote.is_some() {
            self.remote = Some(remote);
        }
    }

    /// The model on this machine, loaded if need be.
    fn encoder(&mut self) -> Result<Option<&'static Encoder>> {
        if let (None, Some(installed)) = (self.encoder, &self.installed) {
            self.encoder = Some(Box::leak(Box::new(Encoder::load(&self.settings, installed, self.work)?)));
        }
        Ok(self.encoder)
    }
}

fn unnamed() -> Error {
    EmbedError::Unnamed.into()
}
