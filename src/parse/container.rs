//! Zip archives, read within bounds.

use std::io::{Cursor, Read};
use zip::ZipArchive;

/// The greatest size of all members that are read of an archive, in bytes.
const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// The greatest number of members of an archive.
const MAX_MEMBERS: usize = 65_536;

/// The length that a text may still have. References to one part of a small file could make a text of any
/// length.
pub(super) struct TextLimit {
    /// In bytes.
    left: u64,
    is_exceeded: bool,
}

impl Default for TextLimit {
    fn default() -> TextLimit {
        TextLimit { left: MAX_TOTAL_BYTES, is_exceeded: false }
    }
}

impl TextLimit {
    /// Whether a text may be appended; after one that is too long, none may.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let left = self.left.checked_sub(text.len() as u64).filter(|_| !self.is_exceeded);
        self.is_exceeded = left.is_none();
        self.left = left.unwrap_or(0);
        !self.is_exceeded
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// An error if a text was too long.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.is_exceeded { Err(too_large()) } else { Ok(()) }
    }
}

fn too_large() -> String {
    format!("it unpacks to more than {} MiB", MAX_TOTAL_BYTES >> 20)
}

/// A zip archive in memory.
pub(super) struct Container<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// How many bytes may still be read.
    left: u64,
}

impl<'a> Container<'a> {
    /// Opens a zip archive. Fails if it is damaged or has too many members.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Container<'a>, String> {
        let archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("not a whole archive: {error}"))?;
        if archive.len() > MAX_MEMBERS {
            return Err(format!("an archive of more than {MAX_MEMBERS} members"));
        }
        Ok(Container { archive, left: MAX_TOTAL_BYTES })
    }

    /// Whether bytes are an archive, of however many members.
    pub(super) fn is_archive(bytes: &[u8]) -> bool {
        ZipArchive::new(Cursor::new(bytes)).is_ok()
    }

    /// Whether there is such a member.
    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// A member, which is only looked up in the archive, so that any name is safe. Fails if there is none, it
    /// is damaged, or the archive unpacks to too much.
    pub(super) fn member(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let at = self.archive.index_for_name(name).ok_or_else(|| format!("the archive has no {name}"))?;
        let limit = self.left;
        let mut bytes = Vec::new();
        let read = self.open_member(at)?.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("a damaged archive: {error}"))?;
        let left = limit.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(too_large)?;
        Ok(bytes)
    }

    /// The same if there is one. Fails as `member` does.
    pub(super) fn optional(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        if !self.has(name) {
            return Ok(None);
        }
        self.member(name).map(Some)
    }

    /// The names of the members, by their numbers.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |at| match self.archive.name_for_index(at) {
            Some(Ok(name)) => name.into_owned(),
            _ => String::new(),
        };
        (0..self.archive.len()).map(name).collect()
    }

    /// The content of a member, to be read within bounds. Fails if it cannot be unpacked.
    pub(super) fn open_member(&mut self, at: usize) -> Result<impl Read, String> {
        self.archive.by_index(at).map_err(|error| error.to_string())
    }
}
