//! Directories in which other programs write session files: the files at the start, and later ones.

use super::changed_files::ChangedFiles;
use super::conversation::ImportOptions;
use super::error::ImportError;
use super::format::ImportFormat;
use super::growing_file::GrowingFile;
use super::input::Failure;
use super::read_files::{FileDigest, ReadFiles};
use crate::error::{Context, Error, Result};
use crate::lines::{LocatedObject, ObjectSource};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A message to a watch.
enum Notice {
    Event(notify::Result<Event>),
    Stop,
}

/// Changes of this time are read together.
const SETTLING: Duration = Duration::from_millis(100);

/// The number of files whose places are kept; the others are read from the start when they grow.
const KEPT_FILES: usize = 256;

/// Ends a watch.
#[derive(Clone)]
pub struct StopWatch(Sender<Notice>);

impl StopWatch {
    pub fn stop(&self) {
        // A watch that has ended needs no notice.
        let _ = self.0.send(Notice::Stop);
    }
}

/// The sources of new lines in some directories; waits for the next one until it is stopped.
pub struct Watch {
    directories: Vec<PathBuf>,
    format: Option<&'static ImportFormat>,
    options: ImportOptions,
    notices: Receiver<Notice>,
    /// Kept, since no events come without it.
    _watcher: RecommendedWatcher,
    waiting: ChangedFiles,
    read: ReadFiles,
    /// The file whose source was returned last, if that was for a file.
    current: Option<(PathBuf, FileDigest)>,
    files: HashMap<PathBuf, (GrowingFile, Instant)>,
    has_stopped: bool,
}

impl Watch {
    /// Begins to watch directories. Their files come first, except those in `read`. Errors if one is
    /// unwatchable.
    pub fn begin(
        directories: Vec<PathBuf>,
        format: Option<&'static ImportFormat>,
        options: ImportOptions,
        read: &ReadFiles,
    ) -> Result<(Watch, StopWatch)> {
        let (sender, notices) = channel();
        let stop = StopWatch(sender.clone());
        let handle = move |event| drop(sender.send(Notice::Event(event)));
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(handle, config).context("cannot watch directories")?;
        // A file that comes between is found by both.
        for directory in &directories {
            watcher.watch(directory, RecursiveMode::Recursive).map_err(|error| failed(directory, error))?;
        }
        let waiting = ChangedFiles::of(&directories);
        let watch = Watch {
            directories,
            format,
            options,
            notices,
            _watcher: watcher,
            waiting,
            read: read.clone(),
            current: None,
            files: HashMap::new(),
            has_stopped: false,
        };
        Ok((watch, stop))
    }

    /// Waits for changes, and for those soon after; false at the end.
    fn wait(&mut self) -> bool {
        let Ok(first) = self.notices.recv() else { return false };
        self.note(first);
        let until = Instant::now() + SETTLING;
        while !self.has_stopped {
            match self.notices.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(notice) => self.note(notice),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        // Files that were written before the end are read.
        true
    }

    fn note(&mut self, notice: Notice) {
        match notice {
            Notice::Stop => {
                self.has_stopped = true;
                // The events of the last writes may not have come.
                for directory in &self.directories {
                    self.waiting.add(directory);
                }
            }
            // Events were lost.
            Notice::Event(Ok(event)) if event.need_rescan() => {
                self.waiting = ChangedFiles::of(&self.directories);
            }
            Notice::Event(Ok(event)) if is_change(event.kind) => {
                for path in &event.paths {
                    self.waiting.add(path);
                }
            }
            Notice::Event(Ok(_)) => {}
            Notice::Event(Err(error)) => self.waiting.fail(Error::attempt("cannot watch directories", error)),
        }
    }

    /// The new objects of a file; none if there are none, or they are not whole yet.
    fn open(&mut self, path: &Path) -> Result<Option<Box<dyn ObjectSource>>> {
        // The state before the read: a write during it changes the state. Opening a file whose state is
        // unreadable fails too, with the reason.
        let digest = self.read.unread(path);
        if matches!(digest, Ok(None)) {
            return Ok(None);
        }
        let (file, used) = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| (GrowingFile::new(path, self.format), Instant::now()));
        *used = Instant::now();
        let new = file.read_on(&self.options);
        self.drop_oldest();
        let new = new?;
        if let Ok(Some(digest)) = digest {
            if new.is_some() {
                self.current = Some((path.to_owned(), digest));
            } else {
                self.read.add(path.to_owned(), digest);
            }
        }
        Ok(new)
    }

    /// Forgets the files that were read least recently, if there are many.
    fn drop_oldest(&mut self) {
        if self.files.len() < 2 * KEPT_FILES {
            return;
        }
        let mut times: Vec<Instant> = self.files.values().map(|(_, used)| *used).collect();
        times.sort_unstable();
        let oldest = times[times.len() - KEPT_FILES];
        self.files.retain(|_, (_, used)| *used >= oldest);
    }
}

impl Iterator for Watch {
    type Item = Box<dyn ObjectSource>;

    fn next(&mut self) -> Option<Box<dyn ObjectSource>> {
        if let Some((path, digest)) = self.current.take() {
            self.read.add(path, digest);
        }
        loop {
            let next = match self.waiting.next() {
                Some(next) => next,
                None => {
                    self.read.end_scan();
                    if self.has_stopped || !self.wait() {
                        return None;
                    }
                    continue;
                }
            };
            let source = next.and_then(|path| self.open(&path));
            let source = match source.unwrap_or_else(|error| Some(Box::new(Failure::new(error)))) {
                Some(source) => source,
                None => continue,
            };
            return Some(Box::new(CountedSource { source, read: self.read.clone() }));
        }
    }
}

/// A source whose lines and errors are counted.
struct CountedSource {
    source: Box<dyn ObjectSource>,
    read: ReadFiles,
}

impl ObjectSource for CountedSource {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        let next = self.source.next()?;
        self.read.add_line();
        Some(next)
    }

    fn drained(&self) -> bool {
        self.source.drained()
    }

    fn consumed(&self) -> u64 {
        self.source.consumed()
    }
}

/// Whether an event may bring something new; opening a file, as a watch does itself, does not.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Create(_) | EventKind::Any => {
            true
        }
        EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Modify(_) => true,
        _ => false,
    }
}

fn failed(directory: &Path, error: notify::Error) -> Error {
    let text = format!("cannot watch {}", directory.display());
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => ImportError::TooManyWatched { path: directory.to_owned() }.into(),
        notify::ErrorKind::Io(cause) => Error::attempt(text, cause),
        _ => Error::attempt(text, error),
    }
}
