//! Vectors: cosines, estimated from codes of four bits a number or exact (`cosine.rs`), and of all pairs of
//! many vectors (`unit_vectors.rs`).

mod cosine;
mod unit_vectors;

pub use unit_vectors::{BLOCK_ROWS, UnitVectors};

pub(crate) use cosine::{Quantized, QuantizedQuery, width};

/// The vector of the same direction and of length 1. One that has that length already keeps its numbers, and
/// one without a direction.
pub(crate) fn normalized(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 && (length - 1.0).abs() > 1e-6 {
        for x in &mut vector {
            *x = (f64::from(*x) / length) as f32;
        }
    }
    vector
}
