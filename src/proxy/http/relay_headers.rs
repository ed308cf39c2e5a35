//! Selects the headers to relay: from a client's request to a provider, and from a provider's answer to the
//! client.

use crate::access;
use crate::forward::Caller;
use crate::http::{RelayRequest, accepted_encodings};
use crate::provider::CallerKeys;
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;

/// The headers of a client's request that are sent to a provider, in addition to those that begin with one of
/// `REQUEST_PREFIXES`. This is an allowlist, since nobody can list all headers that hold a key.
const REQUEST_HEADERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "content-encoding",
    "content-type",
    "idempotency-key",
    "originator",
    "session-id",
    "session_id",
    "thread-id",
    "user-agent",
    "x-app",
    "x-client-request-id",
    "x-parent-session-id",
    "x-session-affinity",
    "x-session-id",
];
const REQUEST_PREFIXES: [&str; 7] =
    ["anthropic-", "chatgpt-", "openai-", "x-claude-", "x-codex-", "x-openai-", "x-stainless-"];
/// The headers of an answer that concern one connection or one server only (RFC 9110, 7.6.1; RFC 7838).
const HOP_HEADERS: [&str; 11] = [
    "alt-svc",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The beginning of the headers by which the proxy itself answers a browser.
const CORS_PREFIX: &str = "access-control-";
/// The beginning of the headers that only rsv sets.
const RSV_PREFIX: &str = "x-rsv-";

/// The part of a request that is relayed, with another body.
pub(in crate::proxy) fn passing(head: &Parts, body: Bytes) -> RelayRequest {
    let mut headers = head.headers.clone();
    let is_relayed = |name: &str| {
        REQUEST_HEADERS.contains(&name) || REQUEST_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    retain(&mut headers, is_relayed);
    let holders = headers.iter().filter(|(_, value)| access::holds_token(value.as_bytes()));
    let holders: Vec<HeaderName> = holders.map(|(name, _)| name.clone()).collect();
    for name in &holders {
        headers.remove(name);
    }
    RelayRequest { method: head.method.clone(), headers, body }
}

/// The query of a client's request that is relayed: one without a token of the proxy.
pub(in crate::proxy) fn query(head: &Parts) -> Option<&str> {
    let holds_token = |query: &str| access::holds_token(&percent_decode_str(query).collect::<Vec<u8>>());
    head.uri.query().filter(|query| !holds_token(query))
}

/// Restricts the encodings of the answer to those that the client accepts and rsv can decode.
pub(in crate::proxy) fn readable(mut passing: RelayRequest) -> RelayRequest {
    if let Some(accepted) = passing.headers.get_mut(ACCEPT_ENCODING) {
        let offered = HeaderValue::from_str(&accepted_encodings(accepted.to_str().unwrap_or_default()));
        *accepted = offered.unwrap_or(HeaderValue::from_static("identity"));
    }
    passing
}

/// The part of a client's request that is relayed where its body is rewritten.
pub(in crate::proxy) fn caller(head: &Parts, keys: CallerKeys) -> Caller {
    let encodings = head.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let mut headers = passing(head, Bytes::new()).headers;
    for name in [ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE] {
        headers.remove(name);
    }
    let query = query(head).map(str::to_owned);
    Caller { keys, encodings: encodings.map(str::to_owned), headers, query }
}

/// The part of a provider's headers that is relayed to the client.
pub(in crate::proxy) fn to_client(mut headers: HeaderMap) -> HeaderMap {
    let is_own = |name: &str| name.starts_with(CORS_PREFIX) || name.starts_with(RSV_PREFIX);
    retain(&mut headers, |name| !HOP_HEADERS.contains(&name) && !is_own(name));
    headers
}

/// Keeps the headers that `is_relayed` admits, except those that `Connection` names.
fn retain(headers: &mut HeaderMap, is_relayed: impl Fn(&str) -> bool) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase());
    let named: Vec<String> = named.collect();
    let is_dropped =
        |name: &HeaderName| !is_relayed(name.as_str()) || named.iter().any(|other| other == name.as_str());
    let dropped: Vec<HeaderName> = headers.keys().filter(|name| is_dropped(name)).cloned().collect();
    for name in &dropped {
        headers.remove(name);
    }
}
