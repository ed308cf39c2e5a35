//! The faults of records, and of their members, addresses and times.

use crate::error::{Failure, Hint};
use serde_json::error::Category;

/// The reason why a line is no record; the message begins with the member at fault.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{}", describe(.0))]
    Json(serde_json::Error),
    #[error("invalid UTF-8{place}")]
    InvalidUtf8 { place: String },
    #[error("{0}: is missing")]
    Missing(String),
    #[error("{0}: is empty")]
    Empty(String),
    #[error("{member}: expected {expected}, found {found}")]
    Unexpected { member: String, expected: String, found: String },
    #[error("{member}: expected at most {most} bytes, found {found}")]
    TooLong { member: &'static str, most: usize, found: usize },
    #[error("{member}: {} is not known", .name)]
    Unknown { member: &'static str, name: String },
    #[error("{member}: must be between 0.0 and 1.0")]
    NotAProbability { member: String },
    #[error("{member}: {}", words(.cause))]
    Text { member: String, cause: serde_json::Error },
    #[error("{member}: memory {what} cannot be empty")]
    BlankMemory { member: &'static str, what: &'static str },
    #[error("partition: project ID cannot be empty")]
    EmptyProject,
    #[error("outcome: must be 'success' or 'failure'")]
    Outcome,
    #[error("{member}: is empty")]
    UnnamedScope { member: &'static str },
    #[error("dim: is {dim}, but the vector has {found} numbers")]
    Dimension { dim: i64, found: usize },
    #[error("vector: the base64 does not hold whole 32-bit floats")]
    PartOfFloat,
    #[error("vector: expected 1 to {most} numbers, found {found}")]
    VectorLength { most: usize, found: usize },
    #[error("vector: holds a number that is not finite as a 32-bit float")]
    NotFinite,
    #[error("embedding_model: is missing beside an embedding of {dim} numbers")]
    UnnamedModel { dim: usize },
    #[error("kind: cannot be read")]
    UnreadableKind,
    #[error("kind: expected query, found {0:?}")]
    NotAQuery(String),
    #[error("kind: is missing, and no known kind has this shape")]
    UnknownShape { export_of: Option<&'static str> },
    #[error("uri: names no document")]
    NoDocument,
    #[error("to: is the same record as from")]
    LinkToItself,
    #[error("rel: CHILD_OF follows from the addresses of documents")]
    Derived,
}

impl RecordError {
    /// The failure of a line without a member that it needs.
    pub fn missing(member: &str) -> RecordError {
        RecordError::Missing(member.to_owned())
    }
}

impl Failure for RecordError {
    fn hint(&self) -> Hint {
        Some(match self {
            RecordError::InvalidUtf8 { .. } => {
                "if it is Latin-1, pipe it through: iconv -f latin1 -t utf8".into()
            }
            RecordError::UnnamedScope { .. } => "give it a name, or leave it out".into(),
            RecordError::UnknownShape { export_of: Some(program) } => {
                format!("this looks like an export of {program}; read it with rsv-import").into()
            }
            RecordError::UnknownShape { export_of: None } => {
                "a message needs at least role and content, a request messages; man 5 rsv-record has the kinds"
                    .into()
            }
            _ => return None,
        })
    }
}

/// The reason why a text is no address, or one that another partition owns.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("expected an address such as {scheme}resources/notes")]
    NotAnAddress { scheme: &'static str },
    #[error("the address is longer than {most} bytes")]
    TooLong { most: usize },
    #[error("{address} belongs to the partition {owner}")]
    OfAnother { address: String, owner: String },
    #[error("the address has an empty segment")]
    EmptySegment,
    #[error("the address has the segment {0}")]
    Relative(String),
    #[error("the segment has a slash")]
    Slash,
    #[error("the address has a control character")]
    ControlCharacter,
}

impl Failure for AddressError {
    fn hint(&self) -> Hint {
        match self {
            AddressError::OfAnother { owner, .. } => {
                Some(format!("give -p {owner}, or another address than that of a partition").into())
            }
            AddressError::EmptySegment => Some("leave out the slash that is too many".into()),
            _ => None,
        }
    }
}

/// The reason why a text or a number is no time.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    #[error("expected a time such as 2026-11-21T07:03:00Z, a date or milliseconds, found {0:?}")]
    NotATime(String),
    #[error(
        "expected a time such as yesterday, 2d, 2026-11-21, 2026-11-21T07:03:00Z or milliseconds, found {0:?}"
    )]
    NotAPastTime(String),
    #[error("expected a time such as 90d, 2027-01-01 or 2027-01-01T07:03:00Z, found {0:?}")]
    NotATimeAhead(String),
    #[error("expected milliseconds between the years 1 and 9999, found {0}")]
    OutOfRange(i64),
    #[error("the clock is not between the years 1970 and 9999; {used} is used")]
    Clock { used: String },
}

impl Failure for TimeError {}

/// The words of a JSON error without its place.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line").next().unwrap_or(&text).to_owned()
}

fn describe(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Data => words(error),
        _ => format!("invalid JSON: {} at column {}", words(error), error.column()),
    }
}
