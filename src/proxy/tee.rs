//! A body that is passed on piece by piece and gathered at the same time.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

/// The end of a body.
#[derive(Default)]
pub(super) struct End {
    /// Bytes to append, if the length of the body was not declared.
    pub(super) appended: Option<Bytes>,
    /// A task for which the end of the body waits.
    pub(super) after: Option<JoinHandle<()>>,
}

/// Passes a body on and gathers it. When the body has ended, or was dropped, `on_end` gets what was gathered, and
/// whether that is all, once.
// By hand: futures-util can inspect the pieces of a stream, but does not say that one was dropped before its end.
pub(super) struct Tee<B: Body, F: FnOnce(Vec<u8>, bool) -> End> {
    inner: B,
    limit: usize,
    gathered: Vec<u8>,
    /// Whether more was passed on than was gathered.
    overflowed: bool,
    on_end: Option<F>,
    appended: Option<Bytes>,
    /// A task, and the last item of the body, which waits for it.
    after: Option<JoinHandle<()>>,
    last: Option<BodyItem<B>>,
    /// Whether the length of the body was not declared.
    is_open: bool,
    ended: bool,
}

/// A frame of a body, an error, or its end.
type BodyItem<B> = Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>;

impl<B: Body, F: FnOnce(Vec<u8>, bool) -> End> Tee<B, F> {
    /// Gathers at most `limit` bytes; all are passed on.
    pub(super) fn new(inner: B, limit: usize, on_end: F) -> Tee<B, F> {
        let is_open = inner.size_hint().exact().is_none();
        let (gathered, on_end) = (Vec::new(), Some(on_end));
        Tee {
            inner,
            limit,
            gathered,
            overflowed: false,
            on_end,
            appended: None,
            after: None,
            last: None,
            is_open,
            ended: false,
        }
    }

    fn end(&mut self, is_whole: bool) {
        let Some(on_end) = self.on_end.take() else { return };
        let End { appended, after } =
            on_end(std::mem::take(&mut self.gathered), is_whole && !self.overflowed);
        self.after = after;
        self.appended = appended.filter(|_| self.is_open && !self.overflowed);
    }
}

impl<B, F> Tee<B, F>
where
    B: Body<Data = Bytes> + Unpin,
    F: FnOnce(Vec<u8>, bool) -> End + Unpin,
{
    /// The next item, which is gathered.
    fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<BodyItem<B>> {
        let item = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &item {
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
        Poll::Ready(item)
    }
}

impl<B, F> Body for Tee<B, F>
where
    B: Body<Data = Bytes, Error: Unpin> + Unpin,
    F: FnOnce(Vec<u8>, bool) -> End + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let item = match self.last.take() {
            Some(last) => last,
            None => ready!(self.poll_item(context)),
        };
        if let Some(after) = &mut self.after {
            if Pin::new(after).poll(context).is_pending() {
                self.last = Some(item);
                return Poll::Pending;
            }
            self.after = None;
        }
        match item {
            Some(Err(_)) | None if self.appended.is_some() => {
                self.ended = true;
                Poll::Ready(self.appended.take().map(|appended| Ok(Frame::data(appended))))
            }
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.appended.is_none() && self.last.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B: Body, F: FnOnce(Vec<u8>, bool) -> End> Drop for Tee<B, F> {
    fn drop(&mut self) {
        self.end(false);
    }
}
