//! The properties of an embedding model: its prompts, its window, its files.

use super::error::EmbedError;
use super::use_multilingual;
use crate::error::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The name of a model's graph, independent of that on the hub.
pub(super) const GRAPH_FILE: &str = "model.onnx";

/// An embedding model, as it is also described beside its files.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Model {
    /// The canonical id.
    pub(super) id: String,
    /// Where a hub has it.
    #[serde(skip)]
    pub(super) files: Option<HubFiles>,
    /// The dimension of its vectors, once it is known.
    pub(super) dim: Option<usize>,
    #[serde(default)]
    pub(super) engine: Engine,
    pub(super) pooling: Pooling,
    /// The longest input in tokens, the two around it included.
    pub(super) window: usize,
    /// The prompts in front of a question and of a passage.
    #[serde(default)]
    pub(super) query: String,
    #[serde(default)]
    pub(super) passage: String,
    /// Similarities (raw cosine) from which on a message may be recalled, and two get a synapse.
    pub(super) recall: f32,
    pub(super) synapse: f32,
    pub(super) licence: Option<String>,
    /// SHA-256 of the engine's file, in hexadecimal.
    pub(super) sha256: Option<String>,
}

/// The files of a model in a repository of a hub.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct HubFiles {
    pub(super) repository: String,
    pub(super) graph: String,
    pub(super) weights: Vec<String>,
}

/// The program that runs a model.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Engine {
    #[default]
    OnnxRuntime,
    /// `use_multilingual`
    UseMultilingual,
}

impl Engine {
    /// The file that it runs.
    pub(super) fn file(self) -> &'static str {
        match self {
            Engine::OnnxRuntime => GRAPH_FILE,
            Engine::UseMultilingual => use_multilingual::MODEL_FILE,
        }
    }
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pooling {
    /// That of the first token.
    Cls,
    Mean,
}

impl Model {
    /// A model known only by its name.
    pub(super) fn unknown(id: &str) -> Model {
        Model {
            id: id.to_owned(),
            files: None,
            dim: None,
            engine: Engine::OnnxRuntime,
            pooling: Pooling::Mean,
            window: 512,
            query: String::new(),
            passage: String::new(),
            recall: 0.3,
            synapse: 0.85,
            licence: None,
            sha256: None,
        }
    }

    /// A model of the user's own, by the files that sentence-transformers adds: the pooling, the longest input, the
    /// prompts. Fails if one of them cannot be read.
    pub(super) fn from_directory(id: &str, directory: &Path) -> Result<Model> {
        let mut model = Model::unknown(id);
        // By hand: the shapes of these files changed with the releases of sentence-transformers.
        if let Some(pooling) = read::<Value>(&directory.join("1_Pooling/config.json"))? {
            let cls = pooling["pooling_mode_cls_token"] == true || pooling["pooling_mode"] == "cls";
            model.pooling = if cls { Pooling::Cls } else { Pooling::Mean };
        }
        let length: Option<Value> = read(&directory.join("sentence_bert_config.json"))?;
        if let Some(window) = length.as_ref().and_then(|config| config["max_seq_length"].as_u64()) {
            model.window = usize::try_from(window).unwrap_or(usize::MAX).clamp(8, 32_768);
        }
        if let Some(config) = read::<Value>(&directory.join("config_sentence_transformers.json"))? {
            let prompt = |names: &[&str]| {
                let found = names.iter().find_map(|name| config["prompts"][name].as_str());
                found.unwrap_or_default().to_owned()
            };
            model.query = prompt(&["query"]);
            model.passage = prompt(&["passage", "document"]);
        }
        Ok(model)
    }
}

/// A file of JSON of one shape; `None` if there is none. Fails if it has another.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let name = path.display();
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|source| EmbedError::Description { path: path.to_owned(), source }.into()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).context(format_args!("cannot read {name}")),
    }
}
