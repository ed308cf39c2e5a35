//! The client: requests are sent over connections that stay open.

use super::address::Address;
use super::event_loops::event_loop_count;
use super::headers::Headers;
use super::request_error::{RequestError, RequestErrorKind, WHOLE_TIMEOUT, cause};
use super::response::Response;
use crate::config::{Secret, Settings};
use bytes::Bytes;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, Id};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The media type of requests and answers.
const JSON_MEDIA_TYPE: &str = "application/json";
/// The greatest number of idle connections to a host, in an event loop; others are closed at once.
const MAX_IDLE: usize = 32;
/// The longest time for which a connection is idle before it is closed.
pub const MAX_IDLE_TIME: Duration = Duration::from_secs(30);
/// The age at which a search for idle connections closes one. It searches as often, so that none gets twice
/// as old.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(MAX_IDLE_TIME.as_secs() / 2);

/// Sends requests. Nothing is built before the first is sent: reading the system's certificates takes time.
pub struct Client {
    pub(super) connect: Duration,
    first_byte: Duration,
    pub(super) idle: Duration,
    whole: Duration,
    /// A permit for each answer that may be in transit.
    permits: Arc<Semaphore>,
    max_idle: usize,
    /// The age at which a search for idle connections closes one.
    idle_connection: Duration,
    /// For each transport, one client an event loop.
    clients: [Mutex<Vec<(Id, reqwest::Client)>>; 3],
}

/// The way to an address.
#[derive(Clone, Copy)]
enum Transport {
    /// This machine, in the clear: no certificates are needed, so that a container may have none.
    Plain,
    /// This machine, over TLS.
    Local,
    /// Any other, through the system's proxy if there is one.
    Open,
}

/// The options of a posted request: its headers, and the answers that it accepts.
#[derive(Clone, Copy)]
pub struct RequestOptions<'a> {
    /// Headers in addition to those of every request, and those that override them.
    pub passed: Option<&'a HeaderMap>,
    pub headers: Option<&'a Headers>,
    /// The accepted encodings of the answer's body, as `accepted_encodings` returns them.
    pub encodings: &'a str,
    /// Whether the answer may continue for as long as something of it arrives.
    pub unbounded: bool,
}

