//! Writes and removes links. The tables enforce that a question has one answer and an answer one question.

use super::synapse;
use crate::record::{Link, SYNAPSE, Tombstone};
use crate::store::forgetting::Received;
use crate::store::sqlite::record_columns;
use crate::store::sqlite::row::{self, LINK, as_json};
use crate::store::sqlite::{changes, erase, tombstones, wal};
use crate::store::write_plan::AddedLink;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Writes the links of a transaction. It remembers the numbers of the records that the transaction has
/// written or asked for, and that of the last change: look-ups and a count for each link would cost as much
/// as its row.
pub(crate) struct LinkWriter<'a> {
    connection: &'a Connection,
    /// The numbers of records by id.
    records: FxHashMap<String, i64>,
    /// The number of the last change of a link; none before it is needed.
    last_change: Option<i64>,
    /// Whether there was one since.
    has_written: bool,
    /// The record from which the last synapse leads.
    last_synapse: Option<i64>,
}

impl<'a> LinkWriter<'a> {
    pub(crate) fn new(connection: &'a Connection) -> LinkWriter<'a> {
        let records = FxHashMap::default();
        LinkWriter { connection, records, last_change: None, has_written: false, last_synapse: None }
    }

    /// Notes the number of a record that was written.
    pub(crate) fn track(&mut self, id: &str, n: i64) {
        self.records.insert(id.to_owned(), n);
    }

    /// Adds a link, unless an end is missing or another stands in its way.
    pub(crate) fn add(&mut self, link: &Link) -> rusqlite::Result<AddedLink> {
        let Some(source) = self.number(&link.from)? else { return Ok(AddedLink::NoSource) };
        let Some(target) = self.number(&link.to)? else { return Ok(AddedLink::NoTarget) };
        let sql = "INSERT INTO link (source, rel, target, timestamp, score, model, extra, change)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let change = self.last_change()? + 1;
        let extra = as_json(&link.extra);
        let timestamp = link.timestamp.unwrap_or_default(); // Ingestion gives each link a time.
        let row = params![source, link.rel, target, timestamp, link.score, link.model, extra, change];
        if self.connection.prepare_cached(sql)?.execute(row)? == 0 {
            let sql = "SELECT EXISTS (SELECT 1 FROM link WHERE source = ? AND rel = ? AND target = ?)";
            let ends = params![source, link.rel, target];
            let same = self.connection.prepare_cached(sql)?.query_row(ends, |row| row.get(0))?;
            return Ok(if same { AddedLink::Same } else { AddedLink::SecondAnswer });
        }
        (self.last_change, self.has_written) = (Some(change), true);
        if link.rel == SYNAPSE && self.last_synapse != Some(source) {
            self.last_synapse = Some(source);
            synapse::note_foreign(self.connection, source)?;
        }
        Ok(AddedLink::New)
    }

    /// Keeps the number of the last change; must be called before the transaction ends.
    pub(crate) fn flush(self) -> rusqlite::Result<()> {
        match self.last_change {
            Some(last) if self.has_written => changes::set_last_link(self.connection, last),
            _ => Ok(()),
        }
    }

    /// The number of the record that has an id.
    fn number(&mut self, id: &str) -> rusqlite::Result<Option<i64>> {
        if let Some(n) = self.records.get(id) {
            return Ok(Some(*n));
        }
        let sql = "SELECT n FROM record WHERE id = ?";
        let n = self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        if let Some(n) = n {
            self.track(id, n);
        }
        Ok(n)
    }

    fn last_change(&mut self) -> rusqlite::Result<i64> {
        let last = self.last_change.map_or_else(|| changes::last_link(self.connection), Ok)?;
        self.last_change = Some(last);
        Ok(last)
    }
}

/// Removes a link and writes its tombstone; returns whether there was one.
pub(crate) fn unlink(connection: &mut Connection, link: &Link, at: i64) -> rusqlite::Result<bool> {
    let transaction = wal::begin_write(connection)?;
    let Some((_, from)) = record_columns::by_id(&transaction, &link.from)? else { return Ok(false) };
    if !delete_link(&transaction, &link.rel, &link.from, &link.to)? {
        return Ok(false);
    }
    let before = tombstones::get(&transaction, &link.digest())?;
    tombstones::put(&transaction, &Tombstone::of_link(link, from.scope, at, before.as_ref()))?;
    erase::clear_leftovers(&transaction)?;
    transaction.commit().map(|()| true)
}

fn delete_link(connection: &Connection, rel: &str, from: &str, to: &str) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM link WHERE rel = ? AND source = (SELECT n FROM record WHERE id = ?)
               AND target = (SELECT n FROM record WHERE id = ?)";
    Ok(connection.prepare_cached(sql)?.execute([rel, from, to])? == 1)
}

/// Removes the links that new tombstones are of. Fails if the file cannot be written.
pub(crate) fn remove_links(connection: &Connection, received: &mut Received) -> rusqlite::Result<()> {
    let digests: BTreeSet<String> =
        received.newer.iter().filter(|one| one.is_of_link()).map(|one| one.of.clone()).collect();
    if digests.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT link.rel, source.id, target.id, {LINK} FROM link JOIN record AS source ON source.n = link.source \
         JOIN record AS target ON target.n = link.target WHERE link.rel <> ?"
    );
    let links: Vec<Link> =
        connection.prepare_cached(&sql)?.query_map([SYNAPSE], row::link)?.collect::<rusqlite::Result<_>>()?;
    for link in links {
        let digest = link.digest();
        if digests.contains(&digest) && delete_link(connection, &link.rel, &link.from, &link.to)? {
            received.count_removed(&digest);
        }
    }
    Ok(())
}
