//! A body that is passed on piece by piece and gathered at the same time.

use super::streamed::BrokenStream;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The way in which a body ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum BodyEnd {
    /// All of it was passed on.
    Ended,
    /// Its provider hung up.
    Cut,
    /// It was dropped: its client has left.
    Left,
}

/// The end of a body.
pub(super) struct End {
    pub(super) last: Last,
    /// A task for which the end of the body waits.
    pub(super) after: Option<JoinHandle<()>>,
}

/// The end of a body.
pub(super) enum Last {
    /// The rest of it.
    Rest,
    /// Bytes in place of a line that has not ended.
    Bytes(Bytes),
    /// An error, so that it does not look whole.
    Broken,
}

/// The lines of a body.
struct Lines {
    /// The one that has not ended.
    unfinished: Vec<u8>,
    /// Whether nothing is passed on after a line.
    is_last: fn(&[u8]) -> bool,
    /// Whether there was such a line.
    is_over: bool,
}

/// Passes the lines of a body on, or its pieces if it has none, and gathers it. When the body has ended, or
/// was dropped, `on_end` gets what was gathered and how it ended, once.
// By hand: futures-util can inspect the pieces of a stream, but does not say that one was dropped before its
// end.
pub(super) struct Tee<B: Body, F: FnOnce(Vec<u8>, BodyEnd) -> End> {
    inner: B,
    limit: usize,
    gathered: Vec<u8>,
    /// Of a body whose lines are passed on.
    lines: Option<Lines>,
    /// None once the body has ended.
    on_end: Option<F>,
    /// A task for which the end waits, and the rest to be sent then.
    after: Option<JoinHandle<()>>,
    last: Option<Result<Bytes, BoxedError>>,
}

impl Lines {
    /// The lines that end in a piece, up to the last one that is passed on.
    fn pass(&mut self, mut piece: Bytes) -> Bytes {
        let rest = piece.split_off(memchr::memrchr(b'\n', &piece).map_or(0, |at| at + 1));
        if !piece.is_empty() && !self.unfinished.is_empty() {
            self.unfinished.extend_from_slice(&piece);
            piece = std::mem::take(&mut self.unfinished).into();
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &piece).map(|at| at + 1) {
            if (self.is_last)(&piece[start..end]) {
                self.is_over = true;
                return piece.slice(..end);
            }
            start = end;
        }
        self.unfinished.extend_from_slice(&rest);
        piece
    }
}

impl<B: Body, F: FnOnce(Vec<u8>, BodyEnd) -> End> Tee<B, F> {
    /// Gathers at most `limit` bytes. All are passed on as they come; with `is_last` by lines, up to the
    /// first for which it holds.
    pub(super) fn new(inner: B, limit: usize, is_last: Option<fn(&[u8]) -> bool>, on_end: F) -> Tee<B, F> {
        let lines = is_last.map(|is_last| Lines { unfinished: Vec::new(), is_last, is_over: false });
        Tee { inner, limit, gathered: Vec::new(), lines, on_end: Some(on_end), after: None, last: None }
    }

    /// Gathers a piece, and returns the bytes to pass on of it and of those before it.
    fn pass(&mut self, piece: Bytes) -> Bytes {
        let Some(lines) = &mut self.lines else {
            self.gather(&piece);
            return piece;
        };
        let piece = lines.pass(piece);
        self.gather(&piece);
        piece
    }

    fn gather(&mut self, piece: &[u8]) {
        let remaining = self.limit - self.gathered.len();
        self.gathered.extend_from_slice(&piece[..remaining.min(piece.len())]);
    }

    /// Takes the rest of the unfinished line, and gathers it.
    fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.lines.take().map(|lines| lines.unfinished).unwrap_or_default();
        self.gather(&rest);
        rest
    }

    /// Ends the body, whose provider may have hung up.
    fn end(&mut self, cut: Option<BoxedError>) {
        let Some(on_end) = self.on_end.take() else { return };
        let rest = self.take_rest();
        let how = if cut.is_none() { BodyEnd::Ended } else { BodyEnd::Cut };
        let End { last, after } = on_end(std::mem::take(&mut self.gathered), how);
        let last = match last {
            Last::Rest => Ok(rest.into()),
            Last::Bytes(bytes) => Ok(bytes),
            Last::Broken => Err(cut.unwrap_or_else(|| BrokenStream.into())),
        };
        self.last = Some(last).filter(|last| !last.as_ref().is_ok_and(Bytes::is_empty));
        self.after = after;
    }
}

impl<B, F> Body for Tee<B, F>
where
    B: Body<Data = Bytes, Error: Into<BoxedError>> + Unpin,
    F: FnOnce(Vec<u8>, BodyEnd) -> End + Unpin,
{
    type Data = Bytes;
    type Error = BoxedError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxedError>>> {
        loop {
            if self.on_end.is_none() {
                if let Some(task) = &mut self.after {
                    // The answer does not depend on whether it was stored.
                    let _ = ready!(Pin::new(task).poll(context));
                    self.after = None;
                }
                return Poll::Ready(self.last.take().map(|last| last.map(Frame::data)));
            }
            if self.lines.as_ref().is_some_and(|lines| lines.is_over) {
                self.end(None);
                continue;
            }
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => {
                    // Trailers, which hold nothing of an answer, are dropped.
                    let piece = self.pass(frame.into_data().unwrap_or_default());
                    if !piece.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(piece))));
                    }
                }
                Some(Err(failed)) => self.end(Some(failed.into())),
                None => self.end(None),
            }
        }
    }
}

impl<B: Body, F: FnOnce(Vec<u8>, BodyEnd) -> End> Drop for Tee<B, F> {
    fn drop(&mut self) {
        if let Some(on_end) = self.on_end.take() {
            self.take_rest();
            on_end(std::mem::take(&mut self.gathered), BodyEnd::Left);
        }
    }
}
