//! The Model Context Protocol on standard input and output: tools, resources and prompts over the store.
//!
//! A transport and nothing more: each tool calls what a tool of the command line calls. Every answer stays in
//! the scope of the client (`client_scope.rs`) and within a number of tokens, and stored text is in a fence
//! (`answer.rs`). A message that is refused is answered too (`message.rs`). The store is opened for each call, on a thread of its own (`call.rs`), and the embedding
//! model is loaded for the first call that needs it. `http_server.rs` serves the same over HTTP, and
//! `audited.rs` says what a request there does.

mod answer;
mod arguments;
mod audited;
mod batch;
mod call;
mod client_scope;
mod consolidate;
mod context;
mod error;
mod forgetting;
mod handler;
mod http_server;
mod memories;
mod message;
mod options;
mod prompts;
mod recall;
mod resources;
mod tool_table;
mod transport;

pub use audited::AuditedCall;
pub use http_server::HttpServer;
pub use options::{DEFAULT_MAX_TOKENS, Options};

use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::{Context, Result};
use crate::record::Clock;
use client_scope::ScopeRule;
use error::McpError;
use handler::Handler;
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::stdio_pipes;
use std::io::ErrorKind;
use std::sync::Arc;
use transport::LineTransport;

/// Serves one client on standard input and output until the input ends. Errors if the client does not speak
/// the protocol, or the output cannot be written.
pub fn serve(settings: Settings, options: Options, clock: Clock, diagnostics: Diagnostics) -> Result<()> {
    let max_line = settings.max_line();
    let scope = ScopeRule::new(&options)?;
    let server = call::Server::new(settings, options, clock, diagnostics.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start")?;
    let ended = runtime.block_on(async {
        let (input, output) = stdio_pipes();
        let transport = LineTransport::new(input, output, max_line, diagnostics);
        match serve_server(Handler::new(Arc::new(server), scope), transport).await {
            Ok(service) => service.waiting().await.map(drop).context("the server broke off"),
            Err(error) => refused(error),
        }
    });
    // A thread that waits for input, or reads the store for a call that was given up, ends with the process.
    runtime.shutdown_background();
    ended
}

/// Why no session began; an input or an output that was closed is no error.
fn refused(error: ServerInitializeError) -> Result<()> {
    match error {
        ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled => Ok(()),
        ServerInitializeError::TransportError { error, .. } => {
            match error.error.downcast::<std::io::Error>() {
                Ok(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(()),
                Ok(cause) => Err(cause).context("cannot write to standard output"),
                Err(cause) => Err(cause).context("cannot answer the client"),
            }
        }
        ServerInitializeError::InitializeFailed(error) => {
            Err(McpError::NoSession { why: error.message.into_owned() }.into())
        }
        _ => Err(McpError::NotMcp.into()),
    }
}
