//! Tombstones, and the records that they keep out or take away.

use super::collections;
use super::error::Stopped;
use super::facts;
use super::record_columns::{self, COLUMNS, TABLES};
use super::row::{self, as_json};
use crate::record::{
    RecordDigests, RecordKind, Scope, StoredRecord, Tombstone, TombstoneState, URI, invalid,
};
use crate::store::forgetting::{Received, Targets, TombstoneLookup};
use crate::store::rename::{self, SoughtFingerprint, former_fact};
use crate::store::select::{Collection, Select, end_of_prefix};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::{BTreeSet, HashSet};

/// The columns that make a tombstone.
const TOMBSTONE: &str = "of, also, what, partition, instance, state, timestamp, extra";

fn tombstone(row: &Row) -> rusqlite::Result<Tombstone> {
    Ok(Tombstone {
        of: row.get(0)?,
        also: row.get(1)?,
        what: row.get(2)?,
        scope: Scope { partition: row.get(3)?, instance: row.get(4)? },
        state: row.get(5)?,
        timestamp: row.get(6)?,
        extra: row::object(row, 7)?,
    })
}

impl FromSql for TombstoneState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<TombstoneState> {
        let name = value.as_str()?;
        let unknown = || FromSqlError::other(invalid("state", format!("{name} is not known")));
        TombstoneState::named(name).ok_or_else(unknown)
    }
}

/// Whether there is any tombstone.
pub(super) fn are_there(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tombstone)";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// The tombstone of a digest. Fails if the file cannot be read.
pub(super) fn get(connection: &Connection, of: &str) -> rusqlite::Result<Option<Tombstone>> {
    let sql = format!("SELECT {TOMBSTONE} FROM tombstone WHERE of = ?");
    connection.prepare_cached(&sql)?.query_row([of], tombstone).optional()
}

/// Those of messages with the fingerprint of one of some, under any name of its partition.
pub(super) fn of_messages(
    connection: &Connection,
    messages: &[&StoredRecord],
) -> rusqlite::Result<Vec<Tombstone>> {
    let mut found = Vec::new();
    if !connection.prepare_cached("SELECT 1 FROM tombstone LIMIT 1")?.exists([])? {
        return Ok(found);
    }
    let sql = format!("SELECT {TOMBSTONE} FROM tombstone WHERE fingerprint = ?");
    let mut statement = connection.prepare_cached(&sql)?;
    for sought in SoughtFingerprint::of(messages, |partition| connection.former_names(partition))? {
        for one in statement.query_map([&sought.digest], tombstone)? {
            found.extend(sought.found(one?));
        }
    }
    Ok(found)
}

/// Those of a partition.
pub(super) fn of_partition(connection: &Connection, partition: &str) -> rusqlite::Result<Vec<Tombstone>> {
    let sql = format!("SELECT {TOMBSTONE} FROM tombstone WHERE partition = ? ORDER BY change");
    connection.prepare(&sql)?.query_map([partition], tombstone)?.collect()
}

/// Writes a tombstone, or replaces an earlier one. Fails if the file cannot be written.
pub(super) fn put(connection: &Connection, tombstone: &Tombstone) -> rusqlite::Result<()> {
    let sql = format!("INSERT OR REPLACE INTO tombstone ({TOMBSTONE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    let row = params![
        tombstone.of,
        tombstone.also,
        tombstone.what,
        tombstone.scope.partition,
        tombstone.scope.instance,
        tombstone.state.name(),
        tombstone.timestamp,
        as_json(&tombstone.extra),
    ];
    connection.prepare_cached(&sql)?.execute(row).map(drop)
}

