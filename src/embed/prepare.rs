//! The form of a model from which it starts fast: its graph as optimized by ONNX Runtime, its weights in a
//! file that is mapped, its tokenizer as a list of words. It is made from the fetched files, and can be made
//! again.

use super::encoder::Encoder;
use super::error::EmbedError;
use super::input_type::InputType;
use super::model::{Engine, GRAPH_FILE};
use super::model_dir::{self, InstalledModel, ModelDir, TOKENIZER_FILE};
use super::model_files::{DESCRIPTION_FILE, ModelFiles};
use super::workload::Workload;
use super::{onnx_runtime, vocabulary};
use crate::config::Settings;
use crate::error::{Context, Result};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use serde_json::json;
use std::fs;
use std::path::Path;

const WEIGHTS_FILE: &str = "weights.bin";
/// The text for which both forms must give the same vector.
const PROBE_TEXT: &str = "Where do the tomatoes stand this year?";

/// Makes the fast form, unless it exists or the engine needs none, tests it, and installs it atomically.
/// Returns the model's dimension. Errors leave nothing behind.
pub(super) fn prepare(
    settings: &Settings,
    model_dir: &ModelDir,
    installed: &InstalledModel,
) -> Result<usize> {
    if installed.model.engine == Engine::UseMultilingual {
        let encoder = Encoder::use_multilingual(settings, installed, Workload::Few)?;
        return Ok(encoder.embed(&[PROBE_TEXT], InputType::Passage)?.swap_remove(0).len());
    }
    let environment = onnx_runtime::environment(settings)?;
    let place = model_dir.prepared(installed, onnx_runtime::build());
    let probe = |form: &ModelFiles| -> Result<Vec<f32>> {
        let encoder = Encoder::from_files(settings, installed, form, environment.clone(), Workload::Few)?;
        Ok(encoder.embed(&[PROBE_TEXT], InputType::Passage)?.swap_remove(0))
    };
    if let Ok(Some(form)) = ModelFiles::prepared(model_dir, installed)
        && let Ok(vector) = probe(&form)
    {
        return Ok(vector.len());
    }
    let plain = probe(&ModelFiles::plain(installed))?;
    let parent = place.parent().unwrap_or(Path::new("."));
    let what = || format!("cannot prepare {} in {}", installed.model.id, parent.display());
    // Only one fetch runs at a time: existing files were left by one that was killed.
    let making = parent.join(format!(".{}", installed.model.id));
    let _ = fs::remove_dir_all(&making);
    let made = || -> Result<()> {
        fs::create_dir_all(&making).context("cannot create its directory")?;
        write(installed, &making, &environment)?;
        let form = ModelFiles::read(&making)?.ok_or(EmbedError::Model { fault: "cannot read it back" })?;
        let fast = probe(&form)?;
        let cosine: f32 = fast.iter().zip(&plain).map(|(a, b)| a * b).sum();
        if fast.len() != plain.len() || cosine < 0.9999 {
            return Err(EmbedError::Model { fault: "the fast form returns another vector" }.into());
        }
        // An older form under the same name was not usable.
        let _ = fs::remove_dir_all(&place);
        fs::rename(&making, &place).context("cannot move it into place")
    };
    let done = made().map_err(|e| e.at(what()));
    if done.is_err() {
        let _ = fs::remove_dir_all(&making);
    }
    done?;
    // Forms for other builds of ONNX Runtime, or of an older graph, are of no use any more.
    for other in model_dir.all_prepared(&installed.model.id).into_iter().filter(|other| *other != place) {
        // One that stays only takes space: its name has another key.
        let _ = fs::remove_dir_all(other);
    }
    Ok(plain.len())
}

fn write(
    installed: &InstalledModel,
    directory: &Path,
    environment: &ort::environment::Environment,
) -> Result<()> {
    let words = vocabulary::prepare(&installed.directory.join(TOKENIZER_FILE), directory)?;
    let optimised = optimiser(environment, &directory.join(GRAPH_FILE))
        .and_then(|mut builder| builder.commit_from_file(installed.directory.join(GRAPH_FILE)));
    drop(optimised.context("ONNX Runtime cannot optimise the model")?);
    let names = [GRAPH_FILE, WEIGHTS_FILE, vocabulary::WORDS_FILE, vocabulary::RULES_FILE];
    let mut files = std::collections::BTreeMap::new();
    for name in if words { &names[..] } else { &names[..2] } {
        let path = directory.join(name);
        if path.exists() {
            let file = fs::File::open(&path).and_then(|file| file.sync_all());
            file.context(format_args!("cannot write {}", path.display()))?;
            files.insert((*name).to_owned(), model_dir::FileChecksum::compute(&path)?);
        }
    }
    let json = json!({"model": installed.model.id, "build": onnx_runtime::build(), "files": files});
    fs::write(directory.join(DESCRIPTION_FILE), format!("{json:#}\n")).context("cannot write the description")
}

/// Settings with which a session writes its optimised graph, and its weights in a separate file, aligned to
/// be mapped.
fn optimiser(environment: &ort::environment::Environment, graph: &Path) -> ort::Result<SessionBuilder> {
    Ok(Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::Level3)?
        .with_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS_FILE)?
        .with_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "512")?
        .with_optimized_model_path(graph)?)
}
