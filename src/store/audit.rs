//! The audit of a store: rows that say which token of a server read or changed what. They are no records: no
//! export, search or walk has them, and nothing that is forgotten takes them with it.

use super::error::Result;
use crate::record::{AuditAction, AuditRow};

/// The most rows that one append removes, so that it takes no longer than a moment.
pub const MAX_EXPIRED: usize = 2000;

/// The rows to read; a field that is `None` admits all.
#[derive(Clone, Debug, Default)]
pub struct AuditSelection {
    /// The name of a token; the owner's is empty.
    pub token: Option<String>,
    pub partition: Option<String>,
    pub action: Option<AuditAction>,
    /// The first and the last time, in milliseconds since 1970, UTC.
    pub since: Option<i64>,
    pub until: Option<i64>,
}

/// The function that is called for each row.
pub type VisitAuditRow<'a> = dyn FnMut(AuditRow) -> crate::error::Result<()> + 'a;

/// Writing and reading the audit.
pub trait Audit {
    /// Appends rows, and removes the oldest rows of before a time, no more than [`MAX_EXPIRED`]. A row that
    /// is there already stays as it is.
    fn append_audit(&mut self, rows: &[AuditRow], before: i64) -> Result<()>;

    /// Visits the rows of a selection by time, the newest last. Ends with the visitor's error, if it returns
    /// one.
    fn visit_audit(&mut self, which: &AuditSelection, visit: &mut VisitAuditRow) -> Result<()>;
}
