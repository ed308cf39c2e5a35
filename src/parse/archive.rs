//! Archives, opened in memory: each is a directory of its contents.

use super::container::Container;
use super::format::Format;
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// The greatest unpacked size of the archives in a file, in bytes.
const MAX_TOTAL_BYTES: u64 = 128 << 20;
/// The greatest number of files in them.
const MAX_FILES: usize = 10_000;
/// The greatest number of archives in each other.
pub(super) const MAX_DEPTH: usize = 3;

/// How much may still be unpacked.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
    files: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { bytes: MAX_TOTAL_BYTES, files: MAX_FILES }
    }
}

/// A directory in an archive.
#[derive(Default, Debug)]
pub(super) struct Folder {
    pub(super) members: BTreeMap<String, Member>,
    /// The paths that are not read, each with the reason.
    pub(super) unread: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) enum Member {
    Folder(Folder),
    File(Vec<u8>),
}

/// Opens a zip or tar archive. Fails if it is damaged or exceeds the budget.
pub(super) fn open(format: Format, bytes: &[u8], budget: &mut Budget) -> Result<Folder, String> {
    let mut folder = Folder::default();
    if format == Format::Tar {
        open_tar(bytes, budget, &mut folder)?;
    } else {
        open_zip(bytes, budget, &mut folder)?;
    }
    Ok(folder)
}

/// Unpacks gzip. Fails if it is damaged or exceeds the budget.
pub(super) fn gunzip(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, String> {
    budget.read(MultiGzDecoder::new(bytes))
}

fn open_zip(bytes: &[u8], budget: &mut Budget, folder: &mut Folder) -> Result<(), String> {
    let mut container = Container::open(bytes)?;
    for (at, name) in container.names().into_iter().enumerate() {
        if name.ends_with('/') {
            continue;
        }
        budget.count()?;
        let content = container.open_member(at).and_then(|member| budget.read(member));
        match content {
            Ok(content) => folder.add(&name, content),
            Err(reason) if budget.bytes == 0 => return Err(reason),
            Err(reason) => folder.unread.push((name, reason)),
        }
    }
    Ok(())
}

fn open_tar(bytes: &[u8], budget: &mut Budget, folder: &mut Folder) -> Result<(), String> {
    let damaged = |error: std::io::Error| format!("a damaged archive: {error}");
    let mut archive = tar::Archive::new(Cursor::new(bytes));
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Links lead elsewhere, and devices have no content.
        if entry.header().entry_type().is_file() {
            budget.count()?;
            let content = budget.read(entry)?;
            folder.add(&name, content);
        }
    }
    Ok(())
}

impl Folder {
    /// Adds a file at a path, unless that leads out of the archive.
    fn add(&mut self, path: &str, content: Vec<u8>) {
        let segments: Vec<&str> = path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
        let is_bad = |segment: &&str| *segment == ".." || segment.chars().any(char::is_control);
        let (Some((file, folders)), false) = (segments.split_last(), segments.iter().any(is_bad)) else {
            self.unread.push((path.to_owned(), "its path leads out of the archive".to_owned()));
            return;
        };
        if folders.len() > 64 {
            self.unread.push((path.to_owned(), "its path is too deep".to_owned()));
            return;
        }
        let mut folder = &mut self.members;
        for name in folders {
            let member =
                folder.entry((*name).to_owned()).or_insert_with(|| Member::Folder(Folder::default()));
            // A folder replaces a file of the same name.
            if let Member::File(_) = member {
                *member = Member::Folder(Folder::default());
            }
            let Member::Folder(inner) = member else { return };
            folder = &mut inner.members;
        }
        folder.insert((*file).to_owned(), Member::File(content));
    }
}

impl Budget {
    fn count(&mut self) -> Result<(), String> {
        self.files =
            self.files.checked_sub(1).ok_or_else(|| format!("archives of more than {MAX_FILES} files"))?;
        Ok(())
    }

    fn read(&mut self, input: impl Read) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        let read = input.take(self.bytes + 1).read_to_end(&mut content);
        read.map_err(|error| format!("a damaged archive: {error}"))?;
        let left = self.bytes.checked_sub(content.len() as u64);
        self.bytes = left.unwrap_or(0);
        match left {
            Some(_) => Ok(content),
            None => Err(format!("it unpacks to more than {} MiB", MAX_TOTAL_BYTES >> 20)),
        }
    }
}
