//! The steps from the schema of a release to that of a later one. Steps are only added; tests/fixtures has a
//! store of each schema since the first that is opened, and a test opens every one.

use super::record_columns::{self, AFTER, COLUMNS, TABLES};
use super::wal;
use crate::record::StoredRecord;
use rusqlite::{Connection, Row};
use sha2::{Digest, Sha256};

/// A step to the next version, within a transaction. It must not depend on what later steps change.
type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// Rebuilds the word index; returns the number of its records.
type IndexWords = fn(&Connection) -> rusqlite::Result<i64>;

/// The oldest version that is migrated. Files of earlier ones are refused.
pub(super) const OLDEST: i32 = 10;

/// The first is that from `OLDEST`.
const MIGRATIONS: &[Migration] =
    &[m011_pools, m012_folded, m013_digests, m014_fingerprints, m015_folding, m016_actions, m017_audit];

/// The `user_version` of a file that has the tables of this release.
pub(super) const VERSION: i32 = OLDEST + MIGRATIONS.len() as i32;

/// The number of steps, the first ones, after which the word index is rebuilt.
const REINDEXED: usize = 1;

/// Collections lie in pools, and know their newest record. The columns are in the order of a new file.
fn m011_pools(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE collection_11 (
           n INTEGER PRIMARY KEY, kind TEXT NOT NULL, partition TEXT NOT NULL, instance TEXT NOT NULL,
           pool INTEGER REFERENCES collection, newest INTEGER NOT NULL DEFAULT 0,
           indexed_up_to INTEGER NOT NULL DEFAULT 0, unindexed INTEGER NOT NULL DEFAULT 0,
           UNIQUE (partition, instance, kind)
         ) STRICT;
         INSERT INTO collection_11 (n, kind, partition, instance) SELECT n, kind, partition, instance FROM collection;
         DROP TABLE collection;
         ALTER TABLE collection_11 RENAME TO collection;",
    )
}

/// Tombstones are found by the words of their records in any form.
fn m012_folded(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE tombstone ADD COLUMN folded TEXT AS (extra ->> '$.folded') VIRTUAL;
         CREATE INDEX tombstone_folded ON tombstone (folded) WHERE folded IS NOT NULL;",
    )
}

/// Records are found by the digests of their ids, and an instance may have a title, a kind of records that
/// earlier releases do not know.
fn m013_digests(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE id_digest (
           digest INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (digest, record)
         ) STRICT, WITHOUT ROWID;",
    )?;
    // The index of the ids has all of them, so that no record is read.
    let mut records = connection.prepare("SELECT id, n FROM record ORDER BY id")?;
    let digest_and_number = |row: &Row| {
        let digest: [u8; 32] = Sha256::digest(row.get_ref(0)?.as_bytes()?).into();
        Ok((digest.first_chunk().copied().map(i64::from_be_bytes), row.get::<_, i64>(1)?))
    };
    let mut digests: Vec<_> = records.query_map([], digest_and_number)?.collect::<rusqlite::Result<_>>()?;
    // In their order each is added at the end.
    digests.sort_unstable();
    let mut insert = connection.prepare("INSERT INTO id_digest (digest, record) VALUES (?, ?)")?;
    digests.into_iter().try_for_each(|digest| insert.execute(digest).map(drop))
}

/// Messages, and the tombstones of messages, are found by what they say.
fn m014_fingerprints(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE record ADD COLUMN fingerprint INTEGER;
         ALTER TABLE tombstone ADD COLUMN fingerprint TEXT AS (extra ->> '$.fingerprint') VIRTUAL;
         CREATE INDEX tombstone_fingerprint ON tombstone (fingerprint) WHERE fingerprint IS NOT NULL;",
    )?;
    let sql =
        format!("SELECT {COLUMNS}, record.n FROM {TABLES} WHERE record.n > ? ORDER BY record.n LIMIT 1000");
    let mut some = connection.prepare(&sql)?;
    let mut set = connection.prepare("UPDATE record SET fingerprint = ? WHERE n = ?")?;
    let mut last = 0;
    loop {
        let rows = some.query_map([last], |row| Ok((row.get(AFTER)?, record_columns::record(row)?)))?;
        let records = rows.collect::<rusqlite::Result<Vec<(i64, StoredRecord)>>>()?;
        let Some((n, _)) = records.last() else { break };
        last = *n;
        for (n, record) in records {
            if let Some(fingerprint) = record.fingerprint() {
                set.execute([fingerprint.key(), n])?;
            }
        }
    }
    connection.execute_batch(
        "CREATE INDEX record_fingerprint ON record (fingerprint) WHERE fingerprint IS NOT NULL;",
    )
}

/// Segments know by which folding they have their words: those that are there by the first. They are brought
/// to the present one afterwards, some documents at a time. A program of an earlier release that still runs
/// adds none: it is to be started again.
fn m015_folding(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE segment ADD COLUMN folding INTEGER NOT NULL DEFAULT 1;
         ALTER TABLE segment ADD COLUMN refolded INTEGER NOT NULL DEFAULT 0;
         CREATE TRIGGER segment_folding BEFORE INSERT ON segment WHEN NEW.folding < 2 BEGIN
           SELECT RAISE(ABORT, 'another version of rsv has updated the store; start this program again');
         END;
         INSERT OR REPLACE INTO fact (name, value) SELECT 'refold_from', '0' WHERE EXISTS (SELECT 1 FROM segment);",
    )
}

/// The store may have actions, a kind of records that earlier releases do not know.
fn m016_actions(_: &Connection) -> rusqlite::Result<()> {
    Ok(())
}

/// The store may have an audit, which an earlier release would not know.
fn m017_audit(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE audit (
           timestamp INTEGER NOT NULL, id TEXT NOT NULL, token TEXT NOT NULL, address TEXT, action TEXT NOT NULL,
           route TEXT NOT NULL, partition TEXT NOT NULL, instance TEXT NOT NULL, status INTEGER NOT NULL,
           trace_id TEXT, count INTEGER NOT NULL, records TEXT NOT NULL, PRIMARY KEY (timestamp, id)
         ) STRICT, WITHOUT ROWID;",
    )
}

/// Brings a file to the version of this release, all at once; another process may have done so meanwhile.
/// Returns whether it had another one. Fails if a step does; the file stays as it was then.
pub(super) fn run(connection: &mut Connection, index_words: IndexWords) -> rusqlite::Result<bool> {
    if version(connection)? == VERSION {
        return Ok(false);
    }
    // A table that others refer to can be replaced then. This is not possible within a transaction.
    connection.pragma_update(None, "foreign_keys", false)?;
    let migrated = migrate(connection, index_words);
    connection.pragma_update(None, "foreign_keys", true)?;
    migrated.map(|()| true)
}

fn migrate(connection: &mut Connection, index_words: IndexWords) -> rusqlite::Result<()> {
    let transaction = wal::begin_write(connection)?;
    let done = usize::try_from(version(&transaction)? - OLDEST).unwrap_or_default(); // None is older.
    if done < MIGRATIONS.len() {
        for migration in &MIGRATIONS[done..] {
            migration(&transaction)?;
        }
        if done < REINDEXED {
            index_words(&transaction)?;
        }
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// The `user_version` of a file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Why a file with another `user_version` is not used.
pub(super) fn other_version(version: i32) -> String {
    format!("is of another version of rsv ({version}; this one reads {VERSION})")
}
