//! Providers on 127.0.0.1 that answer by a script and remember what they were asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tiny_http::{Header, Response, Server};

/// The path of `Fake::ready_for`, which is not among the requests seen.
const READY: &str = "/ready";

/// One answer of a script.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) delay: Duration,
}

impl Answer {
    /// An answer in JSON.
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Answer {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        Answer { status, headers, body: body.into(), delay: Duration::ZERO }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.retain(|(n, _)| *n != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, delay: Duration) -> Answer {
        self.delay = delay;
        self
    }

    fn send(self, to: tiny_http::Request) {
        std::thread::sleep(self.delay);
        let mut response = Response::from_data(self.body).with_status_code(self.status);
        for (name, value) in self.headers {
            response.add_header(Header::from_bytes(name, value).unwrap());
        }
        // The client may have gone.
        let _ = to.respond(response);
    }
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The value of a header; a header sent twice fails the test.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} was sent twice");
        value
    }

    /// The body, whatever its bytes are.
    pub(crate) fn text_lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A provider. It answers 599 to a request that is not in its script.
pub(crate) struct Fake {
    port: u16,
    server: Arc<Server>,
    seen: Arc<Mutex<Vec<Seen>>>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// Starts a provider that gives these answers, one after the other.
    pub(crate) fn new(script: impl IntoIterator<Item = Answer>) -> Fake {
        let mut script = script.into_iter().collect::<Vec<_>>().into_iter();
        Fake::answering(move |_| script.next().unwrap_or_else(|| Answer::new(599, "not in the script")))
    }

    /// Starts a provider whose answers depend on what it is asked.
    pub(crate) fn answering(mut answer: impl FnMut(&Seen) -> Answer + Send + 'static) -> Fake {
        let server = Arc::new(Server::http("127.0.0.1:0").unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let thread = std::thread::spawn({
            let (server, seen) = (server.clone(), seen.clone());
            move || {
                for mut request in server.incoming_requests() {
                    if request.url() == READY {
                        request.respond(Response::empty(204)).unwrap();
                        continue;
                    }
                    let mut body = Vec::new();
                    request.as_reader().read_to_end(&mut body).unwrap();
                    let header = |h: &Header| (h.field.to_string(), h.value.to_string());
                    let headers = request.headers().iter().map(header).collect();
                    let (method, path) = (request.method().to_string(), request.url().to_owned());
                    let asked = Seen { method, path, headers, body };
                    let answer = answer(&asked);
                    seen.lock().unwrap().push(asked);
                    answer.send(request);
                }
            }
        });
        let port = server.server_addr().to_ip().unwrap().port();
        Fake { port, server, seen, thread: Some(thread) }
    }

    /// Has a thread for each of so many connections. Of more that are opened at once, tiny_http lets some wait for threads
    /// that are taken: it counts those as free that it has woken.
    pub(crate) fn ready_for(&self, connections: usize) {
        let connect = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            write!(stream, "GET {READY} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            assert!(stream.read(&mut [0; 512]).unwrap() > 0);
            stream
        };
        drop((0..connections).map(connect).collect::<Vec<_>>());
    }

    /// The address without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The one request that was made.
    pub(crate) fn one(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The address of a server that answers each connection's first request with these bytes, whatever they
/// are, and hangs up `after` a time.
pub(crate) fn raw(bytes: &'static [u8], after: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 1 << 16];
            // The whole request is read, since what is left unread turns the end into a reset.
            let mut length = 0;
            while !whole(&head[..length]) {
                match stream.read(&mut head[length..]) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => length += read,
                }
            }
            let _ = stream.write_all(bytes);
            std::thread::sleep(after);
        }
    });
    format!("http://127.0.0.1:{port}")
}

/// A provider that is played by the test itself, byte by byte.
pub(crate) struct Wire(TcpListener);

/// A request that the test answers; dropped, it hangs up.
pub(crate) struct Call {
    pub(crate) request: String,
    stream: TcpStream,
}

impl Wire {
    pub(crate) fn new() -> Wire {
        Wire(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// A provider at an address that was that of another.
    pub(crate) fn at(url: &str) -> Wire {
        Wire(TcpListener::bind(url.strip_prefix("http://").unwrap()).unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    /// Waits for a request.
    pub(crate) fn accept(&self) -> Call {
        let (mut stream, _) = self.0.accept().unwrap();
        let (mut request, mut piece) = (Vec::new(), [0; 1 << 16]);
        while !whole(&request) {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "the request is cut short");
            request.extend_from_slice(&piece[..read]);
        }
        Call { request: String::from_utf8(request).unwrap(), stream }
    }
}

impl Call {
    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Begins a stream of events, with further headers, each with its line end.
    pub(crate) fn begin(&mut self, headers: &str) {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
        self.send(format!("{head}{headers}\r\n"));
    }

    /// Sends a piece of the stream; false if who asked has gone.
    pub(crate) fn piece(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = bytes.as_ref();
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk).is_ok()
    }

    /// Ends the stream as it should be.
    pub(crate) fn end(mut self) {
        self.send("0\r\n\r\n");
    }

    /// Waits until who asked has hung up.
    pub(crate) fn hung_up(mut self) {
        assert!(matches!(self.stream.read(&mut [0; 10]), Ok(0) | Err(_)));
    }
}

/// Whether a request has arrived with its body.
pub(crate) fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// The address of a server that is not there.
pub(crate) fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port())
}
