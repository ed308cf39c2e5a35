//! The sums that records add to, kept in the transactions that write and remove the records.

use super::record_columns::{self, COLUMNS, TABLES};
use crate::record::{StoredRecord, kinds};
use crate::store::api::Tallies;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Adds the amounts of a record to their sums, `times` times: once for a new record, -1 times for a removed
/// one.
pub(super) fn add(connection: &Connection, record: &StoredRecord, times: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO tally (subject, counter, amount) VALUES (?, ?, ?)
               ON CONFLICT DO UPDATE SET amount = amount + excluded.amount";
    for tally in record.tallies() {
        let mut statement = connection.prepare_cached(sql)?;
        statement.execute((&tally.subject, tally.counter, times * tally.amount))?;
        if times < 0 {
            let sql = "DELETE FROM tally WHERE subject = ? AND counter = ? AND amount = 0";
            connection.prepare_cached(sql)?.execute((&tally.subject, tally.counter))?;
        }
    }
    Ok(())
}

/// The sums of some subjects. Fails if the file cannot be read.
pub(super) fn sums(connection: &Connection, subjects: &[&str]) -> rusqlite::Result<Tallies> {
    let mut statement = connection.prepare_cached("SELECT counter, amount FROM tally WHERE subject = ?")?;
    let mut found = Tallies::new();
    for subject in subjects {
        let counters = statement.query_map([subject], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let counters = counters.collect::<rusqlite::Result<BTreeMap<_, _>>>()?;
        if !counters.is_empty() {
            found.insert((*subject).to_owned(), counters);
        }
    }
    Ok(found)
}

/// Rebuilds all sums from the records; returns whether any differed. Fails if the file cannot be written.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<bool> {
    let mut sums = Sums::new();
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE collection.kind = ?");
    for kind in kinds().into_iter().filter(|kind| kind.subject.is_some()) {
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([kind.name])?;
        while let Some(row) = rows.next()? {
            for tally in record_columns::record(row)?.tallies() {
                *sums.entry((tally.subject, tally.counter.to_owned())).or_default() += tally.amount;
            }
        }
    }
    let differ = all(connection)? != sums;
    if differ {
        connection.execute("DELETE FROM tally", [])?;
        let mut statement =
            connection.prepare("INSERT INTO tally (subject, counter, amount) VALUES (?, ?, ?)")?;
        for ((subject, counter), amount) in &sums {
            statement.execute((subject, counter, amount))?;
        }
    }
    Ok(differ)
}

/// Amounts by subject and counter.
type Sums = BTreeMap<(String, String), i64>;

fn all(connection: &Connection) -> rusqlite::Result<Sums> {
    let mut statement = connection.prepare("SELECT subject, counter, amount FROM tally")?;
    statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?.collect()
}
