//! The inputs of an import, and the store that it goes to.

use crate::cli::Io;
use crate::config::{Settings, StoreLocation};
use crate::error::{Context, Result};
use crate::import::{self, ImportFormat, ImportOptions, Input, Sources};
use crate::store::{self, OpenMode, Store};
use std::path::PathBuf;
use tempfile::TempDir;

/// The inputs that the command line names.
pub fn sources(
    files: &[PathBuf],
    format: Option<&'static ImportFormat>,
    options: ImportOptions,
    io: &Io,
) -> Result<Sources> {
    let operands: Vec<PathBuf> = files.iter().filter(|path| !path.is_dir()).cloned().collect();
    operands.iter().try_for_each(|path| import::check_link(path))?;
    let no_streams = operands.is_empty() && !files.is_empty();
    let mut streams = if no_streams { Vec::new() } else { io.sources(&operands)? }.into_iter();
    let mut stream = |path: Option<&PathBuf>| {
        let path = path.filter(|path| path.is_file()).cloned();
        streams.next().map(|(name, bytes)| Input::Stream { name, path, bytes })
    };
    if files.is_empty() {
        return Ok(Sources::new(stream(None).into_iter().collect(), format, options));
    }
    let input = |path: &PathBuf| {
        if path.is_dir() { Some(Input::Folder(path.clone())) } else { stream(Some(path)) }
    };
    Ok(Sources::new(files.iter().filter_map(input).collect(), format, options))
}

/// Opens the store; of a dry run a copy of it, which goes with its directory.
pub fn open_store(dry_run: bool, settings: &Settings) -> Result<(Option<TempDir>, Box<dyn Store>)> {
    let place = settings.store()?;
    if !dry_run {
        return Ok((None, store::open(&place, OpenMode::Create)?));
    }
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let copy = directory.path().join("store.db");
    store::copy(&mut *store::open(&place, OpenMode::Existing)?, &copy)?;
    Ok((Some(directory), store::open(&StoreLocation::file(&copy), OpenMode::Create)?))
}
