//! `GET /metrics`: the state of the proxy, and what it has counted and timed, in Prometheus' text format.

use super::error::ProxyFault;
use super::http::{HttpResponse, response};
use super::state::{Part, ProxyParts, ProxyState};
use super::visibility::Visibility;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::sync::Arc;

/// The labels of a counter of turns.
type TurnLabels = [(&'static str, String); 2];

/// Writes the metrics of the proxy.
pub(super) struct MetricsApi {
    parts: Arc<ProxyParts>,
    /// The time at which the proxy began, in milliseconds since 1970.
    began: i64,
}

impl MetricsApi {
    /// Reports on these parts, of a proxy that begins now.
    pub(super) fn new(parts: &Arc<ProxyParts>) -> MetricsApi {
        MetricsApi { began: parts.config.clock.now(), parts: parts.clone() }
    }

    /// Writes what a caller may see.
    pub(super) async fn write(&self, visibility: &Visibility) -> HttpResponse {
        let state = self.parts.state(visibility).await;
        let mut registry = Registry::default();
        self.parts.config.metrics.register(&mut registry);
        self.register_turns(&mut registry, visibility);
        self.register_gauges(&mut registry, &state);
        let mut text = String::new();
        if let Err(source) = prometheus_text::encode(&mut text, &registry) {
            return response::unavailable("no_metrics", &ProxyFault::Metrics { source }.into());
        }
        let mut response = response::json(StatusCode::OK, text);
        let content_type = HeaderValue::from_static(prometheus_text::CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }

    /// Registers the turns of the partitions that a caller may see. Those beyond the number that is counted
    /// by name are of every partition, and of none.
    fn register_turns(&self, registry: &mut Registry, visibility: &Visibility) {
        let turns = Family::<TurnLabels, Counter>::default();
        for ((partition, end), count) in self.parts.config.metrics.turns() {
            if partition.is_empty() || visibility.includes(&partition) {
                let labels = [("partition", partition), ("outcome", end.name().to_owned())];
                turns.get_or_create(&labels).inc_by(count);
            }
        }
        registry.register("rsv_turns", "Turns that have ended, by partition and outcome", turns);
    }

    fn register_gauges(&self, registry: &mut Registry, state: &ProxyState) {
        let degraded = Family::<[(&'static str, &'static str); 1], Gauge>::default();
        for part in Part::ALL {
            degraded.get_or_create(&[("part", part.name())]).set(state.degraded(part).is_some().into());
        }
        registry.register("rsv_degraded", "Whether a part works only in part: 1, else 0", degraded);
        let queues = Family::<[(&'static str, &'static str); 1], Gauge>::default();
        for (name, length) in state.queues.lengths() {
            queues.get_or_create(&[("queue", name)]).set(gauge(length));
        }
        registry.register("rsv_queue_length", "What waits, by queue", queues);
        let limits = &self.parts.limits;
        for (name, help, value) in [
            ("rsv_queue_turn_bytes", "Size of the turns that wait to be stored", state.queues.turns.bytes),
            ("rsv_connections", "Open connections of clients", state.connections),
            ("rsv_connections_limit", "Connections of clients that may be open", limits.clients),
            ("rsv_provider_requests", "Requests to providers in transit", state.provider_requests),
            ("rsv_provider_requests_limit", "Requests to providers that may be in transit", limits.answers),
        ] {
            registry.register(name, help, ConstGauge::new(gauge(value)));
        }
        let bytes = state.resident_bytes.and_then(|bytes| i64::try_from(bytes).ok());
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Memory of the process", bytes),
            ("process_open_fds", "Open descriptors of the process", state.open_descriptors.map(gauge)),
        ] {
            if let Some(value) = value {
                registry.register(name, help, ConstGauge::new(value));
            }
        }
        let seconds = |milliseconds: i64| ConstGauge::new(milliseconds as f64 / 1000.0);
        registry.register(
            "process_start_time_seconds",
            "Start of the proxy, since 1970",
            seconds(self.began),
        );
        if let Some(time) = state.last_store {
            let help = "Last write to the store, since 1970";
            registry.register("rsv_last_store_timestamp_seconds", help, seconds(time));
        }
        let build = Family::<[(&'static str, &'static str); 1], Gauge>::default();
        build.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
        registry.register("rsv_build_info", "Version of the proxy; always 1", build);
    }
}

/// A number as the value of a gauge.
fn gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
