//! The embedding models that are known by name: one table, and after it fastembed's own list.

use super::model::{Engine, HubFiles, Model, Pooling};
use Engine::{OnnxRuntime, UseMultilingual};

/// One model.
struct ModelRow {
    /// The canonical id, as the store keeps it.
    id: &'static str,
    /// The repository on the hub; none where no hub has this very file, which `packages` has then.
    repository: Option<&'static str>,
    /// The graph in the repository, and the files of its weights, if these are separate.
    graph: &'static str,
    weights: &'static [&'static str],
    dim: usize,
    engine: Engine,
    pooling: Pooling,
    /// The longest input in tokens, the two around it included.
    window: usize,
    query: &'static str,
    passage: &'static str,
    /// Similarities (raw cosine) from which on a message may be recalled, and two get a synapse.
    recall: f32,
    synapse: f32,
    licence: &'static str,
    /// SHA-256 of the graph, or of the engine's own file, of files that were really obtained.
    sha256: Option<&'static str>,
}

const BGE_QUERY: &str = "Represent this sentence for searching relevant passages: ";

/// The one table, the best first: of several that are installed, the first is used unless the settings name
/// one. Windows, prefixes and licences are those of the models' own cards. Those without a repository are in
/// a package registry only.
#[rustfmt::skip]
static MODELS: [ModelRow; 8] = [
    ModelRow { id: "bge-large-en-v1.5", repository: Some("Xenova/bge-large-en-v1.5"), graph: "onnx/model.onnx", weights: &[], dim: 1024, engine: OnnxRuntime, pooling: Pooling::Cls, window: 512, query: BGE_QUERY, passage: "", recall: 0.5, synapse: 0.85, licence: "MIT", sha256: None },
    ModelRow { id: "bge-m3", repository: Some("BAAI/bge-m3"), graph: "onnx/model.onnx", weights: &["onnx/model.onnx_data", "onnx/Constant_7_attr__value"], dim: 1024, engine: OnnxRuntime, pooling: Pooling::Cls, window: 8192, query: "", passage: "", recall: 0.4, synapse: 0.8, licence: "MIT", sha256: None },
    ModelRow { id: "nomic-embed-text-v1.5", repository: Some("nomic-ai/nomic-embed-text-v1.5"), graph: "onnx/model.onnx", weights: &[], dim: 768, engine: OnnxRuntime, pooling: Pooling::Mean, window: 2048, query: "search_query: ", passage: "search_document: ", recall: 0.5, synapse: 0.85, licence: "Apache-2.0", sha256: None },
    ModelRow { id: "multilingual-e5-small", repository: Some("intfloat/multilingual-e5-small"), graph: "onnx/model.onnx", weights: &[], dim: 384, engine: OnnxRuntime, pooling: Pooling::Mean, window: 512, query: "query: ", passage: "passage: ", recall: 0.76, synapse: 0.92, licence: "MIT", sha256: None },
    ModelRow { id: "bge-small-en-v1.5", repository: Some("Xenova/bge-small-en-v1.5"), graph: "onnx/model.onnx", weights: &[], dim: 384, engine: OnnxRuntime, pooling: Pooling::Cls, window: 512, query: BGE_QUERY, passage: "", recall: 0.5, synapse: 0.85, licence: "MIT", sha256: None },
    ModelRow { id: "all-minilm-l6-v2", repository: Some("Qdrant/all-MiniLM-L6-v2-onnx"), graph: "model.onnx", weights: &[], dim: 384, engine: OnnxRuntime, pooling: Pooling::Mean, window: 256, query: "", passage: "", recall: 0.2, synapse: 0.7, licence: "Apache-2.0", sha256: None },
    ModelRow { id: "all-minilm-l6-v2-int8", repository: None, graph: "model.onnx", weights: &[], dim: 384, engine: OnnxRuntime, pooling: Pooling::Mean, window: 256, query: "", passage: "", recall: 0.2, synapse: 0.7, licence: "Apache-2.0", sha256: Some("8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6") },
    ModelRow { id: "use-multilingual-v3", repository: None, graph: "", weights: &[], dim: 512, engine: UseMultilingual, pooling: Pooling::Mean, window: 512, query: "", passage: "", recall: 0.15, synapse: 0.75, licence: "Apache-2.0", sha256: Some("af25299d11b9821678c5980ff078b97790f8f7c891fae09d17848584c3ec9082") },
];

