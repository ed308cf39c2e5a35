//! The steps from the schema of one release to that of the next. A release only adds steps; tests/fixtures has a store of
//! each schema that was released, and a test opens every one.

use super::{schema, wal};
use rusqlite::Connection;

/// The version of the schema of rsv 0.1.0, the first that was released. Files of earlier ones are refused.
pub(super) const FIRST: i32 = 11;

/// A step to the next version, within a transaction.
type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// The first is that from `FIRST`; `m012_what_it_does` leads to version 12.
const MIGRATIONS: [Migration; 0] = [];

const _: () = assert!(FIRST + MIGRATIONS.len() as i32 == schema::VERSION);

/// Whether a file of a version can be opened, after a migration if it is an earlier one.
pub(super) fn is_supported(version: i32) -> bool {
    (FIRST..=schema::VERSION).contains(&version)
}

/// Brings a file to the version of this release, all at once; another process may have done so meanwhile.
pub(super) fn run(connection: &mut Connection) -> rusqlite::Result<()> {
    let version = |connection: &Connection| -> rusqlite::Result<i32> {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    if version(connection)? == schema::VERSION {
        return Ok(());
    }
    let transaction = wal::begin_write(connection)?;
    let done = usize::try_from(version(&transaction)? - FIRST).unwrap_or_default();
    for migrate in MIGRATIONS.iter().skip(done) {
        migrate(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", schema::VERSION)?;
    transaction.commit()
}
