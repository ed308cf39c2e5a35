//! Failed requests: as an error line for the next tool, and as an HTTP status.

use crate::api;
use crate::config::Secret;
use crate::error::{self, Error};
use crate::http::{
    Address, HeaderMap, RequestError, RequestErrorKind, error_message, reason_phrase, redact_key,
};
use crate::provider::{ProviderError, Target};
use crate::record::{Object, error_line, quote};

/// The greatest length of a provider's body in an error, in bytes.
pub(super) const MAX_BODY: usize = 64 << 10;

/// A failed request. No text in it holds a key.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The provider's status, or the one that a server would answer with.
    pub status: u16,
    /// The code for programs, such as `provider_unreachable`.
    pub code: &'static str,
    pub message: String,
    /// The provider's body, as JSON text: its object, or a string of at most 64 KiB of it.
    pub body: Option<Box<str>>,
    /// The headers of the provider's answer.
    pub headers: Option<Box<HeaderMap>>,
    /// The hint.
    pub hint: Option<String>,
}

impl Failure {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Failure {
        Failure { status, code, message: message.into(), body: None, headers: None, hint: None }
    }

    /// The error for a request that no provider can answer.
    pub(super) fn request(message: &str) -> Failure {
        Failure::new(400, "invalid_request", message)
    }

    /// The error for a request that is too long for its model.
    pub fn too_long(error: &Error) -> Failure {
        Failure::new(400, "context_length_exceeded", error.to_string())
    }

    pub(super) fn with_hint(mut self, hint: &str) -> Failure {
        self.hint = Some(hint.to_owned());
        self
    }

    fn hint_limit(self, setting: &str) -> Failure {
        self.with_hint(&format!("raise the limit with: rsv-config set {setting} 20m"))
    }

    fn hint_key(self, target: &Target) -> Failure {
        match target.key_variable() {
            Some(variable) => self.with_hint(&format!("check {variable}")),
            None => self,
        }
    }

    fn body(mut self, bytes: &[u8], key: Option<&Secret>) -> Failure {
        let bytes = &bytes[..bytes.len().min(MAX_BODY)];
        self.body = Some(as_json(&redact_key(key, &String::from_utf8_lossy(bytes))));
        self
    }

    /// The error for an unanswered request to an address of a provider. It leaves out the query of the
    /// caller.
    pub fn unsent(target: &Target, address: &Address, failed: &RequestError) -> Failure {
        let (title, address) = (target.title(), target.address().clone().with_path(address.path()));
        let using = match target.model.as_str() {
            "" => format!("It is at '{address}'"),
            model => format!("Using model '{model}' at '{address}'"),
        };
        match failed.kind {
            RequestErrorKind::Key => {
                let failure = Failure::new(401, "missing_api_key", format!("no key for {title}: {failed}"));
                failure.hint_key(target)
            }
            RequestErrorKind::Setup | RequestErrorKind::Connect => {
                let message = format!("Failed to connect to {title} API: {failed}. {using}");
                let unreachable = Failure::new(502, "provider_unreachable", message);
                unreachable.with_hint(&if failed.kind == RequestErrorKind::Setup {
                    "install the certificates of the system: package ca-certificates".to_owned()
                } else if target.name() == "ollama" {
                    format!("is Ollama running? if it is elsewhere, set {}", target.address_setting())
                } else {
                    format!("check the network, or correct {}", target.address_setting())
                })
            }
            RequestErrorKind::Timeout(setting) => {
                Failure::new(504, "timeout", format!("No answer from {title} API: {failed}. {using}"))
                    .hint_limit(setting)
            }
            RequestErrorKind::Broken => {
                let message = format!("No answer from {title} API: {failed}. {using}");
                Failure::new(502, "provider_unreachable", message)
            }
        }
    }

    /// The error for an answer whose status is not 200 to 299.
    pub fn refused(target: &Target, status: u16, body: &[u8], key: Option<&Secret>) -> Failure {
        let detail = error_message(body, key).map_or(String::new(), |detail| format!(": {detail}"));
        let head = format!("{} answered {status} {}", target.title(), reason_phrase(status));
        let message = format!("{}{detail}", head.trim_end());
        let failure = Failure::new(status, "provider_error", message).body(body, key);
        match status {
            300..=399 => failure
                .with_hint(&format!("redirects are not followed: correct {}", target.address_setting())),
            401 | 403 => failure.hint_key(target),
            404 if target.name() == "ollama" => {
                failure.with_hint("list the installed models with: ollama list")
            }
            _ => failure,
        }
    }

