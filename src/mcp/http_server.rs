//! The same over HTTP (the protocol's Streamable HTTP, without sessions): each request is answered on its
//! own, for the caller that sends it.

use super::call::Server;
use super::client_scope::{ClientScope, ScopeRule};
use super::handler::Handler;
use super::options::{DEFAULT_MAX_TOKENS, Options};
use crate::access::{Caller, Right};
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::record::{Clock, Reach, RequestScope};
use bytes::Bytes;
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::{Request, Response};
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
        request: Request<Full<Bytes>>,
        scope: RequestScope,
        caller: &Caller,
    ) -> Response<BoxBody<Bytes, Infallible>> {
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
        StreamableHttpService::new(handler, sessions, self.config.clone()).handle(request).await
    }

    /// The partitions that a call may name, by the settings.
    fn projects(&self) -> Vec<String> {
        let list = self.server.settings.text("mcp.projects").unwrap_or_default();
        // An invalid list names none: that confines each call to its own project.
        Options::projects(&list).unwrap_or_default()
    }
}
