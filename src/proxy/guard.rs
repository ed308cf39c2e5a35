//! Who may ask: whose token is right, by which name the proxy is called, from which web page.
//!
//! A page of the web can make its reader's browser ask a server on his own machine. It cannot choose the header
//! `Origin`, and where it has its own name point to the machine (DNS rebinding), `Host` is that name.

use super::answer::{self, Answer};
use crate::config::{Secret, Settings};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW,
    AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method, StatusCode};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// The header for the token, where `Authorization` is a provider's.
const TOKEN: &str = "x-rsv-token";
/// The key of who has none and must name one. It goes to no provider.
pub(super) const NOBODYS: &str = "rsv";
/// What a page may do.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
/// What a page may read of an answer.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("x-rsv-memory, x-rsv-recalled, x-rsv-tokens, x-rsv-degraded");

/// Decides who is let in.
pub(super) struct Guard {
    token: Option<Secret>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub(super) fn new(settings: &Settings) -> Guard {
        let list = |key| -> Vec<String> {
            let text = settings.text(key).unwrap_or_default().to_ascii_lowercase();
            text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
        };
        Guard {
            token: settings.secret("proxy.token"),
            hosts: list("proxy.hosts"),
            origins: list("proxy.origins"),
        }
    }

    /// Whether a token is asked for.
    pub(super) fn asks(&self) -> bool {
        self.token.is_some()
    }

    /// The answer to a request that goes no further.
    pub(super) fn answer(&self, head: &Parts) -> Option<Answer> {
        if let Some(host) = called(head).filter(|host| !self.is_called(host)) {
            let text = format!("{host} is not a name of this server: add it to proxy.hosts");
            return Some(answer::error(StatusCode::FORBIDDEN, "host_not_allowed", &text));
        }
        if let Some(origin) = origin(&head.headers).filter(|origin| !self.admits(origin, head)) {
            let text = format!("pages of {origin} may not ask here: add it to proxy.origins");
            return Some(answer::error(StatusCode::FORBIDDEN, "origin_not_allowed", &text));
        }
        if head.method == Method::OPTIONS {
            let mut answer = answer::empty();
            answer.headers_mut().insert(ALLOW, METHODS);
            return Some(answer);
        }
        let known = match &self.token {
            Some(token) => own(&head.headers, token) || bearers(&head.headers, token),
            None => true,
        };
        (!known).then(|| {
            let text = format!("the token is missing or wrong: send it as Bearer or as {TOKEN}");
            answer::error(StatusCode::UNAUTHORIZED, "invalid_token", &text)
        })
    }

    /// The caller's key for a provider, which the token is not.
    pub(super) fn bearer(&self, headers: &HeaderMap) -> Option<Secret> {
        let key = bearer(headers)?;
        let is_token = self.token.as_ref().is_some_and(|token| same(key, token.expose()));
        (!is_token && key != NOBODYS).then(|| Secret::new(key))
    }

    /// Lets a page read the answer, if it may ask at all.
    pub(super) fn share(&self, head: &Parts, answer: &mut Answer) {
        let Some(origin) = head.headers.get(ORIGIN) else { return };
        let listed = origin.to_str().is_ok_and(|origin| self.lists(&origin.to_ascii_lowercase()));
        if !listed {
            return;
        }
        let headers = answer.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.append(VARY, HeaderValue::from_name(ORIGIN));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        if head.method == Method::OPTIONS {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            if let Some(wanted) = head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
            }
        }
    }

    /// A name of one's own, or a numeric address, which needs no name server and so cannot be rebound.
    fn is_called(&self, host: &str) -> bool {
        let number = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || number.parse::<IpAddr>().is_ok() || self.hosts.iter().any(|name| name == host)
    }

    /// Programs that are no browser send what they like; a page of the web must be listed, or be our own.
    fn admits(&self, origin: &str, head: &Parts) -> bool {
        let page = origin == "null" || origin.starts_with("http://") || origin.starts_with("https://");
        let own = || {
            let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
            host.is_some_and(|host| origin == format!("http://{}", host.to_ascii_lowercase()))
        };
        !page || self.lists(origin) || own()
    }

    fn lists(&self, origin: &str) -> bool {
        self.origins.iter().any(|one| one == origin || one == "*")
    }
}

