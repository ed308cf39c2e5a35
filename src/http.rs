//! The one HTTP client: it follows no redirects, waits for a bounded time, and describes failures in words.

mod address;
mod blocking_client;
mod body;
mod client;
mod decoder;
mod download;
mod error;
mod error_text;
mod event_loops;
mod fetch;
mod headers;
mod relay;
mod request_error;
mod response;

pub use address::Address;
pub use blocking_client::{BlockingClient, FullResponse};
pub use body::{Body, Truncation};
pub use client::{Client, MAX_IDLE_TIME, RequestOptions, max_idle_of_server};
pub use decoder::{Decoder, accepted_encodings};
pub use error::HttpError;
pub use error_text::{error_message, excerpt, redact_key};
pub use event_loops::{EventLoops, run, serve};
pub use fetch::Fetched;
pub use headers::Headers;
pub use relay::{RelayBody, RelayRequest};
pub use request_error::{RequestError, RequestErrorKind};
pub use response::{Response, parse_retry_after};

/// A body that is sent: whole, or as it comes (`wrap`).
pub use reqwest::Body as RequestBody;
pub use reqwest::header::{HeaderMap, HeaderValue};

/// The usual name of a status: `Too Many Requests`.
pub fn reason_phrase(status: u16) -> &'static str {
    let status = reqwest::StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or("")
}
