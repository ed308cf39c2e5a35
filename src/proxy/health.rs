//! `GET /health`: the state of the parts that the proxy needs.

use super::http::{ConnectionLimits, HttpResponse, Upstream, response};
use super::state::{Part, ProxyParts, ProxyState};
use super::visibility::Visibility;
use crate::chat;
use crate::http::MAX_IDLE_TIME;
use crate::provider::Target;
use crate::record::{Object, quote, time};
use hyper::StatusCode;
use std::sync::Arc;

/// Reports the health of the proxy.
pub(super) struct HealthApi {
    parts: Arc<ProxyParts>,
    upstream: Arc<Upstream>,
}

impl HealthApi {
    /// Reports on these parts, and names these providers.
    pub(super) fn new(parts: &Arc<ProxyParts>, upstream: &Arc<Upstream>) -> HealthApi {
        HealthApi { parts: parts.clone(), upstream: upstream.clone() }
    }

    /// 200, or 503 if the store cannot be read or written. Providers are named, not asked.
    pub(super) async fn report(&self, visibility: &Visibility) -> HttpResponse {
        let state = self.parts.state(visibility).await;
        let (status, word) = match state.degraded(Part::Store) {
            None => (StatusCode::OK, "ok"),
            Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "degraded"),
        };
        let reason = |part| {
            let degraded = state.degraded(part).and_then(|degraded| degraded.reason(visibility));
            degraded.unwrap_or("ok")
        };
        let upstreams: Vec<Object> = self.upstream.all().iter().map(entry).collect();
        let turns = &state.queues.turns;
        let mut report = Object::default();
        report.set_text("status", word);
        report.set_text("store", reason(Part::Store));
        report.set_text("commits", reason(Part::Commits));
        report.set("embedder", self.parts.embedder.model().map_or("null".to_owned(), |model| quote(&model)));
        report.set_text("embedding", reason(Part::Embedder));
        report.set("upstreams", chat::array(&upstreams));
        if visibility.includes_process() {
            report.set("pending", (turns.active + turns.waiting).to_string());
        }
        report.set("degraded", degraded(&state, visibility));
        if visibility.includes_process() {
            self.add_process(&mut report, &state);
        }
        report.set_text("version", env!("CARGO_PKG_VERSION"));
        response::json(status, report.to_json() + "\n")
    }

    /// The numbers of the whole process.
    fn add_process(&self, report: &mut Object, state: &ProxyState) {
        report.set("queues", queues(state).to_json());
        report.set("connections", connections(state).to_json());
        let last_store = state.last_store.map(time::rfc3339);
        report.set("last_store", last_store.map_or("null".to_owned(), |time| quote(&time)));
        report.set("memory_bytes", or_null(state.resident_bytes));
        report.set("limits", limits(self.parts.limits).to_json());
    }
}

/// The parts that work only in part, each with the reason.
fn degraded(state: &ProxyState, visibility: &Visibility) -> String {
    let entries = state.degraded.iter().filter_map(|degraded| {
        let mut entry = Object::default();
        entry.set_text("part", degraded.part.name());
        entry.set_text("reason", degraded.reason(visibility)?);
        Some(entry)
    });
    chat::array(&entries.collect::<Vec<_>>())
}

fn queues(state: &ProxyState) -> Object {
    let mut queues = Object::default();
    for (name, length) in state.queues.lengths() {
        queues.set(name, length.to_string());
    }
    queues.set("turn_bytes", state.queues.turns.bytes.to_string());
    queues
}

fn connections(state: &ProxyState) -> Object {
    let mut connections = Object::default();
    connections.set("clients", state.connections.to_string());
    connections.set("providers", state.provider_requests.to_string());
    connections.set("descriptors", or_null(state.open_descriptors));
    connections
}

fn limits(limits: ConnectionLimits) -> Object {
    let ConnectionLimits { descriptors, clients, answers, idle } = limits;
    let mut limits = Object::default();
    limits.set("descriptors", or_null(descriptors));
    limits.set("connections", clients.to_string());
    limits.set("requests", answers.to_string());
    limits.set("idle", idle.to_string());
    limits.set("idle_seconds", MAX_IDLE_TIME.as_secs().to_string());
    limits
}

fn or_null(number: Option<impl ToString>) -> String {
    number.map_or("null".to_owned(), |number| number.to_string())
}

fn entry(target: &Target) -> Object {
    let mut entry = Object::default();
    entry.set_text("name", target.name());
    entry.set_text("address", &target.address().to_string());
    entry.set("key", target.own_key().is_ok_and(|key| key.is_some()).to_string());
    entry
}
