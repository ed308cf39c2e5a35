//! Requests are sent to the provider of their model.

use super::answer::read_answer;
use super::caller::Caller;
use super::detail_log::log_detail;
use super::failure::Failure;
use super::pending_request::PendingRequest;
use super::request_sender::RequestSender;
use super::stream::Stream;
use super::truncation_detector::TruncationDetector;
use super::web_search::WebSearch;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error;
use crate::http::HeaderMap;
use crate::provider::{Providers, Target};
use crate::record::{Clock, Object, unexpected};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Forwards requests.
pub struct Forwarder {
    sender: RequestSender,
    providers: Providers,
    /// The model for requests that name none.
    model: Option<String>,
    web_search: WebSearch,
    /// The longest answer that is held, in bytes.
    limit: usize,
    truncation_detector: Arc<TruncationDetector>,
    diagnostics: Diagnostics,
}

impl Forwarder {
    /// Takes addresses, keys, limits and defaults from the settings. Nothing is opened yet.
    pub fn new(settings: &Settings, diagnostics: &Diagnostics) -> error::Result<Forwarder> {
        Ok(Forwarder {
            sender: RequestSender::new(settings, diagnostics),
            providers: Providers::new(settings)?,
            model: settings.text("model"),
            web_search: WebSearch::new(settings),
            limit: settings.max_line(),
            truncation_detector: Arc::new(TruncationDetector::new(diagnostics)),
            diagnostics: diagnostics.clone(),
        })
    }

    /// Limits the answers in transit to the number of `permits`; further requests wait.
    pub fn limited(self, permits: &Arc<Semaphore>) -> Forwarder {
        Forwarder { sender: self.sender.limited(permits), ..self }
    }

    /// Sends the request and waits for the whole answer: the provider's body unchanged, with `rsv`, which has the
    /// request's members and provider, status and latency_ms; and its headers. A request for a stream is sent as one
    /// for a whole answer.
    pub async fn whole(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> Result<(Object, HeaderMap), Failure> {
        if request.get("stream") == Some("true") {
            request.take("stream");
            request.take("stream_options");
        }
        let (pending, body) = self.prepare(request, caller, clock)?;
        let PendingRequest { target, key, .. } = &pending;
        let response = self.sender.send(target, key.as_ref(), caller, false, body).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.body(self.limit).await;
        log_detail(&self.diagnostics, "the answer of", target, &body.bytes, key.as_ref());
        let answer = read_answer(target, &body, key.as_ref())?;
        Ok((pending.complete(answer, status, &self.truncation_detector), headers))
    }

    /// Asks the provider for a stream, and waits for its head.
    pub async fn stream(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> Result<Stream, Failure> {
        if request.get("stream") != Some("true") {
            request.set("stream", "true");
        }
        let (pending, body) = self.prepare(request, caller, clock)?;
        let response = self.sender.send(&pending.target, pending.key.as_ref(), caller, true, body).await?;
        Stream::new(
            response,
            pending,
            (self.truncation_detector.clone(), self.diagnostics.clone()),
            self.limit,
        )
        .await
    }

    /// Turns a request line into the body that its provider gets.
    fn prepare(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> Result<(PendingRequest, Bytes), Failure> {
        let rsv = take_rsv(&mut request)?;
        let target = self.target(&mut request)?;
        let key = target.key(&caller.keys)?.cloned();
        let mut body = Vec::new();
        request.write(&mut body);
        log_detail(&self.diagnostics, "the request to", &target, &body, key.as_ref());
        Ok((PendingRequest { target, key, rsv, clock: *clock, begin: clock.now() }, body.into()))
    }

    /// Completes a request from the settings, and finds its provider.
    fn target(&self, request: &mut Object) -> Result<Target, Failure> {
        // A member of rsv's, by which a request line names its kind.
        request.take("kind");
        check(request)?;
        let named = request.text("model")?;
        let Some(model) = named.as_ref().or(self.model.as_ref()) else {
            return Err(Failure::request("model: is missing")
                .hint("name one in the request, or: rsv-config set model MODEL"));
        };
        let target = self.providers.target(model)?;
        // A name that stays is not written anew, so that it keeps its spelling.
        if named.as_ref() != Some(&target.model) {
            request.set_text("model", &target.model);
        }
        if target.searches_web() {
            self.web_search.complete(request);
        }
        Ok(target)
    }
}

/// Refuses a request that no provider could answer.
fn check(request: &Object) -> Result<(), Failure> {
    match request.get("messages") {
        None | Some("null") => Err(Failure::request("messages: is missing")),
        Some("[]") => Err(Failure::request("messages: is empty")),
        Some(json) if json.starts_with('[') => Ok(()),
        Some(json) => Err(unexpected("messages", "an array", json).into()),
    }
}

/// Takes off the member `rsv`, which never leaves the machine.
fn take_rsv(request: &mut Object) -> Result<Object, Failure> {
    let rsv = request.object("rsv")?.unwrap_or_default();
    request.take("rsv");
    Ok(rsv)
}
