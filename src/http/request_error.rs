//! The errors of requests that got no answer.

use crate::error::Failure;
use std::error::Error as _;
use std::io;
use std::time::Duration;

/// The setting that limits the time of a whole answer.
pub(super) const WHOLE_TIMEOUT: &str = "request_timeout";

/// The error of a request without an answer; its text never contains a key.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{cause}")]
pub struct RequestError {
    pub kind: RequestErrorKind,
    pub cause: String,
}

/// The stage at which a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestErrorKind {
    /// No header can hold the key.
    Key,
    /// The client could not be set up, as without certificates.
    Setup,
    /// The connection could not be made.
    Connect,
    /// The time limit of the setting was reached.
    Timeout(&'static str),
    /// The connection broke before all had arrived.
    Broken,
}

impl Failure for RequestError {}

impl RequestError {
    /// Whether a time limit was reached.
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, RequestErrorKind::Timeout(_))
    }

    pub(super) fn timed_out(setting: &'static str, limit: Duration) -> RequestError {
        let what = match setting {
            "first_byte_timeout" => "nothing arrived within",
            "idle_timeout" => "nothing more arrived within",
            _ => "not done within",
        };
        RequestError { kind: RequestErrorKind::Timeout(setting), cause: format!("{what} {limit:?}") }
    }

    pub(super) fn broken(cause: impl Into<String>) -> RequestError {
        RequestError { kind: RequestErrorKind::Broken, cause: cause.into() }
    }
}

/// The innermost cause, since the outer ones only say that sending failed. It holds no address.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let Some(mut inner) = error.source() else {
        return "the request cannot be sent".to_owned();
    };
    while let Some(source) = inner.source() {
        inner = source;
    }
    match inner.downcast_ref::<io::Error>() {
        // `connection refused` instead of `Connection refused (os error 111)`.
        Some(e) if e.raw_os_error().is_some() && !e.kind().to_string().starts_with("uncategorized") => {
            e.kind().to_string()
        }
        _ => inner.to_string(),
    }
}
