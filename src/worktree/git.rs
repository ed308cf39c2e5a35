//! Runs git to read a repository: its history, its index and its objects. Nothing that the project configures
//! is run: no hook, no file system monitor, no filter, no program for differences or signatures; nothing is
//! fetched, and nothing is written. The environment is emptied, so that no variable of git counts.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The options of every command.
const OPTIONS: [&str; 13] = [
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "protocol.allow=never",
];

/// Shows the names of changed files and the kinds of their changes, those of renamed files too.
const NAMES: [&str; 7] =
    ["-z", "--name-status", "--find-renames", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color"];

/// The greatest number of commits that are read, and of those that are left out of the history, as far as
/// they are walked.
const MAX_COMMITS: &str = "--max-count=2000";
const MAX_LOST: &str = "--max-count=1000";

/// The longest output of a command, in bytes.
const MAX_OUTPUT: u64 = 16 << 20;

/// The time after the end of a killed process in which its output is read.
const GRACE: Duration = Duration::from_millis(20);

/// The program git on this machine.
#[derive(Clone, Debug)]
pub struct GitProgram {
    program: PathBuf,
    home: Option<PathBuf>,
    search: Vec<PathBuf>,
}

impl GitProgram {
    /// Finds git among directories of programs. `home` has the user's settings of git.
    pub fn find(directories: &[PathBuf], home: Option<PathBuf>) -> Option<GitProgram> {
        let search: Vec<PathBuf> = directories.iter().filter(|path| path.is_absolute()).cloned().collect();
        let program = search.iter().map(|directory| directory.join("git")).find(|path| path.is_file())?;
        Some(GitProgram { program, home, search })
    }
}

/// Git in one repository.
pub(super) struct Git<'a> {
    program: &'a GitProgram,
    root: &'a Path,
    /// Whether the history is complete.
    has_all: bool,
}

/// The changes of one commit to names of files.
#[derive(Default, Debug)]
pub(super) struct Changes {
    /// Seconds since 1970, UTC; of what is not committed, 0.
    pub(super) time: i64,
    pub(super) changes: Vec<Change>,
}

/// The change of one file.
#[derive(PartialEq, Debug)]
pub(super) enum Change {
    Added,
    Modified(String),
    Deleted(String),
    Renamed(String, String),
}

/// A file in the index, as it was when its content was last compared.
#[derive(Default, PartialEq, Debug)]
pub(super) struct IndexEntry {
    modified: (i64, i64),
    size: u64,
    flags: u64,
}

/// The flag of the index for files that are not to be in the worktree (sparse checkouts).
const SKIP_WORKTREE: u64 = 1 << 30;

impl IndexEntry {
    /// Whether the file is as git last saw it.
    pub(super) fn is_clean(&self, metadata: &Metadata) -> bool {
        let (seconds, nanoseconds) = self.modified;
        // A git without fractions of seconds writes none.
        seconds == metadata.mtime()
            && (nanoseconds == 0 || nanoseconds == metadata.mtime_nsec())
            && self.size == metadata.size()
    }

    /// Whether the file is to be in the worktree.
    pub(super) fn is_checked_out(&self) -> bool {
        self.flags & SKIP_WORKTREE == 0
    }
}

/// Paths that git knows or would show as new.
#[derive(Default, Debug)]
pub(super) struct Listing {
    pub(super) tracked: HashMap<String, IndexEntry>,
    pub(super) untracked: BTreeSet<String>,
}

