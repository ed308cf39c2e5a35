//! Relays OpenAI's routes that memory has no part in.

use super::chat_request::Requester;
use super::memory_headers;
use super::memory_mode::MemoryMode;
use super::metered::Metered;
use crate::api::Api;
use crate::proxy::http::{OrResponse, Upstream, relay_headers, request_body, response};
use crate::record::Object;
use bytes::Bytes;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use hyper::http::request::Parts;
use std::sync::Arc;

/// Relays requests to the providers of their models.
pub(in crate::proxy) struct Passthrough {
    upstream: Arc<Upstream>,
}

impl Passthrough {
    /// Relays to the providers that `upstream` knows.
    pub(in crate::proxy) fn new(upstream: &Arc<Upstream>) -> Passthrough {
        Passthrough { upstream: upstream.clone() }
    }

    /// Relays a request to `/v1/NAME` with its `bytes` unchanged, encoded or not, except the provider's name
    /// before the model's and the member `rsv`. `named` has the model and `rsv`. Errors with the response if
    /// there is no provider, or the body must be read and cannot be.
    pub(in crate::proxy) async fn relay(
        &self,
        name: &str,
        head: &Parts,
        named: Object,
        bytes: Bytes,
        Requester { keys, purse, .. }: &Requester,
    ) -> OrResponse {
        let model = named.valid_text("model").filter(|model| !model.is_empty());
        let target = match model.as_deref().or(name.strip_prefix("models/")) {
            Some(model) => self.upstream.target_of(model),
            None if name.starts_with(Api::Messages.path()) => self.upstream.anthropic(),
            None => self.upstream.default_target(keys),
        };
        let target = target.map_err(|failure| response::failure(&failure))?;
        let is_renamed = model.is_some_and(|model| model != target.model);
        let is_changed = is_renamed || named.has("rsv");
        let bytes = if is_changed {
            // It was decoded before, within the limit.
            let bytes = request_body::decoded(&head.headers, bytes, usize::MAX)?;
            let mut body = request_body::parse(&bytes).map_err(response::bad_request)?;
            // It names a scope, and is sent to nobody else.
            body.take("rsv");
            if is_renamed {
                body.set_text("model", &target.model);
            }
            body.into_json().into()
        } else {
            bytes
        };
        let query = relay_headers::query(head);
        let metered = purse
            .clone()
            .filter(|_| !COUNTING.contains(&name))
            .map(|purse| Metered::new(purse, head, &bytes));
        let mut passing = relay_headers::passing(head, bytes);
        if is_changed {
            passing.headers.remove(CONTENT_ENCODING);
        }
        if metered.is_some() {
            // An encoded answer does not show its tokens.
            passing.headers.remove(ACCEPT_ENCODING);
        }
        let mut response = match name {
            _ if name == Api::Chat.path() => self.upstream.relay_chat(&target, query, keys, passing).await,
            _ => self.upstream.relay(&target, target.sibling(name, query), keys, passing).await,
        };
        memory_headers::set_mode(&mut response, MemoryMode::Off);
        Ok(match metered {
            Some(metered) => metered.answered(response),
            None => response,
        })
    }
}

/// The routes that only count tokens: the paths after `/v1/`.
const COUNTING: [&str; 2] = ["messages/count_tokens", "responses/input_tokens"];
