//! The tools chained behind HTTP: enrich, forward and ingest in one process, for clients of OpenAI's chat
//! completions. It decides nothing that a shell pipe would not do. It also serves vectors, since it has a model in
//! memory that a tool would have to load.

mod backfill;
mod blocking_pool;
mod chat_completions;
mod chat_request;
mod check;
mod client_stream;
mod clock_watch;
mod command;
mod connections;
mod degraded;
mod descriptors;
mod document_jobs;
mod documents;
mod embedder;
mod embeddings;
mod foreground;
mod guard;
mod health;
mod http_date;
mod http_errors;
mod memory_headers;
mod memory_mode;
mod models;
mod ollama;
mod ollama_format;
mod passthrough;
mod proxy_config;
mod relay_headers;
mod request_body;
mod request_log;
mod response;
mod retry_dedup;
mod route;
mod router;
mod run_command;
mod server;
mod spool;
mod stop_signals;
mod store_pool;
mod store_queue;
mod streamed_turn;
mod tee;
mod turn_pipeline;
mod upload;
mod upstream;
mod user_scope;

pub use descriptors::ConnectionLimits;
pub use request_log::LogFormat;
pub use run_command::{ClientCommand, is_served};
pub use server::Proxy;
pub use stop_signals::StopSignals;
