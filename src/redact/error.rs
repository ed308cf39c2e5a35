//! The faults of a user's own rules.

use crate::error::failures;
use std::io;

failures! {
    /// The reason why the rules of secrets cannot be used.
    pub(super) enum RuleError {
        Unreadable { source: io::Error } ("cannot be read"),
        Shape ("expected a kind, a colon and a pattern, as in 'badge: \\bBADGE-[0-9]{{6}}\\b'"),
        Kind { kind: String } ("a kind has lower-case letters, digits and dashes, not {kind:?}"),
        /// The last line of an error of a pattern has the cause; those before show the place.
        Pattern { error: regex::Error } ("the pattern: {}", last_line(&.error.to_string())),
        Keywords { source: aho_corasick::BuildError } ("the rules of secrets"),
    }
}

fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default().trim_start_matches("error: ")
}
