//! A body that is passed on piece by piece and gathered at the same time.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Passes a body on and gathers it. When the body has ended, or was dropped, `on_end` gets what was gathered, and
/// whether that is all, once. The bytes that it returns are appended, if the length of the body was not declared.
// By hand: futures-util can inspect the pieces of a stream, but does not say that one was dropped before its end.
pub(super) struct Tee<B, F: FnOnce(Vec<u8>, bool) -> Option<Bytes>> {
    inner: B,
    limit: usize,
    gathered: Vec<u8>,
    /// Whether more was passed on than was gathered.
    overflowed: bool,
    on_end: Option<F>,
    appended: Option<Bytes>,
    /// Whether the length of the body was not declared.
    is_open: bool,
    ended: bool,
}

impl<B, F: FnOnce(Vec<u8>, bool) -> Option<Bytes>> Tee<B, F> {
    /// Gathers at most `limit` bytes; all are passed on.
    pub(super) fn new(inner: B, limit: usize, on_end: F) -> Tee<B, F>
    where
        B: Body,
    {
        let is_open = inner.size_hint().exact().is_none();
        let (gathered, on_end) = (Vec::new(), Some(on_end));
        Tee { inner, limit, gathered, overflowed: false, on_end, appended: None, is_open, ended: false }
    }

    fn end(&mut self, is_whole: bool) {
        let Some(on_end) = self.on_end.take() else { return };
        let appended = on_end(std::mem::take(&mut self.gathered), is_whole && !self.overflowed);
        self.appended = appended.filter(|_| self.is_open && !self.overflowed);
    }
}

impl<B: Body<Data = Bytes> + Unpin, F: FnOnce(Vec<u8>, bool) -> Option<Bytes> + Unpin> Body for Tee<B, F> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                let data: &[u8] = frame.data_ref().map_or(&[], |data| data);
                let remaining = self.limit - self.gathered.len();
                self.gathered.extend_from_slice(&data[..remaining.min(data.len())]);
                self.overflowed |= data.len() > remaining;
                // A body of declared length is not polled for its end.
                if self.inner.is_end_stream() {
                    self.end(true);
                }
            }
            Some(Err(_)) => self.end(false),
            None => self.end(true),
        }
        match frame {
            Some(Err(_)) | None if self.appended.is_some() => {
                self.ended = true;
                Poll::Ready(self.appended.take().map(|appended| Ok(Frame::data(appended))))
            }
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.appended.is_none() && self.inner.is_end_stream()
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
