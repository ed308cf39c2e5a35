//! Records in a Neo4j graph, shared by any number of processes on any number of machines. Reservoir's graph
//! is extended, not changed: rsv adds its own nodes, labels and properties to it (`neo4j/GRAPH.md`).
//!
//! A file uses only files that are named after it here. `retrieval`, `records`, `vectors`, `links`, `state`
//! and `audit` implement a trait each. `around`, `compare`, `nearest`, `words` and `read` hold the shared
//! reads, and `unadopted` reads messages of other programs. `rename` moves records, as `write` writes a
//! batch: `removal` and `existing` read the records that exist, and `batch`, with `fulltext`, `tombstones`
//! and `rows`, applies the changes to them. `reindex` brings words up to date, `message_vectors` the vectors
//! that messages hold. `graph` defines the store; `schema` makes constraints and indexes; `lock` takes the
//! writers' lock; `server` holds the connections, with `selection`, `changes`, `statements`, `record_node`,
//! `values` and `error`.
//!
//! A function fails "if the server does": it cannot be reached, refuses a statement, or is late.

mod around;
mod audit;
mod batch;
mod batch_changes;
mod changes;
mod compare;
mod error;
mod existing;
mod fulltext;
mod graph;
mod links;
mod lock;
mod message_vectors;
mod nearest;
mod read;
mod record_node;
mod records;
mod reindex;
mod removal;
mod rename;
mod repair;
mod retrieval;
mod rows;
mod schema;
mod selection;
mod server;
mod state;
mod statements;
mod tallies;
mod tombstones;
mod unadopted;
mod values;
mod vectors;
mod words;
mod write;

use super::api::{OpenMode, Store};
use super::error::{ErrorKind, Result, StoreError};
use super::outdated::report_outdated;
use crate::config::StoreLocation;
use graph::Neo4j;
use server::Server;

/// Opens the graph, and makes missing constraints and indexes in every mode, since every statement relies on
/// them. Fails if the address holds a secret, or the server cannot be reached, is too old, or has a graph of
/// another version.
pub(super) fn open(place: &StoreLocation, _mode: OpenMode) -> Result<Box<dyn Store>> {
    if place.address.contains('@') {
        let cause = "cannot open the store: its address must not hold a user name or a password";
        return Err(StoreError::new(ErrorKind::SecretInAddress, "", cause));
    }
    let server = Server::for_location(place).and_then(|server| server.reach().map(|()| server));
    let server = server.map_err(|error| error.at("open", place))?;
    let prepared = schema::prepare(&server, place)?;
    let has_irregular = unadopted::has_irregular(&server).map_err(|error| error.at("open", place))?;
    let store = Neo4j::new(server, place, has_irregular, prepared.is_outdated);
    if prepared.is_migrated {
        report_outdated(store.count_outdated().map_err(|error| error.at("open", place))?);
    }
    Ok(Box::new(store))
}
