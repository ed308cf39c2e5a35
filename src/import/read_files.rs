//! The files that a watch has read and whose lines are stored, so that the next watch reads only the others.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The digest of a file's path, its state, and the purpose of reading: another state has another digest.
pub(super) type FileDigest = [u8; 16];

/// The files of a watch, shared between the thread that reads them and the one that stores their lines.
#[derive(Clone)]
pub struct ReadFiles(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The version and the options under which files are read, as text.
    purpose: String,
    /// Of earlier watches.
    earlier: HashSet<FileDigest>,
    stored: HashMap<PathBuf, FileDigest>,
    /// Those whose lines are on their way, with the number of lines and errors up to their ends.
    read: VecDeque<(u64, PathBuf, FileDigest)>,
    /// The number of lines and errors that were read.
    lines: u64,
    is_scanned: bool,
    is_changed: bool,
}

impl ReadFiles {
    /// The files that `text` of an earlier watch names; none if it is of another form. `purpose` is the
    /// settings of reading: with another one, every file is read again.
    pub fn new(purpose: String, text: &str) -> ReadFiles {
        let bytes = STANDARD_NO_PAD.decode(text).unwrap_or_default();
        let earlier = bytes.as_chunks().0.iter().copied().collect();
        ReadFiles(Arc::new(Mutex::new(State { purpose, earlier, ..State::default() })))
    }

    /// Notes that this many lines and errors, from the first, are stored or were reported. Returns whether
    /// the files that were there at the start are among them.
    pub fn store_lines(&self, count: u64) -> bool {
        let mut state = self.state();
        while state.read.front().is_some_and(|(end, ..)| *end <= count)
            && let Some((_, path, digest)) = state.read.pop_front()
        {
            state.stored.insert(path, digest);
            state.is_changed = true;
        }
        state.is_scanned && state.read.is_empty()
    }

    /// The files whose lines are stored, for the next watch; `None` if they are the same as when this was
    /// called last.
    pub fn take_text(&self) -> Option<String> {
        let mut state = self.state();
        std::mem::take(&mut state.is_changed).then(|| {
            let mut digests: Vec<FileDigest> = state.stored.values().copied().collect();
            digests.sort_unstable();
            STANDARD_NO_PAD.encode(digests.concat())
        })
    }

    /// The digest of a file that is to be read; `None` if this state of it is stored already.
    pub(super) fn unread(&self, path: &Path) -> io::Result<Option<FileDigest>> {
        let metadata = std::fs::metadata(path)?;
        let mut state = self.state();
        let digest = digest(path, &metadata, &state.purpose);
        if state.earlier.contains(&digest) {
            state.stored.insert(path.to_owned(), digest);
        }
        Ok((state.stored.get(path) != Some(&digest)).then_some(digest))
    }

    /// Notes that a line or an error was read.
    pub(super) fn add_line(&self) {
        self.state().lines += 1;
    }

    /// Notes that a file was read to its end.
    pub(super) fn add(&self, path: PathBuf, digest: FileDigest) {
        let mut state = self.state();
        let lines = state.lines;
        state.read.push_back((lines, path, digest));
    }

    /// Notes that all files were read that were there at the start.
    pub(super) fn end_scan(&self) {
        self.state().is_scanned = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(path: &Path, metadata: &Metadata, purpose: &str) -> FileDigest {
    let of_file = [
        metadata.ino().cast_signed(),
        metadata.len().cast_signed(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ];
    let mut hash = Sha256::new();
    for number in of_file {
        hash.update(number.to_le_bytes());
    }
    hash.update(purpose);
    hash.update([0]);
    hash.update(path.as_os_str().as_bytes());
    let whole: [u8; 32] = hash.finalize().into();
    whole.first_chunk().copied().unwrap_or_default()
}
