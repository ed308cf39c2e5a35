//! Reads the body of a request, within its limits of length and time, decodes it, and parses it as JSON.

use super::error::HttpFault;
use super::refusal::Refusal;
use super::response::{self, HttpResponse, OrResponse};
use crate::error;
use crate::http::{Decoder, Truncation};
use crate::record::{Object, utf8};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_ENCODING;
use hyper::{HeaderMap, StatusCode};
use serde::de::IgnoredAny;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The time limit for the whole body, as a multiple of that for one piece; and the number of bytes that
/// extend it by a second, so that a long body may come over a slow line.
const TOTAL_TIMEOUT_FACTOR: u32 = 10;
const BYTES_PER_SECOND: u64 = 16 << 10;

/// The bytes that a declared length reserves at most: the rest may never come.
const MAX_RESERVED_BYTES: usize = 4 << 20;

/// The time that is left for a body that arrives.
pub(in crate::proxy) struct BodyTimer {
    started: Instant,
    idle_timeout: Duration,
    received: u64,
}

impl BodyTimer {
    /// Starts for a body each piece of which must arrive within `idle_timeout`.
    pub(in crate::proxy) fn start(idle_timeout: Duration) -> BodyTimer {
        BodyTimer { started: Instant::now(), idle_timeout, received: 0 }
    }

    /// Notes a piece that arrived, of this many bytes.
    pub(in crate::proxy) fn note(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// The longest wait for the next piece.
    pub(in crate::proxy) fn wait(&self) -> Duration {
        let total = self.idle_timeout.saturating_mul(TOTAL_TIMEOUT_FACTOR);
        let total = total.saturating_add(Duration::from_secs(self.received / BYTES_PER_SECOND));
        self.idle_timeout.min(total.saturating_sub(self.started.elapsed()))
    }
}

/// The response to a body that does not arrive in time.
pub(in crate::proxy) fn timed_out() -> HttpResponse {
    response::error(StatusCode::REQUEST_TIMEOUT, "timeout", "the body did not come in time")
}

/// Reads a body of at most `limit` bytes, each piece of which must arrive within `idle_timeout`. A body with
/// a greater declared length is refused unread.
pub(in crate::proxy) async fn read(
    body: Incoming,
    limit: usize,
    idle_timeout: Duration,
) -> OrResponse<Bytes> {
    let too_long = || Refusal::BodyTooLong { mib: mib(limit) }.into();
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity((body.size_hint().lower() as usize).min(MAX_RESERVED_BYTES));
    let mut body = Limited::new(body, limit);
    let mut timer = BodyTimer::start(idle_timeout);
    loop {
        match timeout(timer.wait(), body.frame()).await {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Ok(frame))) => {
                let piece: &[u8] = frame.data_ref().map_or(&[], |data| data);
                timer.note(piece.len());
                bytes.extend_from_slice(piece);
            }
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_long()),
            Ok(Some(Err(_))) => return Err(response::bad_request(HttpFault::BodyEnded)),
            Err(_) => return Err(timed_out()),
        }
    }
}

/// The body without the encoding that `Content-Encoding` names. Errors if that is unknown or not that of the
/// body, or if more than `limit` bytes come of it.
pub(in crate::proxy) fn decoded(headers: &HeaderMap, bytes: Bytes, limit: usize) -> Result<Bytes, Refusal> {
    let Some(encoding) = headers.get(CONTENT_ENCODING) else { return Ok(bytes) };
    let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
    let mut decoder = Decoder::for_encoding(Some(&encoding));
    if !decoder.is_known() {
        return Err(Refusal::Encoding { encoding });
    }
    let mut plain = Vec::new();
    match decoder.decode(&bytes, &mut plain, limit) {
        Ok(()) => Ok(plain.into()),
        Err(Truncation::Limit) => Err(Refusal::BodyTooLong { mib: mib(limit) }),
        Err(Truncation::Failed(_)) => {
            Err(Refusal::Malformed { error: HttpFault::NotDecoded { encoding }.into() })
        }
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The members that a request is relayed by: its model and, to be taken out, what a client may not send to
/// rsv.
const RELAYED_BY: [&str; 2] = ["model", "rsv"];

/// As `parse`, for a request that is relayed: almost nothing of a long body is kept. Fails at other JSON.
pub(in crate::proxy) fn parse_to_relay(bytes: &[u8]) -> error::Result<Object> {
    parse_with(bytes, |text| Object::parse_only(text, &RELAYED_BY))
}

/// Parses the object in a body. Errors name the line and the column, or the member.
pub(in crate::proxy) fn parse(bytes: &[u8]) -> error::Result<Object> {
    parse_with(bytes, Object::parse)
}

fn parse_with(bytes: &[u8], parse: impl Fn(&str) -> error::Result<Object>) -> error::Result<Object> {
    utf8(bytes).and_then(parse).map_err(|error| {
        let broken = serde_json::from_slice::<IgnoredAny>(bytes).err();
        broken.map_or(error, |source| HttpFault::InvalidJson { source }.into())
    })
}
