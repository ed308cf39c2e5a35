//! The responses that the proxy writes itself: always JSON. An error has OpenAI's shape with all three
//! members, or Ollama's, which is a text.

use super::relay_headers;
use crate::api::Api;
use crate::error::Error;
use crate::forward::{AnswerHead, Failure};
use crate::mcp::AuditedCall;
use crate::record::{Object, Scope, TouchedRecords};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, Response, StatusCode};
use std::convert::Infallible;
use tokio::sync::mpsc::Receiver;

/// A body, whole or streamed.
pub(in crate::proxy) type HttpBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;
/// A response to a client.
pub(in crate::proxy) type HttpResponse = Response<HttpBody>;
/// A result, or the response that says why there is none.
pub(in crate::proxy) type OrResponse<T = HttpResponse> = Result<T, HttpResponse>;

/// The message of an error, kept in addition to its body, for clients of other APIs.
#[derive(Clone)]
struct ErrorMessage {
    text: String,
    /// Whether the body has Anthropic's shape already.
    is_anthropic: bool,
}

/// The trace of the turn that a response answers, for the log.
#[derive(Clone)]
struct ResponseTrace(String);

/// The call of the Model Context Protocol that a response answers, for the audit.
#[derive(Clone)]
struct AnsweredCall(AuditedCall);

/// The scope that a request read or changed, for the audit.
#[derive(Clone)]
struct TouchedScope(Scope);

/// The headers of every response: a browser must not guess another content type, nor show it to a page of
/// another origin that may not read it.
pub(super) const SAFETY_HEADERS: [(&str, &str); 2] =
    [("x-content-type-options", "nosniff"), ("cross-origin-resource-policy", "same-origin")];

/// The header with the number of recalled messages.
pub(in crate::proxy) const RECALLED_HEADER: &str = "x-rsv-recalled";
/// The header with the number of tokens of the enriched request.
pub(in crate::proxy) const TOKENS_HEADER: &str = "x-rsv-tokens";
/// The header that says why memory is degraded.
pub(in crate::proxy) const DEGRADED_HEADER: &str = "x-rsv-degraded";

/// Adds `SAFETY_HEADERS`, in place of a provider's.
pub(in crate::proxy) fn add_safety_headers(response: &mut HttpResponse) {
    for (name, value) in SAFETY_HEADERS {
        set_header(response, name, value);
    }
}

/// Remembers the trace of the turn that a response answers.
pub(in crate::proxy) fn set_trace(response: &mut HttpResponse, trace_id: &str) {
    response.extensions_mut().insert(ResponseTrace(trace_id.to_owned()));
}

/// The trace of the turn that a response answers, if it answers one.
pub(super) fn trace(response: &HttpResponse) -> Option<&str> {
    response.extensions().get::<ResponseTrace>().map(|trace| trace.0.as_str())
}

/// Remembers the records that a request read or changed, for the audit.
pub(in crate::proxy) fn set_touched(response: &mut HttpResponse, records: TouchedRecords) {
    response.extensions_mut().insert(records);
}

/// The same response, with the records that its request read or changed.
pub(in crate::proxy) fn touching(mut response: HttpResponse, records: TouchedRecords) -> HttpResponse {
    set_touched(&mut response, records);
    response
}

/// The records that a request read or changed, as far as they are known.
pub(super) fn touched(response: &HttpResponse) -> Option<&TouchedRecords> {
    response.extensions().get()
}

/// Remembers the call of the Model Context Protocol that a response answers.
pub(in crate::proxy) fn set_call(response: &mut HttpResponse, call: AuditedCall) {
    response.extensions_mut().insert(AnsweredCall(call));
}

/// The call of the Model Context Protocol that a response answers, if it answers one.
pub(super) fn call(response: &HttpResponse) -> Option<&AuditedCall> {
    response.extensions().get::<AnsweredCall>().map(|call| &call.0)
}

/// Remembers the scope that a request read or changed, where neither its path nor its headers name it.
pub(in crate::proxy) fn set_scope(response: &mut HttpResponse, scope: Scope) {
    response.extensions_mut().insert(TouchedScope(scope));
}

/// As `set_scope`, unless the response has a scope already.
pub(in crate::proxy) fn default_scope(response: &mut HttpResponse, scope: Scope) {
    response.extensions_mut().get_or_insert_with(|| TouchedScope(scope));
}

/// The scope that a request read or changed, where neither its path nor its headers name it.
pub(super) fn scope(response: &HttpResponse) -> Option<&Scope> {
    response.extensions().get::<TouchedScope>().map(|scope| &scope.0)
}

