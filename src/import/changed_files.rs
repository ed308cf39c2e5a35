//! The files that are to be read, each once.

use crate::error::{Error, Result};
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Files in the order in which they were found or have changed, and errors about directories.
#[derive(Default)]
pub(super) struct ChangedFiles {
    waiting: VecDeque<Result<PathBuf>>,
    paths: HashSet<PathBuf>,
}

impl ChangedFiles {
    /// All files in some directories, by path.
    pub(super) fn of(directories: &[PathBuf]) -> ChangedFiles {
        let mut all = ChangedFiles::default();
        for directory in directories {
            all.add(directory);
        }
        all
    }

    /// Adds a file, or the files in a directory; links are not followed.
    pub(super) fn add(&mut self, path: &Path) {
        for entry in WalkDir::new(path).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    if self.paths.insert(entry.path().to_owned()) {
                        self.waiting.push_back(Ok(entry.into_path()));
                    }
                }
                Ok(_) => {}
                // It was removed since.
                Err(error) if error.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) => {}
                Err(error) => {
                    self.fail(Error::attempt(format!("cannot read {}", path.display()), error));
                }
            }
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.waiting.push_back(Err(error));
    }

    /// The next changed file, if one is waiting. Fails in place of one that cannot be read.
    pub(super) fn next(&mut self) -> Option<Result<PathBuf>> {
        let next = self.waiting.pop_front()?;
        if let Ok(path) = &next {
            self.paths.remove(path);
        }
        Some(next)
    }
}
