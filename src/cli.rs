//! Arguments, streams and exit status: the only place that prints, and the only one that exits.

mod completion;
mod io;
mod main;
mod progress;

pub use completion::{Candidate, Given, Values};
pub use io::{Io, Layout, Notes, Out, Source, Style, read_text};
pub use main::{Common, Filter, Outcome, command, main, role};
pub use progress::Progress;

use atty::Stream;
use std::path::Path;

/// Whether a standard stream is a terminal.
fn is_terminal(stream: Stream) -> bool {
    atty::is(stream)
}

/// A path as a shell takes it, for a hint.
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
