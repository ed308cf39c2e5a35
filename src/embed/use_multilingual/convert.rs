//! The file of the model, of the two that are downloaded: the weights as NumPy's arrays, and the vocabulary
//! and the rules of the normalizer as SentencePiece keeps them.

use super::layers::{self, DIM, LAYER_NUMBERS};
use super::model_file::{MODEL_FILE, Sections, to_numbers};
use super::npz::Npz;
use super::pieces::TrieNodes;
use crate::embed::error::EmbedError;
use crate::error::{Context, Result};
use integer_encoding::VarInt;
use std::fs;
use std::path::Path;

/// The files that are downloaded.
pub(in crate::embed) const DOWNLOADED_FILES: [&str; 2] = [WEIGHTS_FILE, VOCABULARY_FILE];
const WEIGHTS_FILE: &str = "weights.npz";
const VOCABULARY_FILE: &str = "sp.model";

/// The arrays of the table, each with every 17th row, and their rows.
const TABLE_PARTS: usize = 17;
const PART_ROWS: usize = 7530;

/// Makes the file of the model in a directory with the downloaded files, and removes these. The same files
/// make the same file to the byte. Fails if one of these is missing or has another format.
pub(in crate::embed) fn convert(directory: &Path) -> Result<()> {
    let vocabulary = fs::read(directory.join(VOCABULARY_FILE)).context(VOCABULARY_FILE)?;
    let vocabulary =
        Vocabulary::parse(&vocabulary).ok_or(EmbedError::NotAVocabulary { name: VOCABULARY_FILE })?;
    let mut archive = Npz::open(&directory.join(WEIGHTS_FILE))?;
    let mut layers = Vec::with_capacity(LAYER_NUMBERS);
    for name in layers::array_names() {
        layers.extend(to_numbers(&archive.array(&name, "<f4")?, f32::from_le_bytes));
    }
    let mut table = vec![0; TABLE_PARTS * PART_ROWS * DIM];
    for part in 0..TABLE_PARTS {
        let name = format!("q{}", part + 1);
        let rows = archive.array(&name, "|u1")?;
        let places = table.chunks_exact_mut(DIM).skip(part).step_by(TABLE_PARTS);
        for (place, row) in places.zip(rows.chunks_exact(DIM)) {
            place.copy_from_slice(row);
        }
    }
    let path = directory.join(MODEL_FILE);
    let sections = Sections {
        units: &vocabulary.units,
        replacements: vocabulary.replacements,
        trie: &TrieNodes::build(&vocabulary.pieces),
        scores: &vocabulary.scores,
        layers: &layers,
        table: &table,
    };
    // An interrupted conversion leaves no file that looks whole.
    let making = path.with_extension("part");
    let written = sections.write(&making).and_then(|()| fs::rename(&making, &path));
    written.context(format_args!("cannot write {}", path.display()))?;
    for name in DOWNLOADED_FILES {
        fs::remove_file(directory.join(name)).context(format_args!("cannot remove {name}"))?;
    }
    Ok(())
}

/// The contents of a file of SentencePiece.
struct Vocabulary<'a> {
    pieces: Vec<&'a [u8]>,
    scores: Vec<f32>,
    units: Vec<u32>,
    replacements: &'a [u8],
}

impl<'a> Vocabulary<'a> {
    /// Reads a `ModelProto` of
    /// <https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto>: its pieces (1)
    /// with text (1) and score (2), and its normalizer's (3) compiled rules (2).
    fn parse(bytes: &'a [u8]) -> Option<Vocabulary<'a>> {
        let (mut pieces, mut scores, mut rules) = (Vec::new(), Vec::new(), None);
        for field in fields(bytes) {
            match field? {
                (1, piece) => {
                    let (mut text, mut score) = (None, 0.0);
                    for field in fields(piece) {
                        match field? {
                            (1, bytes) => text = Some(bytes),
                            (2, bytes) => score = f32::from_le_bytes(bytes.try_into().ok()?),
                            _ => {}
                        }
                    }
                    pieces.push(text?);
                    scores.push(score);
                }
                (3, normalizer) => {
                    for field in fields(normalizer) {
                        if let (2, bytes) = field? {
                            rules = Some(bytes);
                        }
                    }
                }
                _ => {}
            }
        }
        let (length, rest) = rules?.split_first_chunk()?;
        let (units, replacements) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Vocabulary {
            pieces,
            scores,
            units: to_numbers(units, u32::from_le_bytes).collect(),
            replacements,
        })
    }
}

/// The fields of a message of Protocol Buffers: the number and the bytes of each; `None` where it cannot be
/// read.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = Option<(u64, &[u8])>> {
    std::iter::from_fn(move || if rest.is_empty() { None } else { Some(next_field(&mut rest)) }).fuse()
}

fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let bytes = std::mem::take(rest);
    let (tag, used) = u64::decode_var(bytes)?;
    let bytes = &bytes[used..];
    let (skipped, length) = match tag & 7 {
        0 => (0, u64::decode_var(bytes)?.1),
        1 => (0, 8),
        2 => {
            let (length, used) = u64::decode_var(bytes)?;
            (used, usize::try_from(length).ok()?)
        }
        5 => (0, 4),
        _ => return None,
    };
    let (field, others) = bytes.get(skipped..)?.split_at_checked(length)?;
    *rest = others;
    Some((tag >> 3, field))
}
