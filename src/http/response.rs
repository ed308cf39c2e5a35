//! An answer: its head, and its body in pieces or as a whole.

use super::body::{Body, Truncation};
use super::decoder::Decoder;
use super::request_error::{RequestError, WHOLE_TIMEOUT, cause};
use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// A response whose body is still in transit. Dropping it closes the connection.
pub struct Response {
    inner: reqwest::Response,
    idle: Duration,
    whole: Duration,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The time that a `Retry-After` names, if it does so in seconds (RFC 9110, 10.2.3).
pub fn parse_retry_after(retry_after: &str) -> Option<Duration> {
    retry_after.trim().parse().ok().map(Duration::from_secs)
}

impl Response {
    pub(super) fn new(
        inner: reqwest::Response,
        permit: Option<OwnedSemaphorePermit>,
        idle: Duration,
        whole: Duration,
    ) -> Response {
        Response { inner, idle, whole, _permit: permit }
    }

    /// The status, 100 to 999.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// The header `Retry-After`: see `parse_retry_after`.
    pub fn retry_after(&self) -> Option<&str> {
        self.header(RETRY_AFTER)
    }

    /// The media type of the body, as the server names it.
    pub fn content_type(&self) -> Option<&str> {
        self.header(CONTENT_TYPE)
    }

    /// The encoding of the body, if it has one.
    pub fn content_encoding(&self) -> Option<&str> {
        self.header(CONTENT_ENCODING)
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// A header; none also for one of other bytes than visible ASCII, which no server sends.
    fn header(&self, name: HeaderName) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Waits for the next piece of the body, as it was sent; `None` at its end. Fails if the connection
    /// breaks or the piece is late.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, RequestError> {
        let piece = tokio::time::timeout(self.idle, self.inner.chunk()).await;
        piece.map_err(|_| RequestError::timed_out("idle_timeout", self.idle))?.map_err(|e| {
            if e.is_timeout() {
                RequestError::timed_out(WHOLE_TIMEOUT, self.whole)
            } else {
                RequestError::broken(cause(&e))
            }
        })
    }

    /// Waits for the body, of at most `limit` bytes when it is decoded.
    pub async fn body(mut self, limit: usize) -> Body {
        let mut decoder = Decoder::for_encoding(self.content_encoding());
        let mut bytes = Vec::new();
        let cut = loop {
            match self.piece().await {
                Ok(None) => break None,
                Ok(Some(piece)) => {
                    if let Err(cut) = decoder.decode(&piece, &mut bytes, limit) {
                        break Some(cut);
                    }
                }
                Err(failed) => break Some(Truncation::Failed(failed)),
            }
        };
        Body { bytes, cut }
    }
}
