//! Fetches a model from a hub, or a local directory or file, checks and prepares it, and installs it
//! atomically.

use super::error::EmbedError;
use super::model::{Engine, GRAPH_FILE, Model};
use super::model_dir::{FileChecksum, InstalledModel, ModelDir, TOKENIZER_FILE};
use super::packages::{self, Packages};
use super::report::Report;
use super::{onnx_runtime, prepare, registry, use_multilingual};
use crate::config::Settings;
use crate::error::{Context, Error, Result};
use crate::http::{self, Address, Client, HttpError};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Installs and prepares a model, and returns its canonical id. `name` is a known name, a directory, or an
/// `.onnx` file. ONNX Runtime's library is installed too where the model needs it. With `from` nothing is
/// downloaded: the files, and the library if it is there, come from that directory. An installed model is
/// checked, and damaged files are fetched again. Files of an interrupted fetch are kept for the next. Fails
/// if the model is unknown or a checksum wrong, or files cannot be downloaded or written.
pub(super) fn fetch(
    settings: &Settings,
    name: &str,
    from: Option<&Path>,
    report: &mut dyn Report,
) -> Result<String> {
    let model_dir = ModelDir::from_settings(settings)?;
    let (model, from) = resolve_model(&model_dir, name, from)?;
    let _lock = lock(&model_dir, report)?;
    // Before anything large is fetched that could not be used.
    if model.engine == Engine::OnnxRuntime {
        ensure_library(settings, &model_dir, from.as_deref(), report)?;
    }
    // A description that cannot be read is no model: it is fetched again.
    let there = InstalledModel::read(&model_dir.place(&model.id)).ok().flatten();
    let installed = match there {
        Some(there) if there.verify().is_ok() => there,
        there => {
            let stage = model_dir.models().join(format!(".{}", model.id));
            if from.is_some() {
                // Files that a download left there are of another origin.
                let _ = fs::remove_dir_all(&stage);
            }
            create_private_directory(&stage)?;
            match &from {
                Some(directory) if model.engine == Engine::UseMultilingual => {
                    copy_use_multilingual(directory, &stage, report)?;
                }
                Some(directory) => copy(directory, &model, &stage, report)?,
                None => download(settings, &model, &stage, there.as_ref(), report)?,
            }
            if model.engine == Engine::UseMultilingual && !stage.join(use_multilingual::MODEL_FILE).exists() {
                use_multilingual::convert(&stage)
                    .map_err(|e| e.at(format_args!("cannot convert {}", model.id)))?;
            }
            let pins = there.map(|there| there.files).unwrap_or_default();
            place(settings, &model_dir, model, &stage, &pins)?
        }
    };
    let dim = prepare::prepare(settings, &model_dir, &installed)?;
    if installed.model.dim.is_some_and(|known| known != dim) {
        return Err(EmbedError::OtherDimension { id: installed.model.id, dim }.into());
    }
    Ok(installed.model.id)
}

/// Errors if no model has a name, or the directory or file of that name has none.
pub(super) fn check_name(settings: &Settings, name: &str) -> Result<()> {
    resolve_model(&ModelDir::from_settings(settings)?, name, None).map(|_| ())
}

/// Downloads the files of a model, and ONNX Runtime's library if it needs that, into a directory, from which
/// a machine without a network can install them. Returns the canonical id. Fails if the model is unknown, or
/// files cannot be downloaded or written.
pub(super) fn download_to(
    settings: &Settings,
    name: &str,
    directory: &Path,
    report: &mut dyn Report,
) -> Result<String> {
    let unknown = || EmbedError::UnknownModel { name: name.to_owned() };
    let model = registry::find(name).ok_or_else(unknown)?;
    fs::create_dir_all(directory).context(format_args!("cannot create {}", directory.display()))?;
    match packages::onnx_runtime() {
        _ if model.engine != Engine::OnnxRuntime => {}
        Some(library) => download_packages(&library, directory, report)?,
        None => report.note("ONNX Runtime is not downloaded: it has no package for this platform".to_owned()),
    }
    download(settings, &model, directory, None, report)?;
    Ok(model.id)
}

