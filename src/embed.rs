//! Text into vectors: by a model on this machine, or by somebody else's server.
//!
//! Nothing is loaded before the first text is embedded, so that asking which model is used costs nothing.

mod each;
mod encoder;
mod fetch;
mod library;
mod line;
mod model;
mod pace;
mod pieces;
mod prepare;
mod registry;
mod remote;
mod shelf;
mod vocabulary;

pub use fetch::Report;
pub use line::{set_vector, text_of};
pub use pace::Pace;

use crate::cli::Notes;
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::record::{Object, quote};
use encoder::Encoder;
use model::Model;
use remote::{Remote, Trouble};
use shelf::{Installed, Shelf};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a text is: some models want questions worded otherwise than what answers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What is searched for.
    Query,
    /// What is found.
    Passage,
}

/// How much is going to be embedded: it decides what is worth preparing. Vectors of one kind of work are the
/// same to the bit; the two kinds differ in the seventh digit, so that a server does as a tool does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A question and a few messages.
    Few,
    /// Many texts.
    Many,
}

/// The similarity (raw cosine) from which on two messages are linked by a synapse, by the vectors of a model that
/// need not be here.
pub fn synapse_floor(settings: &Settings, model: &str) -> f64 {
    let here = installed(settings, Some(model)).map(|installed| installed.model);
    let model = here.ok().or_else(|| registry::find(model)).unwrap_or_else(|| Model::unknown(model));
    f64::from(model.synapse)
}

/// Makes vectors by one model. Clones share what is loaded, and take turns with it.
#[derive(Clone)]
pub struct Embedder {
    model: Arc<Model>,
    source: Arc<Mutex<Source>>,
}

/// Where vectors come from.
struct Source {
    settings: Settings,
    work: Work,
    notes: Notes,
    model: Arc<Model>,
    /// Who is asked, as long as that helps.
    remote: Option<Remote>,
    /// The model's files; a server may have it without them.
    installed: Option<Installed>,
    /// Never taken down: freeing it takes longer than embedding a question did.
    encoder: Option<ManuallyDrop<Encoder>>,
}

impl Embedder {
    /// The embedder of the settings: `embed.model`, else the best model that is installed. Errors say what
    /// to run if there is none.
    pub fn of(settings: &Settings, work: Work, notes: &Notes) -> Result<Embedder> {
        Embedder::named(settings, None, work, notes)
    }

    /// The embedder of a model, in any spelling; `None` is that of the settings. A server knows its models by
    /// their own spelling.
    pub fn named(settings: &Settings, model: Option<&str>, work: Work, notes: &Notes) -> Result<Embedder> {
        let name = model.map(str::to_owned).or(settings.text("embed.model"));
        let mut remote = Remote::of(settings, name.as_deref().unwrap_or_default(), notes)?;
        let needed = remote.as_ref().is_none_or(Remote::is_proxy);
        let installed = if needed { installed(settings, model) } else { Err(unnamed()) };
        let (model, installed) = match (installed, &name) {
            (Ok(installed), _) => (installed.model.clone(), Some(installed)),
            (Err(_), Some(name)) if remote.is_some() => {
                (registry::find(name).unwrap_or_else(|| Model::unknown(name)), None)
            }
            (Err(error), _) => return Err(error),
        };
        if let Some(remote) = remote.as_mut().filter(|remote| remote.is_proxy()) {
            remote.ask_for(&model.id);
        }
        let (model, settings, notes) = (Arc::new(model), settings.clone(), notes.clone());
        let source = Source { settings, work, notes, model: model.clone(), remote, installed, encoder: None };
        Ok(Embedder { model, source: Arc::new(Mutex::new(source)) })
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The canonical id of the model.
    pub fn model(&self) -> &str {
        &self.model.id
    }

    /// The similarity (raw cosine) from which on a message may have to do with a question.
    pub fn floor(&self) -> f32 {
        self.model.recall
    }

    /// Whether the model is loaded, or its server has answered, so that what cannot be embedded is the text's
    /// own fault.
    pub fn is_ready(&self) -> bool {
        let source = self.source();
        source.encoder.is_some() || source.remote.as_ref().is_some_and(Remote::has_answered)
    }

    /// Errors if a file of the model, if it is on this machine, is not what it was when it was installed.
    pub fn check(&self) -> Result<()> {
        self.source().installed.as_ref().map_or(Ok(()), Installed::verify)
    }

    /// The vectors of texts, in their order: each of length 1, the same whatever else is embedded with it.
    /// Errors if the model cannot be loaded, or makes no vector of its dimension.
    pub fn embed(&mut self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        self.source().embed(texts, side)
    }
}

impl Source {
    fn embed(&mut self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        if let Some(vectors) = self.ask(texts, side)? {
            return Ok(vectors);
        }
        if let (None, Some(installed)) = (&self.encoder, &self.installed) {
            let encoder = Encoder::load(&self.settings, installed, self.work)?;
            self.encoder = Some(ManuallyDrop::new(encoder));
        }
        match &mut self.encoder {
            Some(encoder) => encoder.embed(texts, side),
            None => Ok(Vec::new()),
        }
    }

