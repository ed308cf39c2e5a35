//! `POST /api/chat` and `POST /api/generate` with memory, and all else of Ollama's without.
//!
//! Requests are sent in Ollama's own format, so that its options keep their meaning: only the recalled block
//! is added, and the answer is relayed unchanged. It is translated to OpenAI's format only to be stored.

use super::chat_request::{ChatRequest, Override};
use super::memory_headers::{self, TurnReport};
use super::memory_mode::MemoryMode;
use super::metered::Metered;
use super::ollama_format::{self, OllamaMethod};
use super::pipeline::{ActiveTurn, TurnPipeline};
use super::tee::{BodyEnd, End, Last, Tee};
use crate::enrich::Enriched;
use crate::forward::{self, Failure};
use crate::http::{Body, Decoder, RelayBody, RelayRequest, RequestBody, RequestError, Truncation};
use crate::provider::CallerKeys;
use crate::provider::Target;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpBody, HttpResponse, OrResponse, Upstream, relay_headers, response, upstream};
use crate::proxy::metrics::TurnStep;
use crate::proxy::worker::{Precedence, Purse};
use crate::record::Object;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::sync::Arc;

/// The most that is read of a refusal of Ollama's, in bytes.
const REFUSAL_LIMIT: usize = 64 << 10;

/// Serves Ollama's routes.
pub(in crate::proxy) struct OllamaApi {
    config: Arc<ProxyConfig>,
    upstream: Arc<Upstream>,
    pipeline: Arc<TurnPipeline>,
}

/// A request for a turn, unchanged.
pub(in crate::proxy) struct OllamaRequest<'a> {
    pub(in crate::proxy) method: OllamaMethod,
    pub(in crate::proxy) head: &'a Parts,
    pub(in crate::proxy) bytes: Bytes,
    /// Lives as long as the client waits.
    pub(in crate::proxy) client: Arc<()>,
}

