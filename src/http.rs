//! The one HTTP client: it follows no redirects, waits for a bounded time, and says in words what failed.

mod address;
mod blocking;
mod decode;
mod download;
mod headers;
mod loops;
mod relay;
mod response;
mod said;

pub use address::Address;
pub use blocking::{Blocking, Reply};
pub use decode::{Decoder, offer};
pub use headers::Headers;
pub use loops::{Loops, run, serve};
pub use relay::{Passed, Passing};
pub use response::{Body, Cut, Response, pause};
pub use said::{said, without};

/// A body that is sent: whole, or as it comes (`wrap`).
pub use reqwest::Body as Sent;
pub use reqwest::header::HeaderMap;

use crate::config::{Secret, Settings};
use bytes::Bytes;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};
use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, Id};

/// Waits for all, which go on side by side; what they give is in their order.
pub async fn all<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = all.map(|one| (Some(Box::pin(one)), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in &mut waiting {
            if let Some(running) = future
                && let std::task::Poll::Ready(value) = running.as_mut().poll(context)
            {
                (*future, *done) = (None, Some(value));
            }
        }
        match waiting.iter().all(|(future, _)| future.is_none()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    waiting.into_iter().filter_map(|(_, done)| done).collect()
}

/// Sends requests. Nothing is built before the first is sent: reading the system's certificates takes time.
pub struct Client {
    connect: Duration,
    first_byte: Duration,
    idle: Duration,
    whole: Duration,
    /// For each lane one client of each event loop that asks.
    lanes: [Mutex<Vec<(Id, reqwest::Client)>>; 3],
}

/// How an address is reached.
#[derive(Clone, Copy)]
enum Lane {
    /// This machine, in the clear: no certificates are needed, so that a container may have none.
    Plain,
    /// This machine, over TLS.
    Local,
    /// Any other, through the system's proxy if there is one.
    Open,
}

/// What goes with what is posted.
#[derive(Clone, Copy)]
pub struct Manner<'a> {
    /// Headers beside those that every request has, and those that go before them.
    pub passed: Option<&'a HeaderMap>,
    pub headers: Option<&'a Headers>,
    /// How the body of the answer may be encoded, as `offer` has it.
    pub encodings: &'a str,
    /// Whether the answer may go on for as long as something of it arrives.
    pub endless: bool,
}

impl Manner<'_> {
    /// Nothing more, and an answer in the clear within the limit.
    pub const PLAIN: Manner<'static> =
        Manner { passed: None, headers: None, encodings: "identity", endless: false };
}

impl Client {
    /// A client with the settings' timeouts.
    pub fn new(settings: &Settings) -> Client {
        let time = |key, seconds| settings.duration(key).unwrap_or(Duration::from_secs(seconds));
        Client {
            connect: time("connect_timeout", 10),
            first_byte: time("first_byte_timeout", 600),
            idle: time("idle_timeout", 300),
            whole: time("request_timeout", 600),
            lanes: [const { Mutex::new(Vec::new()) }; 3],
        }
    }

    /// Posts JSON and waits for the head of the answer. A key goes with it as `Authorization: Bearer`.
    pub async fn post(
        &self,
        address: &Address,
        key: Option<&Secret>,
        manner: Manner<'_>,
        json: Bytes,
    ) -> std::result::Result<Response, Failed> {
        let mut request = self.request(Method::POST, address, key)?.header(ACCEPT, JSON);
        if let Some(headers) = manner.passed {
            request = request.headers(headers.clone());
        }
        if let Some(headers) = manner.headers {
            request = request.headers(headers.map().clone());
        }
        if !manner.endless {
            request = request.timeout(self.whole);
        }
        let request = request.header(ACCEPT_ENCODING, manner.encodings);
        self.send(request.header(CONTENT_TYPE, JSON).body(json)).await
    }

    /// Asks for what is at an address, and waits for the head of the answer.
    pub async fn get(
        &self,
        address: &Address,
        key: Option<&Secret>,
    ) -> std::result::Result<Response, Failed> {
        let request = self.request(Method::GET, address, key)?.header(ACCEPT, JSON);
        self.send(request.timeout(self.whole)).await
    }

