//! Tells which standard streams are terminals: the only place that checks.

use atty::Stream;

/// Whether a standard stream is a terminal.
pub(super) fn is_terminal(stream: Stream) -> bool {
    atty::is(stream)
}
