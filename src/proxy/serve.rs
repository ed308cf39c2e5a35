//! The server: connections, requests, and an orderly end.

use super::Proxy;
use super::answer::{self, Answer};
use super::embedder;
use super::embeddings::Asked;
use super::route::Route;
use super::turn::{self, Told};
use crate::config::Secret;
use crate::error::{Context, Error, Result};
use crate::record::{Object, Scope};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

/// The header by which a client says what is to be recalled.
const RECALL: &str = "x-rsv-recall";
/// How long a client may take for its header.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long a client may take for each piece of its body.
const BODY_TIME: Duration = Duration::from_secs(60);
/// How long to wait where no connection can be accepted, for want of descriptors.
const BREATH: Duration = Duration::from_millis(50);

impl Proxy {
    /// Serves on `address` until SIGTERM or SIGINT; requests that were accepted are answered first.
    /// `listening` is called with the address that was bound.
    pub async fn serve(mut self, address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> Result<()> {
        if !address.ip().is_loopback() {
            return Err(Error::new(format!(
                "{address} is not a loopback address, and anybody could ask there"
            ))
            .hint("listen on 127.0.0.1, and put a server that checks who asks before it"));
        }
        let listener =
            TcpListener::bind(address).await.context(format_args!("cannot listen on {address}"))?;
        let (mut term, mut int) = (stop(SignalKind::terminate())?, stop(SignalKind::interrupt())?);
        let bound = listener.local_addr().context("cannot tell the address")?;
        if embedder::is_meant(&self.settings, bound) {
            self.settings.overrule("embed.via", "--listen", "local")?;
        }
        listening(bound);
        let proxy = Arc::new(self);
        let graceful = GracefulShutdown::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => proxy.clone().connection(stream, &graceful),
                    Err(_) => tokio::time::sleep(BREATH).await,
                },
                _ = term.recv() => break,
                _ = int.recv() => break,
            }
        }
        drop(listener);
        graceful.shutdown().await;
        if !proxy.background.finish().await {
            proxy.notes.note("not all messages have a vector yet: rsv-embed --pending");
        }
        Ok(())
    }

    fn connection(self: Arc<Proxy>, stream: TcpStream, graceful: &GracefulShutdown) {
        // Answers are short: a reply must not wait for more to be sent with it.
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request| {
            let proxy = self.clone();
            async move { Ok::<Answer, Infallible>(proxy.answer(request).await) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A client that hangs up, or speaks no HTTP, is its own affair.
            let _ = connection.await;
        });
    }

    async fn answer(self: Arc<Proxy>, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let route = match Route::of(head.uri.path(), &self.scope) {
            Ok(route) => route,
            Err(error) => {
                return answer::error(StatusCode::BAD_REQUEST, "invalid_request", &error.to_string());
            }
        };
        match (route, &head.method) {
            (Route::Chat(scope), &Method::POST) => self.chat(scope, &head.headers, body).await,
            (Route::Embeddings, &Method::POST) => self.vectors(body).await,
            (Route::Chat(_) | Route::Embeddings, _) => answer::wrong_method("POST"),
            (Route::Command(scope, command, count), &Method::GET | &Method::HEAD) => {
                let query = head.uri.query().unwrap_or_default().to_owned();
                let work = move || self.command(scope, command, count, &query);
                tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| cut_short())
            }
            (Route::Health, &Method::GET | &Method::HEAD) => self.health().await,
            (Route::Root, &Method::GET | &Method::HEAD) => {
                answer::json(StatusCode::OK, "{\"name\":\"rsv-proxy\"}\n")
            }
            (Route::Command(..) | Route::Health | Route::Root, _) => answer::wrong_method("GET, HEAD"),
            (Route::Unknown, _) => {
                let text = format!("there is nothing at {}", head.uri.path());
                answer::error(StatusCode::NOT_FOUND, "not_found", &text)
            }
        }
    }

    async fn chat(self: Arc<Proxy>, scope: Scope, headers: &HeaderMap, body: Incoming) -> Answer {
        let bytes = match read(body, self.settings.max_line()).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        let body = match Object::parse_bytes(&bytes) {
            Ok(body) => body,
            Err(error) => {
                return answer::error(StatusCode::BAD_REQUEST, "invalid_request", &error.to_string());
            }
        };
        let recall = headers.get(RECALL).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let asked = turn::Asked { body, scope, bearer: bearer(headers), recall };
        // A client that hangs up leaves the turn to be finished and stored.
        let turn = tokio::spawn(async move { self.turn(asked).await });
        let Ok(Told { account, answer }) = turn.await else { return cut_short() };
        let mut answer = match answer {
            Ok(line) => answer::json(StatusCode::OK, line),
            Err(failure) => answer::failure(&failure),
        };
        account.iter().for_each(|account| answer::account(&mut answer, account));
        answer
    }

    async fn vectors(self: Arc<Proxy>, body: Incoming) -> Answer {
        let bytes = match read(body, self.settings.max_line()).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        let asked = match Asked::parse(&bytes) {
            Ok(asked) => asked,
            Err(error) => {
                return answer::error(StatusCode::BAD_REQUEST, "invalid_request", &error.to_string());
            }
        };
        let answered = tokio::task::spawn_blocking(move || self.embeddings(&asked)).await;
        answered.unwrap_or_else(|_| cut_short())
    }

    async fn health(self: Arc<Proxy>) -> Answer {
        let version = env!("CARGO_PKG_VERSION");
        match self.check().await {
            Ok(()) => {
                let body = format!("{{\"status\":\"ok\",\"store\":\"ok\",\"version\":\"{version}\"}}\n");
                answer::json(StatusCode::OK, body)
            }
            Err(error) => {
                let error = crate::record::quote(&error.to_string());
                let body =
                    format!("{{\"status\":\"degraded\",\"store\":{error},\"version\":\"{version}\"}}\n");
                answer::json(StatusCode::SERVICE_UNAVAILABLE, body)
            }
        }
    }
}

fn cut_short() -> Answer {
    answer::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a step was cut short")
}

fn stop(kind: SignalKind) -> Result<tokio::signal::unix::Signal> {
    signal(kind).context("cannot wait for signals")
}

/// A body of at most `limit` bytes; one that says it is longer is refused before it is read.
async fn read(body: Incoming, limit: usize) -> std::result::Result<Bytes, Answer> {
    let too_long = || {
        let mib = limit as f64 / f64::from(1 << 20);
        let text = format!("the body is longer than the limit of {mib} MiB (max_line_bytes)");
        answer::error(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", &text)
    };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long());
    }
    let mut body = Limited::new(body, limit);
    let mut bytes = Vec::new();
    loop {
        match tokio::time::timeout(BODY_TIME, body.frame()).await {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_long()),
            Ok(Some(Err(_))) => {
                let text = "the body ended early";
                return Err(answer::error(StatusCode::BAD_REQUEST, "invalid_request", text));
            }
            Err(_) => {
                let text = "the body did not come in time";
                return Err(answer::error(StatusCode::REQUEST_TIMEOUT, "timeout", text));
            }
        }
    }
}

/// The caller's key.
fn bearer(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then(|| Secret::new(key.to_owned()))
}
