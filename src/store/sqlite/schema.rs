//! The tables. Those of records are in `record_columns.rs`; the types of the rows of others are listed in
//! `recover.rs` too.

use super::migrations::VERSION;
use super::{changes, record_columns, wal};
use rusqlite::Connection;

/// The `PRAGMA application_id` of a store: "rsv1".
pub(super) const APPLICATION_ID: i32 = 0x7273_7631;

/// Makes the tables and marks the file as a store; must be called within a transaction.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    for tables in [
        COLLECTIONS,
        &record_columns::create(),
        DIGESTS,
        WORDS,
        VECTORS,
        LINKS,
        TALLIES,
        TOMBSTONES,
        AUDIT,
        STATE,
    ] {
        connection.execute_batch(tables)?;
    }
    changes::begin(connection)?;
    connection.execute("INSERT INTO fact (name, value) VALUES (?, '0')", [CODE_POOLS])?;
    wal::create_identity(connection)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// The fact that names the first collection whose pending codes are in its pool (`code_pool.rs`): in a new
/// file all are.
pub(super) const CODE_POOLS: &str = "code_pools";

/// A collection is a kind in a scope. The word index has its records up to the number `indexed_up_to`;
/// `newest` is at least the number of its newest record. A pool (`word_index.rs`) is a row too, whose name of
/// a kind is none.
const COLLECTIONS: &str = "
    CREATE TABLE collection (
      n INTEGER PRIMARY KEY, kind TEXT NOT NULL, partition TEXT NOT NULL, instance TEXT NOT NULL,
      pool INTEGER REFERENCES collection, newest INTEGER NOT NULL DEFAULT 0,
      indexed_up_to INTEGER NOT NULL DEFAULT 0, unindexed INTEGER NOT NULL DEFAULT 0,
      UNIQUE (partition, instance, kind)
    ) STRICT;";

/// The records by the first bytes of the digests of their ids (`digests.rs`). Here and not in a column, so
/// that a file of an earlier release gets them without a change of every row.
const DIGESTS: &str = "
    CREATE TABLE id_digest (
      digest INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (digest, record)
    ) STRICT, WITHOUT ROWID;";

