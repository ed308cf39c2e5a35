//! Requests that cannot be read as HTTP, which no service gets to see: hyper answers to them by itself, without a
//! body. Here such an answer gets one. And clients that do not take what they are sent, for which hyper would wait.

use super::answer;
use super::route::Route;
use hyper::StatusCode;
use std::io::{self, IoSlice};
use std::mem::take;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection on which no answer is without a body, and none waits for ever to be taken.
pub(super) struct Worded<S> {
    stream: S,
    /// Whether what is read next begins a request, and whether the last one was for Ollama's part of the proxy.
    begins: bool,
    ollamas: bool,
    /// What is yet to be written instead of what hyper wrote.
    instead: Vec<u8>,
    /// How long a client may take nothing, and when that is over for one that does so now.
    patience: Duration,
    late: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Worded<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Worded<S> {
        Worded { stream, begins: true, ollamas: false, instead: Vec::new(), patience, late: None }
    }

    /// What came of writing, which fails when the client has taken nothing for too long.
    fn in_time<T>(&mut self, cx: &mut Context, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.late = None;
            return written;
        }
        let patience = self.patience;
        ready!(self.late.get_or_insert_with(|| Box::pin(sleep(patience))).as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Takes an answer that hyper made by itself.
    fn takes(&mut self, bytes: &[u8]) -> bool {
        self.begins = true;
        let Some(status) = without_words(bytes) else { return false };
        self.instead = worded(bytes, status, self.ollamas);
        true
    }

    fn poll_instead(&mut self, cx: &mut Context) -> Poll<io::Result<()>> {
        while !self.instead.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(cx, &self.instead);
            let written = ready!(self.in_time(cx, written))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.instead.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The status of an answer that hyper made by itself, if this is one. No answer of the proxy's looks so: it tells a
/// type, or what memory did.
fn without_words(head: &[u8]) -> Option<StatusCode> {
    let lines = head.strip_prefix(b"HTTP/1.1 4")?.strip_suffix(b"\r\n\r\n")?;
    let (status, lines) = std::str::from_utf8(lines).ok()?.split_once("\r\n")?;
    let date = lines.strip_prefix("connection: close\r\ncontent-length: 0\r\ndate: ")?;
    let status = format!("4{}", status.get(..2)?).parse().ok()?;
    Some(status).filter(|_| !date.contains("\r\n"))
}

/// The same answer with a body, in OpenAI's shape or in Ollama's.
fn worded(head: &[u8], status: StatusCode, ollamas: bool) -> Vec<u8> {
    let (code, text) = match status {
        StatusCode::URI_TOO_LONG => ("address_too_long", "the address is too long"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "header_too_large",
            "the header is longer than the limit (proxy.header_bytes), or has too many lines",
        ),
        _ => ("invalid_request", "this cannot be read as a request of HTTP/1.1"),
    };
    let body = if ollamas { answer::ollamas_error(text) } else { answer::openais_error(status, code, text) };
    let told = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    let head = String::from_utf8_lossy(head).replacen("content-length: 0\r\n", &told, 1);
    (head + &body).into_bytes()
}

/// Whether what begins so asks for something of Ollama's.
fn asks_ollama(bytes: &[u8]) -> bool {
    let path = bytes.split(|byte| *byte == b' ').nth(1).and_then(|target| std::str::from_utf8(target).ok());
    path.is_some_and(|path| Route::is_near_ollamas(path.split('?').next().unwrap_or(path)))
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Worded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, into: &mut ReadBuf) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        if take(&mut self.begins) {
            self.ollamas = asks_ollama(&into.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Worded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(cx))?;
        if self.takes(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.in_time(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        slices: &[IoSlice],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(cx))?;
        if let [only] = slices
            && self.takes(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        self.begins = true;
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.in_time(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
