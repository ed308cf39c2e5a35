//! The worktree of a project: the files and commits that texts name, compared with what is there now.
//!
//! Only names, kinds, sizes and times of files are read, never below a symbolic link. In a repository, git
//! says what was deleted, renamed and changed; elsewhere, the times of files do. Nothing uncertain is said: a
//! file is gone only if git knew it, or else if its directory is there and was changed since; and what the
//! file system did not touch after a text was written is not changed, whatever was committed later.

mod git; // 0  git, without what the project would run
mod names; // 0  the files and commits that a text names

mod history; // 1  the changes of files, newest first

use crate::record::FileState;
pub use git::GitProgram;
use git::{Changes, Git, IndexEntry, Listing};
use history::{Fate, History};
use names::Names;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// The longest time for all texts together.
const MAX_LIMIT: Duration = Duration::from_secs(60);

/// The greatest number of states of one text; the first in the order of `rank` are kept.
const MAX_STATES: usize = 4;

/// The greatest number of different paths of all texts.
const MAX_PATHS: usize = 512;

/// The worktree at a root.
#[derive(Clone, Debug)]
pub struct Worktree {
    root: PathBuf,
    /// The root as texts may name it: as it is, and without symbolic links.
    names: Vec<String>,
    git: Option<GitProgram>,
}

/// A text, and the time from which on changes count, in milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug)]
pub struct DatedText<'a> {
    pub text: &'a str,
    pub since: i64,
}

/// The state of a path on the disk.
enum OnDisk {
    File(Metadata),
    /// A file that is not there, in a directory that is there or not; the last change of the nearest
    /// directory.
    Missing {
        in_directory: bool,
        changed: i64,
    },
    /// A directory, a symbolic link, something below one, or unknown.
    Other,
}

/// The files that a text names, each once: paths, or names with an extension, without a leading `/`.
pub fn named_files(text: &str) -> Vec<String> {
    Names::of(text, &["/".to_owned()]).paths
}

impl Worktree {
    /// The worktree at a root. Without git, nothing is said about repositories. `None` if the root is not
    /// there.
    pub fn new(root: &Path, git: Option<GitProgram>) -> Option<Worktree> {
        let name = root.to_str()?.to_owned();
        let root = fs::canonicalize(root).ok()?;
        let mut names = vec![root.to_str()?.to_owned(), name];
        names.dedup();
        Some(Worktree { root, names, git })
    }

    /// The states of what each text names, as far as it is no longer true. Git takes at most a time for all
    /// of them; then what it has not told is left out.
    pub fn states(&self, texts: &[DatedText], limit: Duration) -> Vec<Vec<FileState>> {
        let named: Vec<Names> = texts.iter().map(|dated| Names::of(dated.text, &self.names)).collect();
        let mut disk: HashMap<&str, OnDisk> = HashMap::new();
        for path in named.iter().flat_map(|names| &names.paths) {
            if disk.len() < MAX_PATHS {
                disk.entry(path).or_insert_with(|| self.on_disk(path));
            }
        }
        // A file that was not touched since cannot have changed.
        let mut questions = Vec::new();
        for (text, (dated, names)) in texts.iter().zip(&named).enumerate() {
            for path in &names.paths {
                let is_open = match disk.get(path.as_str()) {
                    Some(OnDisk::File(metadata)) => modified(metadata) > dated.since,
                    Some(OnDisk::Missing { changed, .. }) => *changed > dated.since,
                    Some(OnDisk::Other) | None => false,
                };
                if is_open {
                    questions.push(Question { text, since: dated.since, path });
                }
            }
        }
        let commits: BTreeSet<&str> =
            named.iter().flat_map(|names| &names.commits).map(String::as_str).collect();
        let mut found: Vec<Vec<FileState>> = vec![Vec::new(); texts.len()];
        if questions.is_empty() && commits.is_empty() {
            return found;
        }
        let deadline = Instant::now() + limit.min(MAX_LIMIT);
        if self.root.join(".git").symlink_metadata().is_err() {
            for question in &questions {
                found[question.text].extend(by_time(question.path, &disk[question.path]));
            }
        } else if let Some(git) = Git::of(self.git.as_ref(), &self.root) {
            let unknown = self.by_git(&git, questions, &disk, &commits, deadline, &mut found);
            for (states, names) in found.iter_mut().zip(&named) {
                let missing = names.commits.iter().filter(|commit| unknown.contains(commit.as_str()));
                states.extend(missing.map(|commit| FileState::NoCommit { commit: commit.clone() }));
            }
        }
        for states in &mut found {
            states.sort_by_key(rank);
            states.truncate(MAX_STATES);
        }
        found
    }

