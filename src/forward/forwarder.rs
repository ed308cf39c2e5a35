//! Requests are sent to the provider of their model.

use super::answer::read_answer;
use super::caller::Caller;
use super::detail_log::log_detail;
use super::failure::Failure;
use super::pending_request::PendingRequest;
use super::request_sender::{OutgoingRequest, RequestSender};
use super::stream::Stream;
use super::truncation_detector::TruncationDetector;
use super::web_search::WebSearch;
use crate::api::{self, Api, Translation};
use crate::chat;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error;
use crate::http::{HeaderMap, accepted_encodings};
use crate::provider::{Providers, Target};
use crate::record::{Clock, Object, unexpected};
use crate::tokens::Counter;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Forwards requests.
pub struct Forwarder {
    sender: RequestSender,
    providers: Providers,
    /// The model for requests that name none.
    model: Option<String>,
    web_search: WebSearch,
    /// The API of every request, if it is not known by the shape of each.
    api: Option<Api>,
    /// The longest answer that is held, in bytes.
    limit: usize,
    truncation_detector: Arc<TruncationDetector>,
    diagnostics: Diagnostics,
}

impl Forwarder {
    /// Takes addresses, keys, limits and defaults from the settings. Nothing is opened yet. Fails if an
    /// address or a header in the settings is invalid.
    pub fn new(settings: &Settings, diagnostics: &Diagnostics) -> error::Result<Forwarder> {
        Ok(Forwarder {
            sender: RequestSender::new(settings, diagnostics),
            providers: Providers::new(settings)?,
            model: settings.text("model"),
            web_search: WebSearch::new(settings),
            api: None,
            limit: settings.max_line(),
            truncation_detector: Arc::new(TruncationDetector::new(diagnostics)),
            diagnostics: diagnostics.clone(),
        })
    }

    /// Limits the answers in transit to the number of `permits`; further requests wait.
    pub fn limited(self, permits: &Arc<Semaphore>) -> Forwarder {
        Forwarder { sender: self.sender.limited(permits), ..self }
    }

    /// Treats every request as one of an API.
    pub fn of_api(self, api: Option<Api>) -> Forwarder {
        Forwarder { api, ..self }
    }

    /// Sends the request and waits for the whole answer: the provider's body unchanged, with `rsv`, which has
    /// the request's members and provider, status and latency_ms; and its headers. A request for a stream is
    /// sent as one for a whole answer. Fails if no provider serves the model, or it cannot be reached,
    /// refuses, or answers with no valid answer.
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
        let (pending, outgoing) = self.prepare(request, caller, clock)?;
        let PendingRequest { target, key, .. } = &pending;
        let response = self.sender.send(target, key.as_ref(), outgoing, false).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.body(self.limit).await;
        log_detail(&self.diagnostics, "the answer of", target, &body.bytes, key.as_ref());
        let answer = read_answer(target, pending.sent_api.answer_member(), &body, key.as_ref())?;
        let answer = pending.translated(answer)?;
        Ok((pending.complete(answer, status, &self.truncation_detector), headers))
    }

    /// Asks the provider for a stream, and waits for its head. Fails if no provider serves the model, or it
    /// cannot be reached or refuses.
    pub async fn stream(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> Result<Stream, Failure> {
        if request.get("stream") != Some("true") {
            request.set("stream", "true");
        }
        let (pending, outgoing) = self.prepare(request, caller, clock)?;
        let response = self.sender.send(&pending.target, pending.key.as_ref(), outgoing, true).await?;
        Stream::new(
            response,
            pending,
            (self.truncation_detector.clone(), self.diagnostics.clone()),
            self.limit,
        )
        .await
    }

    /// Turns a request line into the request that its provider gets.
    fn prepare(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> Result<(PendingRequest, OutgoingRequest), Failure> {
        let api = self.api.unwrap_or_else(|| Api::of_request(&request));
        let rsv = take_rsv(&mut request)?;
        let target = self.target(&mut request, api)?;
        let key = target.key(&caller.keys)?.cloned();
        let (address, sent_api) = match target.address_of(api) {
            Some(address) => (address, api),
            None => (target.address().clone(), Api::Chat),
        };
        let mut translation = None;
        if sent_api != api {
            let translated = api::to_chat(api, &request, target.length_member())?;
            translation = Some(Translation::new(api, &request, prompt_tokens(&translated, &rsv, &target)));
            request = translated;
        }
        let is_translated = translation.is_some();
        // The default of the API; a wrong `n` is for the provider to refuse.
        let choices = request.valid_integer("n").and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        let mut headers = caller.headers.clone();
        let bearer = target.authorize(sent_api.path(), key.as_ref(), &caller.keys, &mut headers).cloned();
        let body = request.into_json().into_bytes();
        log_detail(&self.diagnostics, "the request to", &target, &body, key.as_ref());
        let outgoing = OutgoingRequest {
            // A query is about the client's API.
            address: address.with_query(caller.query.as_deref().filter(|_| !is_translated)),
            bearer,
            headers,
            encodings: accepted_encodings(
                caller.encodings.as_deref().filter(|_| !is_translated).unwrap_or_default(),
            ),
            body: body.into(),
        };
        let begin = clock.now();
        let clock = *clock;
        Ok((PendingRequest { target, key, rsv, clock, begin, sent_api, choices, translation }, outgoing))
    }

    /// Completes a request from the settings, and finds its provider.
    fn target(&self, request: &mut Object, api: Api) -> Result<Target, Failure> {
        // A member of rsv's, by which a request line names its kind.
        request.take("kind");
        check(request, api)?;
        let named = request.text("model")?;
        let Some(model) = named.as_ref().or(self.model.as_ref()) else {
            return Err(Failure::request("model: is missing")
                .with_hint("name one in the request, or: rsv-config set model MODEL"));
        };
        let target = self.providers.target(model)?;
        // An unchanged name is not rewritten, so that it keeps its spelling.
        if named.as_ref() != Some(&target.model) {
            request.set_text("model", &target.model);
        }
        if api == Api::Chat && target.searches_web() {
            self.web_search.complete(request);
        }
        Ok(target)
    }
}

/// Refuses a request that no provider could answer.
fn check(request: &Object, api: Api) -> Result<(), Failure> {
    match request.get("messages") {
        _ if api == Api::Responses => Ok(()),
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

/// The tokens of a request for chat completions: those that its account has, else an estimate.
fn prompt_tokens(request: &Object, rsv: &Object, target: &Target) -> usize {
    let account = rsv.valid_object("account");
    let counted = account.and_then(|account| account.valid_integer("counted"));
    if let Some(counted) = counted.and_then(|counted| usize::try_from(counted).ok()) {
        return counted;
    }
    let counter = Counter::heuristic(&target.model);
    // A body that is no conversation has no tokens to count: the provider judges it.
    let Ok(request) = chat::Request::parse(request.clone()) else { return 0 };
    counter.overhead(&request) + request.messages.iter().map(|turn| counter.message(turn)).sum::<usize>()
}
