//! Sends one request to a provider, and again if the provider cannot have acted on it.

use super::failure::{Failure, MAX_BODY};
use crate::cli::Diagnostics;
use crate::config::{Secret, Settings};
use crate::http::{
    Address, Client, HeaderMap, RequestError, RequestErrorKind, RequestOptions, Response, parse_retry_after,
    reason_phrase,
};
use crate::provider::Target;
use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The statuses after which the same request may succeed.
const RETRYABLE_STATUSES: [u16; 4] = [429, 502, 503, 504];
/// The delays before retries: each is twice as long as the one before.
const BACKOFF: ExponentialBuilder =
    ExponentialBuilder::new().with_min_delay(Duration::from_millis(500)).without_max_delay();
/// If a provider asks for a longer pause, the request is not sent again.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// A request as it is sent.
pub(super) struct OutgoingRequest {
    pub(super) address: Address,
    /// The key, if it is sent as `Authorization: Bearer`.
    pub(super) bearer: Option<Secret>,
    pub(super) headers: HeaderMap,
    /// The accepted encodings of the answer.
    pub(super) encodings: String,
    pub(super) body: Bytes,
}

/// Sends requests.
pub(super) struct RequestSender {
    client: Client,
    retries: RetryPolicy,
}

impl RequestSender {
    pub(super) fn new(settings: &Settings, diagnostics: &Diagnostics) -> RequestSender {
        RequestSender { client: Client::new(settings), retries: RetryPolicy::new(settings, diagnostics) }
    }

    /// Limits the answers in transit: see `Client::limited`.
    pub(super) fn limited(self, permits: &Arc<Semaphore>) -> RequestSender {
        RequestSender { client: self.client.limited(permits), ..self }
    }

    /// Sends a request and waits for the head of an answer that the provider calls good. Fails if it cannot
    /// be reached, or answers with another status than 2xx after all retries.
    pub(super) async fn send(
        &self,
        target: &Target,
        key: Option<&Secret>,
        request: OutgoingRequest,
        unbounded: bool,
    ) -> Result<Response, Failure> {
        let OutgoingRequest { address, bearer, headers: passed, encodings, body } = &request;
        let (passed, headers) = (Some(passed), Some(target.headers()));
        let options = RequestOptions { passed, headers, encodings, unbounded };
        let send = || self.client.post(address, bearer.as_ref(), options, body.clone());
        let status_and_delay =
            |response: &Response| (response.status(), response.retry_after().and_then(parse_retry_after));
        let response = self.retries.send(target, send, status_and_delay).await;
        let response = response.map_err(|failed| Failure::unsent(target, address, &failed))?;
        match response.status() {
            200..300 => Ok(response),
            status => {
                let headers = Some(Box::new(response.headers().clone()));
                let body = response.body(MAX_BODY).await.bytes;
                Err(Failure { headers, ..Failure::refused(target, status, &body, key) })
            }
        }
    }
}

/// Sends a request again, a bounded number of times, if the provider cannot have acted on it.
pub struct RetryPolicy {
    retries: usize,
    diagnostics: Diagnostics,
}

impl RetryPolicy {
    /// As many retries as the settings allow.
    pub fn new(settings: &Settings, diagnostics: &Diagnostics) -> RetryPolicy {
        let retries = settings.integer("retries").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        RetryPolicy { retries, diagnostics: diagnostics.clone() }
    }

    /// Sends a request by `send`, with retries, and returns the last answer. `status_and_delay` returns the
    /// status of an answer and the delay that the provider asks for. Fails as the last attempt does.
    pub async fn send<A, F: Future<Output = Result<A, RequestError>>>(
        &self,
        target: &Target,
        send: impl Fn() -> F,
        status_and_delay: impl Fn(&A) -> (u16, Option<Duration>),
    ) -> Result<A, RequestError> {
        let mut sent = send().await;
        for backoff in BACKOFF.with_max_times(self.retries).build() {
            let Some((why, wanted)) = retry_reason(sent.as_ref().map(&status_and_delay)) else { break };
            let pause = wanted.unwrap_or_else(|| jittered(backoff));
            if pause > MAX_BACKOFF {
                break;
            }
            self.diagnostics.detail(format_args!("{}: {why}; retrying in {pause:?}", target.title()));
            // The rest of the answer is dropped unread.
            drop(sent);
            tokio::time::sleep(pause).await;
            sent = send().await;
        }
        sent
    }
}

/// The reason to send a request again, and the delay that the provider asks for; `None` if it must not be
/// sent again.
fn retry_reason(sent: Result<(u16, Option<Duration>), &RequestError>) -> Option<(String, Option<Duration>)> {
    match sent {
        Ok((status, wanted)) if RETRYABLE_STATUSES.contains(&status) => {
            Some((format!("answered {status} {}", reason_phrase(status)), wanted))
        }
        Err(failed) if failed.kind == RequestErrorKind::Connect => Some((failed.cause.clone(), None)),
        _ => None,
    }
}

/// A time from 0.75 to 1.25 of it: clients that failed at once must not come back at once.
// By hand: backon's own jitter only lengthens a delay, up to twice.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [128];
    // Without random bytes, the middle is as good.
    let _ = getrandom::fill(&mut byte);
    pause.mul_f64(0.75 + f64::from(byte[0]) / 512.0)
}
