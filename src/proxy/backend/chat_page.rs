//! `GET /chat`: a page for the chat backend, which loads nothing and runs no script but its own.

use crate::proxy::http::{HttpResponse, response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use sha2::{Digest, Sha256};

/// The page.
const PAGE: &str = include_str!("../../../examples/chat.html");

/// The page, if the proxy serves it.
pub(in crate::proxy) struct ChatPage {
    /// Its content policy; `None` if the page is not served.
    policy: Option<HeaderValue>,
}

impl ChatPage {
    /// A page that is served or not.
    pub(in crate::proxy) fn new(is_served: bool) -> ChatPage {
        ChatPage { policy: is_served.then(policy) }
    }

    /// The page; `None` if it is not served.
    pub(in crate::proxy) fn response(&self) -> Option<HttpResponse> {
        let policy = self.policy.as_ref()?;
        let mut response = response::json(StatusCode::OK, PAGE);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        Some(response)
    }
}

/// Only the page's own script and style, by their digests, and requests to the proxy.
fn policy() -> HeaderValue {
    let (script, style) = (digest_of("script"), digest_of("style"));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The SHA-256 of the text in an element of the page, in base64.
fn digest_of(name: &str) -> String {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let inner = PAGE.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map(|(inner, _)| inner);
    STANDARD.encode(Sha256::digest(inner.unwrap_or_default()))
}