    /// The error for an answer with a status of success that is invalid; `member` is the one that has the
    /// message, and `fault` describes the answer, such as `is empty`.
    pub(super) fn invalid(
        target: &Target,
        member: &str,
        fault: &str,
        body: &[u8],
        key: Option<&Secret>,
    ) -> Failure {
        let message = format!("the answer of {} {fault}", target.title());
        let api = match member {
            "content" => "the Messages API",
            "output" => "the Responses API",
            "message" | "response" => "Ollama's own API",
            _ => "chat completions",
        };
        Failure::new(502, "invalid_answer", message)
            .body(body, key)
            .with_hint(&format!("does {} give the address of {api}?", target.address_setting()))
    }

    /// The error for an answer that broke off.
    pub(super) fn broken(
        target: &Target,
        failed: &RequestError,
        body: &[u8],
        key: Option<&Secret>,
    ) -> Failure {
        let message = format!("the answer of {} broke off: {failed}", target.title());
        let failure = match failed.kind {
            RequestErrorKind::Timeout(setting) => Failure::new(504, "timeout", message).hint_limit(setting),
            _ => Failure::new(502, "invalid_answer", message),
        };
        if body.is_empty() { failure } else { failure.body(body, key) }
    }

    /// The error for an answer that is longer than the limit.
    pub(super) fn answer_too_long(target: &Target, bytes: usize) -> Failure {
        let mib = bytes as f64 / f64::from(1 << 20);
        let message = format!("the answer of {} is longer than the limit of {mib} MiB", target.title());
        Failure::new(502, "invalid_answer", message)
            .with_hint("raise it with: rsv-config set max_line_bytes BYTES")
    }

    /// The error for a stream without an end.
    pub(super) fn unfinished(target: &Target) -> Failure {
        let message = format!("the answer of {} broke off before its end", target.title());
        Failure::new(502, "invalid_answer", message)
    }

    /// The provider reported an error in mid-stream.
    pub(super) fn in_stream(target: &Target, error: &Object, key: Option<&Secret>) -> Failure {
        Failure::of_error(target, "broke off", error, error, key)
    }

    /// The provider reported an error in place of an answer, and called that a success.
    pub(super) fn reported(target: &Target, answer: &Object, key: Option<&Secret>) -> Failure {
        let error = api::reported_error(answer);
        Failure::of_error(target, "is an error", error.as_ref().unwrap_or(answer), answer, key)
    }

    fn of_error(target: &Target, is: &str, error: &Object, body: &Object, key: Option<&Secret>) -> Failure {
        let detail = error_message(error.to_json().as_bytes(), key);
        let reason = || error.valid_text("finish_reason").map(|reason| format!("finish_reason is {reason}"));
        let detail = detail.or_else(reason).map_or(String::new(), |detail| format!(": {detail}"));
        let message = format!("the answer of {} {is}{detail}", target.title());
        Failure::new(502, "provider_error", message).body(body.to_json().as_bytes(), key)
    }

    /// The error line that takes the place of the answer; `rsv` is the request's member as JSON text.
    pub fn to_line(&self, rsv: Option<&str>) -> String {
        let mut members = Object::default();
        members.set("status", self.status.to_string());
        if let Some(body) = &self.body {
            members.set("body", body.clone());
        }
        if let Some(rsv) = rsv {
            members.set("rsv", rsv);
        }
        if let Some(hint) = &self.hint {
            members.set_text("hint", hint);
        }
        error_line(self.code, &self.message, &members)
    }
}

impl error::Failure for Failure {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// The error for an invalid member of the request.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { hint: error.remedy().map(str::to_owned), ..Failure::request(&error.to_string()) }
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Failure {
        let (status, code) = match error {
            ProviderError::NoKey { .. } => (401, "missing_api_key"),
            ProviderError::Plaintext { .. } => (502, "insecure_address"),
            _ => (400, "invalid_request"),
        };
        Failure { status, code, ..Failure::from(Error::from(error)) }
    }
}

/// A JSON object or array of objects unchanged; anything else as a JSON string.
fn as_json(text: &str) -> Box<str> {
    if let Ok(object) = Object::parse(text) {
        return object.to_json().into();
    }
    match serde_json::from_str::<Vec<Object>>(text) {
        Ok(objects) => {
            let objects: Vec<String> = objects.iter().map(Object::to_json).collect();
            format!("[{}]", objects.join(",")).into()
        }
        Err(_) => quote(text).into(),
    }
}
