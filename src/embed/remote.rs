//! Vectors from a server: OpenAI's `/v1/embeddings`, as many others have it, Ollama's
//! `/api/embed`, or that of an rsv-proxy, which has its model in memory already.

mod endpoint;
mod response;

use super::error::EmbedError;
use super::input_type::InputType;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::{Error, Result, plain};
use crate::http::{self, BlockingClient, FullResponse, RequestError, RequestErrorKind, Truncation};
use backon::{BackoffBuilder, ExponentialBuilder};
use endpoint::{EmbeddingApi, Endpoint};
use std::time::Duration;

/// A server that embeds by one model. Clones share its connections.
#[derive(Clone)]
pub(super) struct RemoteEmbedder {
    endpoint: Endpoint,
    pub(super) client: BlockingClient,
    model: String,
    diagnostics: Diagnostics,
    /// The dimension of its vectors, once one has been seen.
    dim: Option<usize>,
    /// The most texts that it takes at once, if known.
    max_batch: usize,
    /// Whether to request base64.
    base64: bool,
}

/// The reason why there are no vectors.
#[derive(Debug)]
pub(super) enum RemoteError {
    /// There is no server, or none that embeds.
    Absent(Error),
    /// It serves another model.
    Model(Error),
    /// It takes fewer texts at once, or shorter ones.
    Size(Error),
    Failed(Error),
}

impl From<RemoteError> for Error {
    fn from(trouble: RemoteError) -> Error {
        match trouble {
            RemoteError::Absent(error)
            | RemoteError::Model(error)
            | RemoteError::Size(error)
            | RemoteError::Failed(error) => error,
        }
    }
}

/// How often a request to a busy or missing server is sent again. To a proxy it is sent once: a process with
/// a model of its own need not wait for it.
const MAX_RETRIES: usize = 3;
/// The pauses between two attempts: each is twice as long as the one before.
const BACKOFF: ExponentialBuilder = ExponentialBuilder::new().with_min_delay(Duration::from_millis(250));
/// The longest pause that a server may ask for.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The longest answer: a batch of OpenAI's longest vectors as numbers has some 80 MB.
const MAX_ANSWER_BYTES: usize = 256 << 20;

impl RemoteEmbedder {
    /// The server that `embed.via` names; `None` if that is this process itself. Nothing is opened yet.
    /// Errors as the addresses and keys of the settings have them.
    pub(super) fn from_settings(
        settings: &Settings,
        model: &str,
        diagnostics: &Diagnostics,
    ) -> Result<Option<RemoteEmbedder>> {
        let Some(endpoint) = Endpoint::from_settings(settings)? else { return Ok(None) };
        Ok(Some(RemoteEmbedder {
            max_batch: endpoint.limits().0,
            base64: endpoint.kind != EmbeddingApi::Ollama,
            client: BlockingClient::new(settings),
            model: model.to_owned(),
            diagnostics: diagnostics.clone(),
            dim: None,
            endpoint,
        }))
    }

    /// Its address.
    pub(super) fn address(&self) -> String {
        self.endpoint.address.to_string()
    }

    /// Whether it has given vectors.
    pub(super) fn has_answered(&self) -> bool {
        self.dim.is_some()
    }

    /// Sets the name of the model for the next requests.
    pub(super) fn set_model(&mut self, model: &str) {
        self.model = model.to_owned();
    }

    /// Whether it is an rsv-proxy, which adds the prompts of its model and splits long texts itself.
    pub(super) fn is_proxy(&self) -> bool {
        self.endpoint.kind == EmbeddingApi::Proxy
    }

