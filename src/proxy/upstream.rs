//! Requests that pass unchanged to their provider, and answers that pass unchanged back, as they arrive.

use super::answer::{self, Answer};
use crate::cli::Notes;
use crate::config::{Secret, Settings};
use crate::error::{Error, Result};
use crate::forward::{Again, Caller, Failure};
use crate::http::{Address, Client, Passed, Passing, Sent, offer, pause};
use crate::provider::{Providers, Target};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// What stands at the end of a provider's address.
const CHAT: &str = "/chat/completions";
/// What a client's header may tell a provider, beside what begins with one of `OURS`. A list of what may pass, since
/// nobody can list all headers that hold a key.
const PASSED: [&str; 6] =
    ["accept", "accept-encoding", "content-encoding", "content-type", "idempotency-key", "user-agent"];
const OURS: [&str; 2] = ["openai-", "x-stainless-"];
/// What concerns one connection or one server only (RFC 9110, 7.6.1; RFC 7838), and the beginning of what the proxy itself says to a browser.
const KEPT: [&str; 11] = [
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
const BROWSERS: &str = "access-control-";
/// What begins so is said by nobody but us.
const RSVS: &str = "x-rsv-";

/// Passes requests on.
pub(super) struct Upstream {
    providers: Providers,
    client: Client,
    again: Again,
}

/// What may be passed on of a request.
pub(super) fn passing(head: &Parts, body: Bytes) -> Passing {
    let mut headers = head.headers.clone();
    let passes = |name: &str| PASSED.contains(&name) || OURS.iter().any(|own| name.starts_with(own));
    retain(&mut headers, passes);
    Passing { method: head.method.clone(), headers, body }
}

/// Has the answer encoded only in what the client takes and can be read here too.
pub(super) fn readable(mut passing: Passing) -> Passing {
    if let Some(accepted) = passing.headers.get_mut(ACCEPT_ENCODING) {
        let offered = HeaderValue::from_str(&offer(accepted.to_str().unwrap_or_default()));
        *accepted = offered.unwrap_or(HeaderValue::from_static("identity"));
    }
    passing
}

impl Upstream {
    pub(super) fn new(settings: &Settings, notes: &Notes) -> Result<Upstream> {
        Ok(Upstream {
            providers: Providers::new(settings)?,
            client: Client::new(settings),
            again: Again::new(settings, notes),
        })
    }

    /// Who serves a model.
    pub(super) fn of(&self, model: &str) -> std::result::Result<Target, Failure> {
        Ok(self.providers.of(model)?)
    }

    /// Every provider that has an address.
    pub(super) fn all(&self) -> Vec<Target> {
        self.providers.all()
    }

    /// Who gets what names no model: OpenAI if there is a key for it, else Ollama.
    pub(super) fn unnamed(&self, bearer: Option<&Secret>) -> std::result::Result<Target, Failure> {
        let openai = self.providers.named("openai")?;
        if openai.key(bearer).is_ok() { Ok(openai) } else { self.ollama() }
    }

    /// Where Ollama is.
    pub(super) fn ollama(&self) -> std::result::Result<Target, Failure> {
        Ok(self.providers.named("ollama")?)
    }

    /// Sends a request to an address of a provider's, and waits for the head of the answer.
    pub(super) async fn send(
        &self,
        target: &Target,
        address: &Address,
        bearer: Option<&Secret>,
        passing: Passing<impl Into<Sent>>,
    ) -> std::result::Result<Response<Passed>, Failure> {
        let key = target.key(bearer)?;
        let sent = self.client.relay(address, key, target.headers(), passing).await;
        sent.map_err(|failed| Failure::unsent(target, &failed))
    }

    /// As `send`, and again where nothing can have come of it.
    pub(super) async fn ask(
        &self,
        target: &Target,
        address: &Address,
        bearer: Option<&Secret>,
        passing: Passing,
    ) -> std::result::Result<Response<Passed>, Failure> {
        let key = target.key(bearer)?;
        let send = || self.client.relay(address, key, target.headers(), passing.clone());
        let wait = |response: &Response<Passed>| pause(response.headers().get(RETRY_AFTER)?.to_str().ok()?);
        let sent =
            self.again.ask(target, send, |response| (response.status().as_u16(), wait(response))).await;
        sent.map_err(|failed| Failure::unsent(target, &failed))
    }

    /// Passes a request on, and its answer back.
    pub(super) async fn pass(
        &self,
        target: &Target,
        address: Option<Address>,
        bearer: Option<&Secret>,
        passing: Passing<impl Into<Sent>>,
    ) -> Answer {
        let Some(address) = address else {
            let text =
                format!("the address of {} ends in no {CHAT}: nothing else is known there", target.title());
            return answer::error(StatusCode::NOT_FOUND, "not_found", &text);
        };
        let asks_for_body = passing.method != Method::HEAD;
        passed(target, asks_for_body, self.send(target, &address, bearer, passing).await)
    }

    /// The same with a request to chat, which is sent again where nothing can have come of it.
    pub(super) async fn pass_chat(
        &self,
        target: &Target,
        query: Option<&str>,
        bearer: Option<&Secret>,
        passing: Passing,
    ) -> Answer {
        let address = target.address().clone().with_query(query);
        passed(target, true, self.ask(target, &address, bearer, passing).await)
    }

    /// Errors if a provider's address is the proxy's own.
    pub(super) fn check_own(&self, own: SocketAddr) -> Result<()> {
        let same = |target: &Target| {
            target.address().port() == Some(own.port())
                && (target.address().is_here()
                    || target.address().ips().iter().any(|ip| is_own(*ip, own.ip())))
        };
        let Some(target) = self.all().into_iter().find(same) else { return Ok(()) };
        let error = Error::new(format!(
            "{} is at {}, which is rsv-proxy's own address",
            target.title(),
            target.address()
        ));
        Err(error.hint(match target.name() {
            "ollama" => "start Ollama elsewhere (OLLAMA_HOST=127.0.0.1:11435 ollama serve) and say so: \
                         rsv-config set ollama_base_url http://127.0.0.1:11435"
                .to_owned(),
            _ => format!("correct {}", target.address_setting()),
        }))
    }
}

/// Whether what is asked for at an address of this network reaches who listens at the other.
fn is_own(ip: IpAddr, own: IpAddr) -> bool {
    let local = || UdpSocket::bind((ip, 0)).is_ok();
    ip == own || ip.is_loopback() || ip.is_unspecified() || own.is_unspecified() && local()
}

/// What stands in Ollama's own part of its address: `/api/tags`.
pub(super) fn of_ollama(address: &Address, name: &str, query: Option<&str>) -> Address {
    let base = address.path().strip_suffix(CHAT).map_or("", |base| base.trim_end_matches("/v1"));
    let path = format!("{base}/api/{name}");
    address.clone().with_path(&path).with_query(query)
}

/// What came of a request that was passed on.
fn passed(
    target: &Target,
    asks_for_body: bool,
    sent: std::result::Result<Response<Passed>, Failure>,
) -> Answer {
    match sent {
        Ok(response) if asks_for_body && is_wordless(&response) => {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let failure = Failure::refused(target, status, b"", None);
            answer::beside(answer::failure(&failure), &headers)
        }
        Ok(response) => relayed(response),
        Err(failure) => answer::failure(&failure),
    }
}

/// Whether a provider refuses without a word: some clients take that for an answer.
fn is_wordless(response: &Response<Passed>) -> bool {
    let status = response.status();
    (status.is_client_error() || status.is_server_error()) && response.body().is_end_stream()
}

/// A provider's answer as it comes.
pub(super) fn relayed(response: Response<Passed>) -> Answer {
    let mut answer = response.map(|body| body.map_err(Into::into).boxed_unsync());
    answer.extensions_mut().clear();
    *answer.headers_mut() = told(std::mem::take(answer.headers_mut()));
    answer
}

/// What the client is told of a provider's headers.
pub(super) fn told(mut headers: HeaderMap) -> HeaderMap {
    let goes = |name: &str| name.starts_with(BROWSERS) || name.starts_with(RSVS);
    retain(&mut headers, |name| !KEPT.contains(&name) && !goes(name));
    headers
}

/// What of a client's request its provider is told, where the body is written anew.
pub(super) fn caller(head: &Parts, key: Option<Secret>) -> Caller {
    let encodings = head.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let mut headers = passing(head, Bytes::new()).headers;
    [ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE].iter().for_each(|name| drop(headers.remove(name)));
    let query = head.uri.query().map(str::to_owned);
    Caller { key, encodings: encodings.map(str::to_owned), headers, query }
}

/// Keeps the headers that `passes` wants, and none that `Connection` names.
fn retain(headers: &mut HeaderMap, passes: impl Fn(&str) -> bool) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase());
    let named: Vec<String> = named.collect();
    let goes = |name: &HeaderName| !passes(name.as_str()) || named.iter().any(|other| other == name.as_str());
    let gone: Vec<HeaderName> = headers.keys().filter(|name| goes(name)).cloned().collect();
    gone.iter().for_each(|name| drop(headers.remove(name)));
}
