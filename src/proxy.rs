//! The tools chained behind HTTP: enrich, forward and ingest in one process, for clients of OpenAI's chat
//! completions and Responses, and of Anthropic's Messages. It decides nothing that a shell pipe would not do. It also
//! serves vectors, since it has a model in memory that a tool would have to load.
//!
//! Its parts, by level: each uses only those of lower levels. Four are wings of many files, and the public part
//! of one is in its file: `http` and `worker` use no other wing, `turn` uses both, and `backend` all three.

mod client_setup; // 0  setting the proxy's address in programs
mod config; // 0  settings, clock and diagnostics, which all share
mod stop_signals; // 0  the signals that end the proxy

mod http; // 1  connections, requests and responses
mod worker; // 1  the store, the embedder, and the work beside requests

mod command; // 2  the output of rsv-search and rsv-view
mod embeddings; // 2  vectors for clients
mod health; // 2  the state of the parts
mod run_command; // 2  a command as the proxy's client
mod turn; // 2  turns through memory

mod backend; // 3  sessions and documents of users

mod router; // 4  dispatches requests

mod connections; // 5  assigns connections to event loops

mod server; // 6  the parts put together

mod check; // 7  checks of the proxy's needs, with remedies

pub use client_setup::is_for_projects;
pub use http::{ConnectionLimits, LogFormat};
pub use run_command::{ClientCommand, is_served};
pub use server::Proxy;
pub use stop_signals::StopSignals;
