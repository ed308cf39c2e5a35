//! Records in a Neo4j graph, shared by any number of processes on any number of machines. Reservoir's graph is
//! extended, not changed: what rsv adds stands beside it.
//!
//! From the top down, a file uses only those of later lines: `retrieval` the store as a whole; `records`, `words`,
//! `vectors`, `links` and `state` a capability each; `around`, `compare`, `nearest` and `read` what these share to
//! read, `write` to write: it has `existing` read what is there of a batch, and `batch` work out what follows, with
//! `fulltext` and `rows`; `graph` the store that they all are about; `schema` what must be there before; `lock` the
//! writers' lock; `server` the connection, with `selection`, `changes`, `statements`, `values` and `error`.

mod around;
mod batch;
mod changes;
mod compare;
mod error;
mod existing;
mod fulltext;
mod graph;
mod links;
mod lock;
mod nearest;
mod read;
mod records;
mod retrieval;
mod rows;
mod schema;
mod selection;
mod server;
mod state;
mod statements;
mod values;
mod vectors;
mod words;
mod write;

use super::api::{OpenMode, Store};
use super::error::{ErrorKind, Result, StoreError};
use crate::config::StoreLocation;
use graph::Neo4j;
use server::Server;

/// The schemes of server addresses.
pub(super) const SCHEMES: [&str; 6] = ["bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"];

/// Opens the graph, and adds to it what is missing, however it is opened: every statement counts on the constraints
/// and indexes.
pub(super) fn open(place: &StoreLocation, _mode: OpenMode) -> Result<Box<dyn Store>> {
    if place.address.contains('@') {
        return Err(StoreError::new(
            ErrorKind::SecretInAddress,
            "",
            "cannot open the store: its address must not hold a user name or a password",
        ));
    }
    let server = Server::of(place).and_then(|server| server.reach().map(|()| server));
    let server = server.map_err(|error| error.at("open", place))?;
    schema::prepare(&server, place)?;
    Ok(Box::new(Neo4j::new(server, place)))
}
