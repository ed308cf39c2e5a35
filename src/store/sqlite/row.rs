//! Converts rows of the tables into links, and their values.

use crate::error::Error;
use crate::record::{Link, Object, RecordKind, Role, invalid, kind_named};
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, Type, ValueRef};

/// The columns of a link, after its relation and the ids of its ends.
pub(super) const LINK: &str = "link.timestamp, link.score, link.model, link.extra";

/// Reads a link from a row of a relation, two ids and `LINK`. Fails if a column has another type.
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

/// Reads a column with members as JSON, or null. Fails if it is other JSON.
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

impl FromSql for Role {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Role> {
        value.as_str()?.parse().map_err(|e: Error| FromSqlError::Other(Box::new(e)))
    }
}

impl FromSql for &'static RecordKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<&'static RecordKind> {
        let name = value.as_str()?;
        let unknown = || FromSqlError::other(invalid("kind", format!("{name} is not known")));
        kind_named(name).ok_or_else(unknown)
    }
}
