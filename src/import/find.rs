//! Finds what other programs left in a home directory. Files that cannot be read are not offered.

use super::conversation::ImportOptions;
use super::file_log::FileLog;
use super::format::{DOWNLOADS, ImportFormat, ReadFormat};
use super::formats::{formats, recognize};
use super::input::{Input, Sources};
use super::sample::SAMPLE_BYTES;
use super::zip_archive;
use crate::cli;
use std::collections::HashSet;
use std::fs::{DirEntry, File};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A file or a folder in which a program keeps conversations.
pub struct FoundFiles {
    pub format: &'static ImportFormat,
    pub path: PathBuf,
    /// The number of files; 1 for a file.
    pub files: usize,
    /// Whether other files are there too.
    pub is_shared: bool,
}

impl FoundFiles {
    /// The command that imports them.
    pub fn command(&self) -> String {
        let (name, path) = (self.format.name, cli::quoted(&self.path));
        if self.format.timeless {
            format!("rsv-import --from {name} --at today {path}")
        } else if self.is_shared {
            format!("rsv-import --from {name} {path}")
        } else {
            format!("rsv-import {path}")
        }
    }

    /// Their sources. Files without times get that of today, if the options have none.
    pub fn sources(&self, options: &ImportOptions, files: &FileLog) -> Sources {
        let FoundFiles { format, path, is_shared, .. } = self;
        let named = Some(*format).filter(|format| format.timeless || *is_shared);
        let at = options.at.or_else(|| cli::time("today").ok().filter(|_| format.timeless)); // Always a time.
        let options = ImportOptions { at, ..options.clone() };
        Sources::new(vec![Input::path(path.clone())], named, options).with_log(files.clone())
    }
}

/// The directories of a user, some of which may have been moved.
pub struct HomePlaces {
    pub home: PathBuf,
    /// Directories with the places in the home directory in which their contents are else.
    pub moved: Vec<(&'static str, PathBuf)>,
    /// The directories of downloads.
    pub downloads: Vec<PathBuf>,
}

impl HomePlaces {
    /// The paths that a place is at, once each: where it is moved to, and in the home directory.
    fn paths(&self, place: &str) -> Vec<PathBuf> {
        let of_moved = |(usual, moved): &(&str, PathBuf)| {
            let rest = place.strip_prefix(usual)?;
            rest.is_empty().then(|| moved.clone()).or_else(|| Some(moved.join(rest.strip_prefix('/')?)))
        };
        let mut paths: Vec<PathBuf> = self.moved.iter().filter_map(of_moved).collect();
        paths.push(self.home.join(place));
        let mut seen = HashSet::new();
        paths.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
        paths
    }
}

/// The directories in which programs write running sessions, as far as they exist.
pub fn session_directories(places: &HomePlaces) -> Vec<PathBuf> {
    let written =
        formats().iter().filter(|format| matches!(format.read, ReadFormat::Objects(_)) && !format.timeless);
    let usual = written.flat_map(|format| format.places).filter(|place| !place.contains(['*', '~']));
    usual.flat_map(|place| places.paths(place)).filter(|path| path.is_dir()).collect()
}

/// The places that have files of a program, in the order of the formats.
pub fn find(places: &HomePlaces) -> Vec<FoundFiles> {
    let downloads = downloads(&places.downloads);
    let mut found = Vec::new();
    for format in formats() {
        for place in format.places {
            if *place == DOWNLOADS {
                let own = downloads.iter().filter(|(of, _)| of.name == format.name);
                let files =
                    |path: &PathBuf| FoundFiles { format, path: path.clone(), files: 1, is_shared: false };
                found.extend(own.map(|(_, path)| files(path)));
            } else {
                let paths = places.paths(place).into_iter();
                found.extend(paths.flat_map(|path| found_at(format, &path)));
            }
        }
    }
    found
}

/// The files at a path, in which `*` may stand for names: together if it stands below a folder of the
/// program.
fn found_at(format: &'static ImportFormat, path: &Path) -> Vec<FoundFiles> {
    let matches = expand(path);
    let files = |path: &PathBuf| {
        WalkDir::new(path).into_iter().flatten().filter(|entry| entry.file_type().is_file()).count()
    };
    let Some(folder) = path.ancestors().filter(|path| has_star(path)).last().and_then(Path::parent) else {
        let found = |path: PathBuf| FoundFiles { format, files: files(&path), path, is_shared: false };
        return matches.into_iter().map(found).filter(|found| found.files > 0).collect();
    };
    let is_file = |path: &PathBuf| path.is_file();
    if matches.iter().all(is_file) {
        let found = |path| FoundFiles { format, path, files: 1, is_shared: false };
        return matches.into_iter().map(found).collect();
    }
    let files = matches.iter().map(files).sum();
    let found = FoundFiles { format, path: folder.to_owned(), files, is_shared: true };
    Some(found).filter(|found| found.files > 0).into_iter().collect()
}

fn has_star(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.contains('*'))
}

/// The existing paths that a path with `*` for some names stands for, in order.
fn expand(path: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for part in path.components() {
        let mut next = Vec::new();
        for path in paths {
            if part.as_os_str() == "*" {
                let entries = path.read_dir().into_iter().flatten().flatten();
                // Links are not followed: they may lead back. Hidden directories belong to programs.
                let is_hidden = |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
                let is_link = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
                let named = entries.filter(|entry| !is_hidden(entry) && !is_link(entry));
                next.extend(named.map(|entry| entry.path()));
            } else {
                next.push(path.join(part));
            }
        }
        paths = next;
    }
    paths.retain(|path| path.exists());
    paths.sort();
    paths
}

/// The files in the directories of downloads that are exports of an account, or files in a folder there.
fn downloads(directories: &[PathBuf]) -> Vec<(&'static ImportFormat, PathBuf)> {
    let entries = directories
        .iter()
        .flat_map(|path| WalkDir::new(path).max_depth(2).sort_by_file_name().into_iter().flatten());
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.filter_map(|path| Some((export_format(&path)?, path))).collect()
}

/// The number of documents in an archive that are looked at.
const MOST_ENTRIES: usize = 100;

/// The format of a file that people download; `None` if it has none of these.
fn export_format(path: &Path) -> Option<&'static ImportFormat> {
    let is_export = |format: &&ImportFormat| format.places.contains(&DOWNLOADS);
    match path.extension()?.to_str()? {
        "zip" => {
            let entries = zip_archive::entries(path).ok()?;
            let is_text = |name: &str| name.ends_with(".json") || name.ends_with(".txt");
            let documents = entries.iter().filter(|entry| is_text(&entry.name()));
            documents.take(MOST_ENTRIES).find_map(|entry| {
                let (_, format) = recognize(Vec::new(), &mut entry.open().ok()?, SAMPLE_BYTES).ok()?;
                format.filter(is_export)
            })
        }
        "json" | "jsonl" | "txt" => {
            let (_, format) = recognize(Vec::new(), &mut File::open(path).ok()?, SAMPLE_BYTES).ok()?;
            format.filter(is_export)
        }
        _ => None,
    }
}
