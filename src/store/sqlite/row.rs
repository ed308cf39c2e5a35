//! Converts rows of the tables into records and links.

use crate::error::Error;
use crate::record::{Link, Object, Role, Scope, StoredRecord, kind_named};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, Type, ValueRef};
use rusqlite::{OptionalExtension, Row};

/// The columns of a record, in the order in which `record` reads them.
pub(super) const COLUMNS: &str = "collection.kind, record.id, record.trace_id, collection.partition,
    collection.instance, record.role, record.text, record.timestamp, record.seq, record.members";
/// The index of the timestamp among them, before seq; and the index of the first column after them.
pub(super) const TIME: usize = 7;
pub(super) const AFTER: usize = 10;
/// The tables of the columns.
pub(super) const TABLES: &str = "record JOIN collection ON collection.n = record.collection";
/// The columns of a link, after its relation and the ids of its ends.
pub(super) const LINK: &str = "link.timestamp, link.score, link.model, link.extra";

/// Reads a record from a row of `COLUMNS`.
pub(super) fn record(row: &Row) -> rusqlite::Result<StoredRecord> {
    let name = row.get_ref(0)?.as_str()?;
    let kind = kind_named(name).ok_or_else(|| {
        let unknown = Error::new(format!("kind: {name} is not known"));
        rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(unknown))
    })?;
    Ok(StoredRecord {
        kind,
        id: row.get(1)?,
        trace_id: row.get(2)?,
        scope: Scope { partition: row.get(3)?, instance: row.get(4)? },
        role: row.get(5)?,
        text: row.get(6)?,
        timestamp: row.get(TIME)?,
        seq: row.get(TIME + 1)?,
        members: object(row, 9)?,
        vector: None,
    })
}

/// Reads a link from a row of a relation, two ids and `LINK`.
pub(super) fn link(row: &Row) -> rusqlite::Result<Link> {
    Ok(Link {
        rel: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        timestamp: row.get(3)?,
        score: row.get(4)?,
        model: row.get(5)?,
        extra: object(row, 6)?,
    })
}

/// Reads a column with members as JSON, or null.
pub(super) fn object(row: &Row, column: usize) -> rusqlite::Result<Object> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(Object::default()),
        json => Object::parse(json.as_str()?)
            .map_err(|e| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(e))),
    }
}

/// The members without a column as JSON, if there are any.
pub(super) fn as_json(extra: &Object) -> Option<String> {
    (!extra.is_empty()).then(|| extra.to_json())
}

/// The record with an id, and its number.
pub(super) fn by_id(
    connection: &rusqlite::Connection,
    id: &str,
) -> rusqlite::Result<Option<(i64, StoredRecord)>> {
    let sql = format!("SELECT {COLUMNS}, record.n FROM {TABLES} WHERE record.id = ?");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row([id], |row| Ok((row.get(AFTER)?, record(row)?))).optional()
}

/// The record that has a number.
pub(super) fn nth(connection: &rusqlite::Connection, n: i64) -> rusqlite::Result<Option<StoredRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE record.n = ?");
    connection.prepare_cached(&sql)?.query_row([n], record).optional()
}

impl FromSql for Role {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Role> {
        value.as_str()?.parse().map_err(|e: Error| FromSqlError::Other(Box::new(e)))
    }
}
