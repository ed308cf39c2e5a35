//! The first settings, by what is there: histories of other programs, clients, models.
//!
//! `find.rs` looks, and changes nothing; `questions.rs` asks; `plan.rs` checks the answers, whether they were
//! asked for or given as flags; then `apply.rs` does all that was chosen. `client.rs` has the clients of the
//! Model Context Protocol, `client_file.rs` changes their settings, `model_name.rs` checks the name of a
//! model, `watch_service.rs` starts the watch, and `past.rs` finds something that the user asked long ago.

mod apply;
mod client;
mod client_file;
mod error;
mod find;
mod model_name;
mod past;
mod plan;
mod questions;
mod rename;
mod watch_service;

pub use apply::apply;
pub use client::NAMES as CLIENTS;
pub use find::{Found, has_client_without_entry, has_histories};
pub use plan::{Answers, Choice, Fetch, Plan};
pub use questions::ask;
pub use rename::rename;

use crate::cli::{Io, Outcome};
use crate::config;
use crate::error::Result;

/// Sets up what is there, by the answers that are given as flags; with `yes` by the defaults of the others,
/// and without any by the answers to questions. With `force` a model in the settings file is overwritten.
pub fn begin(given: Answers, yes: bool, force: bool, io: &mut Io) -> Result<Outcome> {
    // Reads no more than it must before the last answer: the project's partition would be written down.
    let settings = config::load_to_write(&io.common)?;
    config::note_unknown(&settings, io);
    let found = Found::look(&settings)?;
    let mut answers = if yes {
        given.or_defaults(&found, &settings)
    } else if given == Answers::default() {
        ask(&found, &settings, force, io)?
    } else {
        given.or_redaction(&settings)
    };
    answers.force |= force;
    apply(Plan::new(answers, found, &settings, &io.common)?, io)?;
    Ok(Outcome::Yes)
}
