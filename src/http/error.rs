//! The faults of addresses and headers, and of pages and files that are fetched.

use super::reason_phrase;
use crate::error::{Failure, Hint, plain};
use reqwest::header::{InvalidHeaderName, InvalidHeaderValue};
use std::time::Duration;

/// The reason why nothing was sent or fetched.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("invalid address: expected http://HOST or https://HOST")]
    NotHttp,
    #[error("is not the name of a header")]
    HeaderName(#[source] InvalidHeaderName),
    #[error("is not allowed in a header")]
    HeaderValue(#[source] InvalidHeaderValue),
    #[error("this header cannot be set here")]
    RefusedHeader,
    #[error("cannot start a download: {}", plain(.0))]
    Setup(String),
    /// The innermost cause: the outer ones hold the address, which may hold a secret.
    #[error("{0}")]
    Broken(String),
    #[error("the connection broke after {bytes} bytes")]
    CutShort { bytes: u64 },
    #[error("no whole answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("status {status} {}", reason_phrase(*.status))]
    Status { status: u16 },
    #[error("larger than {} MiB", .most >> 20)]
    TooLarge { most: usize },
    #[error("it leads to an address of this machine or of a private network")]
    NotPublic,
}

impl Failure for HttpError {
    fn hint(&self) -> Hint {
        match self {
            HttpError::RefusedHeader => Some("name the variable that holds a key in key_variable".into()),
            HttpError::NotPublic => Some("--private fetches it".into()),
            _ => None,
        }
    }
}
