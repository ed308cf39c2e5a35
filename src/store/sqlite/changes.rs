//! The numbers of changes: every record, embedding, link and tombstone has one that is greater than those
//! before it and is never used again, so that later changes have greater numbers. A change inserts a new row.
//!
//! SQLite numbers the rows of tables by `AUTOINCREMENT`, and keeps the last numbers in its table
//! `sqlite_sequence`. The table of links has no row numbers of its own, so that the links of a record are
//! together; its last number is kept there too, in a page that almost every transaction changes anyway.

use super::{facts, wal};
use crate::store::changes::{ChangeNumbers, ChangeState, Mark, WITNESSES, Witness};
use rusqlite::{Connection, Row, params};

/// The parts of a store: the number of a change, the name of what changed, and the tables.
const PARTS: [(&str, &str, &str, &str); 4] = [
    ("record", "record.n", "record.id", "record"),
    (
        "embedding",
        "embedding.change",
        "record.id || ' ' || model.name",
        "embedding JOIN record ON record.n = embedding.record JOIN model ON model.n = embedding.model",
    ),
    (
        "link",
        "link.change",
        "source.id || ' ' || link.rel || ' ' || target.id",
        "link JOIN record AS source ON source.n = link.source JOIN record AS target ON target.n = link.target",
    ),
    ("tombstone", "tombstone.change", "tombstone.of", "tombstone"),
];

/// Begins to number links; must be called within the transaction that makes the tables.
pub(super) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('link', 0)", []).map(drop)
}

/// The number of the last change of a link.
pub(super) fn last_link(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'link'";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Sets that number, which must follow in the transaction of the new links.
pub(super) fn set_last_link(connection: &Connection, last: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'link'";
    connection.prepare_cached(sql)?.execute([last]).map(drop)
}

/// The last numbers, and what has the last ones and those of some witnesses.
pub(super) fn state(connection: &Connection, earlier: &[Witness]) -> rusqlite::Result<ChangeState> {
    let snapshot = connection.unchecked_transaction()?;
    let store = facts::get(&snapshot, wal::STORE_ID)?.unwrap_or_default();
    let mut last = [0; PARTS.len()];
    let mut witnesses = Vec::new();
    for ((part, number, name, tables), last) in PARTS.iter().zip(&mut last) {
        let sql = "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = ?";
        *last = snapshot.prepare_cached(sql)?.query_row([part], |row| row.get(0))?;
        let select = format!("SELECT {number}, {name} FROM {tables}");
        let witness = |row: &Row| Ok(Witness::new(part, row.get(0)?, &row.get::<_, String>(1)?));
        let newest = format!("{select} ORDER BY {number} DESC LIMIT ?");
        let mut newest = snapshot.prepare_cached(&newest)?;
        for found in newest.query_map([WITNESSES as i64], witness)? {
            witnesses.push(found?);
        }
        let mut numbered = snapshot.prepare_cached(&format!("{select} WHERE {number} = ?"))?;
        for earlier in earlier.iter().filter(|witness| witness.part == *part) {
            for found in numbered.query_map(params![earlier.n], witness)? {
                witnesses.push(found?);
            }
        }
    }
    let [records, embeddings, links, tombstones] = last;
    let numbers = ChangeNumbers { records, embeddings, links, tombstones };
    let mark = mark(&snapshot)?;
    snapshot.finish()?;
    Ok(ChangeState { store, numbers, mark: Some(mark), witnesses })
}

/// The mark of the existing records.
fn mark(connection: &Connection) -> rusqlite::Result<Mark> {
    let sql = "SELECT (SELECT ifnull(max(n), 0) FROM record), (SELECT count(*) FROM record)";
    connection
        .query_row(sql, [], |row| Ok(Mark { last: row.get(0)?, count: row.get::<_, i64>(1)?.unsigned_abs() }))
}
