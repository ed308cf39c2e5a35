//! Recognizes, by the store, a turn that a client sends again to another proxy, or to this one after a
//! restart. Without the store, `retry_dedup.rs` knows those that it sends again to the same process.
//!
//! A request is the same one if it has the same key, or if its client says that it sends it again. Without
//! either, the same words may be another question.

use super::retry_dedup::TurnIdentity;
use crate::api;
use crate::enrich::RequestIdentity;
use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::REQUEST_KEY_HEADER;
use crate::proxy::worker::StorePool;
use crate::record::{Object, Role, Scope, Scopes};
use crate::store::Select;
use hyper::HeaderMap;
use std::sync::Arc;

/// The header in which the libraries of OpenAI and Anthropic count how often a request was sent before.
const RETRY_HEADER: &str = "x-stainless-retry-count";
/// The number of answers of a turn that are compared.
const MAX_ANSWERS: usize = 16;

/// The headers of a request that tell of earlier attempts.
#[derive(Default)]
pub(in crate::proxy) struct RetryHeaders {
    pub(super) key: Option<String>,
    pub(super) is_retry: bool,
}

impl RetryHeaders {
    /// Reads the headers of a request.
    pub(in crate::proxy) fn new(headers: &HeaderMap) -> RetryHeaders {
        let text =
            |name| headers.get(name).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty());
        let count = text(RETRY_HEADER).and_then(|count| count.parse::<u64>().ok());
        RetryHeaders {
            key: text(REQUEST_KEY_HEADER).map(str::to_owned),
            is_retry: count.is_some_and(|count| count > 0),
        }
    }
}

/// The attempts at turns that are stored.
pub(super) struct StoredAttempts {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
}

impl StoredAttempts {
    /// The attempts in the store.
    pub(super) fn new(config: &Arc<ProxyConfig>, stores: &Arc<StorePool>) -> StoredAttempts {
        StoredAttempts { config: config.clone(), stores: stores.clone() }
    }

    /// The turn that an earlier attempt at a request has stored. A store that fails knows none.
    pub(super) async fn find(&self, request: &RequestIdentity, scope: &Scope) -> Option<TurnIdentity> {
        self.look_up(request, scope, None).await
    }

    /// Whether another attempt at the request of a trace was stored.
    pub(super) async fn is_superseded(
        &self,
        request: &RequestIdentity,
        scope: &Scope,
        trace_id: &str,
    ) -> bool {
        self.look_up(request, scope, Some(trace_id.to_owned())).await.is_some()
    }

    async fn look_up(
        &self,
        request: &RequestIdentity,
        scope: &Scope,
        except: Option<String>,
    ) -> Option<TurnIdentity> {
        if !request.is_known() {
            return None;
        }
        let (request, own, now) = (request.clone(), scope.clone(), self.config.clock.now());
        let found = self.read(move |store| request.look_up(store, &own, except.as_deref(), now)).await?;
        found.map(|account| TurnIdentity { trace_id: account.trace_id, timestamp: account.timestamp })
    }

    /// Whether the turn of a trace has this answer already; not, if the store fails: it is better to store an
    /// answer twice than to lose it.
    pub(super) async fn has_answer(&self, scope: &Scope, trace_id: &str, response: &Object) -> bool {
        let Ok(Some(answer)) = api::answer(response, false).and_then(|answer| answer.text("content")) else {
            return false;
        };
        let answers = Select {
            trace_id: Some(trace_id.to_owned()),
            roles: vec![Role::Assistant],
            ..Select::messages(Scopes::One(scope.clone()))
        };
        let found = self.read(move |store| {
            let stored = store.last_of(&answers, MAX_ANSWERS)?;
            Ok(stored.iter().any(|one| one.text == answer && !one.members.has("partial")))
        });
        found.await.unwrap_or(false)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn crate::store::Store) -> Result<T> + Send + 'static,
    ) -> Option<T> {
        let limit = self.config.memory_timeout();
        match tokio::time::timeout(limit, self.stores.with_store(work)).await {
            Ok(Ok(found)) => Some(found),
            Ok(Err(error)) => {
                self.config.diagnostics.detail(error.at("an earlier attempt at a turn"));
                None
            }
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    #[test]
    fn a_client_names_its_request_or_counts_how_often_it_was_sent() {
        for (name, value, key, is_retry) in [
            ("idempotency-key", "k", Some("k"), false),
            ("idempotency-key", "", None, false),
            ("x-stainless-retry-count", "0", None, false),
            ("x-stainless-retry-count", "2", None, true),
            ("x-stainless-retry-count", "x", None, false),
        ] {
            let header = (HeaderName::from_static(name), HeaderValue::from_static(value));
            let read = RetryHeaders::new(&HeaderMap::from_iter([header]));
            assert_eq!((read.key.as_deref(), read.is_retry), (key, is_retry), "{name}: {value}");
        }
    }
}
