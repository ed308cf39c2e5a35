//! The installed models: a directory each in the data directory, and their fast forms in the cache
//! directory.

use super::error::EmbedError;
use super::model::{self, GRAPH_FILE, Model};
use super::registry::{self, normalized_name};
use crate::config::{ConfigError, Settings};
use crate::error::{Context, Error, Result};
use crate::record::hexadecimal;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The names of a model's tokenizer and its description, independent of the names on the hub.
pub(super) const TOKENIZER_FILE: &str = "tokenizer.json";
const DESCRIPTION_FILE: &str = "model.json";

/// The directories of models.
#[derive(Clone, Debug)]
pub(super) struct ModelDir {
    /// The directory of this user's data of rsv.
    pub(super) data: PathBuf,
    cache: PathBuf,
}

/// A model that is installed, as its description says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InstalledModel {
    #[serde(flatten)]
    pub(super) model: Model,
    #[serde(skip)]
    pub(super) directory: PathBuf,
    /// The files, by name.
    pub(super) files: BTreeMap<String, FileChecksum>,
}

/// A file as it was when it was installed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct FileChecksum {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

impl ModelDir {
    /// Errors if there is no home directory.
    pub(super) fn from_settings(settings: &Settings) -> Result<ModelDir> {
        let places = settings.places();
        let missing = || ConfigError::NoHome { what: "the models", help: "set HOME" };
        Ok(ModelDir { data: places.data.ok_or_else(missing)?, cache: places.cache.ok_or_else(missing)? })
    }

    /// The directory of models, and of unfinished fetches.
    pub(super) fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// The directory of a model, which need not exist.
    pub(super) fn place(&self, id: &str) -> PathBuf {
        self.models().join(id)
    }

    /// The model of a name in any spelling, if it is installed. Fails if its description cannot be read.
    pub(super) fn find(&self, name: &str) -> Result<Option<InstalledModel>> {
        let wanted = normalized_name(name);
        let ids = self.ids()?;
        let id =
            ids.iter().find(|id| *id == name).or_else(|| ids.iter().find(|id| normalized_name(id) == wanted));
        id.map_or(Ok(None), |id| InstalledModel::read(&self.place(id)))
    }

    /// All that are installed, by id; those that cannot be read are left out.
    pub(super) fn all(&self) -> Result<Vec<InstalledModel>> {
        let ids = self.ids()?;
        Ok(ids.iter().filter_map(|id| InstalledModel::read(&self.place(id)).ok().flatten()).collect())
    }

    fn ids(&self) -> Result<Vec<String>> {
        let directory = self.models();
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e).context(format_args!("cannot read {}", directory.display())),
        };
        // A name that is not UTF-8 is none that an installation gives.
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        ids.sort();
        Ok(ids)
    }

    /// The directory of a model's fast form, which need not exist. It is for one build of ONNX Runtime and
    /// one graph.
    pub(super) fn prepared(&self, installed: &InstalledModel, build: &str) -> PathBuf {
        let graph = installed.files.get(GRAPH_FILE).map_or("", |entry| &entry.sha256);
        let key = hexadecimal(&Sha256::digest(format!("{build}\n{graph}")));
        self.cache.join("models").join(format!("{}@{}", installed.model.id, &key[..12]))
    }

    /// Every fast form of a model, of any build.
    pub(super) fn all_prepared(&self, id: &str) -> Vec<PathBuf> {
        let prefix = format!("{id}@");
        let entries = fs::read_dir(self.cache.join("models")).into_iter().flatten().flatten();
        let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
        named.map(|entry| entry.path()).collect()
    }
}

