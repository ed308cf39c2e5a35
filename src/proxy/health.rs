//! `GET /health`: the state of the parts that the proxy needs.

use super::http::{ConnectionLimits, HttpResponse, Upstream, response};
use super::worker::{AutoCommit, ClockWatch, SharedEmbedder, StorePool, StoreQueue, degraded};
use crate::chat;
use crate::http::MAX_IDLE_TIME;
use crate::provider::Target;
use crate::record::{Object, quote};
use hyper::StatusCode;
use std::sync::Arc;

/// Reports the health of the proxy.
pub(super) struct HealthApi {
    stores: Arc<StorePool>,
    queue: Arc<StoreQueue>,
    embedder: Arc<SharedEmbedder>,
    upstream: Arc<Upstream>,
    clock: Arc<ClockWatch>,
    limits: ConnectionLimits,
    commits: Option<Arc<AutoCommit>>,
}

impl HealthApi {
    /// Reports on these parts.
    pub(super) fn new(
        stores: &Arc<StorePool>,
        queue: &Arc<StoreQueue>,
        embedder: &Arc<SharedEmbedder>,
        upstream: &Arc<Upstream>,
        clock: &Arc<ClockWatch>,
        limits: ConnectionLimits,
    ) -> HealthApi {
        HealthApi {
            stores: stores.clone(),
            queue: queue.clone(),
            embedder: embedder.clone(),
            upstream: upstream.clone(),
            clock: clock.clone(),
            limits,
            commits: None,
        }
    }

    /// Reports on commits of sessions too.
    pub(super) fn with_commits(mut self, commits: &Arc<AutoCommit>) -> HealthApi {
        self.commits = Some(commits.clone());
        self
    }

    /// 200, or 503 if the store cannot be read or written. Providers are named, not asked.
    pub(super) async fn report(&self) -> HttpResponse {
        let degraded = degraded::judge_store(self.stores.check().await, || self.queue.degraded());
        let (status, word) = match degraded {
            None => (StatusCode::OK, "ok"),
            Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "degraded"),
        };
        let store = degraded.map_or_else(|| "ok".to_owned(), |reason| reason.to_string());
        let clock = self.clock.check().map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        let upstreams: Vec<Object> = self.upstream.all().iter().map(entry).collect();
        let ConnectionLimits { descriptors, clients, answers, idle } = self.limits;
        let mut limits = Object::default();
        limits.set("descriptors", descriptors.map_or("null".to_owned(), |limit| limit.to_string()));
        limits.set("connections", clients.to_string());
        limits.set("requests", answers.to_string());
        limits.set("idle", idle.to_string());
        limits.set("idle_seconds", MAX_IDLE_TIME.as_secs().to_string());
        let mut report = Object::default();
        report.set_text("status", word);
        report.set_text("store", &store);
        report.set_text("clock", &clock);
        let commits = self.commits.as_ref().and_then(|commits| commits.failure());
        report.set_text("commits", commits.as_deref().unwrap_or("ok"));
        report.set("embedder", self.embedder.model().map_or("null".to_owned(), |model| quote(&model)));
        let meaning = self.embedder.outage().map_or_else(|| "ok".to_owned(), |error| error.to_string());
        report.set_text("embedding", &meaning);
        report.set("upstreams", chat::array(&upstreams));
        report.set("pending", self.queue.pending().to_string());
        report.set("limits", limits.to_json());
        report.set_text("version", env!("CARGO_PKG_VERSION"));
        response::json(status, report.to_json() + "\n")
    }
}

fn entry(target: &Target) -> Object {
    let mut entry = Object::default();
    entry.set_text("name", target.name());
    entry.set_text("address", &target.address().to_string());
    entry.set("key", target.own_key().is_ok_and(|key| key.is_some()).to_string());
    entry
}
