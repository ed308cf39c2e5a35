//! The first settings, by what is there: histories of other programs, clients, models.
//!
//! `find.rs` looks, and changes nothing; `questions.rs` asks; `plan.rs` checks the answers, whether they were asked for or
//! given as flags; then `apply.rs` does all that was chosen. `client.rs` has the clients of the Model Context Protocol,
//! `client_file.rs` changes their settings, `model_name.rs` checks the name of a model, `watch_service.rs` starts the
//! watch, and `past.rs` finds something that the user asked long ago.

mod apply;
mod client;
mod client_file;
mod error;
mod find;
mod model_name;
mod past;
mod plan;
mod questions;
mod watch_service;

pub use apply::apply;
pub use client::NAMES as CLIENTS;
pub use find::{Found, has_client_without_entry, has_histories};
pub use plan::{Answers, Choice, Fetch, Plan};
pub use questions::ask;
