//! A conversation with a model that has a memory: one question, or a prompt.
//!
//! A turn is asked as the pipe of rsv-enrich, rsv-forward and rsv-ingest asks it. The turns before it in the
//! conversation (`conversation.rs`) go into its request.

mod answer;
mod asker;
mod conversation;
mod forget;
mod history;
mod prompt;
mod request;
mod sources;

pub use asker::Asker;
pub use prompt::prompt;
