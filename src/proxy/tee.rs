//! A body that passes as it arrives, and is known as a whole when it has ended, or was given up.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Passes a body on and gathers what passed, of which `done` is told once, and whether that is all. What `done` gives
/// is added where there is room for more.
pub(super) struct Tee<B, F: FnOnce(Vec<u8>, bool) -> Option<Bytes>> {
    inner: B,
    limit: usize,
    seen: Vec<u8>,
    /// Whether more passed than was gathered.
    more: bool,
    done: Option<F>,
    /// What comes last.
    added: Option<Bytes>,
    /// Whether more may be added than is said to come.
    open: bool,
    over: bool,
}

impl<B, F: FnOnce(Vec<u8>, bool) -> Option<Bytes>> Tee<B, F> {
    /// Gathers at most `limit` bytes; all pass.
    pub(super) fn new(inner: B, limit: usize, done: F) -> Tee<B, F>
    where
        B: Body,
    {
        let open = inner.size_hint().exact().is_none();
        Tee { inner, limit, seen: Vec::new(), more: false, done: Some(done), added: None, open, over: false }
    }

    fn end(&mut self, whole: bool) {
        let Some(done) = self.done.take() else { return };
        let added = done(std::mem::take(&mut self.seen), whole && !self.more);
        self.added = added.filter(|_| self.open && !self.more);
    }
}

impl<B: Body<Data = Bytes> + Unpin, F: FnOnce(Vec<u8>, bool) -> Option<Bytes> + Unpin> Body for Tee<B, F> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                let data: &[u8] = frame.data_ref().map_or(&[], |data| data);
                let room = self.limit - self.seen.len();
                self.seen.extend_from_slice(&data[..room.min(data.len())]);
                self.more |= data.len() > room;
                // Whose length is known is not asked for its end.
                if self.inner.is_end_stream() {
                    self.end(true);
                }
            }
            Some(Err(_)) => self.end(false),
            None => self.end(true),
        }
        match frame {
            Some(Err(_)) | None if self.added.is_some() => {
                self.over = true;
                Poll::Ready(self.added.take().map(|added| Ok(Frame::data(added))))
            }
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.added.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B, F: FnOnce(Vec<u8>, bool) -> Option<Bytes>> Drop for Tee<B, F> {
    fn drop(&mut self) {
        self.end(false);
    }
}
