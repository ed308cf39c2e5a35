//! The forms of an installed model from which it is loaded: its files as they were fetched, or those that
//! start fast.

use super::model::{self, GRAPH_FILE};
use super::model_dir::{self, FileChecksum, InstalledModel, ModelDir};
use super::{onnx_runtime, vocabulary};
use crate::error::Result;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file that describes a fast form.
pub(super) const DESCRIPTION_FILE: &str = "prepared.json";

/// The files from which a model is loaded.
pub(super) struct ModelFiles {
    pub(super) graph: PathBuf,
    /// The directory of the tokenizer's fast form; none if it has to be read from its JSON.
    pub(super) words: Option<PathBuf>,
}

/// The description of a fast form, as far as it is read again.
#[derive(Deserialize)]
struct PreparedFiles {
    files: BTreeMap<String, FileChecksum>,
}

impl ModelFiles {
    /// The files as they were fetched.
    pub(super) fn plain(installed: &InstalledModel) -> ModelFiles {
        ModelFiles { graph: installed.directory.join(GRAPH_FILE), words: None }
    }

    /// The fast form, if there is one; an error if there is and it cannot be used.
    pub(super) fn prepared(model_dir: &ModelDir, installed: &InstalledModel) -> Result<Option<ModelFiles>> {
        let directory = model_dir.prepared(installed, onnx_runtime::build());
        ModelFiles::read(&directory).map_err(|e| e.hint(format!("rsv-embed --fetch {}", installed.model.id)))
    }

    /// The fast form in a directory of the cache, if there is one. Fails if its files are missing or damaged.
    pub(super) fn read(directory: &Path) -> Result<Option<ModelFiles>> {
        let Some(described) = model::read::<PreparedFiles>(&directory.join(DESCRIPTION_FILE))? else {
            return Ok(None);
        };
        model_dir::check(directory, &described.files)?;
        let words = described.files.contains_key(vocabulary::WORDS_FILE).then(|| directory.to_owned());
        Ok(Some(ModelFiles { graph: directory.join(GRAPH_FILE), words }))
    }
}
