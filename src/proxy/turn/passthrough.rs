//! Relays OpenAI's routes that memory has no part in.

use super::memory_headers;
use super::memory_mode::MemoryMode;
use crate::api::Api;
use crate::provider::CallerKeys;
use crate::proxy::http::{HttpResponse, Upstream, relay_headers, request_body, response};
use crate::record::Object;
use bytes::Bytes;
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

    /// Relays a request to `/v1/NAME` with its `bytes` unchanged, except the provider's name before the model's and the
    /// member `rsv`. `named` has the model and `rsv`, `keys` are the caller's.
    pub(in crate::proxy) async fn relay(
        &self,
        name: &str,
        head: &Parts,
        named: Object,
        bytes: Bytes,
        keys: &CallerKeys,
    ) -> HttpResponse {
        let model = named.text("model").ok().flatten().filter(|model| !model.is_empty());
        let target = match model.as_deref().or(name.strip_prefix("models/")) {
            Some(model) => self.upstream.target_of(model),
            None if name.starts_with(Api::Messages.path()) => self.upstream.anthropic(),
            None => self.upstream.default_target(keys),
        };
        let target = match target {
            Ok(target) => target,
            Err(failure) => return response::failure(&failure),
        };
        let is_renamed = model.is_some_and(|model| model != target.model);
        let bytes = if is_renamed || named.has("rsv") {
            let mut body = match request_body::parse(&bytes) {
                Ok(body) => body,
                Err(error) => return response::bad_request(&error),
            };
            // It names a scope, and is sent to nobody else.
            body.take("rsv");
            if is_renamed {
                body.set_text("model", &target.model);
            }
            body.into_json().into()
        } else {
            bytes
        };
        let query = head.uri.query();
        let passing = relay_headers::passing(head, bytes);
        let mut response = match name {
            _ if name == Api::Chat.path() => self.upstream.relay_chat(&target, query, keys, passing).await,
            _ => self.upstream.relay(&target, target.sibling(name, query), keys, passing).await,
        };
        memory_headers::set_mode(&mut response, MemoryMode::Off);
        response
    }
}