/// Installs ONNX Runtime's library from a directory that has it; else downloads it where it is missing.
fn ensure_library(
    settings: &Settings,
    model_dir: &ModelDir,
    from: Option<&Path>,
    report: &mut dyn Report,
) -> Result<()> {
    if let Some(directory) = from {
        install_library(model_dir, directory, report)?;
    }
    if let Err(missing) = onnx_runtime::environment(settings) {
        if from.is_some() || onnx_runtime::is_there(settings) {
            return Err(missing);
        }
        fetch_library(model_dir, missing, report)?;
        onnx_runtime::environment(settings)?;
    }
    Ok(())
}

/// Downloads ONNX Runtime and installs it.
fn fetch_library(model_dir: &ModelDir, missing: Error, report: &mut dyn Report) -> Result<()> {
    let Some(library) = packages::onnx_runtime().filter(|_| packages::has_pip()) else {
        return Err(missing.hint(
            "install pip (python3-pip), or ONNX Runtime where the system has it (libonnxruntime-dev on Debian 13, onnxruntime on Fedora and Homebrew)",
        ));
    };
    let stage = model_dir.models().join(".onnxruntime");
    create_private_directory(&stage)?;
    let installed =
        download_packages(&library, &stage, report).and_then(|()| install_library(model_dir, &stage, report));
    let _ = fs::remove_dir_all(&stage);
    installed
}

/// Downloads packages and puts their files into a directory.
fn download_packages(packages: &Packages, directory: &Path, report: &mut dyn Report) -> Result<()> {
    report.note(format!("downloading {} by pip", packages.title));
    packages.download(directory, report.is_shown())
}

/// The model of a name, and the directory that it comes from.
fn resolve_model(model_dir: &ModelDir, name: &str, from: Option<&Path>) -> Result<(Model, Option<PathBuf>)> {
    let path = Path::new(name);
    let listed = registry::find(name).or_else(|| {
        // An installed model that cannot be read is none, as above: its name must be one of the list.
        let own = model_dir.find(name).ok().flatten().filter(|_| !path.exists());
        own.map(|own| own.model)
    });
    if let Some(model) = listed {
        return Ok((model, from.map(Path::to_owned)));
    }
    let own = match (path.is_dir(), path.is_file() && path.extension().is_some_and(|e| e == "onnx")) {
        (true, _) => path.to_owned(),
        (_, true) => path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned(),
        _ if from.is_some() && !name.contains('/') => from.unwrap_or(path).to_owned(),
        _ => {
            let help = "name one that rsv-embed --models lists, a directory, or an .onnx file";
            return Err(Error::from(EmbedError::UnknownModel { name: name.to_owned() }).hint(help));
        }
    };
    // The name of a model whose files come from `from` need not be a path.
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let last = if full.is_file() { full.file_stem() } else { full.file_name() };
    let id = last.filter(|last| *last != "model").or(full.parent().and_then(Path::file_name));
    let id = id.map(|id| id.to_string_lossy().to_lowercase()).unwrap_or_default();
    if id.is_empty() || id.starts_with('.') || id.contains('@') {
        return Err(EmbedError::ModelName { name: name.to_owned(), id }.into());
    }
    Ok((Model::from_directory(&id, &own)?, Some(own)))
}

/// Takes the lock, after any other fetch has ended.
fn lock(model_dir: &ModelDir, report: &mut dyn Report) -> Result<File> {
    create_private_directory(&model_dir.models())?;
    let path = model_dir.models().join(".lock");
    let what = format!("cannot lock {}", path.display());
    let file = File::options().create(true).truncate(false).write(true).open(&path).context(&what)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            report.note("waiting for another rsv-embed that fetches a model".to_owned());
            file.lock().context(&what)?;
        }
        Err(TryLockError::Error(e)) => return Err(e).context(what),
    }
    Ok(file)
}

/// Makes a directory that only its owner can enter.
fn create_private_directory(directory: &Path) -> Result<()> {
    let mut maker = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(directory).context(format_args!("cannot create {}", directory.display()))
}

