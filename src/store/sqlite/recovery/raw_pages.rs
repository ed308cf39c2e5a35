//! The pages of a file and of its write-ahead log, read without SQLite, which refuses many damaged files as a
//! whole.
//!
//! The formats are those of <https://www.sqlite.org/fileformat2.html>. Numbers are big-endian; pages count
//! from 1.

use crate::store::sqlite::wal;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The page size of a store. Measured: larger pages read vectors and long texts twice as fast as SQLite's own
/// 4096.
pub(crate) const PAGE_SIZE: usize = 16_384;

/// The length of the header, with which page 1 begins.
pub(crate) const HEADER_BYTES: usize = 100;

/// The first bytes of every database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// SQLite locks this byte of a file, and leaves its page unused.
const LOCK_BYTE: u64 = 1 << 30;

/// Reads a number of 2 bytes.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

/// Reads a number of 4 bytes.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The header of a file.
struct Header {
    page_size: usize,
    /// The bytes of a page that SQLite does not use.
    reserved: usize,
    /// The number of pages, if it is up to date.
    pages: Option<u32>,
    first_free: u32,
}

impl Header {
    /// `None` if the bytes do not begin with a header.
    fn parse(bytes: &[u8]) -> Option<Header> {
        if !bytes.starts_with(MAGIC) || bytes.len() < HEADER_BYTES {
            return None;
        }
        let page_size = match u16_at(bytes, 16)? {
            1 => 65_536,
            size => size,
        };
        let (change, valid_for) = (u32_at(bytes, 24)?, u32_at(bytes, 92)?);
        let header = Header {
            page_size,
            reserved: bytes[20].into(),
            pages: u32_at(bytes, 28).filter(|pages| *pages > 0 && change == valid_for),
            first_free: u32_at(bytes, 32)?,
        };
        (is_page_size(page_size) && page_size - header.reserved >= 480).then_some(header)
    }
}

fn is_page_size(size: usize) -> bool {
    size.is_power_of_two() && (512..=65_536).contains(&size)
}

/// A file with its log, as of the last transaction in the log.
pub(crate) struct RawPages {
    file: File,
    log: Option<Log>,
    pub(crate) page_size: usize,
    /// The bytes of a page that SQLite uses.
    pub(crate) usable: usize,
    /// The number of the last existing page.
    pub(crate) last: u32,
    /// The number of pages that should be there.
    pub(crate) total: u32,
    /// The free pages; `None` if they are not known.
    free: Option<HashSet<u32>>,
}

impl RawPages {
    /// Opens the file at a path. Only a failure to open or inspect it is an error.
    pub(crate) fn open(path: &Path) -> io::Result<RawPages> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut first = [0; HEADER_BYTES];
        let header = file.read_exact_at(&mut first, 0).ok().and_then(|()| Header::parse(&first));
        let page_size = header.as_ref().map_or(PAGE_SIZE, |header| header.page_size);
        let log = Log::read(&wal::path_of(path), page_size);
        let in_file = u32::try_from(bytes.div_ceil(page_size as u64)).unwrap_or(u32::MAX);
        let mut pages =
            RawPages { file, log, page_size, usable: page_size, last: in_file, total: 0, free: None };
        // The first page may be in the log too.
        let mut page = Vec::new();
        let header = if pages.read(1, &mut page) { Header::parse(&page) } else { header };
        let in_log = pages.log.as_ref().map(|log| log.pages);
        let counted = in_log.or(header.as_ref().and_then(|header| header.pages));
        pages.total = counted.unwrap_or(in_file);
        pages.last = pages.total.min(in_file.max(pages.log.as_ref().map_or(0, Log::last)));
        if let Some(header) = header.filter(|header| header.page_size == page_size) {
            pages.usable = page_size - header.reserved;
            pages.free = pages.free_pages(header.first_free);
        }
        Ok(pages)
    }

    /// Reads a page into a buffer; false if it is not there, or if the system cannot read it.
    pub(crate) fn read(&self, number: u32, page: &mut Vec<u8>) -> bool {
        page.resize(self.page_size, 0);
        let in_log = self.log.as_ref().and_then(|log| Some((&log.file, *log.offsets.get(&number)?)));
        let in_file =
            (number > 0).then(|| (&self.file, u64::from(number.wrapping_sub(1)) * self.page_size as u64));
        in_log.or(in_file).is_some_and(|(file, at)| file.read_exact_at(page, at).is_ok())
    }

    /// Whether a page is known to hold nothing.
    pub(crate) fn is_unused(&self, number: u32) -> bool {
        u64::from(number - 1) * self.page_size as u64 == LOCK_BYTE
            || self.free.as_ref().is_some_and(|free| free.contains(&number))
    }

    /// Whether the free pages are known.
    pub(crate) fn knows_free_pages(&self) -> bool {
        self.free.is_some()
    }

    /// The pages of the free list: trunks, which name leaves. `None` if it is damaged.
    fn free_pages(&self, first: u32) -> Option<HashSet<u32>> {
        let (mut free, mut page, mut trunk) = (HashSet::new(), Vec::new(), first);
        while trunk != 0 {
            if trunk > self.total || !free.insert(trunk) || !self.read(trunk, &mut page) {
                return None;
            }
            let leaves = u32_at(&page, 4)? as usize;
            for at in 0..leaves {
                let leaf = u32_at(page.get(..self.usable)?, 8 + 4 * at)?;
                if leaf == 0 || leaf > self.total || !free.insert(leaf) {
                    return None;
                }
            }
            trunk = u32_at(&page, 0)?;
        }
        Some(free)
    }
}