/// The name by which a request calls the server, without its port, in lower case; `None` where it says none.
fn called(head: &Parts) -> Option<String> {
    let host = |text: &str| {
        let authority = text.parse::<Authority>().ok();
        authority.map_or(text.to_owned(), |authority| authority.host().to_owned()).to_ascii_lowercase()
    };
    let header = head.headers.get(HOST).map(|value| host(&String::from_utf8_lossy(value.as_bytes())));
    head.uri.host().map(|name| name.to_ascii_lowercase()).or(header)
}

fn origin(headers: &HeaderMap) -> Option<String> {
    headers.get(ORIGIN).map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

fn bearers(headers: &HeaderMap, token: &Secret) -> bool {
    bearer(headers).is_some_and(|key| same(key, token.expose()))
}

fn own(headers: &HeaderMap, token: &Secret) -> bool {
    let sent = headers.get(HeaderName::from_static(TOKEN)).and_then(|value| value.to_str().ok());
    sent.is_some_and(|sent| same(sent.trim(), token.expose()))
}

/// Compares in a time that tells nothing of where two texts differ: by their digests, to the last byte.
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one), Sha256::digest(other));
    one.iter().zip(&other).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn guard() -> Guard {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let token = Some(Secret::new("secret"));
        Guard { token, hosts: list(&["my.example"]), origins: list(&["https://page.example"]) }
    }

    fn status(guard: &Guard, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        guard.answer(&head).map_or(200, |answer| answer.status().as_u16())
    }

    #[test]
    fn only_names_of_our_own_are_answered_to() {
        let guard = Guard { token: None, ..guard() };
        for (host, wanted) in [
            ("localhost", 200),
            ("LocalHost:3017", 200),
            ("127.0.0.1:3017", 200),
            ("[::1]:3017", 200),
            ("192.168.1.2", 200),
            ("my.example:80", 200),
            ("evil.example", 403),
            ("localhost.evil.example:3017", 403),
            ("127.0.0.1.evil.example", 403),
            ("", 403),
            ("a b", 403),
        ] {
            assert_eq!(status(&guard, "/health", &[("host", host)]), wanted, "{host}");
        }
        assert_eq!(status(&guard, "/health", &[]), 200, "HTTP/1.0 says no name");
        assert_eq!(status(&guard, "http://evil.example/health", &[("host", "localhost")]), 403);
    }

    #[test]
    fn only_pages_that_are_listed_may_ask() {
        let guard = Guard { token: None, ..guard() };
        for (origin, wanted) in [
            ("https://page.example", 200),
            ("https://other.example", 403),
            ("http://localhost:3017", 200),
            ("http://localhost:9999", 403),
            ("null", 403),
            ("app://editor", 200),
        ] {
            let headers = [("host", "localhost:3017"), ("origin", origin)];
            assert_eq!(status(&guard, "/health", &headers), wanted, "{origin}");
        }
    }

    #[test]
    fn a_token_is_asked_for_and_is_nobodys_key() {
        let guard = guard();
        let mut headers = HeaderMap::new();
        assert_eq!(status(&guard, "/", &[]), 401);
        assert_eq!(status(&guard, "/", &[("authorization", "Bearer secreT")]), 401);
        assert_eq!(status(&guard, "/", &[("authorization", "bearer  secret ")]), 200);
        assert_eq!(status(&guard, "/", &[("x-rsv-token", "secret"), ("authorization", "Bearer key")]), 200);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
        assert_eq!(guard.bearer(&headers), None);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer key"));
        assert_eq!(guard.bearer(&headers), Some(Secret::new("key")));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer rsv"));
        assert_eq!(guard.bearer(&headers), None);
    }
}
