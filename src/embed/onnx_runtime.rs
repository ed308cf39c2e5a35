//! ONNX Runtime: where its library is, and how it is loaded once a process.

use super::error::EmbedError;
use crate::config::Settings;
use crate::error::{Context, Error, Result};
use ort::environment::Environment;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The default name of the library's file.
pub(super) const LIBRARY_FILE: &str =
    if cfg!(target_os = "macos") { "libonnxruntime.dylib" } else { "libonnxruntime.so" };

/// The environment of the process, never dropped: it must outlive every model, and dropping it takes 15 ms.
static LOADED_ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Loads the library, unless it is loaded. It is looked for in this order: `embed.library`, beside the
/// program, in the data directory, `ORT_DYLIB_PATH`, the system's own. The first that exists is used.
/// Errors name the paths that were tried, and have a hint.
pub(super) fn environment(settings: &Settings) -> Result<Environment> {
    // Held while it is made: ONNX Runtime has one environment for a process.
    let mut loaded = LOADED_ENVIRONMENT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(environment) = &*loaded {
        return Ok(environment.clone());
    }
    let environment =
        builder(settings)?.with_telemetry(false).build().context("cannot start ONNX Runtime")?;
    environment.set_log_level(ort::logging::LogLevel::Fatal);
    *loaded = Some(environment.clone());
    Ok(environment)
}

/// The build of ONNX Runtime that is loaded; call it after `environment`.
pub(super) fn build() -> &'static str {
    ort::info()
}

#[cfg(not(feature = "load-dynamic"))]
fn builder(_: &Settings) -> Result<ort::environment::EnvironmentBuilder> {
    Ok(ort::init())
}

#[cfg(feature = "load-dynamic")]
fn builder(settings: &Settings) -> Result<ort::environment::EnvironmentBuilder> {
    let mut tried = Vec::new();
    for (path, wanted) in candidates(settings) {
        if wanted || path.exists() {
            return load(&path);
        }
        tried.push(path.display().to_string());
    }
    // The crate looks in the directory of the program first, and panics if the path of the program is
    // unknown, as without /proc.
    if settings.places().program.is_some()
        && let Ok(found) = ort::init_from(LIBRARY_FILE)
    {
        return Ok(found);
    }
    tried.push(format!("{LIBRARY_FILE} of the system"));
    Err(Error::from(EmbedError::NoLibrary { tried: tried.join(", ") }).hint(REMEDY))
}

/// The hint for a missing library.
#[cfg(feature = "load-dynamic")]
const REMEDY: &str = "rsv-embed --fetch all-minilm-l6-v2, or: rsv-config set embed.library FILE";

/// Whether the library is in a place of rsv's, or of the settings; the system is not asked.
pub(super) fn is_there(settings: &Settings) -> bool {
    cfg!(not(feature = "load-dynamic"))
        || candidates(settings).iter().any(|(path, wanted)| *wanted || path.exists())
}
/// The possible paths of the library, in order, and whether the user named this very file.
fn candidates(settings: &Settings) -> Vec<(PathBuf, bool)> {
    let places = settings.places();
    let mut found = Vec::new();
    found.extend(settings.text("embed.library").map(|path| (path.into(), true)));
    found.extend(places.program.map(|directory| (directory.join(LIBRARY_FILE), false)));
    found.extend(places.data.map(|data| (in_data(&data), false)));
    found.extend(places.ort_dylib_path.map(|path| (path, true)));
    found
}

/// The path where `rsv-embed --fetch` installs the library.
pub(super) fn in_data(data: &Path) -> PathBuf {
    data.join("onnxruntime").join(LIBRARY_FILE)
}

#[cfg(feature = "load-dynamic")]
fn load(path: &Path) -> Result<ort::environment::EnvironmentBuilder> {
    let failed = |error: Error| {
        error.at(format_args!("cannot load ONNX Runtime's library {}", path.display())).hint(REMEDY)
    };
    check(path).map_err(failed)?;
    ort::init_from(path)
        .map_err(|e| failed(EmbedError::Library { fault: cause(&e.to_string(), path) }.into()))
}

/// The loader's message without the path, which the error names already.
#[cfg(feature = "load-dynamic")]
fn cause(text: &str, path: &Path) -> String {
    let name = path.display().to_string();
    let text = text.rsplit(&format!("{name}: ")).next().unwrap_or(text);
    text.rsplit(&format!("`{name}`: ")).next().unwrap_or(text).to_owned()
}

/// Errors if a file is truncated: the loader would map the missing part, and the first access to it
/// would end the process. An ELF file ends with its table of sections (System V ABI, chapter 4).
pub(super) fn check(path: &Path) -> Result<()> {
    let mut head = [0; 64];
    let plain = |e: std::io::Error| EmbedError::Library { fault: e.kind().to_string() };
    let mut file = File::open(path).map_err(plain)?;
    let length = file.metadata().map_err(plain)?.len();
    if file.read_exact(&mut head).is_err() {
        return Err(EmbedError::Library { fault: "is not a library".to_owned() }.into());
    }
    let elf64 = head.starts_with(b"\x7fELF\x02\x01");
    if cfg!(target_os = "linux") && !elf64 {
        return Err(EmbedError::Library { fault: "is not a library".to_owned() }.into());
    }
    let number = |at: usize, bytes: usize| -> u64 {
        head[at..at + bytes].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
    };
    let end = number(40, 8).saturating_add(number(58, 2) * number(60, 2));
    if elf64 && end > length {
        return Err(EmbedError::Library { fault: format!("is cut short: {length} of {end} bytes") }.into());
    }
    Ok(())
}
