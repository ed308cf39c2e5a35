//! Writes messages in the formats of other programs.

mod fine_tuning;
mod format;
mod transcripts;

pub use fine_tuning::FineTuning;
pub use format::Format;
pub use transcripts::Transcripts;