    /// What the server says; `None` if the model is to be used that is installed here.
    fn ask(&mut self, texts: &[&str], side: Side) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(remote) = &mut self.remote else { return Ok(None) };
        let asked = if remote.is_proxy() {
            remote.embed(texts, side)
        } else {
            let prefix = if side == Side::Query { &self.model.query } else { &self.model.passage };
            let worded: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
            remote.embed(&worded.iter().map(String::as_str).collect::<Vec<_>>(), side)
        };
        match asked {
            Ok(vectors) => Ok(Some(vectors)),
            Err(Trouble::Absent(error) | Trouble::Model(error)) if self.installed.is_some() => {
                self.notes.detail(format_args!("{error}: {} is loaded here", self.model.id));
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

/// The model of a name, or that of the settings, or the best of those that are installed.
fn installed(settings: &Settings, name: Option<&str>) -> Result<Installed> {
    let shelf = Shelf::of(settings)?;
    if let Some(name) = name.map(str::to_owned).or(settings.text("embed.model")) {
        return shelf.find(&name)?.ok_or_else(|| {
            let known = registry::find(&name).map(|model| format!("rsv-embed --fetch {}", model.id));
            let id = canonical(&name);
            Error::new(format!("the embedding model {id} is not installed"))
                .hint(known.unwrap_or_else(|| "rsv-embed --models lists those that are known".to_owned()))
        });
    }
    let all = shelf.all()?;
    let best =
        registry::all().into_iter().find_map(|known| all.iter().find(|there| there.model.id == known.id));
    best.or(all.first()).cloned().ok_or_else(|| {
        Error::new("no embedding model is installed")
            .hint(format!("rsv-embed --fetch all-minilm-l6-v2 (90 MB), or {}", library::getter(settings)))
    })
}

/// The canonical id of a model that everybody knows, however it is spelt; any other name as it is.
pub fn canonical(name: &str) -> &str {
    registry::canonical(name).unwrap_or(name)
}

/// Gets a model, checks and prepares it: by its name from the hub of the settings, or from a directory.
/// See `Report` for how it tells what it does. Gives the canonical id. Nothing is left half-installed.
pub fn fetch(
    settings: &Settings,
    name: &str,
    from: Option<&Path>,
    report: &mut dyn Report,
) -> Result<String> {
    fetch::fetch(settings, name, from, report)
}

/// A model as `rsv-embed --models` lists it.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    pub id: String,
    pub dim: Option<usize>,
    pub licence: Option<String>,
    /// Whether it is installed; the bytes of its files then.
    pub installed: Option<u64>,
    /// The bytes of its fast form, if it has one.
    pub prepared: Option<u64>,
    /// Whether it is used unless something else is asked for.
    pub in_use: bool,
}

impl Listed {
    /// As a line of JSON.
    pub fn to_object(&self) -> Object {
        let number = |n: Option<u64>| n.map_or("null".to_owned(), |n| n.to_string());
        let mut line = Object::default();
        line.set_text("model", &self.id);
        line.set("in_use", self.in_use.to_string());
        line.set("dim", number(self.dim.map(|dim| dim as u64)));
        line.set("installed", number(self.installed));
        line.set("prepared", number(self.prepared));
        line.set("licence", self.licence.as_deref().map_or("null".to_owned(), quote));
        line
    }
}

/// The models that are known or installed: the best first, then those of fastembed's list, then the user's
/// own.
pub fn models(settings: &Settings) -> Result<Vec<Listed>> {
    let shelf = Shelf::of(settings)?;
    let used = installed(settings, None).ok().map(|used| used.model.id);
    let mut there = shelf.all()?;
    let mut models: Vec<model::Model> = registry::all();
    there.sort_by(|a, b| a.model.id.cmp(&b.model.id));
    let own = there.iter().filter(|own| !models.iter().any(|known| known.id == own.model.id));
    let own: Vec<model::Model> = own.map(|own| own.model.clone()).collect();
    models.extend(own);
    let listed = models.into_iter().map(|model| {
        let bytes = |path: std::path::PathBuf| -> u64 {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
        };
        let prepared: u64 = shelf.all_prepared(&model.id).into_iter().map(bytes).sum();
        Listed {
            installed: there.iter().find(|there| there.model.id == model.id).map(Installed::bytes),
            prepared: Some(prepared).filter(|bytes| *bytes > 0),
            in_use: used.as_ref() == Some(&model.id),
            id: model.id,
            dim: model.dim,
            licence: model.licence,
        }
    });
    Ok(listed.collect())
}
