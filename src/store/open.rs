//! Opening a store by its address.

use super::api::{OpenMode, Store};
use super::error::{ErrorKind, Result, StoreError, StoreFault};
#[cfg(feature = "neo4j")]
use super::neo4j::open as open_at_server;
use super::sqlite;
use crate::cli::{Io, quoted};
use crate::config::{Settings, StoreLocation};
use crate::error::Error;
use crate::record::{self, Clock, Scope};

/// The schemes of the addresses of database servers.
const SERVER_SCHEMES: [&str; 6] = ["bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"];

/// The number of unreadable messages that are named.
const MAX_NAMED: usize = 10;

/// The scopes of a store if they can be read at once: makes nothing, waits for nothing and queries no server.
pub fn peek_scopes(place: &StoreLocation) -> Vec<Scope> {
    match place.address.split_once(':') {
        Some(("sqlite", path)) => sqlite::peek_scopes(path.as_ref()),
        _ => Vec::new(),
    }
}

/// The titles of the instances of a partition, under the same condition.
pub fn peek_titles(place: &StoreLocation, partition: &str) -> Vec<(Scope, String)> {
    match place.address.split_once(':') {
        Some(("sqlite", path)) => sqlite::peek_titles(path.as_ref(), partition),
        _ => Vec::new(),
    }
}

/// Opens a store for a tool that only reads. Prints a note if the store that a flag names is missing, since
/// nothing else would show a misspelt name; also for unreadable messages, and if others can read the store:
/// only a tool that writes takes their rights. Fails if the store cannot be opened.
pub fn open_to_read(settings: &Settings, io: &Io) -> crate::error::Result<Box<dyn Store>> {
    let place = settings.store()?;
    let mut store = open(&place, OpenMode::Existing)?;
    print_notes(&mut *store, &place, io)?;
    Ok(store)
}

/// As `open_to_read`, but a damaged store is opened too: to read what can be read of it. With `recover` every
/// store is opened so, and its indexes are not used. Fails if it cannot be opened even so.
pub fn open_readable(settings: &Settings, io: &Io, recover: bool) -> crate::error::Result<Box<dyn Store>> {
    let place = settings.store()?;
    let mode = if recover { OpenMode::Recover } else { OpenMode::Existing };
    let store = match open(&place, mode) {
        Err(error) if matches!(error.kind, ErrorKind::Corrupt) => open(&place, OpenMode::Recover),
        opened => opened,
    };
    let mut store = store?;
    print_notes(&mut *store, &place, io)?;
    Ok(store)
}

fn print_notes(store: &mut dyn Store, place: &StoreLocation, io: &Io) -> crate::error::Result<()> {
    for error in unreadable(store)? {
        io.note(error);
    }
    if io.common.store.is_some() && place.path().is_some_and(|path| !path.exists()) {
        io.note(format_args!("there is no store at {}", place.address));
    }
    if let Some(path) = place.path().filter(|path| sqlite::is_open_to_others(path)) {
        let (shown, quoted) = (path.display(), quoted(path));
        io.note(format_args!("others can read or change {shown}; run: chmod go= {quoted}"));
    }
    Ok(())
}

/// The fact that names a store.
const STORE_ID: &str = "store_id";

/// The random id of a store, which gets one if it has none. Fails if the store cannot be read or written.
pub fn id(store: &mut dyn Store) -> crate::error::Result<String> {
    if let Some(id) = store.fact(STORE_ID)? {
        return Ok(id);
    }
    let id = record::id::fresh(&Clock::default(), "store")?;
    store.set_fact(STORE_ID, Some(&id))?;
    // Another process may have set one at the same time: that in the store is the store's.
    Ok(store.fact(STORE_ID)?.unwrap_or(id))
}

/// The messages of another program in the same database that cannot be read: an error for each of the first,
/// and one for the number of the others.
pub fn unreadable(store: &mut dyn Store) -> crate::error::Result<Vec<Error>> {
    let (mut errors, count) = store.unreadable(MAX_NAMED)?;
    let others = count - errors.len();
    if others > 0 {
        errors.push(StoreFault::Unreadable { others }.into());
    }
    Ok(errors)
}

/// Opens a store: a file (`sqlite:PATH`) or a Neo4j server. An error names the address, the cause and a
/// remedy.
pub fn open(place: &StoreLocation, mode: OpenMode) -> Result<Box<dyn Store>> {
    let address = &place.address;
    match address.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() => sqlite::open(path.as_ref(), mode),
        Some((scheme, _)) if SERVER_SCHEMES.contains(&scheme) && mode == OpenMode::Recover => {
            Err(StoreError::invalid(format!(
                "cannot recover {address}: a database server recovers its own files"
            )))
        }
        Some((scheme, _)) if SERVER_SCHEMES.contains(&scheme) => open_at_server(place, mode),
        _ => {
            let attempt = format!("cannot open store {address}");
            Err(StoreError::new(ErrorKind::NotAnAddress, attempt, "not an address"))
        }
    }
}

/// A build without the feature `neo4j` opens files only.
#[cfg(not(feature = "neo4j"))]
fn open_at_server(place: &StoreLocation, _mode: OpenMode) -> Result<Box<dyn Store>> {
    let attempt = format!("cannot open store {}", place.address);
    Err(StoreError::new(ErrorKind::Other, attempt, "this build of rsv is without Neo4j"))
}
