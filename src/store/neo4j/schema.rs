//! The constraints and indexes that must exist before a store is used; each is made once.

use super::changes::{self, MIGRATIONS, OLDEST, VERSION};
use super::error::{DbError, DbResult};
use super::lock::lock;
use super::selection::with_kinds;
use super::server::Server;
use super::values::Params;
use crate::config::StoreLocation;
use crate::record::{RecordKind, digest_number, kinds};
use crate::store::error::{ErrorKind, Result, StoreError};
use std::time::Duration;

/// The oldest server that supports all statements, and the hint for an older one.
const OLDEST_SERVER: (u32, u32) = (5, 26);
const USE_NEWER_SERVER: &str = "use Neo4j 5.26 or a later one";

/// The time that making indexes may take, in seconds.
const INDEXING_TIMEOUT: u64 = 300;

/// The number of records that get their digests in one transaction.
const DIGESTS_AT_ONCE: i64 = 10_000;

/// A graph that is ready for use.
#[derive(Default)]
pub(super) struct Prepared {
    /// Whether it was of an earlier version.
    pub(super) is_migrated: bool,
    /// Whether there may be records with words of an earlier version.
    pub(super) is_outdated: bool,
}

/// Checks the owner of the graph, and makes missing constraints and indexes for every kind that this process
/// knows. Fails if the server is too old, has a graph of another version, or refuses.
pub(super) fn prepare(server: &Server, place: &StoreLocation) -> Result<Prepared> {
    let refused = |kind: ErrorKind, cause: String| {
        Err(StoreError::new(kind, format!("cannot open store {}", place.address), cause))
    };
    let failed = |error: DbError| error.at("open", place);
    let Some(store) = server.row(changes::STORE, Params::new()).map_err(failed)? else {
        return Ok(Prepared::default());
    };
    let release: String = store.get("server").map_err(failed)?;
    if release_of(&release).is_some_and(|release| release < OLDEST_SERVER) {
        let cause = format!("the server is Neo4j {release}, which is too old");
        return refused(ErrorKind::ServerTooOld { needed: USE_NEWER_SERVER }, cause);
    }
    let version: Option<i64> = store.get("version").map_err(failed)?;
    if let Some(other) = version.filter(|version| !(OLDEST..=VERSION).contains(version)) {
        return refused(ErrorKind::OtherVersion, changes::other_version(other));
    }
    if let Some(version) = version.filter(|version| *version != VERSION) {
        make_indexes(server, &kinds()).and_then(|()| migrate(server, version)).map_err(failed)?;
    }
    let prepared: Vec<String> = store.get("kinds").map_err(failed)?;
    make_missing(server, version.is_none(), &prepared).map_err(failed)?;
    let is_migrated = version.is_some_and(|version| version != VERSION);
    let is_outdated = is_migrated || store.get("is_outdated").map_err(failed)?;
    Ok(Prepared { is_migrated, is_outdated })
}

/// Brings a graph to the version of this release, all at once but for the digests, which earlier releases
/// pass over.
fn migrate(server: &Server, version: i64) -> DbResult<()> {
    let done = usize::try_from(version - OLDEST).unwrap_or_default(); // `prepare` refuses older ones.
    if done <= changes::WITHOUT_DIGESTS {
        set_digests(server)?;
    }
    server.write(|transaction| {
        lock(transaction.within(Duration::from_secs(INDEXING_TIMEOUT)), 0)?;
        for statement in MIGRATIONS.iter().skip(done).copied().flatten() {
            transaction.run(statement, Params::new())?;
        }
        transaction.run(changes::SET_VERSION, with_kinds(Params::new(), &[]).with("version", VERSION))
    })
}

/// Gives all records the digests of their ids, some at a time: one transaction would hold all of them in
/// memory.
fn set_digests(server: &Server) -> DbResult<()> {
    let mut after = String::new();
    loop {
        let params = Params::new().with("after", after.as_str()).with("count", DIGESTS_AT_ONCE);
        let rows = server.rows(changes::IDS_AFTER, params)?;
        let ids: Vec<String> = rows.iter().map(|row| row.get("id")).collect::<DbResult<_>>()?;
        let Some(last) = ids.last() else { return Ok(()) };
        after.clone_from(last);
        server.write(|transaction| {
            lock(transaction.within(Duration::from_secs(INDEXING_TIMEOUT)), 0)?;
            let row = |id: &String| Params::new().with("id", id.as_str()).with("digest", digest_number(id));
            transaction.run(changes::SET_DIGESTS, Params::new().with_rows("rows", ids.iter().map(row)))
        })?;
    }
}

/// Makes the constraints and indexes that are missing, those of some kinds among them.
fn make_indexes(server: &Server, kinds: &[&RecordKind]) -> DbResult<()> {
    let of_kinds = kinds.iter().flat_map(|kind| changes::indexes_of(kind));
    for statement in changes::SCHEMA.into_iter().map(str::to_owned).chain(of_kinds) {
        server.make(&statement, Params::new())?;
    }
    server.run(changes::AWAIT_INDEXES, Params::new().with("seconds", INDEXING_TIMEOUT as i64))
}

/// Makes the constraints of a new store, and the indexes of kinds that have none yet.
fn make_missing(server: &Server, is_new: bool, prepared: &[String]) -> DbResult<()> {
    let mut missing = kinds();
    missing.retain(|kind| is_new || !prepared.iter().any(|name| name == kind.name));
    if missing.is_empty() {
        return Ok(());
    }
    make_indexes(server, &missing)?;
    server.write(|transaction| {
        lock(transaction.within(Duration::from_secs(INDEXING_TIMEOUT)), 0)?;
        let params = with_kinds(Params::new(), &missing).with("version", VERSION);
        transaction.run(changes::SET_VERSION, params)
    })
}

/// Makes all constraints and indexes that are missing.
pub(super) fn make_all(server: &Server) -> DbResult<()> {
    make_missing(server, true, &[])
}

/// `5.26.0` as two numbers.
fn release_of(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