/// Describes the staged files and installs them. `pins` are the checksums of the files before.
fn place(
    settings: &Settings,
    model_dir: &ModelDir,
    model: Model,
    stage: &Path,
    pins: &std::collections::BTreeMap<String, FileChecksum>,
) -> Result<InstalledModel> {
    let staged = InstalledModel::scan(model, stage)?;
    let refuse = |name: &str, wanted: &str, found: &str| {
        // The next fetch must not take the file for one that is whole. So below.
        let _ = fs::remove_dir_all(stage);
        let name = format!("{name} of {}", staged.model.id);
        let (found, expected) = (found.to_owned(), wanted.to_owned());
        Err(Error::from(EmbedError::Checksum { name, found, expected })
            .hint("fetch it again; if that fails too, the hub has another file under this name"))
    };
    for (name, entry) in &staged.files {
        let expected = if name == staged.model.engine.file() { staged.model.sha256.as_ref() } else { None };
        let pinned = expected.or(pins.get(name).map(|pin| &pin.sha256));
        if let Some(wanted) = pinned.filter(|wanted| **wanted != entry.sha256) {
            return refuse(name, wanted, &entry.sha256);
        }
    }
    let dim = prepare::prepare(settings, model_dir, &staged).inspect_err(|_| {
        let _ = fs::remove_dir_all(stage);
    })?;
    let staged =
        InstalledModel { model: Model { dim: staged.model.dim.or(Some(dim)), ..staged.model }, ..staged };
    staged.describe()?;
    let place = model_dir.place(&staged.model.id);
    // If it is still there, the rename fails and says so.
    let _ = fs::remove_dir_all(&place);
    fs::rename(stage, &place).context(format_args!("cannot move the model to {}", place.display()))?;
    Ok(InstalledModel { directory: place, ..staged })
}

/// Copies a model's files out of a directory.
fn copy(from: &Path, model: &Model, stage: &Path, report: &mut dyn Report) -> Result<()> {
    let graph = model.files.as_ref().map_or(GRAPH_FILE, |files| &files.graph);
    let base = |path: &str| Path::new(path).file_name().map(Path::new).unwrap_or(Path::new(path)).to_owned();
    let mut candidates = vec![
        from.join(graph),
        from.join(base(graph)),
        from.join(GRAPH_FILE),
        from.join("onnx").join(GRAPH_FILE),
    ];
    candidates.extend(only_graph(from));
    let missing = |name: &str| EmbedError::NoFile { directory: from.to_owned(), name: name.to_string() };
    let source = candidates.iter().find(|path| path.is_file()).ok_or_else(|| missing(GRAPH_FILE))?;
    let graph_directory = source.parent().unwrap_or(from);
    let mut put = |source: &Path, name: &str| -> Result<()> {
        let bytes = fs::copy(source, stage.join(name));
        let bytes = bytes.context(format_args!("cannot copy {}", source.display()))?;
        report.progress(name, bytes, Some(bytes));
        Ok(())
    };
    put(source, GRAPH_FILE)?;
    let tokenizer = [
        from.join(TOKENIZER_FILE),
        graph_directory.join(TOKENIZER_FILE),
        graph_directory.join("..").join(TOKENIZER_FILE),
    ];
    put(
        tokenizer.iter().find(|path| path.is_file()).ok_or_else(|| missing(TOKENIZER_FILE))?,
        TOKENIZER_FILE,
    )?;
    let own = model.files.as_ref().map(|files| files.weights.clone()).unwrap_or_default();
    let data = fs::read_dir(graph_directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let data = data
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.contains(".onnx_data") || name.contains(".onnx.data"));
    for name in own.iter().map(|path| base(path).to_string_lossy().into_owned()).chain(data) {
        if graph_directory.join(&name).is_file() && !stage.join(&name).exists() {
            put(&graph_directory.join(&name), &name)?;
        }
    }
    Ok(())
}

/// Copies the files of a model that runs without ONNX Runtime out of a directory: that of an installation, or
/// those that were downloaded.
fn copy_use_multilingual(from: &Path, stage: &Path, report: &mut dyn Report) -> Result<()> {
    let installed = [use_multilingual::MODEL_FILE];
    let is_installed = from.join(installed[0]).is_file();
    let names = if is_installed { &installed[..] } else { &use_multilingual::DOWNLOADED_FILES };
    for name in names {
        let source = from.join(name);
        if !source.is_file() {
            return Err(EmbedError::NoFile { directory: from.to_owned(), name: name.to_string() }.into());
        }
        let bytes = fs::copy(&source, stage.join(name));
        let bytes = bytes.context(format_args!("cannot copy {}", source.display()))?;
        report.progress(name, bytes, Some(bytes));
    }
    Ok(())
}