impl<'a> Git<'a> {
    /// Git in the repository at a root. `None` without git, if the repository is a link to another place, or
    /// if it lacks objects that git would fetch.
    pub(super) fn of(program: Option<&'a GitProgram>, root: &'a Path) -> Option<Git<'a>> {
        let directory = root.join(".git");
        let metadata = directory.symlink_metadata().ok()?;
        if metadata.is_symlink() {
            return None;
        }
        let packs = directory.join("objects/pack").read_dir().into_iter().flatten().flatten();
        if { packs }.any(|entry| entry.path().extension().is_some_and(|ending| ending == "promisor")) {
            return None;
        }
        // A linked worktree does not say where the rest is without reading a file.
        let has_all = metadata.is_dir() && directory.join("shallow").symlink_metadata().is_err();
        Some(Git { program: program?, root, has_all })
    }

    /// The files of some paths in the index, and those that are not ignored.
    pub(super) fn list(&self, paths: &BTreeSet<&str>) -> Option<Running<Listing>> {
        let words = ["ls-files", "--cached", "--others", "--exclude-standard", "--debug", "-z", "--"];
        let words = words.into_iter().chain(paths.iter().copied());
        self.start(
            words,
            Vec::new(),
            |output, is_whole| {
                if is_whole { parse_listing(output) } else { Listing::default() }
            },
        )
    }

    /// The changes that are in the index and not committed.
    pub(super) fn staged(&self) -> Option<Running<Vec<Changes>>> {
        let words = ["diff-index", "--cached", "--ignore-submodules"].into_iter().chain(NAMES);
        self.start(words.chain(["HEAD", "--"]), Vec::new(), |output, is_whole| {
            let mut fields = output.split('\0');
            if is_whole { vec![Changes { time: 0, changes: parse_changes(&mut fields) }] } else { Vec::new() }
        })
    }

    /// The changes since a time (milliseconds since 1970, UTC), newest first; of a merge, those to the
    /// branch. If the time is over, as many as were read.
    pub(super) fn log(&self, since: i64) -> Option<Running<Vec<Changes>>> {
        let since = format!("--since=@{}", since.div_euclid(1000).max(0));
        let words = ["log", "--first-parent", "-m", "--no-show-signature", "--ignore-submodules"];
        let words = words.into_iter().chain(["--format=tformat:%x01%ct", MAX_COMMITS, &since]);
        self.start(words.chain(NAMES).chain(["HEAD", "--"]), Vec::new(), |output, is_whole| {
            // The last entry of an output that was cut may be cut too.
            let output = if is_whole { output } else { output.rsplit_once('\u{1}').unwrap_or_default().0 };
            output.split('\u{1}').skip(1).map(parse_commit).collect()
        })
    }

    /// Looks for commits; the result are those that are not in the history. `None` if there are none, or if
    /// the history is not complete.
    pub(super) fn find_objects<'g>(&'g self, commits: &BTreeSet<&str>) -> Option<CommitSearch<'g>> {
        if commits.is_empty() || !self.has_all {
            return None;
        }
        let input: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let names: Vec<String> = commits.iter().map(|commit| (*commit).to_owned()).collect();
        let objects = self.start(["cat-file", "--batch-check"].into_iter(), input.into_bytes(), lines);
        Some(CommitSearch { git: self, names, objects: objects? })
    }

    /// Starts a command, whose standard output `parse` reads; it gets whether all of it is there.
    fn start<'w, T>(
        &self,
        words: impl Iterator<Item = &'w str>,
        input: Vec<u8>,
        parse: fn(&str, bool) -> T,
    ) -> Option<Running<T>> {
        let GitProgram { program, home, search } = self.program;
        let mut command = Command::new(program);
        command.env_clear().envs(home.as_ref().map(|home| ("HOME", home)));
        command.envs(std::env::join_paths(search).map(|paths| ("PATH", paths)));
        command.envs([("LC_ALL", "C"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")]);
        command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")]);
        let above = self.root.parent().unwrap_or(self.root);
        command.env("GIT_CEILING_DIRECTORIES", above);
        command.arg("-C").arg(self.root).args(OPTIONS).args(words.map(OsString::from));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        // Few words, which a pipe holds. A git that has ended already reads none; `finish` reaps it.
        let _ = child.stdin.take()?.write_all(&input);
        let output = child.stdout.take()?;
        let (sender, receiver) = sync_channel(1);
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // A cut output counts as far as it goes.
            let _ = output.take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
        });
        Some(Running { child, receiver, parse })
    }
}

/// A command of git that runs.
pub(super) struct Running<T> {
    child: Child,
    receiver: Receiver<Vec<u8>>,
    parse: fn(&str, bool) -> T,
}

impl<T> Running<T> {
    /// The result, with what was read by a time; then the process ends.
    pub(super) fn finish(mut self, deadline: Instant) -> T {
        let in_time = self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        if in_time.is_err() {
            // It may have ended just now.
            let _ = self.child.kill();
        }
        let is_whole = in_time.is_ok();
        // An answer that is late counts as none: recall does not wait for it.
        let bytes = in_time.or_else(|_| self.receiver.recv_timeout(GRACE)).unwrap_or_default();
        if bytes.len() as u64 >= MAX_OUTPUT {
            let _ = self.child.kill();
        }
        let is_whole = self.child.wait().is_ok_and(|status| status.success()) && is_whole;
        (self.parse)(&String::from_utf8_lossy(&bytes), is_whole)
    }
}

