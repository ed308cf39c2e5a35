//! The reasons why memory is degraded, and their wording, for both the pipe and the proxy.

use crate::error::Error;
use std::fmt;
use std::time::Duration;

/// The reason why memory works only in part, or not at all.
#[derive(Clone, Debug)]
pub enum Degraded {
    /// The store cannot be read or written; the error in words.
    StoreFailed(String),
    /// An attempt to store turns has taken this long, and continues.
    StoreSlow(Duration),
    /// Recall took longer than this limit.
    RecallTimedOut(Duration),
    /// Search by meaning is configured, and the model is not available.
    EmbedderUnavailable(Error),
    /// The reason from the account of an enriched request.
    Enrichment(String),
}

impl fmt::Display for Degraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Degraded::StoreFailed(reason) | Degraded::Enrichment(reason) => f.write_str(reason),
            Degraded::StoreSlow(waited) => {
                write!(f, "the store has kept a turn waiting for {} s", waited.as_secs())
            }
            Degraded::RecallTimedOut(limit) => write!(f, "memory did not answer within {limit:?}"),
            Degraded::EmbedderUnavailable(error) => {
                write!(f, "{error}; messages are found by their words only")
            }
        }
    }
}
