//! Texts that are longer than a model reads at once.
//!
//! Such a text is split into chunks of half the model's window, at the end of a word where there is one; its
//! vector is the mean of the chunks' vectors, each weighted by its tokens, brought to length 1. Nothing is
//! left out. Measured on long turns of real conversations: cutting at the window finds least, whole windows
//! less than halves, and overlaps or more weight for the beginning gain nothing.

use crate::error::{Context, Result};
use crate::vector::normalized;
use tokenizers::Tokenizer;

/// Cuts texts into tokens as a model does.
pub(super) trait Tokens: Send + Sync {
    /// The number of tokens of a text, with those that the model adds around it.
    fn count(&self, text: &str) -> Result<usize>;
    /// The beginnings of the tokens of a text, in their order, without those around it.
    fn starts(&self, text: &str) -> Result<Vec<TokenStart>>;
}

/// The beginning of a token.
#[derive(Clone, Copy)]
pub(super) struct TokenStart {
    /// Its place in the text, in bytes.
    pub(super) at: usize,
    /// Whether a word begins there.
    pub(super) is_word: bool,
}

impl Tokens for Tokenizer {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(self.encode_fast(text, true).context("cannot tokenize the text")?.len())
    }

    fn starts(&self, text: &str) -> Result<Vec<TokenStart>> {
        let encoding = self.encode(text, false).context("cannot tokenize the text")?;
        let (offsets, words) = (encoding.get_offsets(), encoding.get_word_ids());
        let is_word = |n: usize| n == 0 || words[n] != words[n - 1] || words[n].is_none();
        let starts = offsets.iter().enumerate();
        Ok(starts.map(|(n, (at, _))| TokenStart { at: *at, is_word: is_word(n) }).collect())
    }
}

/// A text that fits the window, its prefix in front.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TextChunk {
    pub(super) text: String,
    pub(super) tokens: usize,
}

/// Splits a text into as few chunks as possible, at least one. Fails if the tokenizer does.
pub(super) fn split(
    tokenizer: &dyn Tokens,
    prefix: &str,
    text: &str,
    window: usize,
) -> Result<Vec<TextChunk>> {
    let whole = format!("{prefix}{text}");
    // No tokenizer makes more tokens than there are bytes, and two around them.
    let tokens = tokenizer.count(&whole)?;
    if tokens <= window {
        return Ok(vec![TextChunk { text: whole, tokens }]);
    }
    let chunk_tokens = (window / 2).saturating_sub(tokenizer.count(prefix)?).max(1);
    let mut chunks = Vec::new();
    for part in parts(tokenizer, text, chunk_tokens)? {
        add(&mut chunks, prefix, part, window, tokenizer)?;
    }
    Ok(chunks)
}

/// Slices of a text of at most `chunk_tokens` tokens each, as they are counted in the whole.
fn parts<'a>(tokenizer: &dyn Tokens, text: &'a str, chunk_tokens: usize) -> Result<Vec<&'a str>> {
    let starts = tokenizer.starts(text)?;
    let mut parts = Vec::new();
    let (mut first, mut begin) = (0, 0);
    while starts.len() - first > chunk_tokens {
        // A word longer than a quarter of the chunk is split.
        let next = (first + chunk_tokens - chunk_tokens / 4..=first + chunk_tokens)
            .rev()
            .find(|next| starts[*next].is_word)
            .unwrap_or(first + chunk_tokens);
        let end = starts[next].at.max(begin);
        parts.push(&text[begin..text.floor_char_boundary(end)]);
        (first, begin) = (next, text.floor_char_boundary(end));
    }
    parts.push(&text[begin..]);
    Ok(parts)
}

/// Adds a part as a chunk; a part that has more tokens alone than it had in the whole is halved.
fn add(
    chunks: &mut Vec<TextChunk>,
    prefix: &str,
    part: &str,
    window: usize,
    tokenizer: &dyn Tokens,
) -> Result<()> {
    let text = format!("{prefix}{part}");
    let tokens = tokenizer.count(&text)?;
    let middle = part.floor_char_boundary(part.len() / 2);
    if tokens > window && middle > 0 {
        add(chunks, prefix, &part[..middle], window, tokenizer)?;
        return add(chunks, prefix, &part[middle..], window, tokenizer);
    }
    if !part.trim().is_empty() {
        chunks.push(TextChunk { text, tokens });
    }
    Ok(())
}

/// The vector of a text, of length 1, from those of its chunks: their mean, weighted by their tokens.
pub(super) fn join(chunks: &[TextChunk], mut vectors: Vec<Vec<f32>>) -> Vec<f32> {
    if vectors.len() == 1 {
        return vectors.swap_remove(0);
    }
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for (chunk, vector) in chunks.iter().zip(&vectors) {
        for (sum, x) in sum.iter_mut().zip(vector) {
            *sum += chunk.tokens as f32 * x;
        }
    }
    normalized(sum)
}
