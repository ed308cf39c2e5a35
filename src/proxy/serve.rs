//! The server: connections, requests, and an orderly end.

use super::Proxy;
use super::answer::{self, Answer, cut_short};
use super::body;
use super::embedder;
use super::embeddings;
use super::log::Line;
use super::memory::{self, Memory};
use super::ollama::Talk;
use super::route::Route;
use super::turn::{Asked, Told};
use super::unread::Worded;
use super::upstream;
use crate::error::{Context, Error, Result};
use crate::http::{Loops, Sent};
use crate::record::{Object, Scope};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
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
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The header by which a client says what is to be recalled.
const RECALL: &str = "x-rsv-recall";
/// The headers by which a client names its scope, if its address does not.
const PARTITION: &str = "x-rsv-partition";
const INSTANCE: &str = "x-rsv-instance";
/// What stands behind `/v1/` where a provider is asked to chat.
const CHAT: &str = "chat/completions";
/// How long to wait where no connection can be accepted, for want of descriptors.
const BREATH: Duration = Duration::from_millis(50);
/// How many connections are accepted before their requests are looked at: who comes first does not wait for all who
/// come with him, and who comes last not for every answer.
const BATCH: usize = 8;

impl Proxy {
    /// Serves on `address` as long as `work` goes on, and gives what that gave; requests that were accepted are
    /// answered and stored first. `work` gets the address that was bound, and the signals that ask for the end.
    /// Errors if it cannot listen there, or if something that was answered could not be stored.
    pub async fn serve<T>(
        mut self,
        address: SocketAddr,
        work: impl AsyncFnOnce(SocketAddr, &mut Stop) -> Result<T>,
    ) -> Result<T> {
        self.may_listen(address)?;
        if address.port() != 0 {
            // Who has the port is told better so.
            self.upstream.check_own(address)?;
        }
        let listener = TcpListener::bind(address).await.context(format_args!("cannot listen on {address}"));
        let helps = "'rsv-config doctor' tells who listens there; or name another port with --port";
        let listener = listener.map_err(|e| e.hint(helps))?;
        let mut stop = Stop::new()?;
        let bound = listener.local_addr().context("cannot tell the address")?;
        self.upstream.check_own(bound)?;
        if embedder::is_meant(&self.settings, bound) {
            self.settings.overrule("embed.via", "--listen", "local")?;
        }
        let room = Arc::new(Semaphore::new(self.size("proxy.connections")));
        let proxy = Arc::new(self);
        let (end, ended) = oneshot::channel();
        proxy.home.get_or_init(Handle::current);
        let loops = Arc::new(Loops::begin()?);
        let accepting = tokio::spawn(proxy.clone().listen(listener, loops.clone(), room, ended));
        let done = work(bound, &mut stop).await;
        drop(end);
        let graceful = accepting.await.context("a step was cut short")?;
        tokio::select! {
            () = graceful.shutdown() => {}
            // Who says it twice does not want to wait for answers.
            _ = stop.asked() => {}
        }
        proxy.end().await?;
        done
    }

    /// Errors if anybody could ask at this address.
    pub(super) fn may_listen(&self, address: SocketAddr) -> Result<()> {
        if address.ip().is_loopback() || self.guard.asks() {
            return Ok(());
        }
        Err(Error::new(format!("{address} is not a loopback address, and anybody could ask there"))
            .hint("set RSV_PROXY_TOKEN, which clients then must send, or listen on 127.0.0.1"))
    }

    /// What is done when all is answered.
    async fn end(&self) -> Result<()> {
        let lost = self.writer.finish(|trace_id, why| self.lose(trace_id, why)).await;
        if !self.background.finish().await {
            self.notes.note("not all messages have a vector yet: rsv-embed --pending");
        }
        match lost {
            0 => Ok(()),
            lost => Err(Error::new(format!("{lost} turns that were answered are not stored"))),
        }
    }

    fn size(&self, key: &str) -> usize {
        self.settings.integer(key).and_then(|n| usize::try_from(n).ok()).unwrap_or(Semaphore::MAX_PERMITS)
    }

    /// Takes in connections until the end is said, and gives what waits for theirs.
    async fn listen(
        self: Arc<Proxy>,
        listener: TcpListener,
        loops: Arc<Loops>,
        room: Arc<Semaphore>,
        mut ended: oneshot::Receiver<()>,
    ) -> GracefulShutdown {
        let graceful = GracefulShutdown::new();
        let mut accepted = 0_usize;
        loop {
            tokio::select! {
                next = accept(&listener, &room) => match next {
                    Some((stream, permit)) => {
                        self.clone().connection(stream, &loops, permit, &graceful);
                        accepted += 1;
                        if accepted.is_multiple_of(BATCH) {
                            tokio::task::yield_now().await;
                        }
                    }
                    None => tokio::time::sleep(BREATH).await,
                },
                _ = &mut ended => return graceful,
            }
        }
    }

