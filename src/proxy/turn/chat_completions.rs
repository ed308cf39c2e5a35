//! `POST /v1/chat/completions`, `/v1/messages` and `/v1/responses` with memory.

use super::chat_request::ChatRequest;
use super::memory_headers::{self, TurnReport};
use super::pipeline::{TurnOutcome, TurnPipeline};
use super::streamed;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpResponse, response};
use crate::proxy::worker::Precedence;
use hyper::StatusCode;
use std::sync::Arc;

/// Answers requests for turns.
pub(in crate::proxy) struct ChatApi {
    config: Arc<ProxyConfig>,
    pipeline: Arc<TurnPipeline>,
}

impl ChatApi {
    /// Takes turns through `pipeline`.
    pub(in crate::proxy) fn new(config: &Arc<ProxyConfig>, pipeline: &Arc<TurnPipeline>) -> ChatApi {
        ChatApi { config: config.clone(), pipeline: pipeline.clone() }
    }

    /// Runs a turn, whole or streamed. `client` lives as long as the client waits.
    pub(in crate::proxy) async fn complete(&self, request: ChatRequest, client: Arc<()>) -> HttpResponse {
        let mode = request.mode;
        let answered = if request.is_streamed() {
            Some(streamed::run(&self.pipeline, &self.config, request, client).await)
        } else {
            self.complete_whole(request, client).await
        };
        let Some((mut response, report)) = answered else { return response::cut_short() };
        let storing = self.pipeline.storing_degraded();
        memory_headers::set(&mut response, report.as_ref(), storing, Precedence::Recall, mode);
        response
    }

    /// Runs a turn whose answer comes whole; `None` if it was cut short.
    async fn complete_whole(
        &self,
        request: ChatRequest,
        _client: Arc<()>,
    ) -> Option<(HttpResponse, Option<TurnReport>)> {
        let pipeline = self.pipeline.clone();
        // If the client hangs up, the turn is finished and stored nevertheless.
        let turn = tokio::spawn(async move { pipeline.run(request).await });
        let TurnOutcome { report, answer } = turn.await.ok()?;
        let response = match answer {
            Ok((headers, line)) => {
                response::with_provider_headers(response::json(StatusCode::OK, line), &headers)
            }
            Err(failure) => response::failure(&failure),
        };
        Some((response, report))
    }
}
