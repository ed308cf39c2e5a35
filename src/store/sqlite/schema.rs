//! The tables, and how an older file is brought up to date.

use super::{chunk, embedding, index};
use crate::error::{Context, Result};
use rusqlite::Connection;

/// What `PRAGMA application_id` says of our files: "rsv1".
pub(super) const APPLICATION_ID: i32 = 0x7273_7631;

/// Every change of the tables that there ever was, in order; a file's `user_version` is how many of them
/// it has seen. Only ever added to.
const MIGRATIONS: [fn(&Connection) -> rusqlite::Result<()>; 6] =
    [m001_records, m002_vectors, m003_graph, m004_digests, m005_codes, m006_words];

/// The `user_version` of a file that is up to date.
pub(super) const VERSION: i32 = MIGRATIONS.len() as i32;

/// Brings the tables up to date; to be called within a transaction.
pub(super) fn migrate(connection: &Connection, version: i32) -> Result<()> {
    for migration in &MIGRATIONS[usize::try_from(version).unwrap_or(0)..] {
        migration(connection).context("cannot make the tables")?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID).context("cannot mark the file")?;
    connection.pragma_update(None, "user_version", VERSION).context("cannot mark the file")
}

/// `record` holds what has an id and a time, one row whatever its kind; `extra` the members without a
/// column, as JSON. A number is never given twice, so that `scope.packed` can tell which messages are in
/// the word index: those of the scope up to this number. The index itself is told of in `index.rs`.
fn m001_records(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE scope (
           n INTEGER PRIMARY KEY, partition TEXT NOT NULL, instance TEXT NOT NULL,
           packed INTEGER NOT NULL DEFAULT 0, tail INTEGER NOT NULL DEFAULT 0, UNIQUE (partition, instance)
         ) STRICT;
         CREATE TABLE record (
           n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
           scope INTEGER NOT NULL REFERENCES scope, trace_id TEXT NOT NULL,
           timestamp INTEGER NOT NULL, seq INTEGER NOT NULL, role TEXT, content TEXT, parts TEXT, extra TEXT
         ) STRICT;
         CREATE INDEX record_time ON record (timestamp, seq);
         CREATE INDEX record_scope ON record (scope, timestamp, seq);
         CREATE INDEX record_trace ON record (trace_id, timestamp);
         CREATE INDEX record_words ON record (scope) WHERE kind = 'message';
         CREATE TABLE link (
           source INTEGER NOT NULL REFERENCES record, rel TEXT NOT NULL, target INTEGER NOT NULL REFERENCES record,
           timestamp INTEGER NOT NULL, score REAL, model TEXT, extra TEXT, PRIMARY KEY (source, rel, target)
         ) STRICT, WITHOUT ROWID;
         CREATE INDEX link_target ON link (target, rel);
         CREATE UNIQUE INDEX link_question ON link (source) WHERE rel = 'RESPONDED_WITH';
         CREATE UNIQUE INDEX link_answer ON link (target) WHERE rel = 'RESPONDED_WITH';
         CREATE TABLE model (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL) STRICT;
         CREATE TABLE embedding (
           record INTEGER NOT NULL REFERENCES record, model INTEGER NOT NULL REFERENCES model,
           vector BLOB NOT NULL, extra TEXT, PRIMARY KEY (record, model)
         ) STRICT;
         CREATE TABLE part (
           n INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL REFERENCES scope, docs INTEGER NOT NULL,
           places BLOB NOT NULL, words BLOB NOT NULL
         ) STRICT;
         CREATE INDEX part_scope ON part (scope);
         CREATE TABLE posting (
           part INTEGER NOT NULL REFERENCES part, word BLOB NOT NULL, docs BLOB NOT NULL, PRIMARY KEY (part, word)
         ) STRICT, WITHOUT ROWID;",
    )
}

/// The vector index (`chunk.rs`) with what is loose of it; the messages that lack a vector (`lacking.rs`); and
/// what the store remembers about itself. An index names records without a reference: nothing but the record
/// leads to its entries there.
fn m002_vectors(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE model ADD COLUMN vectors INTEGER NOT NULL DEFAULT 0;
         CREATE TABLE chunk (
           n INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES model, scope INTEGER NOT NULL REFERENCES scope,
           low INTEGER NOT NULL, high INTEGER NOT NULL, heads BLOB NOT NULL, codes BLOB NOT NULL
         ) STRICT;
         CREATE INDEX chunk_scope ON chunk (model, scope, low, high);
         CREATE TABLE loose (
           model INTEGER NOT NULL REFERENCES model, scope INTEGER NOT NULL REFERENCES scope,
           record INTEGER NOT NULL, heads BLOB NOT NULL, codes BLOB NOT NULL, PRIMARY KEY (model, scope, record)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE lacking (
           model INTEGER NOT NULL REFERENCES model, scope INTEGER NOT NULL REFERENCES scope,
           timestamp INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (model, scope, timestamp, record)
         ) STRICT, WITHOUT ROWID;
         CREATE INDEX lacking_time ON lacking (model, timestamp);
         CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
    )
}

/// What each scope's part of the vector index must hold (`chunk.rs`); the vectors that are not compared with
/// others yet, and by which rule the others are linked (`graph.rs`). Then every index is made.
fn m003_graph(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE space (
           model INTEGER NOT NULL REFERENCES model, scope INTEGER NOT NULL REFERENCES scope,
           vectors INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (model, scope)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE waiting (
           model INTEGER NOT NULL REFERENCES model, scope INTEGER NOT NULL REFERENCES scope,
           record INTEGER NOT NULL, mark INTEGER NOT NULL, PRIMARY KEY (model, scope, record)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE graph (
           model INTEGER NOT NULL REFERENCES model, scope INTEGER NOT NULL REFERENCES scope,
           threshold REAL NOT NULL, degree INTEGER NOT NULL, wild INTEGER NOT NULL, PRIMARY KEY (model, scope)
         ) STRICT, WITHOUT ROWID;",
    )?;
    embedding::index_all(connection)
}

/// Accounts are found by their digest.
fn m004_digests(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE INDEX account_digest ON record (json_extract(extra, '$.digest'), timestamp) WHERE kind = 'account';",
    )
}

/// The codes of vectors become half as long, and a part knows how long its messages are.
fn m005_codes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("ALTER TABLE part ADD COLUMN length INTEGER NOT NULL DEFAULT 0")?;
    let scopes = embedding::rows(connection, "scope")?;
    let models = embedding::rows(connection, "model")?;
    models.iter().try_for_each(|model| chunk::make(connection, *model, &scopes))
}

/// The words of a part and the places of its messages lie in rows of their own, a page each; beside the words of a
/// message stands what a selection asks for (`index.rs`).
fn m006_words(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DELETE FROM posting;
         DELETE FROM part;
         ALTER TABLE part DROP COLUMN places;
         ALTER TABLE part DROP COLUMN words;
         CREATE TABLE vocabulary (n INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
         CREATE TABLE block (n INTEGER PRIMARY KEY, places BLOB NOT NULL) STRICT;",
    )?;
    embedding::rows(connection, "scope")?.iter().try_for_each(|scope| index::make(connection, *scope))
}