    fn connection(
        self: Arc<Proxy>,
        stream: TcpStream,
        loops: &Loops,
        permit: OwnedSemaphorePermit,
        graceful: &GracefulShutdown,
    ) {
        // Answers are short: a reply must not wait for more to be sent with it.
        let _ = stream.set_nodelay(true);
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(self.patience);
        server.max_buf_size(self.size("proxy.header_bytes"));
        let patience = self.patience;
        let service = service_fn(move |request| {
            let proxy = self.clone();
            async move { Ok::<Answer, Infallible>(proxy.answer(request).await) }
        });
        // A client that hangs up, or speaks no HTTP, is its own affair.
        let _ = loops.spawn(stream, |stream| {
            let served = server.serve_connection(TokioIo::new(Worded::new(stream, patience)), service);
            let served = graceful.watch(served);
            async move {
                let _ = served.await;
                drop(permit);
            }
        });
    }

    async fn answer(self: Arc<Proxy>, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let line = Line::of(&head);
        let read = self.read(&head);
        let scope = read.as_ref().ok().map(|(scope, _)| scope.clone());
        let ollamas = match &read {
            Ok((_, Route::Unknown)) | Err(_) => Route::is_near_ollamas(head.uri.path()),
            Ok((_, route)) => route.is_ollamas(),
        };
        let mut answer = match (self.guard.answer(&head), read) {
            (Some(refusal), _) => refusal,
            (None, Err(error)) => answer::bad_request(&error),
            (None, Ok((scope, route))) => self.clone().route(scope, route, &head, body).await,
        };
        if ollamas {
            answer = answer::for_ollama(answer);
        }
        self.guard.share(&head, &mut answer);
        self.tell_of(&line, scope.as_ref(), &answer);
        answer
    }

    /// What a request is for, and its scope: that of its address, since this is what its user was given; else that
    /// of its headers; else the proxy's own.
    fn read(&self, head: &Parts) -> Result<(Scope, Route)> {
        let (named, route) = Route::of(head.uri.path())?;
        let text = |name| head.headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
        let scope = match (named, text(PARTITION), text(INSTANCE)) {
            (Some(scope), ..) => scope,
            (None, None, None) => self.scope.clone(),
            (None, partition, instance) => Scope::of(partition.as_deref(), instance.as_deref())?,
        };
        Ok((scope, route))
    }

    async fn route(self: Arc<Proxy>, scope: Scope, route: Route, head: &Parts, body: Incoming) -> Answer {
        let query = head.uri.query();
        match (route, &head.method) {
            (Route::Chat, &Method::POST) => self.chat(scope, head, body).await,
            (Route::Embeddings, &Method::POST) => self.vectors(body).await,
            (Route::Chat | Route::Embeddings, _) => answer::wrong_method("POST"),
            (Route::Models, &Method::GET | &Method::HEAD) => self.models().await,
            (Route::Command(command, count), &Method::GET | &Method::HEAD) => {
                let query = query.unwrap_or_default().to_owned();
                let proxy = self.clone();
                let work = move || proxy.command(scope, command, count, &query);
                self.apart(work).await.unwrap_or_else(|_| cut_short())
            }
            (Route::Health, &Method::GET | &Method::HEAD) => self.health().await,
            (Route::Root, &Method::GET | &Method::HEAD) => {
                answer::json(StatusCode::OK, "{\"name\":\"rsv-proxy\"}\n")
            }
            (Route::Models | Route::Command(..) | Route::Health | Route::Root, _) => {
                answer::wrong_method("GET, HEAD")
            }
            (Route::Other(name), _) => match self.body(body).await {
                Ok(bytes) => {
                    let object = Object::parse_bytes(&bytes).unwrap_or_default();
                    self.pass(&name, head, object, bytes).await
                }
                Err(refusal) => refusal,
            },
            (Route::OllamaChat, &Method::POST) => self.ollama(Talk::Chat, scope, head, body).await,
            (Route::OllamaGenerate, &Method::POST) => self.ollama(Talk::Generate, scope, head, body).await,
            (Route::OllamaChat | Route::OllamaGenerate, _) => answer::wrong_method("POST"),
            // What it makes models of may be of any length.
            (Route::Ollama(name), _) if name.starts_with("blobs/") => {
                let passing = upstream::passing(head, Bytes::new()).with(Sent::wrap(body));
                self.pass_to_ollama(&name, query, passing).await
            }
            (Route::Ollama(name), _) => match self.body(body).await {
                Ok(bytes) => self.to_ollama(&name, head, bytes).await,
                Err(refusal) => refusal,
            },
            (Route::Unknown, _) => {
                let text = format!("there is nothing at {}", head.uri.path());
                answer::error(StatusCode::NOT_FOUND, "not_found", &text)
            }
        }
    }

    async fn body(&self, body: Incoming) -> std::result::Result<Bytes, Answer> {
        body::read(body, self.longest, self.patience).await
    }

