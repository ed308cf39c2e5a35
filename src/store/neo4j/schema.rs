//! What must be there before a store is used: constraints and indexes, each made once.

use super::changes;
use super::fault::Answer;
use super::server::Server;
use super::values::Params;
use super::write::lock;
use crate::error::{Error, Result};
use std::time::Duration;

/// The version of what rsv adds to a graph; a store tells which it has.
pub(super) const VERSION: i64 = 3;

/// The oldest server that has all that the statements ask for.
const SERVER: (u32, u32) = (5, 26);

/// How long that may take, in seconds.
const INDEXED: u64 = 300;

/// Looks whose graph it is, and makes what is missing. The inner error says why it cannot be used.
pub(super) fn prepare(server: &Server) -> Answer<Result<()>> {
    let Some(mark) = server.row(changes::MARK, Params::new())? else { return Ok(Ok(())) };
    let release: String = mark.get("server")?;
    if release_of(&release).is_some_and(|release| release < SERVER) {
        let (major, minor) = SERVER;
        let text = format!("the server is Neo4j {release}, which is too old");
        return Ok(Err(Error::new(text).hint(format!("use Neo4j {major}.{minor} or a later one"))));
    }
    match mark.get::<Option<i64>>("version")? {
        Some(VERSION) => return Ok(Ok(())),
        Some(newer) if newer > VERSION => {
            let text = format!("is of a newer rsv (version {newer}; this one knows {VERSION})");
            return Ok(Err(Error::new(text).hint("update rsv, or name another store with --store")));
        }
        _ => {}
    }
    for statement in changes::SCHEMA {
        server.make(statement, Params::new())?;
    }
    server.run(changes::AWAIT_INDEXES, Params::new().with("seconds", INDEXED as i64))?;
    server.write(|transaction| {
        lock(transaction.within(Duration::from_secs(INDEXED)), 0)?;
        for statement in changes::EARLIER {
            transaction.run(statement, Params::new())?;
        }
        transaction.run(changes::SET_VERSION, Params::new().with("version", VERSION))
    })?;
    Ok(Ok(()))
}

/// `5.26.0` as two numbers.
fn release_of(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
