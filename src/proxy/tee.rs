//! A body that passes as it arrives, and is known as a whole when it has ended, or was given up.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Passes a body on and gathers what passed, of which `done` is told once, and whether that is all.
pub(super) struct Tee<B, F: FnOnce(Vec<u8>, bool)> {
    inner: B,
    limit: usize,
    seen: Vec<u8>,
    /// Whether more passed than was gathered.
    more: bool,
    done: Option<F>,
}

impl<B, F: FnOnce(Vec<u8>, bool)> Tee<B, F> {
    /// Gathers at most `limit` bytes; all pass.
    pub(super) fn new(inner: B, limit: usize, done: F) -> Tee<B, F> {
        Tee { inner, limit, seen: Vec::new(), more: false, done: Some(done) }
    }

    fn end(&mut self, whole: bool) {
        if let Some(done) = self.done.take() {
            done(std::mem::take(&mut self.seen), whole && !self.more);
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin, F: FnOnce(Vec<u8>, bool) + Unpin> Body for Tee<B, F> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let data: &[u8] = frame.data_ref().map_or(&[], |data| data);
                let room = self.limit - self.seen.len();
                self.seen.extend_from_slice(&data[..room.min(data.len())]);
                self.more |= data.len() > room;
                // Whose length is known is not asked for its end.
                if self.inner.is_end_stream() {
                    self.end(true);
                }
            }
            Poll::Ready(Some(Err(_))) => self.end(false),
            Poll::Ready(None) => self.end(true),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B, F: FnOnce(Vec<u8>, bool)> Drop for Tee<B, F> {
    fn drop(&mut self) {
        self.end(false);
    }
}
