//! The faults of a user's own rules.

use crate::error::Failure;
use std::io;

/// The reason why the rules of secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
    #[error("expected a kind, a colon and a pattern, as in 'badge: \\bBADGE-[0-9]{{6}}\\b'")]
    Shape,
    #[error("a kind has lower-case letters, digits and dashes, not {0:?}")]
    Kind(String),
    #[error("the pattern: {}", last_line(.0))]
    Pattern(regex::Error),
    #[error("the rules of secrets")]
    Keywords(#[source] aho_corasick::BuildError),
}

impl Failure for RuleError {}

/// The last line of an error of a pattern, which has the cause; those before show the place.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
