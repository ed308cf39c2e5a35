//! Decides which requests are allowed: by their token, by the host that they name, by the origin of a web
//! page; and says who their caller is.
//!
//! A web page can make its reader's browser send requests to a server on the reader's machine. It cannot
//! choose the headers `Origin` and `Sec-Fetch-Site`; and where its own name points to the machine (DNS
//! rebinding), `Host` is that name. A browser sends `Origin` with requests whose answer a page reads, and
//! `Sec-Fetch-Site` with all requests, links and images among them, to an address that is known to be the
//! reader's machine.

use super::error::HttpFault;
use super::page_logins::Login;
use super::public_address::PublicAddress;
use super::refusal::Refusal;
use super::response::{self, HttpResponse};
use crate::access::{Caller, LiveTokens, is_same_digest};
use crate::cli::Diagnostics;
use crate::config::{Secret, Settings};
use crate::error::Result;
use crate::provider::CallerKeys;
use crate::record::hexadecimal;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW,
    AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method, StatusCode};
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::path::PathBuf;

/// The header for the token, where `Authorization` holds a provider's key.
const TOKEN_HEADER: &str = "x-rsv-token";
/// The header in which clients of Anthropic's send their key.
const ANTHROPIC_KEY_HEADER: &str = "x-api-key";
/// The headers in which tokens are sent, and cookies.
const TOKEN_HEADERS: [&str; 4] = ["authorization", TOKEN_HEADER, ANTHROPIC_KEY_HEADER, "cookie"];
/// The header by which a client gives a request a key, which the same request has when it is sent again.
pub(in crate::proxy) const REQUEST_KEY_HEADER: &str = "idempotency-key";
/// The headers by which a client chooses one of the accounts of a key.
const ACCOUNT_HEADERS: [&str; 3] = ["chatgpt-account-id", "openai-organization", "openai-project"];
/// The key that a client without one sends, if it must send some. The proxy passes it on to no provider.
pub(in crate::proxy) const PLACEHOLDER_KEY: &str = "rsv";
/// The header by which a browser says whether a page of another site makes it send a request.
const FETCH_SITE_HEADER: &str = "sec-fetch-site";
/// The header by which a browser says whether it would show the answer as a page of its own.
const FETCH_MODE_HEADER: &str = "sec-fetch-mode";
/// The values of `Sec-Fetch-Site` for requests that no other site causes.
const OWN_FETCH_SITES: [&[u8]; 2] = [b"none", b"same-origin"];
/// The one page to which other sites may link.
const LINKED_PATH: &str = "/health";
/// The schemes of origins that are pages, or extensions of a browser.
const PAGE_SCHEMES: [&str; 5] =
    ["http://", "https://", "chrome-extension://", "moz-extension://", "safari-web-extension://"];
/// The methods that a page may use.
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, DELETE, OPTIONS");
/// The headers of a response that a page may read.
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("x-rsv-memory, x-rsv-recalled, x-rsv-tokens, x-rsv-degraded");

/// Decides which requests are allowed.
pub(in crate::proxy) struct Guard {
    /// That of the owner.
    token: Option<Secret>,
    tokens: LiveTokens,
    /// The address at which people reach the server, if it is not its own.
    public: Option<PublicAddress>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    /// Takes the owner's token, the public address and the lists of hosts and origins from the settings, and
    /// the other tokens from a file. Errors name the setting, or the line.
    pub(in crate::proxy) fn new(
        settings: &Settings,
        tokens: Option<PathBuf>,
        diagnostics: &Diagnostics,
    ) -> Result<Guard> {
        let list = |key| -> Vec<String> {
            let text = settings.text(key).unwrap_or_default().to_ascii_lowercase();
            text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
        };
        let tokens =
            LiveTokens::new(tokens, settings.private_partitions().into_iter().collect(), diagnostics);
        tokens.check()?;
        Ok(Guard {
            token: settings.secret("proxy.token"),
            tokens,
            public: PublicAddress::from_settings(settings)?,
            hosts: list("proxy.hosts"),
            origins: list("proxy.origins"),
        })
    }

    /// Whether requests need a token: there are some, or there were.
    pub(in crate::proxy) fn needs_token(&self) -> bool {
        self.token.is_some() || self.tokens.are_there()
    }

    /// Whether people reach the server at another address than its own.
    pub(in crate::proxy) fn has_public_address(&self) -> bool {
        self.public.is_some()
    }