/// The only `.onnx` file of a directory.
fn only_graph(directory: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let mut graphs = files.filter(|path| path.extension().is_some_and(|e| e == "onnx"));
    graphs.next().filter(|_| graphs.next().is_none())
}

/// Installs ONNX Runtime's library if it is in a directory, or in its subdirectory `lib`.
fn install_library(model_dir: &ModelDir, directory: &Path, report: &mut dyn Report) -> Result<()> {
    let stem = onnx_runtime::LIBRARY_FILE.split('.').next().unwrap_or(onnx_runtime::LIBRARY_FILE);
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{stem}.")))
            && path.is_file()
    };
    let files = [directory.to_owned(), directory.join("lib")];
    let files = files.iter().flat_map(|d| fs::read_dir(d).into_iter().flatten().flatten());
    let Some(source) = files.map(|entry| entry.path()).find(named) else { return Ok(()) };
    let place = onnx_runtime::in_data(&model_dir.data);
    let what = format!("cannot install {}", place.display());
    onnx_runtime::check(&source).map_err(|e| e.at(source.display()))?;
    let new = FileChecksum::compute(&source)?;
    if FileChecksum::compute(&place).is_ok_and(|there| there == new) {
        return Ok(());
    }
    create_private_directory(place.parent().unwrap_or(&model_dir.data))?;
    // Never over a file that a process has mapped.
    let making = place.with_extension("part");
    fs::copy(&source, &making).and_then(|_| fs::rename(&making, &place)).context(what)?;
    report.progress(onnx_runtime::LIBRARY_FILE, new.bytes, Some(new.bytes));
    Ok(())
}

/// Downloads a model's files, and resumes interrupted downloads.
fn download(
    settings: &Settings,
    model: &Model,
    stage: &Path,
    there: Option<&InstalledModel>,
    report: &mut dyn Report,
) -> Result<()> {
    let Some(files) = &model.files else {
        let packages = packages::of_model(&model.id)
            .filter(|_| packages::has_pip())
            .ok_or_else(|| EmbedError::NoPip { id: model.id.clone() })?;
        return download_packages(&packages, stage, report);
    };
    let hub = settings.text("embed.hub").unwrap_or_default();
    settings.check("embed.hub")?;
    let client = Client::new(settings);
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut wanted =
        vec![(TOKENIZER_FILE, TOKENIZER_FILE.to_owned()), (files.graph.as_str(), GRAPH_FILE.to_owned())];
    wanted.extend(files.weights.iter().map(|path| (path.as_str(), base(path))));
    http::run(async {
        for (path, name) in &wanted {
            let address = format!("{}/{}/resolve/main/{path}", hub.trim_end_matches('/'), files.repository);
            let address = Address::parse(&address).map_err(|e| e.at("embed.hub"))?;
            let kept = there.filter(|there| is_unchanged(there, name));
            match kept {
                Some(there) => {
                    fs::copy(there.directory.join(name), stage.join(name)).context("cannot copy")?;
                }
                None => {
                    client
                        .download(&address, &stage.join(name), &mut |bytes, of| {
                            report.progress(name, bytes, of)
                        })
                        .await
                        .map_err(|e| {
                            name_alternative(e.at(format_args!("cannot fetch {}", model.id)), model)
                        })?;
                }
            }
        }
        Ok(())
    })
}

/// Adds to the hint of a hub's download that broke off that pip has the same model with weights of 8 bits.
fn name_alternative(error: Error, model: &Model) -> Error {
    let is_same = packages::ENGLISH_MODEL.strip_suffix("-int8") == Some(&model.id);
    let may_continue = error.find().is_some_and(HttpError::is_transient);
    if !(is_same && may_continue && packages::has_pip()) {
        return error;
    }
    let hint = error.remedy().unwrap_or_default();
    let hint = format!("{hint}, or use pip: rsv-embed --fetch {}", packages::ENGLISH_MODEL);
    error.hint(hint)
}

/// Whether an installed file is unchanged.
fn is_unchanged(there: &InstalledModel, name: &str) -> bool {
    let now = FileChecksum::compute(&there.directory.join(name)).ok();
    now.is_some() && there.files.get(name) == now.as_ref()
}
