//! The progress of a fetch, for a person.

use crate::cli::{Diagnostics, Progress};

/// The receiver of a fetch's progress and notes.
pub trait Report {
    /// Reports that `bytes` of a file have arrived, out of `of` if the total is known.
    fn progress(&mut self, file: &str, bytes: u64, of: Option<u64>);
    /// Whether progress is shown.
    fn is_shown(&self) -> bool;
    /// Prints a note.
    fn note(&mut self, text: String);
}

/// Shows a progress bar and notes.
impl Report for (Progress, Diagnostics) {
    fn progress(&mut self, file: &str, bytes: u64, of: Option<u64>) {
        self.0.set(file, bytes, of);
    }

    fn is_shown(&self) -> bool {
        self.0.is_shown()
    }

    fn note(&mut self, text: String) {
        self.0.suspend(|| self.1.note(text));
    }
}