/// A JSON response.
pub(in crate::proxy) fn json(status: StatusCode, body: impl Into<Bytes>) -> HttpResponse {
    let mut response = Response::new(whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response of another type.
pub(in crate::proxy) fn typed(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> HttpResponse {
    let mut response = json(status, body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A response that is streamed with the provider's status and headers.
pub(in crate::proxy) fn stream<B>(head: &AnswerHead, body: B) -> HttpResponse
where
    B: hyper::body::Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
{
    let mut response = Response::new(body.map_err(Into::into).boxed_unsync());
    // The client of the provider has checked the status already.
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::OK);
    *response.headers_mut() = relay_headers::to_client(head.headers.clone());
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

/// Adds the provider's headers to a response whose body is rewritten.
pub(in crate::proxy) fn with_provider_headers(
    mut response: HttpResponse,
    headers: &HeaderMap,
) -> HttpResponse {
    let mut headers = relay_headers::to_client(headers.clone());
    for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH] {
        headers.remove(name);
    }
    response.headers_mut().extend(headers);
    response
}

/// A response of server-sent events that are all known.
pub(in crate::proxy) fn events(status: StatusCode, events: String) -> HttpResponse {
    let mut response = json(status, events);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// A response of server-sent events that are streamed as they come.
pub(in crate::proxy) fn event_stream(mut events: Receiver<Bytes>) -> HttpResponse {
    let events = poll_fn(move |context| events.poll_recv(context));
    let frames = events.map(|event| Ok::<_, Infallible>(Frame::data(event)));
    let mut response = Response::new(StreamBody::new(frames).map_err(|never| match never {}).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A response without a body.
pub(super) fn no_content() -> HttpResponse {
    let mut response = Response::new(whole(Bytes::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn whole(body: impl Into<Bytes>) -> HttpBody {
    Full::new(body.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An error of the proxy's own.
pub(in crate::proxy) fn error(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    let mut response = json(status, openai_error_body(status, code, message));
    response.extensions_mut().insert(ErrorMessage { text: message.to_owned(), is_anthropic: false });
    response
}

/// An error in OpenAI's shape: `{"error":{"message","type","code"}}`.
pub(super) fn openai_error_body(status: StatusCode, code: &str, message: &str) -> String {
    let kind = match status.as_u16() {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    Api::Chat.error_body(kind, code, message)
}

/// An error in Ollama's shape: `{"error":"…"}`.
pub(in crate::proxy) fn ollama_error_body(message: &str) -> String {
    let mut body = Object::default();
    body.set_text("error", message);
    body.into_json() + "\n"
}

/// The same response for Ollama's clients: an error gets Ollama's shape.
pub(in crate::proxy) fn for_ollama(mut response: HttpResponse) -> HttpResponse {
    if let Some(ErrorMessage { text, .. }) = response.extensions_mut().remove() {
        *response.body_mut() = whole(ollama_error_body(&text));
    }
    response
}

/// The same response for Anthropic's clients: an error gets Anthropic's shape, and the type of its status
/// there.
pub(in crate::proxy) fn for_anthropic(mut response: HttpResponse) -> HttpResponse {
    let status = response.status();
    let Some(ErrorMessage { text, is_anthropic: false }) = response.extensions_mut().remove() else {
        return response;
    };
    let kind = match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    *response.body_mut() = whole(Api::Messages.error_body(kind, "", &text));
    response
}

/// The response to a malformed request.
pub(in crate::proxy) fn bad_request(error: impl Into<Error>) -> HttpResponse {
    self::error(StatusCode::BAD_REQUEST, "invalid_request", &error.into().to_string())
}

/// The response to a request that failed. A provider's refusal keeps its own status, and its body if the
/// client knows its shape.
pub(in crate::proxy) fn failure(failure: &Failure) -> HttpResponse {
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let refusal =
        failure.body.as_ref().filter(|body| failure.code == "provider_error" && is_openai_error(body));
    let response = match refusal {
        Some(body) => {
            let mut response = json(status, body.to_string() + "\n");
            let is_anthropic = Object::parse(body).is_ok_and(|body| body.word("type") == Some("error"));
            let text = failure.message.clone();
            response.extensions_mut().insert(ErrorMessage { text, is_anthropic });
            response
        }
        None => error(status, failure.code, &failure.message),
    };
    match &failure.headers {
        Some(headers) => with_provider_headers(response, headers),
        None => response,
    }
}

/// Whether an error has OpenAI's shape: not every client reads others.
fn is_openai_error(body: &str) -> bool {
    let error = Object::parse(body).and_then(|body| body.object("error"));
    error.ok().flatten().is_some_and(|error| error.text("message").is_ok_and(|text| text.is_some()))
}

/// Sets a header. A character that is not visible ASCII becomes `?`.
pub(in crate::proxy) fn set_header(response: &mut HttpResponse, name: &'static str, value: &str) {
    let value = value.replace(|c: char| !(' '..='~').contains(&c), "?");
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// The response if a thread or a task did not finish.
pub(in crate::proxy) fn cut_short() -> HttpResponse {
    error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a task of the proxy panicked")
}

/// The response if the proxy lacks something that it needs; includes the error's hint.
pub(in crate::proxy) fn unavailable(code: &str, cause: &Error) -> HttpResponse {
    let text = match cause.remedy() {
        Some(remedy) => format!("{cause}: {remedy}"),
        None => cause.to_string(),
    };
    error(StatusCode::SERVICE_UNAVAILABLE, code, &text)
}

/// The response if the path is known and the method is not.
pub(in crate::proxy) fn wrong_method(allowed: &'static str) -> HttpResponse {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &format!("use {allowed}"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
