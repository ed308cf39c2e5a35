//! The spool directory: uploaded files until they are parsed and stored, and why some could not be.
//!
//! An upload is a directory of the name of its document: `state.json`, the file itself in `file/`, and its
//! parsed tree. It is written under a name that begins with a dot and renamed when it is whole; `state.json`
//! is replaced by a rename too. The process that works on an upload holds a lock on the file `lock` in it, so
//! that several may use one spool, and another takes over the work of one that was killed.
//!
//! Each store has a spool of its own (`Settings::spool_directory`): an upload is stored where it was accepted
//! for.

use super::error::WorkerFault;
use crate::error::{Context, Result};
use crate::file_name;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const STATE_FILE: &str = "state.json";
const LOCK_FILE: &str = "lock";
const FILE_DIRECTORY: &str = "file";
/// The age from which an unfinished upload without a lock is one that was left behind.
const UNLOCKED_AGE: Duration = Duration::from_secs(60);
/// The longest name of a file, in bytes.
const MAX_NAME_BYTES: usize = file_name::MAX_BYTES;
/// The name of a file that has none.
const DEFAULT_NAME: &str = "upload";

/// The state of an upload. One that is stored is not in the spool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::proxy) enum UploadState {
    Queued,
    Parsing,
    Failed,
}

impl UploadState {
    /// Its name in a response.
    pub(in crate::proxy) fn name(self) -> &'static str {
        match self {
            UploadState::Queued => "queued",
            UploadState::Parsing => "parsing",
            UploadState::Failed => "failed",
        }
    }
}

/// An upload, as `state.json` describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::proxy) struct Upload {
    pub(in crate::proxy) doc_id: String,
    /// The partition that it belongs to.
    pub(in crate::proxy) user_id: String,
    pub(in crate::proxy) uri: String,
    /// The name of the file, without directories.
    pub(in crate::proxy) name: String,
    pub(in crate::proxy) bytes: u64,
    pub(in crate::proxy) state: UploadState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::proxy) error: Option<String>,
    /// The time of the upload, in milliseconds since 1970, UTC.
    pub(in crate::proxy) timestamp: i64,
}

/// The directory of all uploads.
#[derive(Clone)]
pub(in crate::proxy) struct Spool(Result<PathBuf>);

impl fmt::Display for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(directory) => write!(f, "{}", directory.display()),
            Err(error) => write!(f, "{error}"),
        }
    }
}

/// An upload that this process works on, and no other.
pub(in crate::proxy) struct ClaimedUpload {
    pub(super) upload: Upload,
    directory: PathBuf,
    _lock: File,
}

/// An upload that arrives. It is removed unless it is finished.
pub(in crate::proxy) struct UploadDraft {
    spool: PathBuf,
    directory: PathBuf,
    lock: Option<File>,
    file: File,
    bytes: u64,
}

impl Spool {
    /// The spool in a directory, which is created when it is needed; or why there can be none.
    pub(in crate::proxy) fn new(directory: Result<PathBuf>) -> Spool {
        Spool(directory)
    }

    /// Begins an upload of a file. Fails if there is no spool, or it cannot be written.
    pub(in crate::proxy) fn begin(&self, doc_id: &str, name: &str) -> Result<UploadDraft> {
        let spool = self.0.clone()?;
        let begun = UploadDraft::begin(&spool, doc_id, name);
        begun.context(format_args!("cannot write to the spool {}", spool.display()))
    }

    /// The upload of a document; `None` if there is none, or it is just being removed.
    pub(in crate::proxy) fn get(&self, doc_id: &str) -> Option<Upload> {
        let spool = self.0.as_ref().ok()?;
        let is_name = !doc_id.is_empty() && !doc_id.starts_with('.') && !doc_id.contains(['/', '\0']);
        let upload = is_name.then(|| read_state(&spool.join(doc_id)).ok()).flatten();
        upload.filter(|upload| upload.doc_id == doc_id)
    }