/// The committed pages of a write-ahead log.
struct Log {
    file: File,
    /// The offset of the latest version of each page.
    offsets: HashMap<u32, u64>,
    /// The number of pages of the file after the last transaction.
    pages: u32,
}

/// The lengths of the headers of a log and of a frame, which is a page in it.
const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

impl Log {
    /// Reads the log at a path; `None` if there is none, or if nothing in it is committed.
    fn read(path: &Path, page_size: usize) -> Option<Log> {
        let mut input = BufReader::with_capacity(1 << 18, File::open(path).ok()?);
        let mut header = [0; LOG_HEADER_BYTES];
        input.read_exact(&mut header).ok()?;
        let magic = u32_at(&header, 0)?;
        if magic & !1 != 0x377f_0682 || u32_at(&header, 8)? as usize != page_size {
            return None;
        }
        let mut sum = LogChecksum { is_big_endian: magic & 1 == 1, value: (0, 0) };
        sum.add(&header[..24]);
        if !sum.is_at(&header, 24) {
            return None;
        }
        let mut log = Log { file: File::open(path).ok()?, offsets: HashMap::new(), pages: 0 };
        let mut uncommitted = Vec::new();
        let mut frame = vec![0; FRAME_HEADER_BYTES + page_size];
        let mut at = LOG_HEADER_BYTES as u64;
        while input.read_exact(&mut frame).is_ok() {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER_BYTES..]);
            // Frames with another salt are from before the log was last emptied.
            if frame[8..16] != header[16..24] || !sum.is_at(&frame, 16) {
                break;
            }
            uncommitted.push((u32_at(&frame, 0)?, at + FRAME_HEADER_BYTES as u64));
            let pages = u32_at(&frame, 4)?;
            if pages > 0 {
                log.pages = pages;
                log.offsets.extend(uncommitted.drain(..));
            }
            at += frame.len() as u64;
        }
        (log.pages > 0).then_some(log)
    }

    /// The greatest number of a page in it.
    fn last(&self) -> u32 {
        self.offsets.keys().copied().max().unwrap_or(0)
    }
}

/// The checksum of a log, over all of it up to a frame.
struct LogChecksum {
    is_big_endian: bool,
    value: (u32, u32),
}

impl LogChecksum {
    fn add(&mut self, bytes: &[u8]) {
        let read = if self.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        let number = |bytes: &[u8; 4]| read(*bytes);
        let (mut one, mut two) = self.value;
        for pair in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            one = one.wrapping_add(number(&pair[0])).wrapping_add(two);
            two = two.wrapping_add(number(&pair[1])).wrapping_add(one);
        }
        self.value = (one, two);
    }

    /// Whether it is stored at a place.
    fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        u32_at(bytes, at) == Some(self.value.0) && u32_at(bytes, at + 4) == Some(self.value.1)
    }
}