impl RequestOptions<'_> {
    /// No further headers, and an unencoded answer within the time limit.
    pub const PLAIN: RequestOptions<'static> =
        RequestOptions { passed: None, headers: None, encodings: "identity", unbounded: false };
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
            permits: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            max_idle: MAX_IDLE,
            idle_connection: IDLE_CONNECTION_TIMEOUT,
            clients: [const { Mutex::new(Vec::new()) }; 3],
        }
    }

    /// Limits the answers in transit to the number of `permits`, which clients may share; further requests
    /// wait.
    pub fn limited(mut self, permits: &Arc<Semaphore>) -> Client {
        self.max_idle = max_idle(permits.available_permits());
        self.permits = permits.clone();
        self
    }

    /// Posts JSON and waits for the head of the answer. A key is sent as `Authorization: Bearer`. Fails if
    /// the server cannot be reached or is late, or the key cannot stand in a header.
    pub async fn post(
        &self,
        address: &Address,
        key: Option<&Secret>,
        options: RequestOptions<'_>,
        json: Bytes,
    ) -> Result<Response, RequestError> {
        let mut request = self.request(Method::POST, address, key)?.header(ACCEPT, JSON_MEDIA_TYPE);
        if let Some(headers) = options.passed {
            request = request.headers(headers.clone());
        }
        if let Some(headers) = options.headers {
            request = request.headers(headers.map().clone());
        }
        if !options.unbounded {
            request = request.timeout(self.whole);
        }
        let request = request.header(ACCEPT_ENCODING, options.encodings);
        self.send(request.header(CONTENT_TYPE, JSON_MEDIA_TYPE).body(json)).await
    }

    /// Sends a GET request, and waits for the head of the answer. Fails as `post` does.
    pub async fn get(&self, address: &Address, key: Option<&Secret>) -> Result<Response, RequestError> {
        let request = self.request(Method::GET, address, key)?.header(ACCEPT, JSON_MEDIA_TYPE);
        self.send(request.timeout(self.whole)).await
    }

    /// Prepares a request with its key. Fails if the key cannot stand in a header.
    pub(super) fn request(
        &self,
        method: Method,
        address: &Address,
        key: Option<&Secret>,
    ) -> Result<RequestBuilder, RequestError> {
        let mut url = address.url().clone();
        Ok(match key.map(bearer).transpose()? {
            None => self.client(address)?.request(method, url),
            Some(bearer) => {
                // Else the address's user name would go as a second Authorization. Only an address without a
                // host refuses this, and has no user either.
                let _ = url.set_username("").and_then(|()| url.set_password(None));
                self.client(address)?.request(method, url).header(AUTHORIZATION, bearer)
            }
        })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, RequestError> {
        let (head, permit) = self.head(request).await?;
        Ok(Response::new(head, permit, self.idle, self.whole))
    }

    /// Waits for a permit, and then for the head of an answer. The permit is to be kept as long as the
    /// answer. Fails if the server cannot be reached or is late.
    pub(super) async fn head(
        &self,
        request: RequestBuilder,
    ) -> Result<(reqwest::Response, Option<OwnedSemaphorePermit>), RequestError> {
        // The semaphore is never closed.
        let permit = self.permits.clone().acquire_owned().await.ok();
        let late = RequestError::timed_out("first_byte_timeout", self.first_byte);
        let sent = tokio::time::timeout(self.first_byte, request.send()).await.map_err(|_| late)?;
        Ok((sent.map_err(|e| self.failed(&e))?, permit))
    }

    /// The client of the current event loop: a connection belongs to the one that opened it.
    fn client(&self, address: &Address) -> Result<reqwest::Client, RequestError> {
        let transport = if !address.is_loopback() {
            Transport::Open
        } else if address.is_plaintext() {
            Transport::Plain
        } else {
            Transport::Local
        };
        let here = Handle::current().id();
        // Held while a client is built, so that no event loop builds two.
        let mut clients = self.clients[transport as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(id, _)| *id == here) {
            return Ok(client.clone());
        }
        let built = self
            .build(transport)
            .map_err(|e| RequestError { kind: RequestErrorKind::Setup, cause: cause(&e) })?;
        clients.push((here, built.clone()));
        Ok(built)
    }

    fn build(&self, transport: Transport) -> reqwest::Result<reqwest::Client> {
        install_crypto();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("rsv/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .pool_max_idle_per_host(self.max_idle)
            .pool_idle_timeout(self.idle_connection)
            .connect_timeout(self.connect);
        match transport {
            Transport::Plain => builder.no_proxy().tls_certs_only([]),
            Transport::Local => builder.no_proxy(),
            Transport::Open => builder,
        }
        .build()
    }

    fn failed(&self, error: &reqwest::Error) -> RequestError {
        if error.is_connect() && error.is_timeout() {
            RequestError {
                kind: RequestErrorKind::Connect,
                cause: format!("no connection within {:?}", self.connect),
            }
        } else if error.is_timeout() {
            RequestError::timed_out(WHOLE_TIMEOUT, self.whole)
        } else if error.is_connect() {
            RequestError { kind: RequestErrorKind::Connect, cause: cause(error) }
        } else {
            RequestError::broken(cause(error))
        }
    }
}

/// The greatest number of idle connections to a host, in an event loop, with this many answers in transit at
/// most.
fn max_idle(answers: usize) -> usize {
    MAX_IDLE.min(answers / 8)
}

/// The same in all event loops of a server.
pub fn max_idle_of_server(answers: usize) -> usize {
    max_idle(answers) * event_loop_count()
}

/// Installs the cryptography of TLS for the process; an error only means that some is installed already.
pub(super) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn bearer(key: &Secret) -> Result<HeaderValue, RequestError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
        let cause = "the key holds a character that is not allowed in a header".to_owned();
        RequestError { kind: RequestErrorKind::Key, cause }
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    #[test]
    fn a_connection_that_nobody_uses_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut request = BufReader::new(stream.try_clone().unwrap());
            while request.read_line(&mut String::new()).unwrap() > "\r\n".len() {}
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
            request.read(&mut [0]).unwrap()
        });
        let minute = Duration::from_secs(60);
        let client = Client {
            connect: minute,
            first_byte: minute,
            idle: minute,
            whole: minute,
            permits: Arc::new(Semaphore::new(1)),
            max_idle: MAX_IDLE,
            idle_connection: Duration::from_millis(1),
            clients: [const { Mutex::new(Vec::new()) }; 3],
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let address = Address::parse(&url).unwrap();
        let answer = runtime.block_on(async { client.get(&address, None).await.map(drop) });
        assert!(answer.is_ok());
        assert_eq!(server.join().unwrap(), 0, "the connection is open");
    }
}