    async fn chat(self: Arc<Proxy>, scope: Scope, head: &Parts, body: Incoming) -> Answer {
        let client = Arc::new(());
        let (asked, bytes) = match self.asked(scope, head, body, &client).await {
            Ok(asked) => asked,
            Err(refusal) => return refusal,
        };
        let memory = asked.memory;
        if memory == Memory::Off {
            return self.pass(CHAT, head, asked.body, bytes).await;
        }
        let proxy = self.clone();
        let (mut answer, account) = if asked.body.get("stream") == Some("true") {
            proxy.streamed(asked, client).await
        } else {
            // A client that hangs up leaves the turn to be finished and stored.
            let turn = tokio::spawn(async move { proxy.turn(asked).await });
            let Ok(Told { account, answer }) = turn.await else { return cut_short() };
            let answer = match answer {
                Ok((headers, line)) => answer::beside(answer::json(StatusCode::OK, line), &headers),
                Err(failure) => answer::failure(&failure),
            };
            (answer, account)
        };
        self.writer.trouble().iter().for_each(|why| answer::tell(&mut answer, answer::DEGRADED, why));
        account.iter().for_each(|account| answer::account(&mut answer, account));
        answer::tell(&mut answer, memory::HEADER, memory.word());
        answer
    }

    async fn ollama(self: Arc<Proxy>, talk: Talk, scope: Scope, head: &Parts, body: Incoming) -> Answer {
        let client = Arc::new(());
        match self.asked(scope, head, body, &client).await {
            Ok((asked, bytes)) => self.ollama_turn(talk, asked, client, head, bytes).await,
            Err(refusal) => refusal,
        }
    }

    /// Reads what a client asks for, and its body as it came.
    async fn asked(
        &self,
        scope: Scope,
        head: &Parts,
        body: Incoming,
        client: &Arc<()>,
    ) -> std::result::Result<(Asked, Bytes), Answer> {
        let bytes = self.body(body).await?;
        let bad = |error| answer::bad_request(&error);
        let memory = Memory::of(&head.headers, &self.settings, &scope).map_err(bad)?;
        let asked = Asked {
            body: body::object(&bytes).map_err(bad)?,
            scope,
            caller: upstream::caller(head, self.guard.bearer(&head.headers)),
            memory,
            overrules: recall(&head.headers),
            client: Arc::downgrade(client),
        };
        Ok((asked, bytes))
    }

    /// Passes a request of OpenAI's on to the provider of its model, as it is but for the provider's name before the
    /// model's. `object` is what its body says.
    async fn pass(&self, name: &str, head: &Parts, mut object: Object, bytes: Bytes) -> Answer {
        let bearer = self.guard.bearer(&head.headers);
        let asked = object.text("model").ok().flatten().filter(|model| !model.is_empty());
        let target = match asked.as_deref().or(name.strip_prefix("models/")) {
            Some(model) => self.upstream.of(model),
            None => self.upstream.unnamed(bearer.as_ref()),
        };
        let target = match target {
            Ok(target) => target,
            Err(failure) => return answer::failure(&failure),
        };
        let renamed = asked.is_some_and(|model| model != target.model);
        // What a line of ours says of its scope is nobody else's affair.
        let ours = object.take("rsv").is_some();
        if renamed {
            object.set_text("model", &target.model);
        }
        let body = if renamed || ours { object.to_json().into() } else { bytes };
        let (query, bearer) = (head.uri.query(), bearer.as_ref());
        let passing = upstream::passing(head, body);
        let mut answer = match name {
            CHAT => self.upstream.pass_chat(&target, query, bearer, passing).await,
            _ => self.upstream.pass(&target, target.beside(name, query), bearer, passing).await,
        };
        answer::tell(&mut answer, memory::HEADER, Memory::Off.word());
        answer
    }

    async fn vectors(self: Arc<Proxy>, body: Incoming) -> Answer {
        let bytes = match self.body(body).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        let asked = match body::object(&bytes).and_then(|body| embeddings::Asked::of(&body)) {
            Ok(asked) => asked,
            Err(error) => return answer::bad_request(&error),
        };
        let proxy = self.clone();
        let answered = self.apart(move || proxy.embeddings(&asked)).await;
        answered.unwrap_or_else(|_| cut_short())
    }
}

/// The next connection, as soon as there is room for one; `None` if it cannot be accepted.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    Some((stream, permit))
}

/// What the client's header says of what is to be recalled.
fn recall(headers: &HeaderMap) -> Vec<(String, &'static str, String)> {
    let word = headers.get(RECALL).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    word.into_iter().map(|word| ("enrich.recall".to_owned(), RECALL, word)).collect()
}

/// The signals that ask for the end.
pub struct Stop {
    term: Signal,
    int: Signal,
}

impl Stop {
    /// Catches them from now on.
    pub fn new() -> Result<Stop> {
        let of = |kind| signal(kind).context("cannot wait for signals");
        Ok(Stop { term: of(SignalKind::terminate())?, int: of(SignalKind::interrupt())? })
    }

    /// Waits for the next of them; whether it was SIGTERM, and no key that was pressed.
    pub async fn asked(&mut self) -> bool {
        tokio::select! {
            _ = self.term.recv() => true,
            _ = self.int.recv() => false,
        }
    }
}
