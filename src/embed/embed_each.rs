//! Embeds texts of which some may fail.

use super::embedder::Embedder;
use super::error::EmbedError;
use super::input_type::InputType;
use crate::error::Result;

impl Embedder {
    /// As `embed`, each of length 1, but if the texts cannot be embedded together, each is tried alone, so
    /// that one which a server refuses does not affect the others. Errors if the cause is not in the texts.
    pub fn embed_each(&mut self, texts: &[&str], input_type: InputType) -> Result<Vec<Result<Vec<f32>>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        match self.embed(texts, input_type) {
            Ok(vectors) => Ok(vectors.into_iter().map(Ok).collect()),
            Err(error) if !self.is_ready() => Err(error),
            Err(error) if texts.len() == 1 => Ok(vec![Err(error)]),
            Err(_) => Ok(texts.iter().map(|text| self.embed_one(text, input_type)).collect()),
        }
    }

    /// Embeds one text: a vector of length 1. Errors as `embed`.
    pub fn embed_one(&mut self, text: &str, input_type: InputType) -> Result<Vec<f32>> {
        let vector = self.embed(&[text], input_type)?.pop();
        Ok(vector.ok_or(EmbedError::Model { fault: "the model returned no vector" })?)
    }
}