    /// Asks git in a few processes at once. Returns the commits that are not in the history.
    fn by_git(
        &self,
        git: &Git,
        mut questions: Vec<Question>,
        disk: &HashMap<&str, OnDisk>,
        commits: &BTreeSet<&str>,
        deadline: Instant,
        found: &mut [Vec<FileState>],
    ) -> BTreeSet<String> {
        let objects = git.find_objects(commits);
        if !questions.is_empty() {
            let paths: BTreeSet<&str> = questions.iter().map(|question| question.path).collect();
            let oldest = questions.iter().map(|question| question.since).min().unwrap_or_default();
            let (listing, staged, log) = (git.list(&paths), git.staged(), git.log(oldest));
            let listing = listing.map(|listing| listing.finish(deadline)).unwrap_or_default();
            let staged = staged.map(|staged| staged.finish(deadline)).unwrap_or_default();
            let log = log.map(|log| log.finish(deadline)).unwrap_or_default();
            let mut history = History::default();
            for changes in &staged {
                history.add(changes);
            }
            questions.sort_by_key(|question| std::cmp::Reverse(question.since));
            let mut commits = log.iter().peekable();
            for question in questions {
                let is_later = |changes: &&Changes| changes.time.saturating_mul(1000) > question.since;
                while let Some(changes) = commits.next_if(is_later) {
                    history.add(changes);
                }
                let state = self.by_history(question.path, &disk[question.path], &history, &listing);
                found[question.text].extend(state);
            }
        }
        objects.map(|objects| objects.finish(deadline)).unwrap_or_default()
    }

    /// The state of a path that the file system touched since, by the changes since.
    fn by_history(
        &self,
        path: &str,
        on_disk: &OnDisk,
        history: &History,
        listing: &Listing,
    ) -> Option<FileState> {
        let owned = path.to_owned();
        match on_disk {
            OnDisk::File(metadata) => {
                let is_edited = match listing.tracked.get(path) {
                    Some(entry) => !entry.is_clean(metadata),
                    None => listing.untracked.contains(path),
                };
                (is_edited || history.has_changed(path)).then_some(FileState::Changed { path: owned })
            }
            OnDisk::Missing { .. } => match history.fate(path) {
                Some(Fate::Named(to)) if matches!(self.on_disk(to), OnDisk::File(_)) => {
                    Some(FileState::Moved { path: owned, to: to.clone() })
                }
                Some(_) => Some(FileState::Gone { path: owned }),
                None => {
                    let is_expected = listing.tracked.get(path).is_some_and(IndexEntry::is_checked_out);
                    is_expected.then_some(FileState::Gone { path: owned })
                }
            },
            OnDisk::Other => None,
        }
    }

    /// Looks a path up, from the root down, and follows no symbolic link.
    fn on_disk(&self, path: &str) -> OnDisk {
        let Ok(mut above) = self.root.symlink_metadata() else { return OnDisk::Other };
        let mut place = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            place.push(part);
            let is_last = parts.peek().is_none();
            match place.symlink_metadata() {
                Ok(metadata) if is_last && metadata.is_file() => return OnDisk::File(metadata),
                Ok(metadata) if !is_last && metadata.is_dir() => above = metadata,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return OnDisk::Missing { in_directory: is_last, changed: modified(&above) };
                }
                _ => return OnDisk::Other,
            }
        }
        OnDisk::Other
    }
}

/// A path that a text names and that the file system touched since.
struct Question<'a> {
    text: usize,
    since: i64,
    path: &'a str,
}

/// The state of a path that the file system touched since, without git. A name that may never have been a
/// file's is not gone.
fn by_time(path: &str, on_disk: &OnDisk) -> Option<FileState> {
    let owned = path.to_owned();
    match on_disk {
        OnDisk::File(_) => Some(FileState::Changed { path: owned }),
        OnDisk::Missing { in_directory: true, .. } if names::is_clearly_a_file(path) => {
            Some(FileState::Gone { path: owned })
        }
        _ => None,
    }
}

/// The order in which states are told.
fn rank(state: &FileState) -> u8 {
    match state {
        FileState::Gone { .. } => 0,
        FileState::Moved { .. } => 1,
        FileState::NoCommit { .. } => 2,
        FileState::Changed { .. } => 3,
    }
}

/// The time of the last change of a file or a directory, in milliseconds since 1970, UTC.
fn modified(metadata: &Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    // An unknown time, or one before 1970, is older than all that is asked about.
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
