//! Writes messages in the formats of other programs, and leaves out lines that are known.

mod fine_tuning;
mod format;
mod known_lines;
mod transcripts;

pub use fine_tuning::FineTuning;
pub use format::Format;
pub use known_lines::KnownLines;
pub use transcripts::Transcripts;
