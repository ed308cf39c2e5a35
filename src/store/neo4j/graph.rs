//! A store on a server: its connections, and the cached numbers of its models.

use super::error::{DbError, DbResult};
use super::server::Server;
use crate::config::StoreLocation;
use crate::store::error::Result;
use crate::text::Languages;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::thread;
use std::time::Instant;

/// A store on a server.
pub(super) struct Neo4j {
    pub(super) server: Server,
    pub(super) place: StoreLocation,
    /// The numbers of models, as they were last read.
    pub(super) model_numbers: HashMap<String, i64>,
    /// Whether there were irregular messages when it was opened.
    pub(super) has_irregular: bool,
    /// Whether there may be records with words of an earlier version (`reindex.rs`).
    pub(super) is_outdated: bool,
    /// The languages of its texts, and when they were read.
    pub(super) languages: Option<(Languages, Instant)>,
}

impl Neo4j {
    pub(super) fn new(server: Server, place: &StoreLocation, has_irregular: bool, is_outdated: bool) -> Self {
        let (place, model_numbers) = (place.clone(), HashMap::new());
        Neo4j { server, place, model_numbers, has_irregular, is_outdated, languages: None }
    }

    /// The result, with the error of a failed `attempt` (`read`, `write to`) as an error of the store.
    pub(super) fn or_error<T>(&self, attempt: &str, result: DbResult<T>) -> Result<T> {
        result.map_err(|error: DbError| error.at(attempt, &self.place))
    }
}

/// Runs two functions in parallel; one after the other if no thread can be started.
pub(super) fn in_parallel<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, &one);
        let second = other();
        let first = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => one(),
        };
        (first, second)
    })
}
