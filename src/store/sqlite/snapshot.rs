//! A transaction that reads one state of the file. Its statements are cached: a turn begins ten of them.

use rusqlite::Connection;

/// A read transaction, which ends when it is dropped.
pub(super) struct Snapshot<'a>(&'a Connection);

impl Snapshot<'_> {
    /// Begins one; errors within another transaction.
    pub(super) fn begin(connection: &Connection) -> rusqlite::Result<Snapshot<'_>> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        Ok(Snapshot(connection))
    }

    /// Ends it.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        self.end()
    }

    fn end(&self) -> rusqlite::Result<()> {
        if !self.0.is_autocommit() {
            self.0.prepare_cached("ROLLBACK")?.execute([])?;
        }
        Ok(())
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let _ = self.end(); // A failure of the file is the error of the read before, or of the next one.
    }
}
