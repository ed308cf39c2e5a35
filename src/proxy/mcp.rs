//! `POST /mcp`: what rsv-mcp offers, for clients that reach the memory over HTTP.

use super::config::ProxyConfig;
use super::http::HttpResponse;
use crate::access::Caller;
use crate::mcp::HttpServer;
use crate::record::RequestScope;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::http::request::Parts;
use std::sync::Arc;

/// Serves the Model Context Protocol.
pub(super) struct McpApi(HttpServer);

impl McpApi {
    /// Serves from the store of the proxy.
    pub(super) fn new(config: &Arc<ProxyConfig>) -> McpApi {
        let ProxyConfig { settings, clock, diagnostics, .. } = &**config;
        McpApi(HttpServer::new(settings.clone(), *clock, diagnostics.clone()))
    }

    /// Answers a request, whose body was read, in a scope.
    pub(super) async fn answer(
        &self,
        head: &Parts,
        body: Bytes,
        scope: RequestScope,
        caller: &Caller,
    ) -> HttpResponse {
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        let response = self.0.answer(request, scope, caller).await;
        response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
    }
}
