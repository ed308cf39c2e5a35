//! The answers that the proxy makes itself: always JSON, errors in OpenAI's shape with all three members, or in
//! Ollama's, which is a text.

use super::upstream::told;
use crate::error::Error;
use crate::forward::{Failure, Head};
use crate::record::{Account, Object, StoredRecord, quote};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};

/// A body, whole or on its way.
pub(super) type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;
/// An answer.
pub(super) type Answer = Response<Body>;

/// What an error of the proxy's own says.
#[derive(Clone)]
struct Said(String);

/// A JSON answer.
pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(whole(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// An answer that is passed on as it arrives, as it began at the provider.
pub(super) fn stream<B>(head: &Head, body: B) -> Answer
where
    B: hyper::body::Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
{
    let mut answer = Response::new(body.map_err(Into::into).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::OK);
    *answer.headers_mut() = told(head.headers.clone());
    answer.headers_mut().remove(CONTENT_LENGTH);
    answer
}

/// What a provider says beside its answer, where the body is written anew.
pub(super) fn beside(mut answer: Answer, headers: &HeaderMap) -> Answer {
    let mut headers = told(headers.clone());
    [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH].iter().for_each(|name| drop(headers.remove(name)));
    answer.headers_mut().extend(headers);
    answer
}

/// Events that are there as a whole.
pub(super) fn events(status: StatusCode, events: String) -> Answer {
    let mut answer = json(status, events);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

/// An answer without a body.
pub(super) fn empty() -> Answer {
    let mut answer = Response::new(whole(Bytes::new()));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

fn whole(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An error of ours.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> Answer {
    let mut answer = json(status, openais_error(status, code, message));
    answer.extensions_mut().insert(Said(message.to_owned()));
    answer
}

/// An error as OpenAI words it: `{"error":{"message","type","code"}}`.
pub(super) fn openais_error(status: StatusCode, code: &str, message: &str) -> String {
    let kind = match status.as_u16() {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    let (text, code) = (quote(message), quote(code));
    format!("{{\"error\":{{\"message\":{text},\"type\":\"{kind}\",\"code\":{code}}}}}\n")
}

/// An error as Ollama words it: `{"error":"…"}`.
pub(super) fn ollamas_error(message: &str) -> String {
    format!("{{\"error\":{}}}\n", quote(message))
}

/// The same answer for Ollama's clients: an error of ours is worded as Ollama's.
pub(super) fn for_ollama(mut answer: Answer) -> Answer {
    if let Some(Said(message)) = answer.extensions_mut().remove() {
        *answer.body_mut() = whole(ollamas_error(&message));
    }
    answer
}

/// A request that is not as it must be.
pub(super) fn bad_request(error: &Error) -> Answer {
    self::error(StatusCode::BAD_REQUEST, "invalid_request", &error.to_string())
}

/// Why a request was not answered. What a provider refused comes with its own status and body.
pub(super) fn failure(failure: &Failure) -> Answer {
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let own = failure.body.as_ref().filter(|body| failure.code == "provider_error" && is_openais(body));
    let answer = match own {
        Some(body) => json(status, body.to_string() + "\n"),
        None => error(status, failure.code, &failure.message),
    };
    match &failure.headers {
        Some(headers) => beside(answer, headers),
        None => answer,
    }
}

/// Whether an error is worded as OpenAI words its: not every client reads others.
fn is_openais(body: &str) -> bool {
    let error = Object::parse(body).and_then(|body| body.object("error"));
    error.ok().flatten().is_some_and(|error| error.text("message").is_ok_and(|text| text.is_some()))
}

/// Sets a header; it holds visible ASCII alone.
pub(super) fn tell(answer: &mut Answer, name: &'static str, value: &str) {
    let value = value.replace(|c: char| !(' '..='~').contains(&c), "?");
    if let Ok(value) = HeaderValue::from_str(&value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// Tells in headers what enrichment did: how many messages were recalled, the tokens of the request as it left,
/// and why memory served in part only, if so.
pub(super) fn account(answer: &mut Answer, record: &StoredRecord) {
    let account = Account::of(record);
    tell(answer, "x-rsv-recalled", &(account.recalled.len() + account.recent.len()).to_string());
    tell(answer, "x-rsv-tokens", &account.counted.to_string());
    if let Some(why) = &account.degraded {
        tell(answer, DEGRADED, why);
    }
}

/// The header that says why memory served in part only.
pub(super) const DEGRADED: &str = "x-rsv-degraded";

/// A thread or a task did not come to its end.
pub(super) fn cut_short() -> Answer {
    error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a step was cut short")
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
