//! The changes of files, added from the newest to the oldest: what became of a name since the last one that
//! was added.

use super::git::{Change, Changes};
use std::collections::{HashMap, HashSet};

/// The fate of a file.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fate {
    Deleted,
    /// It has this name now.
    Named(String),
}

/// The changes of some commits, the newest ones.
#[derive(Default)]
pub(super) struct History {
    fates: HashMap<String, Fate>,
    changed: HashSet<String>,
}

impl History {
    /// Adds the changes of the commit before those that were added.
    pub(super) fn add(&mut self, changes: &Changes) {
        // The files of one commit may take each other's names.
        let mut fates = Vec::new();
        for change in &changes.changes {
            match change {
                // A file that a text names before it is committed may be as it was.
                Change::Added => {}
                Change::Modified(path) => {
                    self.changed.insert(path.clone());
                }
                Change::Deleted(path) => fates.push((path, Fate::Deleted)),
                Change::Renamed(path, to) => {
                    let fate = self.fates.get(to).cloned();
                    fates.push((path, fate.unwrap_or_else(|| Fate::Named(to.clone()))));
                }
            }
        }
        for (path, fate) in fates {
            self.changed.insert(path.clone());
            self.fates.insert(path.clone(), fate);
        }
    }

    /// The fate of a file that lost its name.
    pub(super) fn fate(&self, path: &str) -> Option<&Fate> {
        self.fates.get(path)
    }

    /// Whether the file of a name was changed, or is another one.
    pub(super) fn has_changed(&self, path: &str) -> bool {
        self.changed.contains(path)
    }
}
