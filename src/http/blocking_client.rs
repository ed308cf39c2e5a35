//! The client for threads that may block.

use super::{
    Address, Body, Client, RequestError, RequestErrorKind, RequestOptions, Response, parse_retry_after,
};
use crate::config::{Secret, Settings};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Sends requests and blocks, over connections that stay open from one request to the next. Not to be used by a thread
/// that runs an event loop itself.
pub struct BlockingClient {
    client: Client,
    runtime: Option<Runtime>,
    /// The time at which a request is given up, beside the settings' timeouts.
    pub deadline: Option<Instant>,
}

/// A clone opens connections of its own.
impl Clone for BlockingClient {
    fn clone(&self) -> BlockingClient {
        BlockingClient { client: self.client.clone(), runtime: None, deadline: self.deadline }
    }
}

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
        BlockingClient { client: Client::new(settings), runtime: None, deadline: None }
    }

    /// As `Client::post`, with the body of the answer, of at most `limit` bytes.
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

    /// As `Client::get`, with the body of the answer, of at most `limit` bytes.
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
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => Builder::new_current_thread().enable_all().build().map_err(|e| RequestError {
                kind: RequestErrorKind::Setup,
                cause: format!("cannot start an event loop: {e}"),
            })?,
        };
        let reply = match self.deadline {
            None => runtime.block_on(ask(&self.client)),
            Some(deadline) => {
                let limit = deadline.saturating_duration_since(Instant::now());
                let late = RequestError::timed_out("enrich.timeout", limit);
                let asked = async { tokio::time::timeout(limit, ask(&self.client)).await };
                runtime.block_on(asked).unwrap_or(Err(late))
            }
        };
        self.runtime = Some(runtime);
        reply
    }
}

async fn whole(response: Response, limit: usize) -> Result<FullResponse, RequestError> {
    let (status, retry_after) = (response.status(), response.retry_after().and_then(parse_retry_after));
    Ok(FullResponse { status, retry_after, body: response.body(limit).await })
}

impl Drop for BlockingClient {
    fn drop(&mut self) {
        // A name server that does not answer must not hold up the exit.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
