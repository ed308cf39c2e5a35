//! Exports: records as lines, all or what has changed, without those that are known; messages in the formats
//! of others.

mod cursors;
mod fine_tuning;
mod format;
mod known_lines;
mod lines;
mod messages;
mod options;
mod transcripts;

pub use fine_tuning::FineTuning;
pub use format::Format;
pub use known_lines::KnownLines;
pub use lines::lines;
pub use messages::{messages, pairs};
pub use options::LineOptions;
pub use transcripts::Transcripts;