/// The model of a name, ignoring case and punctuation: the documents of Reservoir write `bge-large-en-v15`,
/// fastembed `BGELargeENV15`.
pub(super) fn find(name: &str) -> Option<Model> {
    let wanted = normalized_name(name);
    let row = MODELS.iter().find(|row| normalized_name(row.id) == wanted);
    row.map(ModelRow::model).or_else(|| {
        let has_name = |(variant, model): &(String, Model)| {
            normalized_name(&model.id) == wanted || normalized_name(variant) == wanted
        };
        listed_models().into_iter().find(has_name).map(|(_, model)| model)
    })
}

/// The canonical id of a model of the table, however it is spelt.
pub(super) fn canonical(name: &str) -> Option<&'static str> {
    let wanted = normalized_name(name);
    MODELS.iter().map(|row| row.id).find(|id| normalized_name(id) == wanted)
}

/// The models of the table, the best first; then those that only fastembed's list has, by name.
pub(super) fn all() -> Vec<Model> {
    let mut models: Vec<Model> = MODELS.iter().map(ModelRow::model).collect();
    let mut others: Vec<Model> = listed_models().into_iter().map(|(_, model)| model).collect();
    others
        .retain(|other| !models.iter().any(|model| normalized_name(&model.id) == normalized_name(&other.id)));
    others.sort_by(|a, b| a.id.cmp(&b.id));
    models.extend(others);
    models
}

/// The letters and digits of a name in lower case, which are equal for every spelling.
pub(super) fn normalized_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl ModelRow {
    fn model(&self) -> Model {
        let files = self.repository.map(|repository| HubFiles {
            repository: repository.to_owned(),
            graph: self.graph.to_owned(),
            weights: self.weights.iter().map(|path| (*path).to_owned()).collect(),
        });
        Model {
            id: self.id.to_owned(),
            files,
            dim: Some(self.dim),
            engine: self.engine,
            pooling: self.pooling,
            window: self.window,
            query: self.query.to_owned(),
            passage: self.passage.to_owned(),
            recall: self.recall,
            synapse: self.synapse,
            licence: Some(self.licence.to_owned()),
            sha256: self.sha256.map(str::to_owned),
        }
    }
}

/// The models of fastembed's list, with their names there; none in a build that runs no models.
#[cfg(not(feature = "local-models"))]
fn listed_models() -> Vec<(String, Model)> {
    Vec::new()
}

/// The models of fastembed's list, with their names there. The values that the list lacks are those of most
/// models: 512 tokens, no prefixes.
#[cfg(feature = "local-models")]
fn listed_models() -> Vec<(String, Model)> {
    use fastembed::{Pooling as Listed, TextEmbedding};
    let listed = TextEmbedding::list_supported_models().into_iter().map(|info| {
        // `AllMiniLML6V2Q`
        let variant = format!("{:?}", info.model);
        let pooling = match TextEmbedding::get_default_pooling_method(&info.model) {
            Some(Listed::Mean) => Pooling::Mean,
            _ => Pooling::Cls,
        };
        let unknown = Model::unknown(&info.model_code);
        let id = id_of(&info.model_code, &variant);
        let files =
            HubFiles { repository: info.model_code, graph: info.model_file, weights: info.additional_files };
        (variant, Model { id, files: Some(files), dim: Some(info.dim), pooling, ..unknown })
    });
    listed.collect()
}

/// The last part of the repository's name, in lower case; quantised ones end in `-q`, or `-q4`.
#[cfg(feature = "local-models")]
fn id_of(repository: &str, variant: &str) -> String {
    let name = repository.rsplit('/').next().unwrap_or(repository).to_lowercase();
    let name = name.trim_end_matches("-q").trim_end_matches("-onnx");
    match variant.rsplit_once('Q') {
        Some((_, "")) => format!("{name}-q"),
        Some((_, "4")) => format!("{name}-q4"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_model_is_found_in_any_spelling() {
        for (name, id) in [
            ("bge-large-en-v15", "bge-large-en-v1.5"),
            ("BGELargeENV15", "bge-large-en-v1.5"),
            ("all-MiniLM-L6-v2", "all-minilm-l6-v2"),
            ("AllMiniLML6V2Q", "all-minilm-l6-v2-q"),
            ("all_minilm_l6_v2_int8", "all-minilm-l6-v2-int8"),
            ("mxbai-embed-large-v1", "mxbai-embed-large-v1"),
        ] {
            assert_eq!(find(name).map(|model| model.id).as_deref(), Some(id), "{name}");
        }
        assert!(find("text-embedding-3-small").is_none() && find("").is_none());
    }

    #[test]
    fn every_id_is_of_one_model() {
        let all = all();
        let ids: HashSet<String> = all.iter().map(|model| normalized_name(&model.id)).collect();
        assert_eq!(ids.len(), all.len());
        for row in &MODELS {
            assert!(row.recall < row.synapse && row.window > 2 && row.dim > 0, "{}", row.id);
        }
    }
}
