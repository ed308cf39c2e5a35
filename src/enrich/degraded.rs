//! Why memory is degraded, and how that is worded: the pipe and the proxy decide it here, by what failed.

use crate::error::Error;
use std::fmt;
use std::time::Duration;

/// Why memory serves in part only, or not at all.
#[derive(Clone, Debug)]
pub enum Degraded {
    /// The store cannot be read or written; the error in words.
    StoreFailed(String),
    /// An attempt to store turns has taken this long, and goes on.
    StoreSlow(Duration),
    /// Recall took longer than this limit.
    RecallTimedOut(Duration),
    /// Messages are to be found by meaning, and no model can tell.
    EmbedderUnavailable(Error),
    /// The reason in the account of an enriched request, which is in words already.
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
