//! Why a request is refused to its caller.

use super::response::{self, HttpResponse};
use crate::access::{Caller, Right};
use crate::error::Error;
use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};

/// The reason for which a caller gets no answer.
#[derive(Debug)]
pub(in crate::proxy) enum Refusal {
    /// It needs a token, and has none that holds.
    Token,
    /// The file of the tokens cannot be read; why is the server's own matter.
    TokensUnreadable,
    /// To the caller there is no such partition, whether or not there is one for others.
    Partition(String),
    /// It names no partition, and its caller has none of its own.
    UnnamedPartition,
    /// The token of this name lacks a right.
    Right { token: String, right: Right },
    /// The caller has spent its budget, and has a new one in this many seconds.
    Budget { text: String, wait: u64 },
    /// The request is malformed.
    Malformed(Error),
}

impl Refusal {
    /// The refusal of a caller who lacks a right.
    pub(in crate::proxy) fn of(caller: &Caller, right: Right) -> Refusal {
        Refusal::Right { token: caller.name().unwrap_or_default().to_owned(), right }
    }
}

impl From<Refusal> for HttpResponse {
    fn from(refusal: Refusal) -> HttpResponse {
        match refusal {
            Refusal::Token => {
                let text = "the token is missing or wrong: send it as Bearer or as x-rsv-token";
                response::error(StatusCode::UNAUTHORIZED, "invalid_token", text)
            }
            Refusal::TokensUnreadable => {
                let text = "the tokens of this server cannot be read now";
                response::error(StatusCode::SERVICE_UNAVAILABLE, "tokens_unreadable", text)
            }
            Refusal::Partition(name) => {
                let text = format!("there is no partition {name}");
                response::error(StatusCode::NOT_FOUND, "not_found", &text)
            }
            Refusal::UnnamedPartition => response::bad_request(&Error::new(
                "the request names no partition: use an address that begins with /partition/NAME, or x-rsv-partition",
            )),
            Refusal::Right { token, right } => {
                let text = format!("the token {token} has no right to this: it needs '{}'", right.name());
                response::error(StatusCode::FORBIDDEN, "forbidden", &text)
            }
            Refusal::Budget { text, wait } => {
                let mut response = response::error(StatusCode::TOO_MANY_REQUESTS, "budget_spent", &text);
                response.headers_mut().insert(RETRY_AFTER, wait.into());
                // The clients of OpenAI and Anthropic would ask again at once.
                response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
                response
            }
            Refusal::Malformed(error) => response::bad_request(&error),
        }
    }
}
