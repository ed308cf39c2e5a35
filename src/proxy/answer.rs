//! The answers that the proxy makes itself: always JSON, errors in OpenAI's shape with all three members.

use crate::error::Error;
use crate::forward::Failure;
use crate::record::{Account, quote};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// A whole answer.
pub(super) type Answer = Response<Full<Bytes>>;

/// A JSON answer.
pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// An error: `{"error":{"message","type","code"}}`.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> Answer {
    let kind = match status.as_u16() {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    let (message, code) = (quote(message), quote(code));
    json(status, format!("{{\"error\":{{\"message\":{message},\"type\":\"{kind}\",\"code\":{code}}}}}\n"))
}

/// Why a request was not answered. What a provider refused comes with its own status and body.
pub(super) fn failure(failure: &Failure) -> Answer {
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let own = failure.body.as_ref().filter(|body| failure.code == "provider_error" && body.starts_with('{'));
    match own {
        Some(body) => json(status, body.to_string() + "\n"),
        None => error(status, failure.code, &failure.message),
    }
}

/// Tells in headers what enrichment did: how many messages were recalled, the tokens of the request as it left,
/// and why memory served in part only, if so.
pub(super) fn account(answer: &mut Answer, account: &Account) {
    let members = &account.members;
    let count = |list| members.objects(list).ok().flatten().map_or(0, |entries| entries.len());
    let recalled = (count("recalled") + count("recent")).to_string();
    let counted = members.get("counted").unwrap_or("0").to_owned();
    let degraded = members.text("degraded").ok().flatten();
    let told =
        [("x-rsv-recalled", Some(recalled)), ("x-rsv-tokens", Some(counted)), ("x-rsv-degraded", degraded)];
    for (name, value) in told {
        // A header holds visible ASCII alone.
        let value = value.map(|text| text.replace(|c: char| !(' '..='~').contains(&c), "?"));
        if let Some(value) = value.and_then(|text| HeaderValue::from_str(&text).ok()) {
            answer.headers_mut().insert(name, value);
        }
    }
}

/// Something that an answer needs cannot be had; with what helps.
pub(super) fn unavailable(code: &str, cause: &Error) -> Answer {
    let text = match cause.remedy() {
        Some(remedy) => format!("{cause}: {remedy}"),
        None => cause.to_string(),
    };
    error(StatusCode::SERVICE_UNAVAILABLE, code, &text)
}

/// The path is known, the method is not.
pub(super) fn wrong_method(allowed: &'static str) -> Answer {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &format!("use {allowed}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}
