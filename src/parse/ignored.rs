//! The files that `.gitignore` and `.ignore` leave out.

use super::file;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// The rules of the directories on the way to a path, read as a walk comes to them.
#[derive(Default)]
pub(super) struct Ignored {
    levels: Vec<Level>,
}

struct Level {
    path: PathBuf,
    ignore: Gitignore,
    gitignore: Gitignore,
    /// Whether a repository begins here, in which the rules of `.gitignore` above it do not hold.
    is_repository: bool,
}

impl Ignored {
    /// Whether a path of a walk is left out. Directories come before what is in them.
    pub(super) fn has(&mut self, path: &Path, is_directory: bool) -> bool {
        let Some(above) = path.parent() else { return false };
        while self.levels.last().is_some_and(|level| !above.starts_with(&level.path)) {
            self.levels.pop();
        }
        if self.levels.last().is_none_or(|level| level.path != above) {
            self.levels.push(Level::read(above));
        }
        let (mut by_ignore, mut by_git, mut in_repository) = (Match::None, Match::None, false);
        for level in self.levels.iter().rev() {
            if by_ignore.is_none() {
                by_ignore = level.ignore.matched(path, is_directory).map(|_| ());
            }
            if by_git.is_none() && !in_repository {
                by_git = level.gitignore.matched(path, is_directory).map(|_| ());
            }
            in_repository |= level.is_repository;
        }
        let found = by_ignore.or(by_git);
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        found.is_ignore() || is_hidden && !found.is_whitelist()
    }
}

impl Level {
    fn read(path: &Path) -> Level {
        let repository = path.join(".git");
        let gitignore = [repository.join("info/exclude"), path.join(".gitignore")];
        Level {
            ignore: rules(path, &[path.join(".ignore")]),
            gitignore: rules(path, &gitignore),
            is_repository: repository.exists(),
            path: path.to_owned(),
        }
    }
}

/// The rules of files for a directory, of which later ones win. Only regular files are read, of a bounded
/// size: a link may lead to a device that has no end.
fn rules(directory: &Path, files: &[PathBuf]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    for path in files.iter().filter(|path| path.is_file()) {
        let Ok((content, _)) = file::read(path) else { continue };
        for line in String::from_utf8_lossy(&content).trim_start_matches('\u{feff}').lines() {
            // A rule that is no pattern leaves the others.
            let _ = builder.add_line(None, line);
        }
    }
    // Without rules more is parsed than was meant, which is seen; nothing is lost.
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