/// The word index (`segment.rs`).
const WORDS: &str = "
    CREATE TABLE segment (
      n INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collection,
      slots INTEGER NOT NULL, docs INTEGER NOT NULL, length INTEGER NOT NULL,
      folding INTEGER NOT NULL DEFAULT 1, refolded INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX segment_collection ON segment (collection);
    CREATE TRIGGER segment_folding BEFORE INSERT ON segment WHEN NEW.folding < 2 BEGIN
      SELECT RAISE(ABORT, 'another version of rsv has updated the store; start this program again');
    END;
    CREATE TABLE segment_words (n INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
    CREATE TABLE segment_docs (n INTEGER PRIMARY KEY, docs BLOB NOT NULL) STRICT;
    CREATE TABLE posting (
      segment INTEGER NOT NULL REFERENCES segment, word BLOB NOT NULL, docs BLOB NOT NULL, PRIMARY KEY (segment, word)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE removed_slot (
      segment INTEGER NOT NULL REFERENCES segment, slot INTEGER NOT NULL, PRIMARY KEY (segment, slot)
    ) STRICT, WITHOUT ROWID;";

/// The vectors, with the numbers of their changes (`changes.rs`); their index (`code_page.rs`), with the
/// pending codes and the checksum of each collection's part, and of each pool (`code_pool.rs`); and the
/// records without a vector (`unembedded.rs`). An index has no foreign keys to records: its entries are found
/// by their record alone.
const VECTORS: &str = "
    CREATE TABLE model (
      n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL, vectors INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE embedding (
      change INTEGER PRIMARY KEY AUTOINCREMENT, record INTEGER NOT NULL REFERENCES record,
      model INTEGER NOT NULL REFERENCES model, vector BLOB NOT NULL, extra TEXT, UNIQUE (record, model)
    ) STRICT;
    CREATE TABLE code_page (
      n INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES model,
      collection INTEGER NOT NULL REFERENCES collection,
      low INTEGER NOT NULL, high INTEGER NOT NULL, metas BLOB NOT NULL, codes BLOB NOT NULL
    ) STRICT;
    CREATE INDEX code_page_collection ON code_page (model, collection, low, high);
    CREATE TABLE pending_code (
      model INTEGER NOT NULL REFERENCES model, collection INTEGER NOT NULL REFERENCES collection,
      record INTEGER NOT NULL, metas BLOB NOT NULL, codes BLOB NOT NULL, PRIMARY KEY (model, collection, record)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE index_checksum (
      model INTEGER NOT NULL REFERENCES model, collection INTEGER NOT NULL REFERENCES collection,
      vectors INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (model, collection)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE unembedded (
      model INTEGER NOT NULL REFERENCES model, collection INTEGER NOT NULL REFERENCES collection,
      timestamp INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (model, collection, timestamp, record)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX unembedded_time ON unembedded (model, timestamp);";

/// The links, with the numbers of their changes; the records whose vectors are not compared yet, and the rule
/// by which the others are linked (`synapse.rs`).
const LINKS: &str = "
    CREATE TABLE link (
      source INTEGER NOT NULL REFERENCES record, rel TEXT NOT NULL, target INTEGER NOT NULL REFERENCES record,
      timestamp INTEGER NOT NULL, score REAL, model TEXT, extra TEXT, change INTEGER NOT NULL,
      PRIMARY KEY (source, rel, target)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX link_target ON link (target, rel);
    CREATE UNIQUE INDEX link_change ON link (change);
    CREATE UNIQUE INDEX link_question ON link (source) WHERE rel = 'RESPONDED_WITH';
    CREATE UNIQUE INDEX link_answer ON link (target) WHERE rel = 'RESPONDED_WITH';
    CREATE TABLE unlinked (
      model INTEGER NOT NULL REFERENCES model, collection INTEGER NOT NULL REFERENCES collection,
      record INTEGER NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (model, collection, record)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE synapse_rule (
      model INTEGER NOT NULL REFERENCES model, collection INTEGER NOT NULL REFERENCES collection,
      threshold REAL NOT NULL, degree INTEGER NOT NULL, foreign_synapses INTEGER NOT NULL,
      PRIMARY KEY (model, collection)
    ) STRICT, WITHOUT ROWID;";

/// The sums that records add to (`tallies.rs`).
const TALLIES: &str = "
    CREATE TABLE tally (
      subject TEXT NOT NULL, counter TEXT NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (subject, counter)
    ) STRICT, WITHOUT ROWID;";

/// The tombstones (`tombstones.rs`), by the digests of what was forgotten. A tombstone that is replaced is a
/// new change. `folded` is that member of its other members.
const TOMBSTONES: &str = "
    CREATE TABLE tombstone (
      change INTEGER PRIMARY KEY AUTOINCREMENT, of TEXT NOT NULL UNIQUE, also TEXT, what TEXT NOT NULL,
      partition TEXT NOT NULL, instance TEXT NOT NULL, state TEXT NOT NULL, timestamp INTEGER NOT NULL, extra TEXT,
      folded TEXT AS (extra ->> '$.folded') VIRTUAL, fingerprint TEXT AS (extra ->> '$.fingerprint') VIRTUAL
    ) STRICT;
    CREATE INDEX tombstone_also ON tombstone (also) WHERE also IS NOT NULL;
    CREATE INDEX tombstone_folded ON tombstone (folded) WHERE folded IS NOT NULL;
    CREATE INDEX tombstone_fingerprint ON tombstone (fingerprint) WHERE fingerprint IS NOT NULL;
    CREATE INDEX tombstone_time ON tombstone (timestamp, of);";

/// The audit (`audit.rs`), by time. `records` is an array of ids as JSON.
const AUDIT: &str = "
    CREATE TABLE audit (
      timestamp INTEGER NOT NULL, id TEXT NOT NULL, token TEXT NOT NULL, address TEXT, action TEXT NOT NULL,
      route TEXT NOT NULL, partition TEXT NOT NULL, instance TEXT NOT NULL, status INTEGER NOT NULL, trace_id TEXT,
      count INTEGER NOT NULL, records TEXT NOT NULL, PRIMARY KEY (timestamp, id)
    ) STRICT, WITHOUT ROWID;";

/// The state of the store.
const STATE: &str = "CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;";
