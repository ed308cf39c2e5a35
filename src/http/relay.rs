//! Relays requests and answers unchanged, the answers as they arrive.

use super::request_error::cause;
use super::{Address, Client, Headers, RequestBody, RequestError};
use crate::config::Secret;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use reqwest::Method;
use reqwest::header::HeaderMap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

/// A request that is relayed.
#[derive(Clone)]
pub struct RelayRequest<B = Bytes> {
    pub method: Method,
    /// None that holds a key or concerns one connection.
    pub headers: HeaderMap,
    pub body: B,
}

impl<B> RelayRequest<B> {
    /// The same with another body.
    pub fn with<C>(self, body: C) -> RelayRequest<C> {
        RelayRequest { method: self.method, headers: self.headers, body }
    }
}

impl RelayRequest {
    /// A GET request without headers.
    pub fn get() -> RelayRequest {
        RelayRequest { method: Method::GET, headers: HeaderMap::new(), body: Bytes::new() }
    }
}

/// The body of an answer on its way: its pieces as they were sent. Dropping it hangs up.
// By hand: futures-util has no timeouts.
pub struct RelayBody {
    inner: reqwest::Body,
    idle: Duration,
    /// The time at which the wait for the next piece began.
    since: Option<Instant>,
    /// The timer for the next piece. It is not reset for each piece, since there are many.
    late: Option<Pin<Box<Sleep>>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Client {
    /// Passes a request on and waits for the head of the answer, which may continue for as long as something
    /// of it arrives. A key is sent as `Authorization: Bearer`; `headers` override those of the request.
    /// Fails as `post` does.
    pub async fn relay(
        &self,
        address: &Address,
        key: Option<&Secret>,
        headers: &Headers,
        passing: RelayRequest<impl Into<RequestBody>>,
    ) -> Result<hyper::Response<RelayBody>, RequestError> {
        let request = self.request(passing.method, address, key)?;
        let request = request.headers(passing.headers).headers(headers.map().clone()).body(passing.body);
        let (answered, permit) = self.head(request).await?;
        let (head, inner) = hyper::Response::<reqwest::Body>::from(answered).into_parts();
        let body = RelayBody { inner, idle: self.idle, since: None, late: None, _permit: permit };
        Ok(hyper::Response::from_parts(head, body))
    }
}

impl Body for RelayBody {
    type Data = Bytes;
    type Error = RequestError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) else {
            let idle = self.idle;
            let since = *self.since.get_or_insert_with(Instant::now);
            let late = self.late.get_or_insert_with(|| Box::pin(sleep(idle)));
            loop {
                ready!(late.as_mut().poll(context));
                let rest = idle.saturating_sub(since.elapsed());
                if rest.is_zero() {
                    return Poll::Ready(Some(Err(RequestError::timed_out("idle_timeout", idle))));
                }
                late.set(sleep(rest));
            }
        };
        // The time that the client takes is not the provider's.
        self.since = None;
        Poll::Ready(frame.map(|frame| frame.map_err(|e| RequestError::broken(cause(&e)))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
