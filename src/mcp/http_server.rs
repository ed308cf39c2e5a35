//! The same over HTTP (the protocol's Streamable HTTP, without sessions): each request is answered on its
//! own, for the caller that sends it.

use super::call::Server;
use super::client_scope::{ClientScope, ScopeRule};
use super::error::McpError;
use super::handler::Handler;
use super::message::{self, Refusal};
use super::options::{DEFAULT_MAX_TOKENS, Options};
use crate::access::{Caller, Right};
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::record::{Clock, Reach, RequestScope};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::sync::Arc;

/// Serves clients over HTTP.
pub struct HttpServer {
    server: Server,
    config: StreamableHttpServerConfig,
}

impl HttpServer {
    /// Serves from the store of the settings.
    pub fn new(settings: Settings, clock: Clock, diagnostics: Diagnostics) -> HttpServer {
        // Hosts, origins and bodies were checked before.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(settings.max_line());
        HttpServer { server: Server::new(settings, Options::default(), clock, diagnostics), config }
    }

    /// Answers a request in a scope, within the rights of its caller.
    pub async fn answer(
        &self,
        request: Request<Bytes>,
        scope: RequestScope,
        caller: &Caller,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        if request.method() == Method::POST
            && let Err(refusal) = check(request.body())
        {
            // Only a request whose parameters are at fault is a message that was understood.
            let is_read = refusal.code == ErrorCode::INVALID_PARAMS;
            let status = if is_read { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            let mut response = Response::new(refusal.to_json());
            *response.status_mut() = status;
            return as_json(response);
        }
        let RequestScope { scope, reach } = scope;
        let instance = Some(scope.instance).filter(|_| reach == Reach::Instance);
        let partition = Some(scope.partition);
        let projects = if caller.sees_all() {
            self.projects()
        } else {
            caller.named_partitions().map(str::to_owned).collect()
        };
        let options = Options {
            partition: partition.clone(),
            instance: instance.clone(),
            by_root: false,
            max_tokens: DEFAULT_MAX_TOKENS,
            reads: caller.has(Right::Read),
            adds: caller.has(Right::Write),
            allow_forget: caller.has(Right::Forget),
            projects: projects.clone(),
        };
        let server = Arc::new(self.server.with_options(options));
        let rule = ScopeRule::Fixed(ClientScope { partition, instance, projects });
        let handler = move || Ok(Handler::new(server.clone(), rule.clone()));
        let sessions = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(handler, sessions, self.config.clone());
        let body = request.body().clone();
        let response = service.handle(request.map(Full::new)).await;
        if response.status().is_success() || response.headers().contains_key(CONTENT_TYPE) {
            return response;
        }
        let (head, text) = response.into_parts();
        let Ok(text) = text.collect().await;
        let text = String::from_utf8_lossy(&text.to_bytes()).into_owned();
        as_json(Response::from_parts(head, Refusal::invalid(&body, McpError::Http { text }).to_json()))
    }

    /// The partitions that a call may name, by the settings.
    fn projects(&self) -> Vec<String> {
        let list = self.server.settings.text("mcp.projects").unwrap_or_default();
        // An invalid list names none: that confines each call to its own project.
        Options::projects(&list).unwrap_or_default()
    }
}

/// Errors unless a body is one message.
fn check(body: &[u8]) -> Result<(), Refusal> {
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(Refusal::invalid(body, McpError::Batch));
    }
    match message::read(body)? {
        Some(_) => Ok(()),
        None => Err(Refusal::invalid(body, McpError::NotAMessage)),
    }
}

fn as_json(response: Response<String>) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = response.map(|json| Full::new(Bytes::from(json)).boxed());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
