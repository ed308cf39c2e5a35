//! Arguments, streams and exit status: the only place that prints, and the only one that exits.

mod allocator;
mod args;
mod bad_lines;
mod clock;
mod completion;
mod error;
mod flags;
mod hidden;
mod invocation;
mod io;
mod main;
mod missing_file;
mod out;
mod pager;
mod progress;
mod silence;
mod stderr;
mod stop;
mod style;
mod terminal;

pub use args::{AuditArgs, RANKING_NAMES, SearchArgs, TokenArgs};
pub use bad_lines::BadLines;
pub use clock::zone;
pub use completion::{Candidate, PartialCommand, SHELL_VARIABLE, ValueCompleters};
pub use flags::{Common, Filter, Printing, SEVERAL_PARTITIONS, Sharing, kind, role, time, time_ahead};
pub use io::{Diagnostics, Io, Source, read_text, to_stderr, yes_or_no};
pub use main::{Outcome, command, main};
pub use missing_file::hint_for_missing;
pub use out::Out;
pub use progress::Progress;
pub use silence::{SlowTask, report_lock_wait, report_migration};
pub use stderr::filter_stderr;
pub use stop::{Interrupts, ignores_hangup, on_stop};
pub use style::{Layout, Style};

pub(crate) use clock::in_user_zone;
pub(crate) use error::CliError;
pub(crate) use hidden::is_hidden;

use std::path::Path;

/// A path as a shell takes it, for a hint.
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