    /// The response to a request that is refused for its host or its origin, or is an OPTIONS; `None` for all
    /// others.
    pub(in crate::proxy) fn response_by_origin(&self, head: &Parts) -> Option<HttpResponse> {
        for name in [HOST, ORIGIN] {
            if head.headers.get_all(&name).iter().nth(1).is_some() {
                return Some(response::bad_request(HttpFault::Twice { name }));
            }
        }
        if let Some(host) = requested_host(head).filter(|host| !self.is_own_host(host)) {
            let text = format!("{host} is not a name of this server: add it to proxy.hosts");
            return Some(response::error(StatusCode::FORBIDDEN, "host_not_allowed", &text));
        }
        if let Some(origin) = origin(&head.headers).filter(|origin| !self.admits_origin(origin, head)) {
            let text = format!("pages of {origin} may not call this server: add it to proxy.origins");
            return Some(response::error(StatusCode::FORBIDDEN, "origin_not_allowed", &text));
        }
        if !self.admits_site(head) {
            let text = "pages of other sites may not call this server: add their origin to proxy.origins";
            return Some(response::error(StatusCode::FORBIDDEN, "origin_not_allowed", text));
        }
        if head.method == Method::OPTIONS {
            let mut response = response::no_content();
            response.headers_mut().insert(ALLOW, ALLOWED_METHODS);
            return Some(response);
        }
        None
    }

    /// The caller of a request. Errors if it needs a token and has none that holds.
    pub(in crate::proxy) fn admit(
        &self,
        headers: &HeaderMap,
        logins: &[Login],
        now: i64,
    ) -> std::result::Result<Caller, Refusal> {
        let mut caller = self.caller(headers, now);
        for login in logins {
            if matches!(caller, Ok(None)) {
                caller = self.caller_of(*login, now);
            }
        }
        caller.map_err(|_| Refusal::TokensUnreadable)?.ok_or(Refusal::Token)
    }

    /// The caller by the tokens that a request has; `None` if it needs one and has none that holds.
    fn caller(&self, headers: &HeaderMap, now: i64) -> Result<Option<Caller>> {
        if !self.needs_token() {
            return Ok(Some(Caller::Owner));
        }
        let sent = [sent(headers, TOKEN_HEADER), bearer(headers), sent(headers, ANTHROPIC_KEY_HEADER)];
        // The owner needs no file.
        if sent.into_iter().flatten().any(|text| self.is_token(text)) {
            return Ok(Some(Caller::Owner));
        }
        for text in sent.into_iter().flatten() {
            if let Some(caller) = self.tokens.caller(text, now)? {
                return Ok(Some(caller));
            }
        }
        Ok(None)
    }

    /// The caller with a text as its token; `None` if that is none that holds. Fails if the file of tokens
    /// cannot be read.
    pub(in crate::proxy) fn caller_with(&self, text: &str, now: i64) -> Result<Option<Caller>> {
        if self.is_token(text) {
            return Ok(Some(Caller::Owner));
        }
        self.tokens.caller(text, now)
    }

    /// The caller of a login, if its token still holds.
    fn caller_of(&self, login: Login, now: i64) -> Result<Option<Caller>> {
        match login {
            Login::Owner => Ok(Some(Caller::Owner)),
            Login::Token(digest) => self.tokens.caller_of(&digest, now),
        }
    }

    /// Whether a text is the owner's token.
    fn is_token(&self, text: &str) -> bool {
        self.token.as_ref().is_some_and(|token| is_equal(text, token.expose()))
    }

    /// Whether a page of the proxy's own makes the browser send a request, which only a browser can say.
    pub(in crate::proxy) fn is_same_origin(headers: &HeaderMap) -> bool {
        let mut sites = headers.get_all(FETCH_SITE_HEADER).iter();
        sites.next().is_some_and(|site| site == "same-origin") && sites.next().is_none()
    }

    /// The keys for providers that a request has, without tokens of the proxy, and those that are kept for
    /// its caller.
    pub(in crate::proxy) fn caller_keys(&self, headers: &HeaderMap, caller: &Caller) -> CallerKeys {
        let secret = |key: Option<&str>| key.filter(|key| !self.is_token(key)).map(Secret::new);
        let keys = CallerKeys::new(secret(bearer(headers)), secret(sent(headers, ANTHROPIC_KEY_HEADER)));
        keys.keeping(caller.keys())
    }

