//! `GET /health`: how it goes with what the proxy needs.

use super::Proxy;
use super::answer::{self, Answer};
use crate::record::{Object, quote};
use hyper::StatusCode;
use std::sync::Arc;

impl Proxy {
    /// 200, or 503 where the store cannot be read or written. Providers are named, not asked.
    pub(super) async fn health(self: &Arc<Proxy>) -> Answer {
        let trouble = match self.check().await {
            Ok(()) => self.writer.trouble(),
            Err(error) => Some(error.to_string()),
        };
        let upstreams: Vec<Object> = self
            .upstream
            .all()
            .iter()
            .map(|target| {
                let mut told = Object::default();
                told.set_text("name", target.name());
                told.set_text("address", &target.address().to_string());
                told.set("key", target.key(None).is_ok_and(|key| key.is_some()).to_string());
                told
            })
            .collect();
        let mut told = Object::default();
        told.set_text("status", if trouble.is_none() { "ok" } else { "degraded" });
        told.set_text("store", trouble.as_deref().unwrap_or("ok"));
        told.set("embedder", self.embedder.model().map_or("null".to_owned(), |model| quote(&model)));
        told.set("upstreams", crate::chat::array(&upstreams));
        told.set("pending", self.writer.pending().to_string());
        told.set_text("version", env!("CARGO_PKG_VERSION"));
        let status = if trouble.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        answer::json(status, told.to_json() + "\n")
    }
}
