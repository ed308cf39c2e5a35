//! The lines that the reader of an export has already.

use crate::error::{Context, Result};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};

/// Lines, by the first half of their SHA-256.
#[derive(Default)]
pub struct KnownLines(HashSet<u128>);

impl KnownLines {
    /// Adds the lines of an input; `name` is that of errors.
    pub fn add(&mut self, name: &str, input: impl Read) -> Result<()> {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).context(format_args!("cannot read {name}"))? > 0 {
            self.0.insert(digest(&line));
            line.clear();
        }
        Ok(())
    }

    /// Whether a line, with its line feed, is one of them.
    pub fn contains(&self, line: &[u8]) -> bool {
        !self.0.is_empty() && self.0.contains(&digest(line))
    }
}

fn digest(line: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::digest(line).into();
    digest.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}
