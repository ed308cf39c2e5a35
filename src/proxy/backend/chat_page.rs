//! `GET /chat`: a page for the chat backend, which loads nothing and runs no script but its own.
//!
//! `chat.html` is its frame, `chat.css` its style after that of the other pages, and `chat.js` its script.

use crate::config::Settings;
use crate::proxy::http::{HttpResponse, Page, response};
use crate::proxy::pages::STYLE;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use sha2::{Digest, Sha256};

const FRAME: &str = include_str!("chat.html");
const OWN_STYLE: &str = include_str!("chat.css");
const SCRIPT: &str = include_str!("chat.js");

/// The page, if the proxy serves it.
pub(in crate::proxy) struct ChatPage {
    page: Option<ServedPage>,
}

/// A page and its content policy.
struct ServedPage {
    html: Bytes,
    policy: HeaderValue,
}

impl ChatPage {
    /// A page that is served or not; it links to the pages of the memory if these are served.
    pub(in crate::proxy) fn new(is_served: bool, settings: &Settings) -> ChatPage {
        ChatPage { page: is_served.then(|| ServedPage::new(settings.boolean("proxy.page") != Some(false))) }
    }

    /// The page; `None` if it is not served.
    pub(in crate::proxy) fn response(&self) -> Option<HttpResponse> {
        let page = self.page.as_ref()?;
        let mut response = response::json(StatusCode::OK, page.html.clone());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, page.policy.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        Some(response)
    }
}

impl ServedPage {
    fn new(has_pages: bool) -> ServedPage {
        let style = format!("{STYLE}{OWN_STYLE}");
        let home = if has_pages { Page::Home.path() } else { String::new() };
        let html = FRAME.replace("{style}", &style).replace("{script}", SCRIPT).replace("{memory}", &home);
        ServedPage { html: html.into(), policy: policy(&style) }
    }
}

/// Only the page's own script and style, by their digests, and requests to the proxy.
fn policy(style: &str) -> HeaderValue {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let (script, style) = (digest(SCRIPT), digest(style));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    // Digests in Base64 are visible ASCII.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
