//! The audit, in a graph.

use super::changes;
use super::error::{DbError, DbResult};
use super::graph::Neo4j;
use super::lock::lock;
use super::statements;
use super::values::{Params, Row, or_null, unexpected};
use crate::record::{AuditAction, AuditRow, TouchedRecords};
use crate::store::audit::{Audit, AuditSelection, MAX_EXPIRED, VisitAuditRow};
use crate::store::error::Result;

impl Audit for Neo4j {
    /// Takes the writers' lock, which a graph of a later release refuses.
    fn append_audit(&mut self, rows: &[AuditRow], before: i64) -> Result<()> {
        let rows: Vec<Params> = rows.iter().map(to_params).collect();
        let most = Params::new().with("before", before).with("most", MAX_EXPIRED as i64);
        let done = self.server.write(|transaction| {
            lock(transaction, 0)?;
            let added = Params::new().with_rows("rows", rows.iter().cloned());
            transaction.run(changes::ADD_AUDIT_ROWS, added)?;
            transaction.run(changes::EXPIRE_AUDIT_ROWS, most.clone())
        });
        self.or_error("write to", done)
    }

    fn visit_audit(&mut self, which: &AuditSelection, visit: &mut VisitAuditRow) -> Result<()> {
        let params = Params::new()
            .with("since", which.since.unwrap_or(i64::MIN))
            .with("until", which.until.unwrap_or(i64::MAX))
            .with("token", or_null(which.token.as_deref()))
            .with("partition", or_null(which.partition.as_deref()))
            .with("action", or_null(which.action.map(AuditAction::name)));
        let visited = self.server.each(statements::AUDIT_ROWS, params, &mut |row| {
            visit(audit_row(&row)?).map_err(DbError::Visitor)
        });
        self.or_error("read", visited)
    }
}

fn to_params(row: &AuditRow) -> Params {
    Params::new()
        .with("id", row.id.as_str())
        .with("timestamp", row.timestamp)
        .with("token", row.token.as_str())
        .with("address", or_null(row.address.as_deref()))
        .with("action", row.action.name())
        .with("route", row.route.as_str())
        .with("partition", row.scope.partition.as_str())
        .with("instance", row.scope.instance.as_str())
        .with("status", i64::from(row.status))
        .with("trace_id", or_null(row.trace_id.as_deref()))
        .with("count", i64::try_from(row.records.count).unwrap_or(i64::MAX))
        .with_texts("records", row.records.ids.iter().map(String::as_str))
}

fn audit_row(row: &Row) -> DbResult<AuditRow> {
    let action: AuditAction = row.get::<String>("action")?.parse().map_err(unexpected)?;
    let status = row.get::<i64>("status")?;
    Ok(AuditRow {
        id: row.get("id")?,
        timestamp: row.get("timestamp")?,
        token: row.get("token")?,
        address: row.get("address")?,
        action,
        route: row.get("route")?,
        scope: row.scope()?,
        status: u16::try_from(status).map_err(|_| DbError::Unexpected(format!("status: {status}")))?,
        trace_id: row.get("trace_id")?,
        records: TouchedRecords { ids: row.get("records")?, count: row.count("count")? },
    })
}
