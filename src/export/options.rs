//! The parts of records that are written as lines.

use crate::record::VectorFormat;
use std::path::PathBuf;

/// The parts of an export as lines.
#[derive(Default)]
pub struct LineOptions {
    /// The form of embeddings; without one they are left out.
    pub vectors: Option<VectorFormat>,
    /// Files with lines that are left out; they may be compressed.
    pub without: Vec<PathBuf>,
    /// The file with the cursor after which changes are written.
    pub new_since: Option<PathBuf>,
    /// The file for the next cursor.
    pub next: Option<PathBuf>,
}
