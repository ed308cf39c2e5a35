//! Requests that pass unchanged to their provider, and answers that pass unchanged back, as they arrive.

use super::answer::{self, Answer};
use crate::config::{Secret, Settings};
use crate::error::{Context, Error, Result};
use crate::forward::Failure;
use crate::http::Address;
use crate::provider::{Providers, Target};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{AUTHORIZATION, CONNECTION, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

/// The providers that can be named, as in `openai/gpt-4o`.
const NAMES: [&str; 6] = ["openai", "mistral", "gemini", "anthropic", "custom", "ollama"];
/// What stands for a model where none is asked for.
const NOBODY: &str = "-";
/// What stands at the end of a provider's address.
const CHAT: &str = "/chat/completions";
/// What a client's header may tell a provider, beside what begins with one of `OURS`. A list of what may pass, since
/// nobody can list all headers that hold a key.
const PASSED: [&str; 6] =
    ["accept", "accept-encoding", "content-encoding", "content-type", "idempotency-key", "user-agent"];
const OURS: [&str; 2] = ["openai-", "x-stainless-"];
/// What concerns one connection only (RFC 9110, 7.6.1), and the beginning of what the proxy itself says to a browser.
const KEPT: [&str; 10] = [
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

/// Passes requests on.
pub(super) struct Upstream {
    providers: Providers,
    /// The patterns of the settings' routes.
    patterns: Vec<String>,
    connect: Duration,
    /// How long each piece of an answer may take, the first included.
    piece: Duration,
    /// For this machine, and for others through the system's proxy if there is one.
    clients: [OnceLock<Client>; 2],
}

/// What is passed on.
pub(super) struct Passing {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Passing {
    /// What may be passed on of a request.
    pub(super) fn of(head: &Parts, body: Bytes) -> Passing {
        let mut headers = head.headers.clone();
        let passes = |name: &str| PASSED.contains(&name) || OURS.iter().any(|own| name.starts_with(own));
        retain(&mut headers, passes);
        Passing { method: head.method.clone(), headers, body }
    }
}

impl Upstream {
    pub(super) fn new(settings: &Settings) -> Result<Upstream> {
        let time = |key, seconds| settings.duration(key).unwrap_or(Duration::from_secs(seconds));
        Ok(Upstream {
            providers: Providers::new(settings)?,
            patterns: settings.routes().into_iter().map(|route| route.pattern).collect(),
            connect: time("connect_timeout", 10),
            piece: time("first_byte_timeout", 600).max(time("idle_timeout", 300)),
            clients: [OnceLock::new(), OnceLock::new()],
        })
    }

    /// Who serves a model.
    pub(super) fn of(&self, model: &str) -> std::result::Result<Target, Failure> {
        Ok(self.providers.of(model)?)
    }

    /// Every provider that has an address, the settings' routes last.
    pub(super) fn all(&self) -> Vec<Target> {
        let named = NAMES.iter().filter_map(|name| {
            let target = self.named(name).ok()?;
            // A route may go before the provider of that name, and a name may be nobody's.
            (target.name() == *name && target.model == NOBODY).then_some(target)
        });
        let routed = self.patterns.iter().filter_map(|pattern| self.providers.of(pattern).ok());
        let mut all: Vec<Target> = Vec::new();
        for target in named.chain(routed) {
            if !all.iter().any(|other| other.address() == target.address()) {
                all.push(target);
            }
        }
        all
    }

    /// Who gets what names no model: OpenAI if there is a key for it, else Ollama.
    pub(super) fn unnamed(&self, bearer: Option<&Secret>) -> std::result::Result<Target, Failure> {
        let openai = self.named("openai")?;
        if openai.key(bearer).is_ok() { Ok(openai) } else { self.ollama() }
    }

    /// Where Ollama is.
    pub(super) fn ollama(&self) -> std::result::Result<Target, Failure> {
        self.named("ollama")
    }

    fn named(&self, name: &str) -> std::result::Result<Target, Failure> {
        self.of(&format!("{name}/{NOBODY}"))
    }

    /// Sends a request, and waits for the head of the answer.
    pub(super) async fn send(
        &self,
        target: &Target,
        url: Url,
        key: Option<&Secret>,
        passing: Passing,
    ) -> std::result::Result<reqwest::Response, Answer> {
        let failed = |status, cause: &str| {
            let (title, address, model) = (target.title(), target.address(), &target.model);
            let using = match model.as_str() {
                NOBODY => format!("It is at '{address}'"),
                _ => format!("Using model '{model}' at '{address}'"),
            };
            let text = format!("Failed to connect to {title} API: {cause}. {using}");
            let code = if status == StatusCode::BAD_GATEWAY { "provider_unreachable" } else { "timeout" };
            answer::error(status, code, &text)
        };
        let broken = |cause: &str| failed(StatusCode::BAD_GATEWAY, cause);
        let client = self.client(target.address()).map_err(|e| broken(&e.to_string()))?;
        let mut request = client.request(passing.method, url).headers(passing.headers).body(passing.body);
        if let Some(key) = key {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
            let mut bearer =
                bearer.map_err(|_| broken("the key holds a character that cannot stand in a header"))?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        request.send().await.map_err(|e| {
            let late = e.is_timeout() && !e.is_connect();
            failed(if late { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY }, &cause(&e))
        })
    }

    /// Passes a request on, and its answer back.
    pub(super) async fn pass(
        &self,
        target: &Target,
        url: Option<Url>,
        bearer: Option<&Secret>,
        passing: Passing,
    ) -> Answer {
        let Some(url) = url else {
            let text =
                format!("the address of {} ends in no {CHAT}: nothing else is known there", target.title());
            return answer::error(StatusCode::NOT_FOUND, "not_found", &text);
        };
        let key = match target.key(bearer) {
            Ok(key) => key,
            Err(refusal) => return answer::failure(&refusal.into()),
        };
        match self.send(target, url, key, passing).await {
            Ok(response) => relayed(response),
            Err(answer) => answer,
        }
    }

    fn client(&self, address: &Address) -> Result<&Client> {
        let here = address.is_here();
        let cell = &self.clients[usize::from(here)];
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        // An error only says that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder =
            Client::builder().redirect(Policy::none()).connect_timeout(self.connect).read_timeout(self.piece);
        let builder = match here {
            true if address.is_plain() => builder.no_proxy().tls_certs_only([]),
            true => builder.no_proxy(),
            false => builder,
        };
        let built = builder.build().context("no client for the network")?;
        Ok(cell.get_or_init(|| built))
    }

    /// Errors if a provider's address is the proxy's own.
    pub(super) fn check_own(&self, own: SocketAddr) -> Result<()> {
        let same =
            |target: &Target| target.address().is_here() && target.address().port() == Some(own.port());
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

/// What stands beside a provider's chat completions: `models`, with what follows the question mark.
pub(super) fn beside(address: &Address, name: &str, query: Option<&str>) -> Option<Url> {
    let base = address.path().strip_suffix(CHAT)?;
    at(address, &format!("{base}/{name}"), query)
}

/// What stands in Ollama's own part of its address: `/api/tags`.
pub(super) fn of_ollama(address: &Address, name: &str, query: Option<&str>) -> Option<Url> {
    let base = address.path().strip_suffix(CHAT).map_or("", |base| base.trim_end_matches("/v1"));
    at(address, &format!("{base}/api/{name}"), query)
}

fn at(address: &Address, path: &str, query: Option<&str>) -> Option<Url> {
    let mut url = Url::parse(&address.to_string()).ok()?;
    url.set_path(path);
    url.set_query(query);
    Some(url)
}

/// A provider's answer as it comes.
pub(super) fn relayed(response: reqwest::Response) -> Answer {
    let (head, body) = hyper::http::Response::<reqwest::Body>::from(response).into_parts();
    let mut answer = Response::new(body.map_err(Into::into).boxed_unsync());
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    retain(answer.headers_mut(), |name| !KEPT.contains(&name) && !name.starts_with(BROWSERS));
    answer
}

/// Keeps the headers that `passes` wants, and none that `Connection` names.
fn retain(headers: &mut HeaderMap, passes: impl Fn(&str) -> bool) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase());
    let named: Vec<String> = named.collect();
    let names: Vec<HeaderName> = headers.keys().cloned().collect();
    for name in names {
        if !passes(name.as_str()) || named.iter().any(|other| other == name.as_str()) {
            headers.remove(name);
        }
    }
}

/// The innermost cause, which holds no address.
pub(super) fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text =
        if error.source().is_some() { inner.to_string() } else { "the request cannot be sent".to_owned() };
    Error::new("").because(text).to_string().trim_start_matches(": ").to_owned()
}
