//! A turn of a conversation through memory, in the APIs of OpenAI, Anthropic and Ollama.
//!
//! `pipeline.rs` has its steps: enrich the request (`chat_request.rs`), forward it, have the answer stored; a
//! retry is the same turn (`retry_dedup.rs`), at another proxy too (`stored_attempts.rs`), and a session may
//! lose its beginning (`histories.rs`). `chat_completions.rs` and `ollama.rs` (in the formats of
//! `ollama_format.rs`) answer the requests of clients, whole or as a stream (`streamed.rs`, `tee.rs`), in the
//! mode of `memory_mode.rs`, and say by `memory_headers.rs` what memory did; `passthrough.rs` relays what
//! memory has no part in. Uses the wings `http` and `worker`.

mod chat_completions;
mod chat_request;
mod histories;
mod memory_headers;
mod memory_mode;
mod metered;
mod ollama;
mod ollama_format;
mod passthrough;
mod pipeline;
mod recall_job;
mod retry_dedup;
mod stored_attempts;
mod streamed;
mod tee;

pub(super) use chat_completions::ChatApi;
pub(super) use chat_request::{ChatRequest, Requester, recall_override};
pub(super) use memory_mode::MemoryMode;
pub(super) use ollama::{OllamaApi, OllamaRequest};
pub(super) use ollama_format::OllamaMethod;
pub(super) use passthrough::Passthrough;
pub(super) use pipeline::{ActiveTurn, TurnPipeline};
pub(super) use stored_attempts::RetryHeaders;
