//! The files of other programs in the home directory, as they are offered for an import.

use super::error::ImportRunError;
use crate::cli::{self, Io, Outcome};
use crate::config::Settings;
use crate::error::Result;
use crate::import::{self, FoundFiles, HomePlaces};
use crate::text::counted;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Prints the files of other programs, with the commands that import them; with `asks`, asks whether to
/// import them. Breaks if they are not to be imported, or there are none.
pub fn offer(asks: bool, settings: &Settings, io: &mut Io) -> Result<ControlFlow<Outcome, Vec<FoundFiles>>> {
    let places = home_places(settings)?;
    let found = import::find(&places);
    print_found(&found, io)?;
    if found.is_empty() {
        io.note(nothing_found(&places));
        return Ok(ControlFlow::Break(Outcome::No));
    }
    if !asks || !wants_import(&found, io)? {
        return Ok(ControlFlow::Break(Outcome::Yes));
    }
    Ok(ControlFlow::Continue(found))
}

/// The places in which programs keep their files.
fn home_places(settings: &Settings) -> Result<HomePlaces> {
    let paths = settings.places();
    let home = paths.home.ok_or(ImportRunError::NoHome)?;
    Ok(HomePlaces { home, moved: paths.moved, downloads: paths.downloads })
}

/// Prints the files of other programs, and the command for each.
fn print_found(found: &[FoundFiles], io: &mut Io) -> Result<()> {
    for found in found {
        let (name, files, command) = (found.format.name, found.files, found.command());
        let unit = if files == 1 { "file" } else { "files" };
        io.out.write(format!("{name:12} {files:6} {unit:5}  {command}\n").as_bytes())?;
    }
    Ok(())
}

/// The note where nothing was found: the formats and the places that were searched.
fn nothing_found(places: &HomePlaces) -> String {
    let kept = import::formats().iter().filter(|format| !format.places.is_empty());
    let names: Vec<&str> = kept.map(|format| format.name).collect();
    let names = names.join(", ");
    let elsewhere = places.moved.iter().map(|(_, path)| path).chain(&places.downloads);
    let elsewhere = elsewhere.filter(|path| !path.starts_with(&places.home));
    let searched: Vec<String> =
        std::iter::once(&places.home).chain(elsewhere).map(|path| cli::quoted(path)).collect();
    format!("found no files of {names} in {}", searched.join(", "))
}

/// Whether the user wants to import what was found. Errors if there is no terminal to ask at.
fn wants_import(found: &[FoundFiles], io: &mut Io) -> Result<bool> {
    io.out.flush()?;
    let files: usize = found.iter().map(|found| found.files).sum();
    let answer = io.confirm(&format!("Import {}?", counted(files as u64, "file")))?;
    Ok(answer.ok_or(ImportRunError::NoTerminal)?)
}

/// The directories to watch: those that are named, else those in which programs keep sessions.
pub fn directories(named: &[PathBuf], settings: &Settings) -> Result<Vec<PathBuf>> {
    if let Some(file) = named.iter().find(|path| !path.is_dir()) {
        return Err(ImportRunError::NotADirectory { path: file.clone() }.into());
    }
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let found = import::session_directories(&home_places(settings)?);
    if found.is_empty() {
        return Err(ImportRunError::NoSessions.into());
    }
    Ok(found)
}
