//! Records, in SQLite.

use crate::record::{Record, ScopeSummary, StoredRecord, Tombstone, TombstoneState};
use crate::store::api::{Records, Removal, Visit};
use crate::store::damage::Damage;
use crate::store::error::Result;
use crate::store::forgetting::{NewTombstones, WriteRules};
use crate::store::identity::WriteOutcome;
use crate::store::select::{Select, Walk};
use crate::store::sqlite::collections::{KnownCollections, Within};
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::filter::{Filter, Source};
use crate::store::sqlite::links::link_writer;
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::record_columns::{self, COLUMNS, TABLES};
use crate::store::sqlite::snapshot::Snapshot;
use crate::store::sqlite::tombstones::{self, PartFilter};
use crate::store::sqlite::{erase, newest, removal, scope_summaries, walk, write};
use rusqlite::{Connection, OptionalExtension, params_from_iter};

impl Records for Sqlite {
    fn write(&mut self, batch: &[Record], rules: WriteRules) -> Result<Vec<WriteOutcome>> {
        self.durably(|store| {
            let written = write::write(&mut store.connection, &mut store.known_collections, batch, rules);
            let written = written.map_err(|e| store.rolled_back(e))?;
            erase::resume(&mut store.connection).map_err(|e| store.failed("write to", e))?;
            Ok(written)
        })
    }

    fn remove(&mut self, what: Removal, at: i64) -> Result<u64> {
        self.durably(|store| {
            let mut remove =
                |ids: &[&str], new: &NewTombstones| removal::remove(&mut store.connection, ids, new);
            let removed = match what {
                Removal::Records(ids, state) => remove(ids, &NewTombstones { state, at, duplicates: None }),
                Removal::Duplicates(ids) => {
                    let new = NewTombstones { state: TombstoneState::Removed, at, duplicates: Some(ids) };
                    remove(&ids.keys().copied().collect::<Vec<_>>(), &new)
                }
                Removal::Link(link) => link_writer::unlink(&mut store.connection, link, at).map(u64::from),
            };
            removed.map_err(|e| store.rolled_back(e))
        })
    }

    fn get(&mut self, ids: &[&str], which: &Select) -> Result<Vec<StoredRecord>> {
        get(&self.connection, ids, which).map_err(|e| self.failed("read", e))
    }

    fn last(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<StoredRecord>>> {
        last(&self.connection, self.records.as_deref(), which, count).map_err(|e| self.failed("read", e))
    }

    fn count(&mut self, which: &Select, most: usize) -> Result<usize> {
        count(&self.connection, which, most).map_err(|e| self.failed("read", e))
    }

    fn summarize(&mut self, which: &Select) -> Result<Vec<ScopeSummary>> {
        scope_summaries::summarize(&self.connection, which).map_err(|e| self.failed("read", e))
    }

    fn tombstones_of(&mut self, messages: &[&StoredRecord]) -> Result<Vec<Tombstone>> {
        tombstones::of_messages(&self.connection, messages).map_err(|e| self.failed("read", e))
    }

    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<Option<Damage>> {
        self.unmap().map_err(|e| self.failed("read", e))?;
        if what.recover {
            return self.visit_readable(what, visit);
        }
        walk::walk(&self.connection, what, visit).map_err(|stopped| self.stopped("read", stopped))?;
        Ok(None)
    }
}

impl Sqlite {
    /// The error of a transaction. Clears the cache, since its entries may have been rolled back.
    pub(crate) fn rolled_back(&mut self, cause: rusqlite::Error) -> crate::store::error::StoreError {
        self.known_collections = KnownCollections::default();
        self.failed("write to", cause)
    }
}

fn get(connection: &Connection, ids: &[&str], which: &Select) -> rusqlite::Result<Vec<StoredRecord>> {
    let mut filter = Filter::new(which);
    filter.within("record", &Within::resolve(connection, which)?);
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE 1{} AND record.id = ?", filter.sql);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for id in ids {
        let values = filter.values.iter().cloned().chain([(*id).to_owned().into()]);
        found.extend(statement.query_row(params_from_iter(values), record_columns::record).optional()?);
    }
    let mut parts = PartFilter::new();
    for record in &mut found {
        parts.apply(connection, record)?;
    }
    Ok(found)
}

fn last(
    connection: &Connection,
    kept: Option<&RecordCache>,
    which: &[Select],
    count: usize,
) -> rusqlite::Result<Vec<Vec<StoredRecord>>> {
    let snapshot = Snapshot::begin(connection)?;
    let (mut found, mut parts) = (Vec::new(), PartFilter::new());
    let is_bulk = which.len() > 1;
    // Selections of one scope often follow each other, as the traces of a conversation do.
    let mut resolved: Option<(&Select, Within)> = None;
    for which in which {
        if is_bulk && !has_trace(connection, which)? {
            found.push(Vec::new());
            continue;
        }
        let is_same = |before: &Select| before.kinds == which.kinds && before.scopes == which.scopes;
        if !resolved.as_ref().is_some_and(|(before, _)| is_same(before)) {
            resolved = Some((which, Within::resolve(connection, which)?));
        }
        let Some((_, within)) = &resolved else { continue };
        let known = match kept {
            Some(kept) => newest::last_kept(connection, kept, which, within, count)?,
            None => None,
        };
        let mut records = match known {
            Some(records) => records,
            None => newest::last(connection, &Source::records(which), within, count)?,
        };
        for record in &mut records {
            parts.apply(connection, record)?;
        }
        found.push(records);
    }
    snapshot.finish()?;
    Ok(found)
}

/// Whether a selection can have records, by its trace: most traces of a batch are new.
fn has_trace(connection: &Connection, which: &Select) -> rusqlite::Result<bool> {
    let Some(trace) = &which.trace_id else { return Ok(true) };
    let sql = "SELECT EXISTS (SELECT 1 FROM record WHERE trace_id = ?)";
    connection.prepare_cached(sql)?.query_row([trace], |row| row.get(0))
}

fn count(connection: &Connection, which: &Select, most: usize) -> rusqlite::Result<usize> {
    let snapshot = Snapshot::begin(connection)?;
    let within = Within::resolve(connection, which)?;
    let count = newest::count(connection, &Source::records(which), &within, Some(most))?;
    snapshot.finish()?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX).min(most))
}