    /// The uploads of a partition, in no order. One whose state cannot be read is just being removed.
    pub(in crate::proxy) fn list(&self, user_id: &str) -> Vec<Upload> {
        let uploads = self.directories().into_iter().filter(|path| !is_hidden(path));
        uploads.filter_map(|path| read_state(&path).ok()).filter(|upload| upload.user_id == user_id).collect()
    }

    /// Removes an upload. Its worker finds it gone. Fails if the spool cannot be written.
    pub(in crate::proxy) fn remove(&self, doc_id: &str) -> io::Result<()> {
        let Ok(spool) = &self.0 else { return Ok(()) };
        let hidden = spool.join(format!(".{doc_id}.removed"));
        match fs::rename(spool.join(doc_id), &hidden) {
            Ok(()) => fs::remove_dir_all(hidden),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The uploads that wait in the directory above, where the first version had those of all servers:
    /// nothing says for which they are.
    pub(super) fn unassigned(&self) -> Vec<PathBuf> {
        let above = self.0.as_ref().ok().and_then(|spool| spool.parent());
        let is_waiting = |path: &PathBuf| {
            !is_hidden(path) && read_state(path).is_ok_and(|upload| upload.state != UploadState::Failed)
        };
        above.into_iter().flat_map(directories_in).filter(is_waiting).collect()
    }

    /// Claims the uploads that no process works on, and removes the remains of unfinished ones.
    pub(super) fn claim_all(&self) -> Vec<ClaimedUpload> {
        let mut claimed = Vec::new();
        for path in self.directories() {
            if is_hidden(&path) {
                if is_left_behind(&path) {
                    // The next claim tries again.
                    let _ = fs::remove_dir_all(&path);
                }
            } else if let Some(upload) = claim(path) {
                claimed.push(upload);
            }
        }
        claimed.sort_by(|a, b| {
            (a.upload.timestamp, &a.upload.doc_id).cmp(&(b.upload.timestamp, &b.upload.doc_id))
        });
        claimed
    }

    fn directories(&self) -> Vec<PathBuf> {
        self.0.iter().flat_map(|spool| directories_in(spool)).collect()
    }
}

impl UploadDraft {
    fn begin(spool: &Path, doc_id: &str, name: &str) -> io::Result<UploadDraft> {
        create_private(spool)?;
        let directory = spool.join(format!(".{doc_id}"));
        create_private(&directory)?;
        // The lock is held before it has its name: another process removes an unfinished upload whose lock is
        // free.
        let draft = directory.join(format!("{LOCK_FILE}.new"));
        let lock = File::create(&draft)?;
        lock.lock()?;
        fs::rename(draft, directory.join(LOCK_FILE))?;
        create_private(&directory.join(FILE_DIRECTORY))?;
        let file = File::create_new(directory.join(FILE_DIRECTORY).join(name))?;
        Ok(UploadDraft { spool: spool.to_owned(), directory, lock: Some(lock), file, bytes: 0 })
    }

    /// Appends to the file. Fails if the disk cannot take them.
    pub(in crate::proxy) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The length of the file so far, in bytes.
    pub(in crate::proxy) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the upload durable, under its own name. Fails if the spool cannot be written.
    pub(in crate::proxy) fn finish(mut self, upload: Upload) -> Result<ClaimedUpload> {
        let describe = || format!("cannot write to the spool {}", self.spool.display());
        self.file.sync_all().context(describe())?;
        write_state(&self.directory, &upload)?;
        let directory = self.spool.join(&upload.doc_id);
        fs::rename(&self.directory, &directory).context(describe())?;
        sync(&self.spool).context(describe())?;
        let lock = self.lock.take().ok_or(WorkerFault::UploadFinished)?;
        Ok(ClaimedUpload { upload, directory, _lock: lock })
    }
}

impl Drop for UploadDraft {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // Its lock is free then: what stays is removed by `claim_all`.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

impl ClaimedUpload {
    /// Whether it has not been removed.
    pub(super) fn is_there(&self) -> bool {
        self.directory.join(STATE_FILE).exists()
    }

    /// The path of the file.
    pub(super) fn file(&self) -> PathBuf {
        self.directory.join(FILE_DIRECTORY).join(&self.upload.name)
    }

    /// The path of something that is made of the file.
    pub(super) fn made(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Changes the state. Fails if its file cannot be written.
    pub(super) fn set_state(&mut self, state: UploadState) -> Result<()> {
        self.upload.state = state;
        write_state(&self.directory, &self.upload)
    }

    /// Ends the work on a file that cannot be stored: it is removed if it can be, and the reason stays.
    pub(super) fn fail(mut self, reason: String) -> Result<()> {
        self.upload.error = Some(reason);
        self.set_state(UploadState::Failed)?;
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                let _ = fs::remove_dir_all(path);
            } else if entry.file_name() != STATE_FILE {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

/// The name under which a file is kept: the last part of the path that a client sent, without control
/// characters.
pub(in crate::proxy) fn safe_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    let name = name.trim();
    if name.trim_matches('.').is_empty() {
        return DEFAULT_NAME.to_owned();
    }
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    // The ending says which format it is.
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 16);
    let ending = ending.map(|ending| format!(".{ending}")).unwrap_or_default();
    let end = name.floor_char_boundary(MAX_NAME_BYTES - ending.len());
    format!("{}{ending}", &name[..end])
}

/// The directories in one; none if it is not there yet.
fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether no process works on an unfinished upload.
fn is_left_behind(path: &Path) -> bool {
    match File::open(path.join(LOCK_FILE)) {
        Ok(lock) => lock.try_lock().is_ok(),
        // Another process may be about to lock it.
        Err(_) => {
            let age =
                path.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
            age.is_some_and(|age| age >= UNLOCKED_AGE)
        }
    }
}

/// Claims an upload, unless another process has, or the disk fails: then the next look may.
fn claim(directory: PathBuf) -> Option<ClaimedUpload> {
    let upload = read_state(&directory).ok().filter(|upload| upload.state != UploadState::Failed)?;
    let lock = File::create(directory.join(LOCK_FILE)).ok()?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    Some(ClaimedUpload { upload, directory, _lock: lock })
}

fn read_state(directory: &Path) -> Result<Upload> {
    let path = directory.join(STATE_FILE);
    let text = fs::read_to_string(&path).context(format_args!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).context(format_args!("cannot read {}", path.display()))
}

fn write_state(directory: &Path, upload: &Upload) -> Result<()> {
    let path = directory.join(STATE_FILE);
    let place = format!("cannot write {}", path.display());
    let json = serde_json::to_vec(upload).context(&place)?;
    let draft = directory.join(format!("{STATE_FILE}.new"));
    let mut file = File::create(&draft).context(&place)?;
    file.write_all(&json).and_then(|()| file.sync_all()).context(&place)?;
    fs::rename(draft, path).and_then(|()| sync(directory)).context(&place)
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Creates a directory that only its owner may enter, unless it is there.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_client_names_no_other_place() {
        for (sent, name) in [
            ("notes.md", "notes.md"),
            ("../../etc/passwd", "passwd"),
            ("C:\\notes\\a b.txt", "a b.txt"),
            ("a\nb\0c\u{7f}.md", "a_b_c_.md"),
            ("", "upload"),
            ("..", "upload"),
            (" . ", "upload"),
            ("x/", "upload"),
            (".hidden", ".hidden"),
        ] {
            assert_eq!(safe_name(sent), name, "{sent:?}");
        }
        let long = safe_name(&format!("{}.pdf", "é".repeat(300)));
        assert!(long.len() <= MAX_NAME_BYTES && long.ends_with("é.pdf"), "{long}");
    }
}