    fn request(
        &self,
        method: Method,
        address: &Address,
        key: Option<&Secret>,
    ) -> std::result::Result<RequestBuilder, Failed> {
        let mut url = address.url().clone();
        Ok(match key.map(bearer).transpose()? {
            None => self.client(address)?.request(method, url),
            Some(bearer) => {
                // Else the address's user name would go as a second Authorization.
                let _ = url.set_username("").and_then(|()| url.set_password(None));
                self.client(address)?.request(method, url).header(AUTHORIZATION, bearer)
            }
        })
    }

    async fn send(&self, request: RequestBuilder) -> std::result::Result<Response, Failed> {
        Ok(Response::new(self.head(request).await?, self.idle, self.whole))
    }

    async fn head(&self, request: RequestBuilder) -> std::result::Result<reqwest::Response, Failed> {
        let late = Failed::late("first_byte_timeout", self.first_byte);
        let sent = tokio::time::timeout(self.first_byte, request.send()).await.map_err(|_| late)?;
        sent.map_err(|e| self.failed(&e))
    }

    /// The client of the event loop that asks: a connection belongs to the one that opened it.
    fn client(&self, address: &Address) -> std::result::Result<reqwest::Client, Failed> {
        let lane = match address.is_here() {
            true if address.is_plain() => Lane::Plain,
            true => Lane::Local,
            false => Lane::Open,
        };
        let here = Handle::current().id();
        let mut clients = self.lanes[lane as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(id, _)| *id == here) {
            return Ok(client.clone());
        }
        let built = self.build(lane).map_err(|e| Failed { kind: Kind::Setup, cause: cause(&e) })?;
        clients.push((here, built.clone()));
        Ok(built)
    }

    fn build(&self, lane: Lane) -> reqwest::Result<reqwest::Client> {
        // An error only says that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("rsv/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(self.connect);
        match lane {
            Lane::Plain => builder.no_proxy().tls_certs_only([]),
            Lane::Local => builder.no_proxy(),
            Lane::Open => builder,
        }
        .build()
    }

    fn failed(&self, error: &reqwest::Error) -> Failed {
        if error.is_connect() && error.is_timeout() {
            Failed { kind: Kind::Connect, cause: format!("no connection within {:?}", self.connect) }
        } else if error.is_timeout() {
            Failed::late(WHOLE, self.whole)
        } else if error.is_connect() {
            Failed { kind: Kind::Connect, cause: cause(error) }
        } else {
            Failed::broken(cause(error))
        }
    }
}

fn bearer(key: &Secret) -> std::result::Result<HeaderValue, Failed> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
        let cause = "the key holds a character that cannot stand in a header".to_owned();
        Failed { kind: Kind::Key, cause }
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// What kept a request from being answered: in words, and never with a key in them.
#[derive(Clone, PartialEq, Debug)]
pub struct Failed {
    pub kind: Kind,
    pub cause: String,
}

/// Where a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// No header can hold the key.
    Key,
    /// It could not even be tried, for want of certificates.
    Setup,
    /// There was no connection.
    Connect,
    /// The time was up: that of the setting.
    Late(&'static str),
    /// The connection broke before all had arrived.
    Broken,
}

impl std::error::Error for Failed {}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

/// What is posted, and what is wanted for it.
const JSON: &str = "application/json";

/// The setting that limits the time of a whole answer.
const WHOLE: &str = "request_timeout";

impl Failed {
    fn late(setting: &'static str, limit: Duration) -> Failed {
        let what = match setting {
            "first_byte_timeout" => "nothing arrived within",
            "idle_timeout" => "nothing more arrived within",
            _ => "not done within",
        };
        Failed { kind: Kind::Late(setting), cause: format!("{what} {limit:?}") }
    }

    fn broken(cause: impl Into<String>) -> Failed {
        Failed { kind: Kind::Broken, cause: cause.into() }
    }
}

/// The innermost cause, since the outer ones only say that sending failed. It holds no address.
fn cause(error: &reqwest::Error) -> String {
    let Some(mut inner) = error.source() else {
        return "the request cannot be sent".to_owned();
    };
    while let Some(source) = inner.source() {
        inner = source;
    }
    match inner.downcast_ref::<io::Error>() {
        // `connection refused` instead of `Connection refused (os error 111)`.
        Some(e) if e.raw_os_error().is_some() && !e.kind().to_string().starts_with("uncategorized") => {
            e.kind().to_string()
        }
        _ => inner.to_string(),
    }
}

/// The usual name of a status: `Too Many Requests`.
pub fn reason(status: u16) -> &'static str {
    let status = reqwest::StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or("")
}