impl OllamaApi {
    /// The routes of the Ollama that `upstream` knows.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        upstream: &Arc<Upstream>,
        pipeline: &Arc<TurnPipeline>,
    ) -> OllamaApi {
        OllamaApi { config: config.clone(), upstream: upstream.clone(), pipeline: pipeline.clone() }
    }

    /// Runs a turn. `chat` has the whole body, of which enrichment gets its part. Errors with the response if
    /// that is malformed.
    pub(in crate::proxy) async fn turn(
        &self,
        mut chat: ChatRequest,
        request: OllamaRequest<'_>,
    ) -> OrResponse {
        let method = request.method;
        let body = chat.body.clone();
        let translated = method.to_chat_request(&body).map_err(response::bad_request)?;
        let mode = chat.mode;
        let Some(translated) = translated else {
            return Ok(self.relay(method.name(), request.head, request.bytes, chat.purse).await);
        };
        chat.body = translated;
        if method == OllamaMethod::Generate {
            // A prompt has no other place for the block.
            let (key, value) = ("enrich.placement".to_owned(), "tail".to_owned());
            chat.overrides.push(Override { key, source: "/api/generate", value });
        }
        chat.overrides.extend(ollama_format::window_overrides(&body));
        let (mut response, report) = match self.pipeline.begin(chat).await {
            Ok((turn, mut enriched)) => {
                let report = TurnReport::take(&mut enriched);
                let answered = self.answer(&body, enriched, turn, request).await;
                (answered.unwrap_or_else(|failure| response::failure(&failure)), Some(report))
            }
            Err(failure) => (response::failure(&failure), None),
        };
        let storing = self.pipeline.storing_degraded();
        memory_headers::set(&mut response, report.as_ref(), storing, Precedence::Storing, mode);
        Ok(response)
    }

    async fn answer(
        &self,
        body: &Object,
        enriched: Enriched,
        turn: ActiveTurn,
        request: OllamaRequest<'_>,
    ) -> Result<HttpResponse, Failure> {
        if let Some(error) = enriched.too_long {
            if self.pipeline.is_strict() {
                return Err(Failure::too_long(&error));
            }
            let answer = request.method.own_answer(&enriched.line, self.config.clock.now())?;
            self.pipeline.keep(turn, &enriched.line).await;
            return Ok(response::json(StatusCode::OK, answer.to_json() + "\n"));
        }
        self.forward(body, &enriched.line, turn, request).await
    }

    /// Sends the enriched `line` to Ollama. The answer is passed on and recorded as it arrives.
    async fn forward(
        &self,
        body: &Object,
        line: &Object,
        turn: ActiveTurn,
        request: OllamaRequest<'_>,
    ) -> Result<HttpResponse, Failure> {
        let OllamaRequest { method, head, client, .. } = request;
        let sent = method.enriched_body(body, line)?;
        let mut passing = relay_headers::readable(relay_headers::passing(head, sent.to_json().into()));
        passing.headers.remove(CONTENT_ENCODING);
        let started_at = self.config.clock.now();
        let target = self.upstream.ollama()?;
        let address = upstream::ollama_address(target.address(), method.name(), relay_headers::query(head));
        forward::log_detail(&self.config.diagnostics, "the request to", &target, &passing.body, None);
        let sent = self.upstream.send_with_retries(&target, &address, CallerKeys::none(), passing);
        let answered = self.config.metrics.timed(TurnStep::Provider, sent).await?;
        if answered.status() != StatusCode::OK {
            return refusal(&target, answered).await;
        }
        let encoding = answered.headers().get(CONTENT_ENCODING);
        let recorder = Recorder {
            config: self.config.clone(),
            pipeline: self.pipeline.clone(),
            method,
            target,
            turn,
            client,
            rsv: line.object("rsv")?.unwrap_or_default(),
            started_at,
            encoding: encoding.map(|encoding| String::from_utf8_lossy(encoding.as_bytes()).into_owned()),
        };
        if body.get("stream") == Some("false") {
            return recorder.whole(answered).await;
        }
        Ok(recorder.stream(upstream::relayed(answered)))
    }

    /// Relays a request to Ollama without its `rsv` member.
    pub(in crate::proxy) async fn relay(
        &self,
        name: &str,
        head: &Parts,
        bytes: Bytes,
        purse: Option<Purse>,
    ) -> HttpResponse {
        let metered = purse.map(|purse| Metered::new(purse, head, &bytes));
        let mut passing = relay_headers::passing(head, ollama_format::without_rsv(bytes));
        if metered.is_some() {
            passing.headers.remove(ACCEPT_ENCODING);
        }
        let response = self.relay_passing(name, relay_headers::query(head), passing).await;
        match metered {
            Some(metered) => metered.answered(response),
            None => response,
        }
    }

    /// Relays a request to Ollama unchanged.
    pub(in crate::proxy) async fn relay_passing(
        &self,
        name: &str,
        query: Option<&str>,
        passing: RelayRequest<impl Into<RequestBody>>,
    ) -> HttpResponse {
        let mut response = match self.upstream.ollama() {
            Ok(target) => {
                let address = upstream::ollama_address(target.address(), name, query);
                self.upstream.relay(&target, Some(address), CallerKeys::none(), passing).await
            }
            Err(failure) => response::failure(&failure),
        };
        memory_headers::set_mode(&mut response, MemoryMode::Off);
        response
    }
}

/// Has a turn stored when its answer has ended, or broke off.
struct Recorder {
    config: Arc<ProxyConfig>,
    pipeline: Arc<TurnPipeline>,
    method: OllamaMethod,
    target: Target,
    turn: ActiveTurn,
    client: Arc<()>,
    /// The request's member `rsv`.
    rsv: Object,
    /// The time at which the request was sent, in milliseconds.
    started_at: i64,
    /// The encoding of the answer, if it has one.
    encoding: Option<String>,
}

impl Recorder {
    /// Waits for a whole answer, which is passed on as it was sent once it is known to be one.
    async fn whole(self, answered: Response<RelayBody>) -> Result<HttpResponse, Failure> {
        let limit = self.config.settings.max_line();
        let (head, body) = answered.into_parts();
        let collected = Limited::new(body, limit).collect().await;
        let (sent, mut cut) = match collected {
            Ok(collected) => (collected.to_bytes(), None),
            Err(error) => {
                let failed = error.downcast::<RequestError>();
                (Bytes::new(), Some(failed.map_or(Truncation::Limit, |failed| Truncation::Failed(*failed))))
            }
        };
        let mut bytes = Vec::new();
        if let Err(failed) = self.decoder().decode(&sent, &mut bytes, limit) {
            cut.get_or_insert(failed);
        }
        forward::read_answer(&self.target, self.method.answer_member(), &Body { bytes, cut }, None)?;
        if let Some(stored) = self.record(&sent, BodyEnd::Ended).after {
            // The answer does not depend on whether it was stored.
            let _ = stored.await;
        }
        let mut response = response::json(head.status, sent);
        *response.headers_mut() = relay_headers::to_client(head.headers);
        Ok(response)
    }

