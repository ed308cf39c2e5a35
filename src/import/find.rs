//! Finds what other programs left in a home directory.

use super::format::{ImportFormat, ReadFormat};
use super::formats::formats;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A file or a folder in which a program keeps conversations.
pub struct FoundFiles {
    pub format: &'static ImportFormat,
    pub path: PathBuf,
    /// The number of files; 1 for a file.
    pub files: usize,
}

/// The directories in this home directory in which programs write running sessions, as far as they exist.
pub fn session_directories(home: &Path) -> Vec<PathBuf> {
    let written =
        formats().iter().filter(|format| matches!(format.read, ReadFormat::Objects(_)) && !format.timeless);
    let places = written.flat_map(|format| format.places.iter().map(|place| home.join(place)));
    places.filter(|path| path.is_dir()).collect()
}

/// The places in this home directory that have files of a program, in the order of the formats.
pub fn find(home: &Path) -> Vec<FoundFiles> {
    let places = formats().iter().flat_map(|format| format.places.iter().map(move |place| (format, place)));
    let found = places.map(|(format, place)| {
        let path = home.join(place);
        let entries = WalkDir::new(&path).into_iter().flatten();
        let files = entries.filter(|entry| entry.file_type().is_file()).count();
        FoundFiles { format, path, files }
    });
    found.filter(|found| found.files > 0).collect()
}
