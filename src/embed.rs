//! Text into vectors: by a model on this machine, or by a server.
//!
//! Nothing is loaded before the first text is embedded, so that looking up the model in use costs nothing.
//!
//! A process that answers one question has 0.1 s: models are loaded only when needed, weights are used from
//! the mapped file, and nothing is freed at the end.

#[cfg(not(feature = "local-models"))]
mod absent;
mod batch_sizer;
#[cfg(feature = "local-models")]
mod chunking;
mod embed_each;
mod embed_lines;
mod embedded_text;
mod embedder;
#[cfg(feature = "local-models")]
mod encoder;
mod error;
#[cfg(feature = "local-models")]
mod fetch;
mod input_type;
mod model;
mod model_dir;
#[cfg(feature = "local-models")]
mod model_files;
#[cfg(feature = "local-models")]
mod onnx_runtime;
mod outage;
mod packages;
#[cfg(feature = "local-models")]
mod prepare;
mod question;
mod registry;
mod remote;
mod report;
mod suitable_model;
#[cfg(feature = "local-models")]
mod use_multilingual;
#[cfg(feature = "local-models")]
mod vocabulary;
mod workload;

pub use batch_sizer::BatchSizer;
pub use embed_lines::embed_lines;
pub use embedded_text::{set_vector, text_of};
pub use embedder::Embedder;
pub use error::EmbedError;
pub use input_type::InputType;
pub use report::Report;
pub use suitable_model::{SuitableModel, suitable_model};
pub use workload::Workload;

use crate::config::Settings;
use crate::error::Result;
use crate::record::{Object, quote};
#[cfg(not(feature = "local-models"))]
use absent as fetch;
use model::Model;
use model_dir::{InstalledModel, ModelDir};
use std::path::Path;

/// The least similarity (raw cosine) of two messages with a synapse, by the vectors of a model, which need
/// not be installed.
pub fn synapse_threshold(settings: &Settings, model: &str) -> f64 {
    let here = InstalledModel::select(settings, Some(model)).map(|installed| installed.model);
    let model = here.ok().or_else(|| registry::find(model)).unwrap_or_else(|| Model::unknown(model));
    f64::from(model.synapse)
}

/// The canonical id of a model that everybody knows, however it is spelt; any other name as it is.
pub fn canonical(name: &str) -> &str {
    registry::canonical(name).unwrap_or(name)
}

/// Errors if no model has a name, or the directory or file of that name has none.
pub fn check_name(settings: &Settings, name: &str) -> Result<()> {
    fetch::check_name(settings, name)
}

/// Gets a model, checks and prepares it: by its name from the hub of the settings, or from a directory.
/// `report` receives its progress. Returns the canonical id. Nothing is left half-installed. Fails if the
/// model is unknown or damaged, or its files cannot be downloaded or written.
pub fn fetch(
    settings: &Settings,
    name: &str,
    from: Option<&Path>,
    report: &mut dyn Report,
) -> Result<String> {
    fetch::fetch(settings, name, from, report)
}

/// Downloads the files of a known model, and ONNX Runtime's library, into a directory; `fetch` installs them
/// from there. Returns the canonical id. Fails if the model is unknown, or a download does.
pub fn download_to(
    settings: &Settings,
    name: &str,
    directory: &Path,
    report: &mut dyn Report,
) -> Result<String> {
    fetch::download_to(settings, name, directory, report)
}

/// A model as `rsv-embed --models` lists it.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedModel {
    pub id: String,
    pub dim: Option<usize>,
    pub licence: Option<String>,
    /// Whether it is installed; the bytes of its files then.
    pub installed: Option<u64>,
    /// The bytes of its fast form, if it has one.
    pub prepared: Option<u64>,
    /// Whether it is the default.
    pub in_use: bool,
}

impl ListedModel {
    /// The model as a row of a table for people.
    pub fn to_row(&self) -> String {
        let size = |bytes: Option<u64>| {
            bytes.map_or("-".to_owned(), |bytes| format!("{} MB", bytes.div_ceil(1_000_000)))
        };
        let (mark, dim) = (if self.in_use { "*" } else { " " }, self.dim.unwrap_or_default());
        let (installed, prepared) = (size(self.installed), size(self.prepared));
        let licence = self.licence.as_deref().unwrap_or("-");
        format!("{mark} {:<40} {dim:>5} {installed:>8} {prepared:>8}  {licence}\n", self.id)
    }

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
/// own. Fails if no home directory is known, or the models cannot be listed.
pub fn models(settings: &Settings) -> Result<Vec<ListedModel>> {
    let model_dir = ModelDir::from_settings(settings)?;
    // None is marked if none is installed, or the one of the settings is not.
    let used = InstalledModel::select(settings, None).ok().map(|used| used.model.id);
    let mut there = model_dir.all()?;
    let mut models: Vec<Model> = registry::all();
    there.sort_by(|a, b| a.model.id.cmp(&b.model.id));
    let own = there.iter().filter(|own| !models.iter().any(|listed| listed.id == own.model.id));
    let own: Vec<Model> = own.map(|own| own.model.clone()).collect();
    models.extend(own);
    let listed = models.into_iter().map(|model| {
        let bytes = |path: std::path::PathBuf| -> u64 {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
        };
        let prepared: u64 = model_dir.all_prepared(&model.id).into_iter().map(bytes).sum();
        ListedModel {
            installed: there.iter().find(|there| there.model.id == model.id).map(InstalledModel::bytes),
            prepared: Some(prepared).filter(|bytes| *bytes > 0),
            in_use: used.as_ref() == Some(&model.id),
            id: model.id,
            dim: model.dim,
            licence: model.licence,
        }
    });
    Ok(listed.collect())
}
