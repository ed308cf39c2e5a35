//! The faults of inputs.

use crate::error::{Failure, Hint};

/// The reason why an input has no line of a record at a place.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    /// A binary format, and the command whose output would do.
    #[error("{is}")]
    Binary { is: &'static str, command: &'static str },
    #[error("expected a JSON object, as there are from line {first} on, found text")]
    StrayText { first: u64 },
    #[error("expected a JSON object, found {found:?}")]
    NotAnObject { found: char, looks: Option<&'static str> },
    #[error("{0}")]
    Syntax(String),
    #[error("the input ends inside an array")]
    OpenArray,
    #[error("is longer than the limit of {most}")]
    TooLong { most: String },
}

impl Failure for LineError {
    fn hint(&self) -> Hint {
        Some(match self {
            LineError::Binary { command, .. } => format!("pipe in the output of: {command}").into(),
            LineError::StrayText { .. } => {
                "take the lines in front of the records away; --role user stores all of it as one message"
                    .into()
            }
            LineError::NotAnObject { looks: Some(looks), .. } => {
                format!("this looks like {looks}; each line is a JSON object: man 5 rsv-record").into()
            }
            LineError::NotAnObject { looks: None, .. } => {
                "each line is a JSON object: man 5 rsv-record".into()
            }
            LineError::TooLong { .. } => "raise it with: rsv-config set max_line_bytes BYTES".into(),
            LineError::Syntax(_) | LineError::OpenArray => return None,
        })
    }
}