    /// Passes a streamed answer on, line by line up to an error, and records it.
    fn stream(self, mut response: HttpResponse) -> HttpResponse {
        let limit = self.config.settings.max_line();
        let is_last = self.encoding.is_none().then_some(ollama_format::is_error as fn(&[u8]) -> bool);
        let inner = std::mem::take(response.body_mut());
        // An error may be added to it.
        response.headers_mut().remove(CONTENT_LENGTH);
        let on_end = move |bytes: Vec<u8>, how: BodyEnd| self.record(&bytes, how);
        *response.body_mut() = HttpBody::new(Tee::new(inner, limit, is_last, on_end));
        response
    }

    fn decoder(&self) -> Decoder {
        Decoder::for_encoding(self.encoding.as_deref())
    }

    /// Stores the answer of these bytes. The end says that the answer broke off if it came to no end.
    fn record(mut self, bytes: &[u8], how: BodyEnd) -> End {
        let ProxyConfig { settings, clock, diagnostics, .. } = &*self.config;
        let mut plain = Vec::new();
        let is_garbled = self.decoder().decode(bytes, &mut plain, settings.max_line()).is_err();
        let (mut response, is_partial) = self.method.to_response(&plain);
        forward::log_detail(diagnostics, "the answer of", &self.target, &plain, None);
        self.rsv.set_text("provider", "ollama");
        self.rsv.set("status", "200");
        self.rsv.set("latency_ms", (clock.now() - self.started_at).max(0).to_string());
        if is_partial || is_garbled {
            self.rsv.set("partial", "true");
        }
        response.set("rsv", self.rsv.to_json());
        let is_unknown = is_garbled || bytes.len() >= settings.max_line();
        let is_untold = is_partial && !is_unknown && !ollama_format::ends_in_error(&plain);
        let last = if is_untold && self.encoding.is_none() {
            Last::Bytes(response::ollama_error_body("the answer of Ollama broke off before its end").into())
        } else if is_untold || is_unknown && how == BodyEnd::Cut {
            // An encoded stream cannot be added to.
            Last::Broken
        } else {
            Last::Rest
        };
        // A client that got all of it has waited for it.
        let client = Some(self.client).filter(|_| how != BodyEnd::Left);
        let (pipeline, turn) = (self.pipeline, self.turn);
        let stored = tokio::spawn(async move {
            pipeline.keep(turn, &response).await;
            drop(client);
        });
        End { last, after: self.config.stores_first().then_some(stored) }
    }
}

/// A refusal of Ollama's: unchanged if its clients can read it; else, as if it is too long, breaks off or
/// cannot be decoded, worded by the proxy.
async fn refusal(target: &Target, answered: Response<RelayBody>) -> Result<HttpResponse, Failure> {
    let (head, body) = answered.into_parts();
    let encoding = head.headers.get(CONTENT_ENCODING).and_then(|encoding| encoding.to_str().ok());
    let mut decoder = Decoder::for_encoding(encoding);
    let sent = Limited::new(body, REFUSAL_LIMIT).collect().await;
    let sent = sent.map(|body| body.to_bytes()).unwrap_or_default();
    let mut plain = Vec::new();
    let _ = decoder.decode(&sent, &mut plain, REFUSAL_LIMIT);
    let error = Object::parse_bytes(&plain).and_then(|body| body.text("error"));
    if error.is_ok_and(|error| error.is_some()) {
        return Ok(response::with_provider_headers(response::json(head.status, plain), &head.headers));
    }
    let failure = Failure::refused(target, head.status.as_u16(), &plain, None);
    Err(Failure { headers: Some(Box::new(head.headers)), ..failure })
}
