//! Counts the tokens of an answer that is passed on unread: those that it reports, wherever that stands in
//! it.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The members by which answers of the APIs report tokens: those of the request, those of it that Anthropic
/// counts beside them, and those of the answer.
const REQUEST: [&str; 3] = ["\"prompt_tokens\"", "\"input_tokens\"", "\"prompt_eval_count\""];
const CACHED: [&str; 2] = ["\"cache_creation_input_tokens\"", "\"cache_read_input_tokens\""];
const ANSWER: [&str; 3] = ["\"completion_tokens\"", "\"output_tokens\"", "\"eval_count\""];

/// The bytes that are kept of what came before: a member and its number.
const KEPT: usize = 64;

/// The bytes of a token where nothing is reported.
pub(in crate::proxy) const BYTES: u64 = 4;

/// Counts what passes. A stream reports more than once; the greatest number counts.
#[derive(Default)]
struct Count {
    kept: Vec<u8>,
    bytes: u64,
    request: Option<u64>,
    cached: [u64; 2],
    answer: Option<u64>,
}

impl Count {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.kept.extend_from_slice(piece);
        let text = &self.kept;
        let greatest = |names: &[&str]| names.iter().filter_map(|name| reported(text, name.as_bytes())).max();
        self.request = self.request.max(greatest(&REQUEST));
        self.answer = self.answer.max(greatest(&ANSWER));
        for (known, name) in self.cached.iter_mut().zip(CACHED) {
            *known = (*known).max(reported(text, name.as_bytes()).unwrap_or_default());
        }
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
    }

    /// The tokens, of a request of this many bytes.
    fn tokens(&self, request: u64) -> u64 {
        let (request, answer) =
            (self.request.unwrap_or(request / BYTES), self.answer.unwrap_or(self.bytes / BYTES));
        self.cached.iter().fold(request.saturating_add(answer), |sum, cached| sum.saturating_add(*cached))
    }
}

/// The greatest number that a member has in a text.
fn reported(text: &[u8], name: &[u8]) -> Option<u64> {
    let number = |at: usize| {
        let rest = text[at + name.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    };
    memchr::memmem::find_iter(text, name).filter_map(number).max()
}

/// A body whose tokens are counted. When it has ended, or was dropped, `on_end` gets their number, once.
pub(in crate::proxy) struct UsageMeter<B, F: FnOnce(u64)> {
    inner: B,
    count: Count,
    /// The bytes of the request.
    request: u64,
    on_end: Option<F>,
}

impl<B, F: FnOnce(u64)> UsageMeter<B, F> {
    /// Counts the answer to a request of this many bytes.
    pub(in crate::proxy) fn new(inner: B, request: usize, on_end: F) -> UsageMeter<B, F> {
        UsageMeter { inner, count: Count::default(), request: request as u64, on_end: Some(on_end) }
    }

    fn end(&mut self) {
        if let Some(on_end) = self.on_end.take() {
            on_end(self.count.tokens(self.request));
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin, F: FnOnce(u64) + Unpin> Body for UsageMeter<B, F> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(piece) = frame.data_ref() {
                    self.count.add(piece);
                }
            }
            Some(Err(_)) | None => self.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        // The end must be seen here.
        self.on_end.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B, F: FnOnce(u64)> Drop for UsageMeter<B, F> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pieces: &[&str]) -> u64 {
        let mut count = Count::default();
        for piece in pieces {
            count.add(piece.as_bytes());
        }
        count.tokens(400)
    }

    #[test]
    fn what_is_reported_counts_wherever_a_piece_ends() {
        let whole =
            r#"{"choices":[],"usage":{"prompt_tokens": 12,"completion_tokens":30,"total_tokens":42}}"#;
        assert_eq!(count(&[whole]), 42);
        for at in 0..whole.len() {
            assert_eq!(count(&[&whole[..at], &whole[at..]]), 42, "{at}");
        }
        let stream = [
            r#"data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}"#,
            r#"data: {"type":"message_delta","usage":{"output_tokens":9}}"#,
        ];
        assert_eq!(count(&stream), 16);
        let cached = r#"{"usage":{"input_tokens":2,"cache_read_input_tokens":40,"output_tokens":3}}"#;
        assert_eq!(count(&[cached]), 45);
        assert_eq!(count(&["an answer of 24 letters."]), 100 + 6);
        assert_eq!(count(&[]), 100);
    }
}
