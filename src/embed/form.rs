//! The forms of an installed model from which it is loaded: its files as they were fetched, or those that start fast.

use super::model_dir::{self, GRAPH, Installed, ModelDir};
use super::{library, model, vocabulary};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// The file that describes a fast form.
pub(super) const DESCRIPTION: &str = "prepared.json";

/// The files from which a model is loaded.
pub(super) struct Form {
    pub(super) graph: PathBuf,
    /// The directory of the tokenizer's fast form; none if it has to be read from its JSON.
    pub(super) words: Option<PathBuf>,
}

impl Form {
    /// The files as they were fetched.
    pub(super) fn plain(installed: &Installed) -> Form {
        Form { graph: installed.directory.join(GRAPH), words: None }
    }

    /// The fast form, if there is one; an error if there is and it cannot be used.
    pub(super) fn prepared(model_dir: &ModelDir, installed: &Installed) -> Result<Option<Form>> {
        let directory = model_dir.prepared(installed, library::build());
        Form::of(&directory).map_err(|e| e.hint(format!("rsv-embed --fetch {}", installed.model.id)))
    }

    /// The fast form in a directory of the cache, if there is one.
    pub(super) fn of(directory: &Path) -> Result<Option<Form>> {
        let Some(json) = model::read(&directory.join(DESCRIPTION))? else {
            return Ok(None);
        };
        let files = model_dir::entries(&json["files"]).unwrap_or_default();
        model_dir::check(directory, &files)?;
        let words = files.contains_key(vocabulary::WORDS).then(|| directory.to_owned());
        Ok(Some(Form { graph: directory.join(GRAPH), words }))
    }
}