    /// Removes from a request all that must not be passed on for its caller: the owner's token, wherever it
    /// stands, and, where callers with tokens share the server's key, the headers that choose one of its
    /// accounts. The key that a caller gives a request becomes the caller's own, so that it is never that of
    /// another's request.
    pub(in crate::proxy) fn clean(&self, head: &mut Parts, caller: &Caller) {
        let holds_own = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| self.is_token(text.trim()));
        let others = head.headers.iter().filter(|(name, _)| !TOKEN_HEADERS.contains(&name.as_str()));
        let holders: Vec<HeaderName> =
            others.filter(|(_, value)| holds_own(value.as_bytes())).map(|(name, _)| name.clone()).collect();
        for name in &holders {
            head.headers.remove(name);
        }
        let query = head.uri.query().unwrap_or_default();
        let mut values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        if values.any(|value| holds_own(&percent_decode_str(value).collect::<Vec<u8>>())) {
            // A path is an address; the default, which is the root, would leave the token out too.
            head.uri = head.uri.path().parse().unwrap_or_default();
        }
        let Some(digest) = caller.digest() else { return };
        if let Some(key) = head.headers.get(REQUEST_KEY_HEADER) {
            let own = Sha256::new().chain_update(digest).chain_update(key.as_bytes()).finalize();
            if let Ok(own) = HeaderValue::from_str(&hexadecimal(&own)) {
                head.headers.insert(REQUEST_KEY_HEADER, own);
            }
        }
        if !self.caller_keys(&head.headers, caller).are_sent() {
            for name in ACCOUNT_HEADERS {
                head.headers.remove(name);
            }
        }
    }

    /// Whether a request came by the public address, and that is encrypted.
    pub(in crate::proxy) fn is_encrypted(&self, head: &Parts) -> bool {
        // The server before this one may name itself as the host.
        let is_public = |public: &PublicAddress| {
            let has_host = requested_host(head).is_some_and(|host| public.has_host(&host));
            let has_origin = origin(&head.headers).is_some_and(|origin| public.has_origin(&origin));
            public.is_encrypted() && (has_host || has_origin)
        };
        self.public.as_ref().is_some_and(is_public)
    }

    /// Adds the headers that let a page read the response, if its origin is listed (CORS).
    pub(in crate::proxy) fn add_cors_headers(&self, head: &Parts, response: &mut HttpResponse) {
        let Some(origin) = head.headers.get(ORIGIN) else { return };
        let is_listed = origin.to_str().is_ok_and(|origin| self.lists_origin(&origin.to_ascii_lowercase()));
        if !is_listed {
            return;
        }
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.append(VARY, HeaderValue::from_name(ORIGIN));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        if head.method == Method::OPTIONS {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            if let Some(wanted) = head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
            }
        }
    }

    /// Whether a host is a listed name, or a numeric address, which needs no name server and so cannot be
    /// rebound.
    fn is_own_host(&self, host: &str) -> bool {
        let number = host.trim_start_matches('[').trim_end_matches(']').parse();
        let is_number = number.is_ok_and(|number| self.needs_token() || !is_loopback_alias(number));
        let is_public = self.public.as_ref().is_some_and(|public| public.has_host(host));
        host == "localhost" || is_number || is_public || self.hosts.iter().any(|name| name == host)
    }

    /// Whether requests of an origin are allowed. A web page's must be listed, or be the proxy's own;
    /// programs that are no browser may send any.
    fn admits_origin(&self, origin: &str, head: &Parts) -> bool {
        let is_page = origin == "null" || PAGE_SCHEMES.iter().any(|scheme| origin.starts_with(scheme));
        let is_own = || {
            let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
            host.is_some_and(|host| origin == format!("http://{}", host.to_ascii_lowercase()))
                && !self.is_encrypted(head)
        };
        let is_public = self.public.as_ref().is_some_and(|public| public.has_origin(origin));
        !is_page || is_public || self.lists_origin(origin) || is_own()
    }

    /// Whether a request is allowed by the site of the page that makes the browser send it. That of an image
    /// or a link names no origin, so that only `*` lists it.
    fn admits_site(&self, head: &Parts) -> bool {
        let mut sites = head.headers.get_all(FETCH_SITE_HEADER).iter();
        if sites.all(|site| OWN_FETCH_SITES.contains(&site.as_bytes())) {
            return true;
        }
        let is_link = head.headers.get(FETCH_MODE_HEADER).is_some_and(|mode| mode == "navigate");
        let is_listed = match origin(&head.headers) {
            Some(origin) => self.lists_origin(&origin),
            None => self.lists_origin("null"),
        };
        is_listed || is_link && head.method == Method::GET && head.uri.path() == LINKED_PATH
    }

    fn lists_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|one| one == origin || one == "*")
    }
}

/// Whether an address reaches this machine while browsers do not know that it does: they leave
/// `Sec-Fetch-Site` out, so that the request of an image looks like that of another program.
fn is_loopback_alias(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_unspecified(),
        IpAddr::V6(address) => address.is_unspecified() || address.to_ipv4_mapped().is_some(),
    }
}

/// The host that a request names, without its port, in lower case; `None` where it names none.
fn requested_host(head: &Parts) -> Option<String> {
    let host = |text: &str| {
        // Text that is no authority is compared as it is, and is the name of no server.
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

/// The value of a header, without blanks around it.
fn sent<'h>(headers: &'h HeaderMap, name: &'static str) -> Option<&'h str> {
    headers.get(HeaderName::from_static(name))?.to_str().ok().map(str::trim)
}

/// Compares two texts in a time that does not depend on where they differ: by their digests, to the last
/// byte.
fn is_equal(one: &str, other: &str) -> bool {
    is_same_digest(&Sha256::digest(one).into(), &Sha256::digest(other).into())
}

#[cfg(test)]
mod tests;
