//! Reads the body of a request, within its limits of length and time, and parses it as JSON.

use super::response::{self, HttpResponse};
use crate::error::{self, Error};
use crate::record::{Object, utf8};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use serde::de::IgnoredAny;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The time limit for the whole body, as a multiple of that for one piece.
const TOTAL_TIMEOUT_FACTOR: u32 = 10;

/// The bytes that a declared length reserves at most: the rest may never come.
const MAX_RESERVED_BYTES: usize = 4 << 20;

/// Reads a body of at most `limit` bytes, each piece of which must arrive within `idle_timeout`. A body with a greater
/// declared length is refused unread.
pub(super) async fn read(
    body: Incoming,
    limit: usize,
    idle_timeout: Duration,
) -> Result<Bytes, HttpResponse> {
    let too_long = || {
        let mib = limit as f64 / f64::from(1 << 20);
        let text = format!("the body is longer than the limit of {mib} MiB (max_line_bytes)");
        response::error(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", &text)
    };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity((body.size_hint().lower() as usize).min(MAX_RESERVED_BYTES));
    let mut body = Limited::new(body, limit);
    let started = Instant::now();
    loop {
        let rest = idle_timeout.saturating_mul(TOTAL_TIMEOUT_FACTOR).saturating_sub(started.elapsed());
        match timeout(idle_timeout.min(rest), body.frame()).await {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_long()),
            Ok(Some(Err(_))) => return Err(response::bad_request(&Error::new("the body ended early"))),
            Err(_) => {
                let text = "the body did not come in time";
                return Err(response::error(StatusCode::REQUEST_TIMEOUT, "timeout", text));
            }
        }
    }
}

/// The members that a request is relayed by: its model and, to be taken out, what a client may not send to rsv.
const RELAYED_BY: [&str; 2] = ["model", "rsv"];

/// As `parse`, for a request that is relayed: of a long body next to nothing is kept.
pub(super) fn parse_to_relay(bytes: &[u8]) -> error::Result<Object> {
    parse_with(bytes, |text| Object::parse_only(text, &RELAYED_BY))
}

/// Parses the object in a body. Errors name the line and the column, or the member.
pub(super) fn parse(bytes: &[u8]) -> error::Result<Object> {
    parse_with(bytes, Object::parse)
}

fn parse_with(bytes: &[u8], parse: impl Fn(&str) -> error::Result<Object>) -> error::Result<Object> {
    utf8(bytes).and_then(parse).map_err(|error| {
        let broken = serde_json::from_slice::<IgnoredAny>(bytes).err();
        broken.map_or(error, |e| Error::new(format!("invalid JSON: {e}")))
    })
}
