//! Visits everything in a selection, in order.

use super::collections::Within;
use super::error::Stopped;
use super::filter::Filter;
use super::record_columns::{self, COLUMNS};
use super::record_row::numbers;
use super::row::{self, LINK};
use super::tombstones::{self, PartFilter};
use crate::record::{Embedding, Record, Vector};
use crate::store::api::Visit;
use crate::store::changes::Mark;
use crate::store::select::{Select, Walk};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

/// The join that reads the table before it first, regardless of the planner's estimate of its size.
const READ_FIRST: &str = "CROSS JOIN";

/// The end of a walk.
type Walked = Result<(), Stopped>;

/// Visits everything, from one snapshot. Fails if `visit` does, or the file cannot be read.
pub(super) fn walk(connection: &Connection, what: &Walk, visit: &mut Visit) -> Walked {
    let snapshot = connection.unchecked_transaction()?;
    walk_snapshot(connection, what, visit)?;
    Ok(snapshot.finish()?)
}

/// Visits everything within a transaction. Fails if `visit` does, or the file cannot be read.
pub(super) fn walk_snapshot(connection: &Connection, what: &Walk, visit: &mut Visit) -> Walked {
    let filter = filter_of(connection, &what.which)?;
    if what.tombstones {
        let after = what.changed_since.map(|numbers| numbers.tombstones);
        tombstones::each(connection, &what.which, after, &mut |one| visit(Record::Tombstone(one)))?;
    }
    let (about, others): (Vec<_>, Vec<_>) =
        what.which.kinds.iter().copied().partition(|kind| kind.subject.is_some());
    for kinds in [others, about].into_iter().filter(|kinds| !kinds.is_empty()) {
        let what = Walk { which: Select { kinds, ..what.which.clone() }, ..what.clone() };
        walk_records(connection, &what, filter_of(connection, &what.which)?, visit)?;
    }
    if what.embeddings {
        walk_embeddings(connection, what, filter.clone(), visit)?;
    }
    if what.links {
        walk_links(connection, what, filter, visit)?;
    }
    Ok(())
}

/// The filter of a selection of records.
fn filter_of(connection: &Connection, which: &Select) -> rusqlite::Result<Filter> {
    let mut filter = Filter::new(which);
    filter.within("record", &Within::resolve(connection, which)?);
    Ok(filter)
}

fn walk_records(connection: &Connection, what: &Walk, mut filter: Filter, visit: &mut Visit) -> Walked {
    let main = if what.vectors { main_model(connection)? } else { None };
    let vector = match &main {
        Some((n, _)) => format!("(SELECT vector FROM embedding WHERE record = record.n AND model = {n})"),
        None => "NULL".to_owned(),
    };
    let (index, traces) = match what.traces_since {
        Some(mark) if is_whole(connection, mark)? => (
            "INDEXED BY record_trace",
            format!(" AND record.trace_id IN (SELECT trace_id FROM record WHERE n > {})", mark.last),
        ),
        // The rows after a number are found by it.
        _ if what.changed_since.is_some() => ("NOT INDEXED", String::new()),
        _ => ("", String::new()),
    };
    if let Some(numbers) = what.changed_since {
        filter.add("record.n > ?", numbers.records);
    }
    let columns = if what.texts { COLUMNS.into() } else { COLUMNS.replace("record.text", "''") };
    let sql = format!(
        "SELECT {columns}, {vector} FROM record {index} JOIN collection ON collection.n = record.collection \
         WHERE 1{}{traces} ORDER BY record.timestamp, record.seq, record.id",
        filter.sql
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(filter.values))?;
    let mut parts = PartFilter::new();
    while let Some(row) = rows.next()? {
        let mut record = record_columns::record(row)?;
        parts.apply(connection, &mut record)?;
        if let (Some((_, model)), ValueRef::Blob(bytes)) = (&main, row.get_ref(record_columns::AFTER)?) {
            record.vector = Some(Vector { model: model.clone(), numbers: numbers(bytes) });
        }
        visit(Record::Stored(record)).map_err(Stopped::Visitor)?;
    }
    Ok(())
}

/// Whether no record of a mark was removed.
fn is_whole(connection: &Connection, mark: Mark) -> rusqlite::Result<bool> {
    let sql = "SELECT (SELECT count(*) FROM record) - (SELECT count(*) FROM record WHERE n > ?)";
    let count: i64 = connection.query_row(sql, [mark.last], |row| row.get(0))?;
    Ok(count.unsigned_abs() == mark.count)
}

/// The number and name of the model with the most vectors.
fn main_model(connection: &Connection) -> rusqlite::Result<Option<(i64, String)>> {
    let sql = "SELECT n, name FROM model ORDER BY vectors DESC, name LIMIT 1";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

fn walk_embeddings(connection: &Connection, what: &Walk, mut filter: Filter, visit: &mut Visit) -> Walked {
    let mut join = "JOIN";
    if let Some(numbers) = what.changed_since {
        filter.add("embedding.change > ?", numbers.embeddings);
        join = READ_FIRST;
    }
    let sql = format!(
        "SELECT record.id, model.name, embedding.vector, embedding.extra FROM embedding \
         {join} record ON record.n = embedding.record JOIN model ON model.n = embedding.model \
         WHERE 1{} ORDER BY record.id, model.name",
        filter.sql
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(filter.values))?;
    while let Some(row) = rows.next()? {
        let vector = numbers(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?);
        let extra = row::object(row, 3)?;
        let embedding = Embedding { of: row.get(0)?, model: row.get(1)?, vector, extra };
        visit(Record::Embedding(embedding)).map_err(Stopped::Visitor)?;
    }
    Ok(())
}

fn walk_links(connection: &Connection, what: &Walk, mut filter: Filter, visit: &mut Visit) -> Walked {
    filter.and_for("other");
    let (mut index, mut join) = ("", "JOIN");
    if let Some(numbers) = what.changed_since {
        filter.add("link.change > ?", numbers.links);
        (index, join) = ("INDEXED BY link_change", READ_FIRST);
    }
    let sql = format!(
        "SELECT link.rel, record.id, other.id, {LINK} FROM link {index} {join} record ON record.n = link.source \
         {join} record AS other ON other.n = link.target WHERE 1{} ORDER BY record.id, link.rel, other.id",
        filter.sql
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(filter.values))?;
    while let Some(row) = rows.next()? {
        visit(Record::Link(row::link(row)?)).map_err(Stopped::Visitor)?;
    }
    Ok(())
}