/// A search for commits.
pub(super) struct CommitSearch<'a> {
    git: &'a Git<'a>,
    names: Vec<String>,
    objects: Running<Vec<String>>,
}

impl CommitSearch<'_> {
    /// The names of those commits that are not there, or that no branch or tag reaches.
    pub(super) fn finish(self, deadline: Instant) -> BTreeSet<String> {
        let (mut missing, mut commits) = (BTreeSet::new(), Vec::new());
        for (name, line) in self.names.iter().zip(self.objects.finish(deadline)) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                [_, "missing"] => {
                    missing.insert(name.clone());
                }
                [id, "commit", _] => commits.push((name, id.to_owned())),
                // Of another kind, or of several.
                _ => {}
            }
        }
        if commits.is_empty() {
            return missing;
        }
        let words = ["rev-list", MAX_LOST].into_iter().chain(commits.iter().map(|(_, id)| id.as_str()));
        let words = words.chain(["--not", "--all", "HEAD", "--"]);
        let lost = self.git.start(words, Vec::new(), lines);
        let lost: BTreeSet<String> =
            lost.map(|lost| lost.finish(deadline)).unwrap_or_default().into_iter().collect();
        missing.extend(commits.into_iter().filter(|(_, id)| lost.contains(id)).map(|(name, _)| name.clone()));
        missing
    }
}

/// The lines of an output; none of one that is not whole.
fn lines(output: &str, is_whole: bool) -> Vec<String> {
    if is_whole { output.lines().map(str::to_owned).collect() } else { Vec::new() }
}

/// A commit of the log: its time, then its changes.
fn parse_commit(text: &str) -> Changes {
    let mut fields = text.split('\0');
    // A commit without a time is older than all that is asked about.
    let time = fields.next().and_then(|time| time.trim().parse().ok()).unwrap_or_default();
    Changes { time, changes: parse_changes(&mut fields) }
}

/// The changes in fields of `--name-status -z`: a letter, and one path or two.
fn parse_changes<'t>(fields: &mut impl Iterator<Item = &'t str>) -> Vec<Change> {
    let mut changes = Vec::new();
    while let Some(status) = fields.next() {
        let status = status.trim_start_matches('\n');
        let Some(path) = fields.next().filter(|_| !status.is_empty()) else { continue };
        let path = path.to_owned();
        changes.push(match status.as_bytes()[0] {
            b'D' => Change::Deleted(path),
            b'R' => match fields.next() {
                Some(to) if !to.contains(char::is_control) => Change::Renamed(path, to.to_owned()),
                _ => Change::Deleted(path),
            },
            b'A' => Change::Added,
            b'C' => {
                fields.next();
                Change::Added
            }
            _ => Change::Modified(path),
        });
    }
    changes
}

/// The beginning of the values of an entry of `ls-files --debug`, and the number of lines that they take.
const VALUES: &str = "  ctime: ";
const VALUE_LINES: usize = 5;

/// Paths that end with a NUL; after one of the index come its values in lines of their own, and then the next
/// path.
fn parse_listing(output: &str) -> Listing {
    let mut listing = Listing::default();
    let mut before: Option<&str> = None;
    for field in output.split('\0') {
        let mut path = field;
        if field.starts_with(VALUES)
            && let Some(of) = before.take()
        {
            let values: Vec<&str> = field.splitn(VALUE_LINES + 1, '\n').collect();
            path = values.get(VALUE_LINES).copied().unwrap_or_default();
            listing.tracked.insert(of.to_owned(), parse_entry(&values));
        }
        listing.untracked.extend(before.map(str::to_owned));
        before = Some(path).filter(|path| !path.is_empty());
    }
    listing
}

/// The values of an entry: `  mtime: 1795863173:138634629`, `  size: 109\tflags: 100000`.
fn parse_entry(lines: &[&str]) -> IndexEntry {
    let mut entry = IndexEntry::default();
    for (name, value) in
        lines.iter().flat_map(|line| line.split('\t')).filter_map(|pair| pair.split_once(": "))
    {
        match name.trim() {
            "mtime" => {
                let (seconds, nanoseconds) = value.split_once(':').unwrap_or((value, "0"));
                entry.modified =
                    (seconds.parse().unwrap_or_default(), nanoseconds.parse().unwrap_or_default());
            }
            "size" => entry.size = value.parse().unwrap_or_default(),
            "flags" => entry.flags = u64::from_str_radix(value, 16).unwrap_or_default(),
            _ => {}
        }
    }
    entry
}
