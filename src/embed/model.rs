//! The properties of an embedding model: its prompts, its window, its files.

use crate::error::{Context, Error, Result};
use serde_json::{Value, json};
use std::path::Path;

/// An embedding model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Model {
    /// The canonical id.
    pub(super) id: String,
    /// Its files on a hub.
    pub(super) files: Option<HubFiles>,
    /// The dimension of its vectors, once it is known.
    pub(super) dim: Option<usize>,
    pub(super) pooling: Pooling,
    /// The longest input in tokens, the two around it included.
    pub(super) window: usize,
    /// The prompts in front of a question and of a passage.
    pub(super) query: String,
    pub(super) passage: String,
    /// Similarities (raw cosine) from which on a message may be recalled, and two get a synapse.
    pub(super) recall: f32,
    pub(super) synapse: f32,
    pub(super) licence: Option<String>,
    /// SHA-256 of the graph, in hexadecimal.
    pub(super) sha256: Option<String>,
}

/// The files of a model in a repository of a hub.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct HubFiles {
    pub(super) repository: String,
    pub(super) graph: String,
    pub(super) weights: Vec<String>,
}

/// The method by which the vectors of a text's tokens become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pooling {
    /// That of the first token.
    Cls,
    Mean,
}

impl Pooling {
    fn name(self) -> &'static str {
        match self {
            Pooling::Cls => "cls",
            Pooling::Mean => "mean",
        }
    }
}

impl Model {
    /// A model of which nothing is known but its name.
    pub(super) fn unknown(id: &str) -> Model {
        Model {
            id: id.to_owned(),
            files: None,
            dim: None,
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
    /// prompts.
    pub(super) fn from_directory(id: &str, directory: &Path) -> Result<Model> {
        let mut model = Model::unknown(id);
        if let Some(pooling) = read(&directory.join("1_Pooling/config.json"))? {
            let cls = pooling["pooling_mode_cls_token"] == true || pooling["pooling_mode"] == "cls";
            model.pooling = if cls { Pooling::Cls } else { Pooling::Mean };
        }
        let length = read(&directory.join("sentence_bert_config.json"))?;
        if let Some(window) = length.as_ref().and_then(|config| config["max_seq_length"].as_u64()) {
            model.window = usize::try_from(window).unwrap_or(usize::MAX).clamp(8, 32_768);
        }
        if let Some(config) = read(&directory.join("config_sentence_transformers.json"))? {
            let prompt = |names: &[&str]| {
                let found = names.iter().find_map(|name| config["prompts"][name].as_str());
                found.unwrap_or_default().to_owned()
            };
            model.query = prompt(&["query"]);
            model.passage = prompt(&["passage", "document"]);
        }
        Ok(model)
    }

    /// The description that is stored with the model's files.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.id, "dim": self.dim, "pooling": self.pooling.name(), "window": self.window,
            "query": self.query, "passage": self.passage, "recall": self.recall, "synapse": self.synapse,
            "licence": self.licence, "sha256": self.sha256,
        })
    }

    /// Reads the output of `to_json`.
    pub(super) fn from_json(json: &Value) -> Result<Model> {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let missing = |name: &str| Error::new(format!("{name}: is missing"));
        let number = |name: &str| json[name].as_f64().map(|n| n as f32).ok_or_else(|| missing(name));
        let whole = |name: &str| json[name].as_u64().and_then(|n| usize::try_from(n).ok());
        Ok(Model {
            id: text("id").ok_or_else(|| missing("id"))?,
            files: None,
            dim: whole("dim"),
            pooling: if json["pooling"] == "cls" { Pooling::Cls } else { Pooling::Mean },
            window: whole("window").filter(|window| *window > 2).ok_or_else(|| missing("window"))?,
            query: text("query").unwrap_or_default(),
            passage: text("passage").unwrap_or_default(),
            recall: number("recall")?,
            synapse: number("synapse")?,
            licence: text("licence"),
            sha256: text("sha256"),
        })
    }
}

/// A file of JSON; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Value>> {
    let name = path.display();
    match std::fs::read(path) {
        Ok(bytes) => {
            let json = serde_json::from_slice(&bytes);
            json.map(Some).map_err(|e| Error::new(format!("{name}: is no valid JSON")).because(e))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).context(format_args!("cannot read {name}")),
    }
}
