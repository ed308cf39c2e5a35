//! Gives a body to the errors that hyper answers by itself, without one, when a request cannot be read as
//! HTTP; no service sees such a request. Also ends connections to clients that do not read, for which hyper
//! would wait.

use super::response;
use super::route::Route;
use hyper::StatusCode;
use std::io::{self, IoSlice};
use std::mem::take;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection on which every error has a body, and no write waits for ever.
// By hand: futures-util has no adapter that replaces written data.
pub(in crate::proxy) struct ErrorBodies<S> {
    stream: S,
    /// Whether the next bytes that are read begin a request.
    at_request_start: bool,
    /// Whether the last request was for Ollama's part of the proxy.
    is_ollama: bool,
    /// The rest of the response that replaces hyper's.
    replacement: Vec<u8>,
    /// The time for which a client may read nothing.
    write_timeout: Duration,
    /// The end of that time, for a client that reads nothing at present.
    write_deadline: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ErrorBodies<S> {
    pub(in crate::proxy) fn new(stream: S, write_timeout: Duration) -> ErrorBodies<S> {
        ErrorBodies {
            stream,
            at_request_start: true,
            is_ollama: false,
            replacement: Vec::new(),
            write_timeout,
            write_deadline: None,
        }
    }

    /// The result of a write, which fails when the client has read nothing for too long.
    fn with_deadline<T>(&mut self, cx: &mut Context, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_deadline = None;
            return written;
        }
        let limit = self.write_timeout;
        ready!(self.write_deadline.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Replaces an error that hyper wrote by itself. Returns whether this was one.
    fn replace(&mut self, bytes: &[u8]) -> bool {
        self.at_request_start = true;
        let Some(status) = status_without_body(bytes) else { return false };
        self.replacement = with_body(bytes, status, self.is_ollama);
        true
    }

    fn poll_replacement(&mut self, cx: &mut Context) -> Poll<io::Result<()>> {
        while !self.replacement.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(cx, &self.replacement);
            let written = ready!(self.with_deadline(cx, written))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.replacement.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The status of an error that hyper wrote by itself, if this is one. No response of the proxy's looks like
/// it: each of them has a content type, or a header of rsv's.
fn status_without_body(head: &[u8]) -> Option<StatusCode> {
    let lines = head.strip_prefix(b"HTTP/1.1 4")?.strip_suffix(b"\r\n\r\n")?;
    let (status, lines) = std::str::from_utf8(lines).ok()?.split_once("\r\n")?;
    let date = lines.strip_prefix("connection: close\r\ncontent-length: 0\r\ndate: ")?;
    let status = format!("4{}", status.get(..2)?).parse().ok()?;
    Some(status).filter(|_| !date.contains("\r\n"))
}

/// The same error with a body, in OpenAI's shape or in Ollama's.
fn with_body(head: &[u8], status: StatusCode, is_ollama: bool) -> Vec<u8> {
    let (code, text) = match status {
        StatusCode::URI_TOO_LONG => ("address_too_long", "the address is too long"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "header_too_large",
            "the header is longer than the limit (proxy.header_bytes), or has too many lines",
        ),
        _ => ("invalid_request", "this is not a valid request of HTTP/1.1"),
    };
    let body = if is_ollama {
        response::ollama_error_body(text)
    } else {
        response::openai_error_body(status, code, text)
    };
    let mut headers = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in response::SAFETY_HEADERS {
        headers += &format!("{name}: {value}\r\n");
    }
    let head = String::from_utf8_lossy(head).replacen("content-length: 0\r\n", &headers, 1);
    (head + &body).into_bytes()
}

/// Whether a request that begins so is for Ollama's part of the proxy.
fn is_ollama_request(bytes: &[u8]) -> bool {
    let path = bytes.split(|byte| *byte == b' ').nth(1).and_then(|target| std::str::from_utf8(target).ok());
    path.is_some_and(|path| Route::is_ollama_path(path.split('?').next().unwrap_or(path)))
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for ErrorBodies<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, into: &mut ReadBuf) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        if take(&mut self.at_request_start) {
            self.is_ollama = is_ollama_request(&into.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ErrorBodies<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_replacement(cx))?;
        if self.replace(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.with_deadline(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        slices: &[IoSlice],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_replacement(cx))?;
        if let [only] = slices
            && self.replace(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        self.at_request_start = true;
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.with_deadline(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
