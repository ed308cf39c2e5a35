//! The rows of the audit, in the order of their times, so that those of a time are together and the oldest
//! are removed without a search.

use super::error::Stopped;
use crate::record::{AuditAction, AuditRow, Scope, TouchedRecords};
use crate::store::audit::{AuditSelection, MAX_EXPIRED, VisitAuditRow};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, Type, ValueRef};
use rusqlite::{Connection, Error, Row, params};

/// The columns of a row.
const ROW: &str =
    "timestamp, id, token, address, action, route, partition, instance, status, trace_id, count, records";

/// Adds rows, and removes some of before a time; must be called within a transaction.
pub(super) fn append(connection: &Connection, rows: &[AuditRow], before: i64) -> rusqlite::Result<()> {
    let sql = format!("INSERT OR IGNORE INTO audit ({ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let mut insert = connection.prepare_cached(&sql)?;
    for row in rows {
        insert.execute(params![
            row.timestamp,
            row.id,
            row.token,
            row.address,
            row.action.name(),
            row.route,
            row.scope.partition,
            row.scope.instance,
            row.status,
            row.trace_id,
            i64::try_from(row.records.count).unwrap_or(i64::MAX),
            serde_json::json!(row.records.ids).to_string(),
        ])?;
    }
    let sql = "DELETE FROM audit WHERE (timestamp, id) IN
                 (SELECT timestamp, id FROM audit WHERE timestamp < ? ORDER BY timestamp, id LIMIT ?)";
    connection.prepare_cached(sql)?.execute(params![before, MAX_EXPIRED as i64]).map(drop)
}

/// Visits the rows of a selection. Fails if `visit` does, or the file cannot be read.
pub(super) fn each(
    connection: &Connection,
    which: &AuditSelection,
    visit: &mut VisitAuditRow,
) -> Result<(), Stopped> {
    let sql = format!(
        "SELECT {ROW} FROM audit WHERE timestamp BETWEEN ?1 AND ?2 AND (?3 IS NULL OR token = ?3)
           AND (?4 IS NULL OR partition = ?4) AND (?5 IS NULL OR action = ?5) ORDER BY timestamp, id"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        which.since.unwrap_or(i64::MIN),
        which.until.unwrap_or(i64::MAX),
        which.token,
        which.partition,
        which.action.map(AuditAction::name),
    ])?;
    while let Some(row) = rows.next()? {
        visit(audit_row(row)?).map_err(Stopped::Visitor)?;
    }
    Ok(())
}

fn audit_row(row: &Row) -> rusqlite::Result<AuditRow> {
    let ids: String = row.get(11)?;
    let ids = serde_json::from_str(&ids);
    let ids = ids.map_err(|error| Error::FromSqlConversionFailure(11, Type::Text, Box::new(error)))?;
    Ok(AuditRow {
        timestamp: row.get(0)?,
        id: row.get(1)?,
        token: row.get(2)?,
        address: row.get(3)?,
        action: row.get(4)?,
        route: row.get(5)?,
        scope: Scope { partition: row.get(6)?, instance: row.get(7)? },
        status: row.get(8)?,
        trace_id: row.get(9)?,
        records: TouchedRecords { count: row.get::<_, i64>(10)?.unsigned_abs(), ids },
    })
}

impl FromSql for AuditAction {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<AuditAction> {
        value.as_str()?.parse().map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}
