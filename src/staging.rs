//! A directory for incomplete output, beside the file or directory that it becomes. A process that is killed
//! leaves it behind, under a name that says so, and the next one that makes the same thing removes it.

use crate::error::{Context, Error, Result};
use crate::file_name;
use rustix::fs::OFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The suffix of the name, after a point and the name of the target.
const SUFFIX: &str = ".rsv-part";

/// An empty directory, `.NAME.rsv-part` (a digest in place of a long name), removed with its contents when
/// dropped.
pub struct StagingDir {
    path: PathBuf,
    /// Locked while this process uses the directory. The system unlocks it however the process ends.
    _lock: File,
}

impl StagingDir {
    /// Makes the directory beside `target`, or takes over the one that a killed process left. Errors if
    /// another process is making `target`.
    pub fn beside(target: &Path) -> Result<StagingDir> {
        let cannot = format!("cannot write {}", target.display());
        let name = target.file_name().ok_or("it has no name").context(&cannot)?;
        let digest = file_name::digest(name.as_encoded_bytes());
        let name =
            if name.len() + 1 + SUFFIX.len() <= file_name::MAX_BYTES { name } else { OsStr::new(&digest) };
        let hidden: OsString = [OsStr::new("."), name, OsStr::new(SUFFIX)].into_iter().collect();
        let path = parent(target).join(hidden);
        loop {
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error).context(cannot),
                _ => {}
            }
            let lock = match open(&path) {
                // The process that used it has ended.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.context(format_args!("cannot use {}", path.display()))?,
            };
            // On a file system without locks, other processes cannot be detected.
            if let Err(TryLockError::WouldBlock) = lock.try_lock() {
                let error = Error::attempt(cannot, "another process is writing it");
                return Err(error.hint("wait for it, or name another place"));
            }
            if is_at(&lock, &path).context(&cannot)? {
                empty(&path).context(format_args!("cannot use {}", path.display()))?;
                return Ok(StagingDir { path, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a small file so that it has its name when it is whole; an existing one is replaced. Fails if it
    /// cannot be written.
    pub fn write(&self, file: &Path, bytes: &[u8]) -> Result<()> {
        let new = self.path.join("file");
        let written = || -> io::Result<()> {
            let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            opened.write_all(bytes)?;
            opened.sync_all()?;
            std::fs::rename(&new, file)
        };
        written().context(format_args!("cannot write {}", file.display()))
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        // The next process removes what cannot be removed now.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Writes a small file so that it has its name when it is whole; an existing one is replaced. Fails if it
/// cannot be written.
pub fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    StagingDir::beside(file)?.write(file, bytes)
}

/// The directory of a path.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// Opens an own directory. Errors for a link, and for a directory of another user, who could change its
/// contents.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits();
    let directory = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    if directory.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is another user's"));
    }
    Ok(directory)
}

/// Whether an open directory is still the one at a path.
fn is_at(directory: &File, path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(there) => {
            let opened = directory.metadata()?;
            Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn empty(directory: &Path) -> io::Result<()> {
    for entry in directory.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