    /// The vectors of texts, in their order, each of length 1. Only a proxy needs `input_type`. Errors tell
    /// whether a model on this machine may help.
    pub(super) fn embed(
        &mut self,
        texts: &[&str],
        input_type: InputType,
    ) -> std::result::Result<Vec<Vec<f32>>, RemoteError> {
        let mut vectors = Vec::with_capacity(texts.len());
        while vectors.len() < texts.len() {
            let batch = self.batch(&texts[vectors.len()..]);
            match self.ask(batch, input_type) {
                Ok(more) => vectors.extend(more),
                Err(RemoteError::Size(_)) if batch.len() > 1 => self.max_batch = batch.len() / 2,
                Err(RemoteError::Size(error)) => {
                    self.max_batch = self.endpoint.limits().0;
                    let length = batch.iter().map(|text| text.chars().count()).sum::<usize>();
                    return Err(RemoteError::Size(error.at(format_args!("a text of {length} characters"))));
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(vectors)
    }

    /// The texts at the beginning that are sent at once: at least one.
    fn batch<'a, 't>(&self, texts: &'a [&'t str]) -> &'a [&'t str] {
        let mut bytes = 0;
        let fits = |text: &&&str| {
            bytes += text.len();
            bytes <= self.endpoint.limits().1
        };
        let count = texts.iter().take(self.max_batch).take_while(fits).count();
        &texts[..count.max(1)]
    }

    fn ask(
        &mut self,
        texts: &[&str],
        input_type: InputType,
    ) -> std::result::Result<Vec<Vec<f32>>, RemoteError> {
        let reply = match self.post_with_retries(texts, input_type) {
            Ok(reply) => reply,
            Err(failed) => return Err(self.unanswered(&failed)),
        };
        if !(200..300).contains(&reply.status) {
            let message =
                http::error_message(&reply.body.bytes, self.endpoint.key.as_ref()).unwrap_or_default();
            // No status or code names a refused member; the server's words are all there is.
            if self.base64 && message.contains("encoding_format") {
                self.base64 = false;
                return self.ask(texts, input_type);
            }
            return Err(self.refused(&reply, &message));
        }
        self.read(&reply, texts.len())
    }

    /// Posts until there is an answer that a retry would not change, or no attempt is left: there is only one
    /// if somebody waits for it.
    fn post_with_retries(
        &mut self,
        texts: &[&str],
        input_type: InputType,
    ) -> std::result::Result<FullResponse, RequestError> {
        let retries = if self.is_proxy() || self.client.deadline.is_some() { 0 } else { MAX_RETRIES };
        let mut backoffs = BACKOFF.with_max_times(retries).build();
        loop {
            let json = self.endpoint.request(&self.model, texts, input_type, self.base64);
            let reply =
                self.client.post(&self.endpoint.address, self.endpoint.key.as_ref(), json, MAX_ANSWER_BYTES);
            let (why, wanted) = match &reply {
                Ok(FullResponse { status: status @ (429 | 500 | 502 | 503 | 504), retry_after, .. }) => {
                    (format!("answered {status} {}", http::reason_phrase(*status)), *retry_after)
                }
                Err(RequestError { kind: RequestErrorKind::Connect | RequestErrorKind::Broken, cause }) => {
                    (cause.clone(), None)
                }
                _ => return reply,
            };
            let Some(backoff) = backoffs.next() else { return reply };
            let rest = wanted.unwrap_or(backoff).min(MAX_BACKOFF);
            self.diagnostics.detail(format_args!("{}: {why}; retrying in {rest:?}", self.endpoint.address));
            std::thread::sleep(rest);
        }
    }

    /// The vectors in a good answer: `count` of one dimension.
    fn read(
        &mut self,
        reply: &FullResponse,
        count: usize,
    ) -> std::result::Result<Vec<Vec<f32>>, RemoteError> {
        match &reply.body.cut {
            None => {}
            Some(Truncation::Failed(failed)) => return Err(self.unanswered(failed)),
            Some(Truncation::Limit) => {
                let mib = MAX_ANSWER_BYTES >> 20;
                return Err(RemoteError::Failed(
                    self.unusable(format!("the answer is longer than {mib} MiB")),
                ));
            }
        }
        let vectors = response::vectors(self.endpoint.kind, &reply.body.bytes, count)
            .map_err(|e| RemoteError::Failed(self.unusable(format!("invalid answer: {e}"))))?;
        for vector in &vectors {
            let dim = *self.dim.get_or_insert(vector.len());
            if vector.len() != dim {
                let wrong = format!("invalid answer: {} numbers in a vector, after {dim}", vector.len());
                return Err(RemoteError::Failed(self.unusable(wrong)));
            }
        }
        Ok(vectors)
    }

    /// The error for a request without an answer.
    fn unanswered(&self, failed: &RequestError) -> RemoteError {
        let address = self.endpoint.address.clone();
        let error = Error::from(EmbedError::Unanswered { address, source: failed.clone() });
        match (failed.kind, self.endpoint.kind) {
            (RequestErrorKind::Connect | RequestErrorKind::Broken, EmbeddingApi::Proxy) => {
                RemoteError::Absent(error.hint("rsv-proxy"))
            }
            (RequestErrorKind::Connect | RequestErrorKind::Broken, EmbeddingApi::Ollama) => {
                RemoteError::Absent(
                    error.hint(format!(
                        "is Ollama running? if it runs elsewhere, set {}",
                        self.endpoint.setting
                    )),
                )
            }
            (RequestErrorKind::Connect | RequestErrorKind::Broken, EmbeddingApi::OpenAi) => {
                RemoteError::Absent(error.hint(format!("check {}", self.endpoint.setting)))
            }
            (RequestErrorKind::Timeout(_), _) if self.client.deadline.is_some() => RemoteError::Failed(error),
            (RequestErrorKind::Timeout(setting), _) => {
                let hint = format!("raise the limit with: rsv-config set {setting} 20m");
                RemoteError::Failed(error.hint(hint))
            }
            (RequestErrorKind::Setup, _) => RemoteError::Failed(
                error.hint("install the certificates of the system: package ca-certificates"),
            ),
            (RequestErrorKind::Key, _) => RemoteError::Failed(self.check_key(error)),
        }
    }

    /// The error for an answer whose status is not 200 to 299; `message` is the server's message.
    fn refused(&self, reply: &FullResponse, message: &str) -> RemoteError {
        let status = reply.status;
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        let address = self.endpoint.address.clone();
        let error = Error::from(EmbedError::Refused { address, status, message: plain(&message) });
        // Searched in the whole body, since a gateway quotes its provider's code within a text.
        let model = String::from_utf8_lossy(&reply.body.bytes).contains("model_not_found");
        match (status, self.endpoint.kind) {
            (404, EmbeddingApi::Ollama) => {
                RemoteError::Model(error.hint(format!("ollama pull {}", self.model)))
            }
            (404, _) if model => RemoteError::Model(error),
            (404 | 503, EmbeddingApi::Proxy) => RemoteError::Absent(error),
            (400 | 413 | 422, _) => RemoteError::Size(error),
            (401 | 403, _) => RemoteError::Failed(self.check_key(error)),
            (300..=399 | 404 | 405, _) => {
                RemoteError::Failed(error.hint(format!("check {}", self.endpoint.setting)))
            }
            _ => RemoteError::Failed(error),
        }
    }

    fn unusable(&self, fault: String) -> Error {
        EmbedError::Answer { address: self.endpoint.address.clone(), fault: plain(&fault) }.into()
    }

    fn check_key(&self, error: Error) -> Error {
        let variable = self.endpoint.key_variable.as_deref().unwrap_or("embed.key_variable");
        error.hint(format!("check {variable}"))
    }
}

#[cfg(test)]
mod tests;
