//! The tools chained behind HTTP: enrich, forward and ingest in one process, for clients of OpenAI's chat
//! completions and Responses, and of Anthropic's Messages. It decides nothing that a shell pipe would not do.
//! It also serves vectors, since it has a model in memory that a tool would have to load.
//!
//! A panic ends its request and no other: so a lock that a panicking thread held is taken all the same, here
//! and in all that the proxy calls (`PoisonError::into_inner`). A value in a lock must be valid between any
//! two changes of it.
//!
//! Its parts, by level: each uses only those of lower levels. Five are wings of many files, and the public
//! part of one is in its file: `http` and `worker` use no other wing, `turn` and `pages` use both, and
//! `backend` uses all four.

mod client_setup; // 0  setting the proxy's address in programs
mod error; // 0  the faults of the proxy as a whole
mod lock; // 0  locks, which a panic does not poison
mod metrics; // 0  what is counted and timed
mod stop_signals; // 0  the signals that end the proxy
mod visibility; // 0  what a caller may see of the state

mod config; // 1  settings, clock, diagnostics and metrics, which all share

mod http; // 2  connections, requests and responses
mod worker; // 2  the store, the embedder, and the work beside requests

mod command; // 3  the output of rsv-search and rsv-view
mod embeddings; // 3  vectors for clients
mod mcp; // 3  the Model Context Protocol for clients elsewhere
mod pages; // 3  pages by which people look at the memory
mod run_command; // 3  a command as the proxy's client
mod state; // 3  the state of the parts
mod turn; // 3  turns through memory

mod backend; // 4  sessions and documents of users
mod exposition; // 4  the state and the metrics in Prometheus' text
mod health; // 4  the state in JSON

mod router; // 5  dispatches requests

mod connections; // 6  assigns connections to event loops

mod server; // 7  the parts put together

mod check; // 8  checks of the proxy's needs, with remedies

pub use client_setup::is_for_projects;
pub use http::{ConnectionLimits, LogFormat};
pub use run_command::{ClientCommand, is_served};
pub use server::Proxy;
pub use stop_signals::StopSignals;
