//! The audit of rsv-proxy.

use crate::cli::{Io, Outcome};
use crate::config::Settings;
use crate::error::Result;
use crate::store::{self, AuditSelection};
use crate::view;

/// Prints rows of the audit, the newest last: as a table for people, as JSON lines for programs.
pub fn audit(which: &AuditSelection, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut store = store::open_to_read(settings, io)?;
    if !io.stdout_is_tty() {
        store.visit_audit(which, &mut |row| io.out.object(&row.to_object()))?;
        return Ok(Outcome::Yes);
    }
    let mut rows = Vec::new();
    store.visit_audit(which, &mut |mut row| {
        // A row has no more of them for people than their number.
        row.records.ids = Vec::new();
        rows.push(row);
        Ok(())
    })?;
    io.out.write(view::audit(&rows, &io.layout()).as_bytes())?;
    Ok(Outcome::Yes)
}