impl InstalledModel {
    /// The model of a name, or that of the settings, or the best of those that are installed. Fails if none
    /// is installed, or the named one is not.
    pub(super) fn select(settings: &Settings, name: Option<&str>) -> Result<InstalledModel> {
        let model_dir = ModelDir::from_settings(settings)?;
        if let Some(name) = name.map(str::to_owned).or(settings.text("embed.model")) {
            return model_dir.find(&name)?.ok_or_else(|| {
                let id = registry::canonical(&name).unwrap_or(&name).to_owned();
                let help = registry::find(&name).map(|model| format!("rsv-embed --fetch {}", model.id));
                let help = help.unwrap_or_else(|| "rsv-embed --models lists those that are known".to_owned());
                EmbedError::NotInstalled { id, help }.into()
            });
        }
        let all = model_dir.all()?;
        let best =
            registry::all().into_iter().find_map(|model| all.iter().find(|there| there.model.id == model.id));
        Ok(best.or(all.first()).cloned().ok_or(EmbedError::NoModel)?)
    }

    /// Reads a model's directory; `None` if there is no model. Fails if its description is invalid.
    pub(super) fn read(directory: &Path) -> Result<Option<InstalledModel>> {
        let path = directory.join(DESCRIPTION_FILE);
        let Some(described) = model::read::<InstalledModel>(&path)? else { return Ok(None) };
        if described.model.window <= 2 {
            return Err(Error::from(EmbedError::Model { fault: "window: expected more than 2 tokens" })
                .at(path.display()));
        }
        Ok(Some(InstalledModel { directory: directory.to_owned(), ..described }))
    }

    /// Describes the files of a directory as those of a model; nothing is written. Fails if one cannot be
    /// read.
    pub(super) fn scan(model: Model, directory: &Path) -> Result<InstalledModel> {
        let mut files = BTreeMap::new();
        for entry in
            fs::read_dir(directory).context(format_args!("cannot read {}", directory.display()))?.flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != DESCRIPTION_FILE {
                files.insert(name, FileChecksum::compute(&entry.path())?);
            }
        }
        Ok(InstalledModel { model, directory: directory.to_owned(), files })
    }

    /// Writes the description, by which the directory becomes a model's. Fails if it cannot be written.
    pub(super) fn describe(&self) -> Result<()> {
        let path = self.directory.join(DESCRIPTION_FILE);
        fs::write(&path, format!("{:#}\n", json!(self)))
            .context(format_args!("cannot write {}", path.display()))
    }

    /// Errors if a file is not as long as it was when it was installed.
    pub(super) fn check(&self) -> Result<()> {
        check(&self.directory, &self.files)
            .map_err(|e| e.hint(format!("rsv-embed --fetch {}", self.model.id)))
    }

    /// Errors if a file has changed since it was installed.
    pub(super) fn verify(&self) -> Result<()> {
        let other = |name: &&String| {
            !FileChecksum::compute(&self.directory.join(name))
                .is_ok_and(|now| self.files.get(*name) == Some(&now))
        };
        match self.files.keys().find(other) {
            None => Ok(()),
            Some(name) => Err(Error::from(EmbedError::Damaged { path: self.directory.join(name) })
                .hint(format!("rsv-embed --fetch {}", self.model.id))),
        }
    }

    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.bytes).sum()
    }
}

impl FileChecksum {
    /// Measures a file. Fails if it cannot be read.
    pub(super) fn compute(path: &Path) -> Result<FileChecksum> {
        let read = || -> std::io::Result<FileChecksum> {
            let mut file = fs::File::open(path)?;
            let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    length => hash.update(&buffer[..length]),
                }
            }
            Ok(FileChecksum { bytes: file.metadata()?.len(), sha256: hexadecimal(&hash.finalize()) })
        };
        read().context(format_args!("cannot read {}", path.display()))
    }
}

/// Errors if a file of a directory is not there, or not as long as it was.
pub(super) fn check(directory: &Path, files: &BTreeMap<String, FileChecksum>) -> Result<()> {
    for (name, entry) in files {
        let path = directory.join(name);
        let bytes = fs::metadata(&path).context(format_args!("cannot read {}", path.display()))?.len();
        if bytes != entry.bytes {
            return Err(EmbedError::Length { path, found: bytes, expected: entry.bytes }.into());
        }
    }
    Ok(())
}
