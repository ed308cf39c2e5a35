//! The files in a zip archive, as streams. Nothing is extracted, so that the names in an archive are only
//! shown.

use super::error::ImportError;
use super::format::Bytes;
use crate::error::{Context, Result};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zip::{CompressionMethod, ZipArchive};

/// A file in an archive.
pub(super) struct Entry {
    archive: Arc<Archive>,
    name: String,
}

/// An archive, with the places of its files by their names.
struct Archive {
    path: PathBuf,
    files: HashMap<String, Place>,
}

/// The place of a file in an archive.
struct Place {
    method: CompressionMethod,
    encrypted: bool,
    /// The position of its bytes in the archive, and their number.
    start: u64,
    compressed: u64,
    /// The number of bytes after decompression, and their checksum.
    size: u64,
    crc32: u32,
}

/// The files of an archive, in the order of its directory. Fails if it cannot be read or is damaged.
pub(super) fn entries(path: &Path) -> Result<Vec<Entry>> {
    let cannot = || format!("cannot read {}", path.display());
    let file = File::open(path).context(cannot())?;
    let mut archive = ZipArchive::new(file).context(cannot())?;
    let (mut names, mut files) = (Vec::new(), HashMap::new());
    for at in 0..archive.len() {
        let entry = archive.by_index_raw(at).context(cannot())?;
        if !entry.is_file() {
            continue;
        }
        let start = entry.data_start().ok_or_else(|| ImportError::NoData { path: path.to_owned() })?;
        let name = entry.name().context(cannot())?.into_owned();
        let place = Place {
            method: entry.compression(),
            encrypted: entry.encrypted(),
            start,
            compressed: entry.compressed_size(),
            size: entry.size(),
            crc32: entry.crc32(),
        };
        names.push(name.clone());
        files.insert(name, place);
    }
    let archive = Arc::new(Archive { path: path.to_owned(), files });
    Ok(names.into_iter().map(|name| Entry { archive: archive.clone(), name }).collect())
}

impl Entry {
    /// Its name for messages.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.archive.path.display(), self.name)
    }

    /// Another file of its archive; `path` is relative to its folder.
    pub(super) fn other(&self, path: &str) -> Option<Entry> {
        let mut parts: Vec<&str> = self.name.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            match part {
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        let name = parts.join("/");
        self.archive.files.contains_key(&name).then(|| Entry { archive: self.archive.clone(), name })
    }

    /// Its decompressed bytes, which end with an error unless size and checksum are those of the archive.
    pub(super) fn open(&self) -> Result<Bytes> {
        let cannot = format!("cannot read {}", self.name());
        let place = self.archive.files.get(&self.name);
        let place = place.ok_or_else(|| ImportError::NotInArchive { entry: self.name() })?;
        if place.encrypted {
            return Err(ImportError::Encrypted { entry: self.name() }.into());
        }
        let mut file = File::open(&self.archive.path).context(&cannot)?;
        file.seek(SeekFrom::Start(place.start)).context(&cannot)?;
        let raw = file.take(place.compressed);
        let bytes: Bytes = match place.method {
            CompressionMethod::Stored => Box::new(raw),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(raw)),
            method => return Err(ImportError::Compressed { entry: self.name(), method }.into()),
        };
        Ok(Box::new(Checked { bytes, crc: Crc::new(), size: place.size, crc32: place.crc32 }))
    }
}

/// Compares the bytes with the size and the checksum that the archive says.
struct Checked {
    bytes: Bytes,
    crc: Crc,
    size: u64,
    crc32: u32,
}

impl Read for Checked {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(to)?;
        self.crc.update(&to[..read]);
        // The counter of the checksum has 32 bits.
        self.size = match self.size.checked_sub(read as u64) {
            Some(left) => left,
            None => return Err(io::Error::other("is longer than the archive says")),
        };
        if read == 0 && !to.is_empty() && (self.size > 0 || self.crc.sum() != self.crc32) {
            return Err(io::Error::other("is not what the archive says"));
        }
        Ok(read)
    }
}
