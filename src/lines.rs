//! Reads the lines of inputs: `reader.rs` cuts an input into JSON objects, whose ends `object_scanner.rs`
//! finds, `text_lines.rs` into lines of text, each with its place, and `feed.rs` reads ahead in a thread.
//! `sniff.rs` recognizes input that is neither, `stray_text.rs` text in front of records. `record` decides
//! what a line says.

mod error;
mod feed;
mod located_line;
mod object_scanner;
mod reader;
mod sniff;
mod stray_text;
mod text_lines;

pub use feed::{Feed, FeedEvent, ObjectSource};
pub use located_line::{LineContent, LocatedLine};
pub use reader::{LocatedObject, Reader, SourceLocation, too_long};
pub use sniff::{binary_format, describe};
pub use stray_text::records_after_text;
