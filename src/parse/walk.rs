//! Walks a directory in the order of its names, without the files that `.gitignore` and `.ignore` name.

use super::ignored::Ignored;
use crate::record::hexadecimal;
use ignore::{DirEntry, Walk, WalkBuilder};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A step of a walk.
#[derive(Debug)]
pub(super) enum Step {
    /// A directory begins, which contains the next steps.
    Enter(PathBuf),
    /// The directory that began last ends.
    Leave,
    File(PathBuf),
    /// A directory cannot be read, or no further: the one that began last, or one in it.
    Unread {
        path: Option<PathBuf>,
        reason: String,
    },
}

/// Walks directories.
pub(super) struct Walker {
    walk: Walk,
    steps: VecDeque<Step>,
    /// The open directories.
    open: Vec<PathBuf>,
    ended: bool,
}

impl Walker {
    /// Walks a directory; `follow` says whether symbolic links in it are followed.
    pub(super) fn new(root: &Path, follow: bool) -> Walker {
        let mut builder = WalkBuilder::new(root);
        // Ignore files of directories above do not count: they could hide all of it, such as those of a home
        // directory under git.
        builder.standard_filters(false).follow_links(follow).sort_by_file_name(OsStr::cmp);
        // Only one thread walks, but `filter_entry` takes a function that several could call.
        let ignored = Mutex::new(Ignored::default());
        builder.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            let mut ignored = ignored.lock().unwrap_or_else(PoisonError::into_inner);
            entry.depth() == 0 || !ignored.has(entry.path(), is_directory)
        });
        Walker { walk: builder.build(), steps: VecDeque::new(), open: Vec::new(), ended: false }
    }

    fn take(&mut self, entry: &DirEntry) {
        self.close(entry.depth());
        let path = entry.path().to_owned();
        match entry.file_type() {
            // The root may be a link to a directory.
            Some(kind) if kind.is_dir() || entry.depth() == 0 => {
                self.steps.push_back(Step::Enter(path.clone()));
                self.open.push(path);
            }
            // A link that is not followed.
            Some(kind) if kind.is_symlink() && entry.depth() > 0 => {}
            _ => self.steps.push_back(Step::File(path)),
        }
    }

    fn fail(&mut self, error: &ignore::Error) {
        let depth = depth_of(error);
        let (path, reason) = describe(error);
        // The error of a directory that has begun follows its beginning.
        if let Some(depth) = depth.filter(|_| self.open.last() != path.as_ref()) {
            self.close(depth);
        }
        let path = path.filter(|path| self.open.last() != Some(path));
        self.steps.push_back(Step::Unread { path, reason });
    }

    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.open.pop();
            self.steps.push_back(Step::Leave);
        }
    }
}

impl Iterator for Walker {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        while self.steps.is_empty() && !self.ended {
            match self.walk.next() {
                Some(Ok(entry)) => self.take(&entry),
                Some(Err(error)) => self.fail(&error),
                None => {
                    self.close(0);
                    self.ended = true;
                }
            }
        }
        self.steps.pop_front()
    }
}

fn depth_of(error: &ignore::Error) -> Option<usize> {
    match error {
        ignore::Error::WithDepth { depth, .. } => Some(*depth),
        ignore::Error::WithPath { err, .. } => depth_of(err),
        _ => None,
    }
}

fn describe(error: &ignore::Error) -> (Option<PathBuf>, String) {
    match error {
        ignore::Error::WithDepth { err, .. } => describe(err),
        ignore::Error::WithPath { path, err } => (Some(path.clone()), describe(err).1),
        ignore::Error::Loop { child, .. } => {
            (Some(child.clone()), "a symbolic link to a directory above it".to_owned())
        }
        // Its own words repeat the path.
        ignore::Error::Io(error) => (None, error.kind().to_string()),
        other => (None, other.to_string()),
    }
}

/// The segment of an address for the name of a file: the name itself, unless that cannot be one.
pub(super) fn segment(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.chars().any(char::is_control) => text.to_owned(),
        // A hash distinguishes names that look the same.
        _ => {
            let text: String = name.to_string_lossy().chars().filter(|c| !c.is_control()).collect();
            let hash = Sha256::digest(name.as_bytes());
            format!("{text}_{}", hexadecimal(&hash[..4]))
        }
    }
}
