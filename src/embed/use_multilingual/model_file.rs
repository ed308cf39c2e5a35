//! The file of the model: all that is computed with, in the form in which it is read fast.
//!
//! It begins with `MAGIC` and the lengths of its sections in bytes, 64 bits each. The sections follow in the
//! order of `Sections`, the table last. Numbers are little-endian.

use super::layers::{DIM, LAYER_NUMBERS, Layers};
use super::pieces::TrieNodes;
use crate::embed::error::EmbedError;
use crate::error::{Context, Result};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The name of the file in the directory of the model.
pub(in crate::embed) use crate::embed::model::USE_FILE as MODEL_FILE;

/// The first bytes; the last is the version of the format.
const MAGIC: &[u8; 8] = b"rsv-use1";

const SECTIONS: usize = 8;
const HEADER_BYTES: usize = MAGIC.len() + 8 * SECTIONS;

/// The contents of the file before the table.
pub(super) struct ModelFile {
    /// The double array of the normalizer, and the texts that it points to.
    pub(super) units: Vec<u32>,
    pub(super) replacements: Vec<u8>,
    pub(super) trie: TrieNodes,
    /// The score of each token, by id.
    pub(super) scores: Vec<f32>,
    pub(super) layers: Layers,
    pub(super) table: Table,
}

/// The rows of the tokens, which stay in the file.
pub(super) struct Table {
    file: File,
    offset: u64,
}

impl Table {
    /// The row of a token. Fails if the file is too short.
    pub(super) fn row(&self, id: u32) -> io::Result<[u8; DIM]> {
        let mut row = [0; DIM];
        self.file.read_exact_at(&mut row, self.offset + u64::from(id) * DIM as u64)?;
        Ok(row)
    }
}

impl ModelFile {
    /// Reads a file. Errors if it cannot be read, or is not one.
    pub(super) fn open(path: &Path) -> Result<ModelFile> {
        let name = path.display();
        let damaged = || EmbedError::Damaged { path: path.to_owned() };
        let what = format!("cannot read {name}");
        let mut file = File::open(path).context(&what)?;
        let bytes = file.metadata().context(&what)?.len();
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).context(&what)?;
        let lengths = header.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let lengths: Vec<u64> =
            lengths.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let end = lengths.iter().try_fold(HEADER_BYTES as u64, |sum, length| sum.checked_add(*length));
        if end != Some(bytes) {
            return Err(damaged().into());
        }
        if lengths[6] != 4 * LAYER_NUMBERS as u64 || lengths[7] < lengths[5] / 4 * DIM as u64 {
            return Err(damaged().into());
        }
        // None is longer than the file.
        let length = |at: usize| lengths[at] as usize;
        let units = read_numbers(&mut file, length(0) / 4, u32::from_le_bytes).context(&what)?;
        let replacements = read_bytes(&mut file, length(1)).context(&what)?;
        let labels = read_bytes(&mut file, length(2)).context(&what)?;
        let first_child = read_numbers(&mut file, length(3) / 4, u32::from_le_bytes).context(&what)?;
        let ids = read_numbers(&mut file, length(4) / 4, u32::from_le_bytes).context(&what)?;
        let scores = read_numbers(&mut file, length(5) / 4, f32::from_le_bytes).context(&what)?;
        let layers = Layers::read(&mut |count| read_numbers(&mut file, count, f32::from_le_bytes));
        let trie = TrieNodes { labels, first_child, ids };
        let layers = layers.context(&what)?;
        let table = Table { file, offset: bytes - lengths[7] };
        Ok(ModelFile { units, replacements, trie, scores, layers, table })
    }
}

fn read_bytes(file: &mut File, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads numbers of 4 bytes by a small buffer: memory that is used for the first time costs more than the
/// reading.
fn read_numbers<T>(file: &mut File, count: usize, number: fn([u8; 4]) -> T) -> io::Result<Vec<T>> {
    let mut numbers = Vec::with_capacity(count);
    let mut buffer = [0; 1 << 15];
    while numbers.len() < count {
        let length = buffer.len().min(4 * (count - numbers.len()));
        file.read_exact(&mut buffer[..length])?;
        numbers.extend(to_numbers(&buffer[..length], number));
    }
    Ok(numbers)
}

/// The sections of a file that is written.
pub(super) struct Sections<'a> {
    pub(super) units: &'a [u32],
    pub(super) replacements: &'a [u8],
    pub(super) trie: &'a TrieNodes,
    pub(super) scores: &'a [f32],
    pub(super) layers: &'a [f32],
    pub(super) table: &'a [u8],
}

impl Sections<'_> {
    /// Writes a file, to the disk. Fails if it cannot be written.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let u32s = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let f32s = |numbers: &[f32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let sections: [&[u8]; SECTIONS] = [
            &u32s(self.units),
            self.replacements,
            &self.trie.labels,
            &u32s(&self.trie.first_child),
            &u32s(&self.trie.ids),
            &f32s(self.scores),
            &f32s(self.layers),
            self.table,
        ];
        let mut file = File::create(path)?;
        let lengths = sections.iter().flat_map(|section| (section.len() as u64).to_le_bytes());
        file.write_all(&MAGIC.iter().copied().chain(lengths).collect::<Vec<u8>>())?;
        for section in sections {
            file.write_all(section)?;
        }
        file.sync_all()
    }
}

/// Numbers of 4 bytes each.
pub(super) fn to_numbers<T>(bytes: &[u8], number: fn([u8; 4]) -> T) -> impl Iterator<Item = T> {
    bytes.as_chunks().0.iter().map(move |bytes| number(*bytes))
}
