//! The client for threads that may block.

use super::{
    Address, Body, Client, RequestError, RequestErrorKind, RequestOptions, Response, parse_retry_after,
};
use crate::config::{Secret, Settings};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};

/// Sends requests and blocks, over connections that stay open from one request to the next. Clones share
/// them. Not to be used by a thread that runs an event loop itself.
#[derive(Clone)]
pub struct BlockingClient {
    client: Arc<Client>,
    /// Waits for the answers where there is no event loop.
    idle: Arc<IdleRuntime>,
    /// The time at which a request is given up, beside the settings' timeouts.
    pub deadline: Option<Instant>,
}

/// An event loop that nobody uses at present: it is taken out, so that no lock is held while a request runs.
#[derive(Default)]
struct IdleRuntime(Mutex<Option<Runtime>>);

/// A whole answer.
pub struct FullResponse {
    pub status: u16,
    /// The time that the client should wait before the next request.
    pub retry_after: Option<Duration>,
    pub body: Body,
}

impl BlockingClient {
    /// A client with the settings' timeouts; nothing is started yet.
    pub fn new(settings: &Settings) -> BlockingClient {
        BlockingClient { client: Arc::new(Client::new(settings)), idle: Arc::default(), deadline: None }
    }

    /// As `Client::post`, with at most `limit` bytes of the answer's body. Fails as that, and at the
    /// deadline.
    pub fn post(
        &mut self,
        address: &Address,
        key: Option<&Secret>,
        json: Vec<u8>,
        limit: usize,
    ) -> Result<FullResponse, RequestError> {
        self.wait(async |client| {
            whole(client.post(address, key, RequestOptions::PLAIN, json.into()).await?, limit).await
        })
    }

    /// As `Client::get`, with at most `limit` bytes of the answer's body. Fails as that, and at the deadline.
    pub fn get(
        &mut self,
        address: &Address,
        key: Option<&Secret>,
        limit: usize,
    ) -> Result<FullResponse, RequestError> {
        self.wait(async |client| whole(client.get(address, key).await?, limit).await)
    }

    fn wait(
        &mut self,
        ask: impl AsyncFnOnce(&Client) -> Result<FullResponse, RequestError>,
    ) -> Result<FullResponse, RequestError> {
        let asked = async {
            let Some(deadline) = self.deadline else { return ask(&self.client).await };
            let limit = deadline.saturating_duration_since(Instant::now());
            let late = RequestError::timed_out("enrich.timeout", limit);
            tokio::time::timeout(limit, ask(&self.client)).await.unwrap_or(Err(late))
        };
        if let Ok(event_loop) = Handle::try_current() {
            return event_loop.block_on(asked);
        }
        let runtime = match self.idle.take() {
            Some(runtime) => runtime,
            None => Builder::new_current_thread().enable_all().build().map_err(|e| RequestError {
                kind: RequestErrorKind::Setup,
                cause: format!("cannot start an event loop: {e}"),
            })?,
        };
        let reply = runtime.block_on(asked);
        *self.idle.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(runtime);
        reply
    }
}

async fn whole(response: Response, limit: usize) -> Result<FullResponse, RequestError> {
    let (status, retry_after) = (response.status(), response.retry_after().and_then(parse_retry_after));
    Ok(FullResponse { status, retry_after, body: response.body(limit).await })
}

impl IdleRuntime {
    fn take(&self) -> Option<Runtime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for IdleRuntime {
    fn drop(&mut self) {
        // A name server that does not answer must not hold up the exit.
        if let Some(runtime) = self.take() {
            runtime.shutdown_background();
        }
    }
}
