//! Vectors: cosines, estimated from codes of four bits a number or exact (`cosine.rs`), and of all pairs of
//! many vectors (`unit_vectors.rs`).

mod cosine;
mod unit_vectors;

pub use unit_vectors::{BLOCK_ROWS, UnitVectors};

pub(crate) use cosine::{Quantized, QuantizedQuery, width};
