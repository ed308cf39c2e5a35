//! The audit, in SQLite.

use crate::record::AuditRow;
use crate::store::audit::{Audit, AuditSelection, VisitAuditRow};
use crate::store::error::Result;
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::{audit, wal};

impl Audit for Sqlite {
    fn append_audit(&mut self, rows: &[AuditRow], before: i64) -> Result<()> {
        self.durably(|store| {
            let mut append = || {
                let transaction = wal::begin_write(&mut store.connection)?;
                audit::append(&transaction, rows, before)?;
                transaction.commit()
            };
            append().map_err(|e| store.failed("write to", e))
        })
    }

    fn visit_audit(&mut self, which: &AuditSelection, visit: &mut VisitAuditRow) -> Result<()> {
        audit::each(&self.connection, which, visit).map_err(|stopped| self.stopped("read", stopped))
    }
}