/// Visits the tombstones of a selection's scopes and times with numbers after one, by time and digest; its
/// other conditions are ignored. Fails if `visit` does, or the file cannot be read.
pub(super) fn each(
    connection: &Connection,
    which: &Select,
    after: Option<i64>,
    visit: &mut dyn FnMut(Tombstone) -> crate::error::Result<()>,
) -> Result<(), Stopped> {
    let sql = format!(
        "SELECT {TOMBSTONE} FROM tombstone WHERE timestamp BETWEEN ? AND ? AND change > ? ORDER BY timestamp, of"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let times = [which.since.unwrap_or(i64::MIN), which.until.unwrap_or(i64::MAX)];
    let mut rows = statement.query([times[0], times[1], after.unwrap_or_default()])?;
    while let Some(row) = rows.next()? {
        let one = tombstone(row)?;
        if which.scopes.contains(&one.scope) && one.duplicate_of().is_none() {
            visit(one).map_err(Stopped::Visitor)?;
        }
    }
    Ok(())
}

impl TombstoneLookup for Connection {
    type Error = rusqlite::Error;

    fn of(&self, digest: &str) -> rusqlite::Result<Option<Tombstone>> {
        get(self, digest)
    }

    fn naming(&self, digests: &RecordDigests) -> rusqlite::Result<Vec<Tombstone>> {
        let sql = format!("SELECT {TOMBSTONE} FROM tombstone WHERE of = ?1 OR also = ?2 OR folded = ?3");
        let params = params![digests.identity, digests.natural, digests.folded];
        self.prepare_cached(&sql)?.query_map(params, tombstone)?.collect()
    }

    fn former_names(&self, partition: &str) -> rusqlite::Result<Vec<String>> {
        let fact = facts::get(self, &former_fact(partition))?;
        Ok(fact.map(|fact| rename::names(&fact)).unwrap_or_default())
    }
}

/// Whether no document lies below a directory.
pub(super) fn is_empty(connection: &Connection, directory: &StoredRecord) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM record JOIN collection ON collection.n = record.collection
               WHERE record.key > ? AND record.key < ? AND collection.kind = ? AND collection.partition = ?)";
    let below = format!("{}/", directory.member_text(URI));
    let params = params![below, end_of_prefix(&below), directory.kind.name, directory.scope.partition];
    connection.prepare_cached(sql)?.query_row(params, |row| row.get(0))
}

/// Removes from records the parts that name forgotten records.
pub(super) struct PartFilter(Option<HashSet<String>>);

impl PartFilter {
    pub(super) fn new() -> PartFilter {
        PartFilter(None)
    }

    /// Removes the parts of forgotten records; the tombstones are read when the first record needs them.
    pub(super) fn apply(
        &mut self,
        connection: &Connection,
        record: &mut StoredRecord,
    ) -> rusqlite::Result<()> {
        if record.kind.part_lists.is_empty() {
            return Ok(());
        }
        let forgotten = match &self.0 {
            Some(forgotten) => forgotten,
            None => self.0.insert(forgotten(connection)?),
        };
        if !forgotten.is_empty() {
            record.drop_parts(|digest| forgotten.contains(digest));
        }
        Ok(())
    }
}

fn forgotten(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let sql = "SELECT of FROM tombstone WHERE state = 'forgotten'";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Writes the tombstones of a batch that are newer than the stored ones, and finds the ids of their records.
pub(super) fn receive<'a>(
    connection: &Connection,
    batch: impl Iterator<Item = &'a Tombstone>,
) -> rusqlite::Result<(Received, BTreeSet<String>)> {
    let mut received = Received::compare(batch, |of| get(connection, of))?;
    for one in &received.newer {
        put(connection, one)?;
    }
    rename::note_former(&received.newer, &mut &*connection)?;
    let (mut ids, mut removed) = (BTreeSet::new(), Vec::new());
    for (kind, first, targets) in Targets::by_collection(&received.newer) {
        for (id, of) in matches(connection, kind, &first.scope, &targets)? {
            ids.insert(id);
            removed.push(of);
        }
    }
    for of in removed {
        received.count_removed(&of);
    }
    Ok((received, ids))
}

/// The ids of the records that tombstones are of, each with the digest of its tombstone.
fn matches(
    connection: &Connection,
    kind: &'static RecordKind,
    scope: &Scope,
    targets: &Targets,
) -> rusqlite::Result<Vec<(String, String)>> {
    let of = Collection { kind, scope: scope.clone() };
    let Some(collection) = collections::number(connection, &of)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    if targets.need_content(kind) {
        let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE record.collection = ?");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([collection])?;
        while let Some(row) = rows.next()? {
            let record = record_columns::record(row)?;
            if let Some(tombstone) = targets.of_record(&record) {
                found.push((record.id, tombstone.of.clone()));
            }
        }
        return Ok(found);
    }
    let mut statement = connection.prepare_cached("SELECT id, timestamp FROM record WHERE collection = ?")?;
    let mut rows = statement.query([collection])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        if let Some(tombstone) = targets.of_id(kind, &id, row.get(1)?) {
            found.push((id, tombstone.of.clone()));
        }
    }
    Ok(found)
}
