//! Why a request is refused to its caller, or for its body.

use super::response::{self, HttpResponse};
use crate::access::{Caller, Right};
use crate::error::{Error, failures};
use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};

// The reason for which a caller or a body gets no answer.
failures! { pub(in crate::proxy) enum Refusal {
    /// It needs a token, and has none that holds.
    Token ("the token is missing or wrong: send it as Bearer or as x-rsv-token"),
    /// Why the file of the tokens cannot be read is the server's own matter.
    TokensUnreadable ("the tokens of this server cannot be read now"),
    /// To the caller there is no such partition, whether or not there is one for others.
    Partition { name: String } ("there is no partition {name}"),
    /// It names no partition, and its caller has none of its own.
    UnnamedPartition
        ("the request names no partition: use an address that begins with /partition/NAME, or x-rsv-partition"),
    /// The token of this name lacks a right.
    Right { token: String, right: Right }
        ("the token {token} has no right to this: it needs '{}'", .right.name()),
    /// The caller has spent its budget, and has a new one in this many seconds.
    Budget { text: String, wait: u64 } ("{text}"),
    BodyTooLong { mib: f64 } ("the body is longer than the limit of {mib} MiB (max_line_bytes)"),
    Encoding { encoding: String } ("content-encoding: expected gzip, deflate, br or zstd, found {encoding}"),
    Malformed { error: Error } ("{error}"),
} }

impl Refusal {
    /// The refusal of a caller who lacks a right, and so has a token.
    pub(in crate::proxy) fn of(caller: &Caller, right: Right) -> Refusal {
        Refusal::Right { token: caller.name().unwrap_or_default().to_owned(), right }
    }
}

impl From<Refusal> for HttpResponse {
    fn from(refusal: Refusal) -> HttpResponse {
        let (status, code) = match &refusal {
            Refusal::Token => (StatusCode::UNAUTHORIZED, "invalid_token"),
            Refusal::TokensUnreadable => (StatusCode::SERVICE_UNAVAILABLE, "tokens_unreadable"),
            Refusal::Partition { .. } => (StatusCode::NOT_FOUND, "not_found"),
            Refusal::Right { .. } => (StatusCode::FORBIDDEN, "forbidden"),
            Refusal::Budget { .. } => (StatusCode::TOO_MANY_REQUESTS, "budget_spent"),
            Refusal::BodyTooLong { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Refusal::Encoding { .. } => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding"),
            Refusal::UnnamedPartition | Refusal::Malformed { .. } => return response::bad_request(refusal),
        };
        let mut response = response::error(status, code, &refusal.to_string());
        if let Refusal::Budget { wait, .. } = refusal {
            response.headers_mut().insert(RETRY_AFTER, wait.into());
            // The clients of OpenAI and Anthropic would ask again at once.
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }
}
