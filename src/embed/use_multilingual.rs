//! The multilingual Universal Sentence Encoder, version 3 (Yang et al. 2019, arXiv:1907.04307), which knows
//! 15 languages and runs without ONNX Runtime.
//!
//! A token is a row of a table of 6-bit numbers. Convolutions over 2, 3 and 5 neighbouring tokens add what
//! stands beside it; a small network makes one vector of the sum (`layers`). Of the table, only the rows of a
//! text's tokens are read, so that a process starts fast and needs little memory. `convert` makes the one
//! file of the model (`model_file`) of the files that are downloaded.
//!
//! The downloaded package's own program brings the three convolutions to mean 0 and variance 1 together.
//! Google's graph does so with each alone, and so does this module: its vectors are nearer to Google's.

mod convert;
mod layers;
mod model_file;
mod normalizer;
mod npz;
mod pieces;

use super::chunking::{TokenStart, Tokens};
use super::error::EmbedError;
use crate::error::{Context, Result};
use layers::{Layers, Token};
use model_file::{ModelFile, Table};
use normalizer::Normalizer;
use pieces::{Pieces, UNKNOWN};
use std::path::Path;

pub(super) use convert::{DOWNLOADED_FILES, convert};
pub(super) use model_file::MODEL_FILE;

/// The ids of the tokens before and after each text.
const BEFORE: u32 = 1;
const AFTER: u32 = 2;

/// The tokens that are computed at once: more is not faster, since their numbers leave the processor's cache.
const BATCH_TOKENS: usize = 384;

/// The model, ready to run; threads share it.
pub(super) struct UseMultilingual {
    normalizer: Normalizer,
    pieces: Pieces,
    layers: Layers,
    table: Table,
}

impl UseMultilingual {
    /// Reads the file of a model, all but its table. Errors if it is not one.
    pub(super) fn read(path: &Path) -> Result<UseMultilingual> {
        let file = ModelFile::open(path)?;
        let damaged = || EmbedError::Damaged { path: path.to_owned() };
        Ok(UseMultilingual {
            normalizer: Normalizer::new(file.units, file.replacements),
            pieces: Pieces::new(file.trie, file.scores).ok_or_else(damaged)?,
            layers: file.layers,
            table: file.table,
        })
    }

    /// The vectors of texts, of 512 numbers and length 1 each, in their order. Errors if the table cannot be
    /// read.
    pub(super) fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let (mut batch, mut tokens) = (Vec::new(), 0);
        for text in texts {
            let ids = self.ids(text);
            if tokens > 0 && tokens + ids.len() > BATCH_TOKENS {
                vectors.extend(self.embed_ids(&batch)?);
                (batch, tokens) = (Vec::new(), 0);
            }
            tokens += ids.len();
            batch.push(ids);
        }
        if !batch.is_empty() {
            vectors.extend(self.embed_ids(&batch)?);
        }
        Ok(vectors)
    }

    fn embed_ids(&self, batch: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let mut tokens = Vec::with_capacity(batch.iter().map(Vec::len).sum());
        for id in batch.iter().flatten() {
            let row = self.table.row(*id).context("cannot read the model's table")?;
            tokens.push(Token { id: *id, row });
        }
        let lengths: Vec<usize> = batch.iter().map(Vec::len).collect();
        Ok(self.layers.embed(&tokens, &lengths))
    }

    /// The tokens of a text, with those around it.
    fn ids(&self, text: &str) -> Vec<u32> {
        let normalized = self.normalizer.normalize(text);
        let mut ids = vec![BEFORE];
        ids.extend(self.pieces.split(&normalized.text).iter().map(|piece| piece.id));
        if ids.len() == 1 {
            ids.push(UNKNOWN);
        }
        ids.push(AFTER);
        ids
    }
}

impl Tokens for UseMultilingual {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(self.ids(text).len())
    }

    fn starts(&self, text: &str) -> Result<Vec<TokenStart>> {
        let normalized = self.normalizer.normalize(text);
        let start = |piece: &pieces::Piece| TokenStart {
            at: normalized.origin[piece.start],
            is_word: normalized.text[piece.start..].starts_with(normalizer::SPACE),
        };
        Ok(self.pieces.split(&normalized.text).iter().map(start).collect())
    }
}
