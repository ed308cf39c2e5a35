//! The records that are in no segment yet (`word_index.rs`), which a search reads themselves.

use crate::record::{RecordKind, Scopes, TextSource};
use crate::store::sqlite::collections::{CollectionRow, scope_condition};
use crate::store::sqlite::filter::role_bit;
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::record_columns::{self, COLUMNS, TABLES, record};
use crate::store::sqlite::record_row::DocMeta;
use crate::text::fold::fold;
use crate::text::terms::{FoldedText, ScannedText};
use rusqlite::{Connection, params_from_iter};

/// The records of a collection after one, which a search reads themselves.
pub(crate) struct Unindexed {
    pub(super) collection: CollectionRow,
    pub(super) after: i64,
}

/// The records of a selection, except by kind and scope, that are in none of its segments.
pub(crate) fn unindexed(
    connection: &Connection,
    kinds: &[&'static RecordKind],
    scopes: &Scopes,
) -> rusqlite::Result<Vec<Unindexed>> {
    let (after, pools, scope) = match scopes {
        Scopes::One(_) => ("c.indexed_up_to", "", "c.partition = ? AND c.instance = ?"),
        Scopes::Partition(_) => ("max(c.indexed_up_to, p.indexed_up_to)", OF_PARTITION, "c.partition = ?"),
        Scopes::Matching(_) => ("max(c.indexed_up_to, p.indexed_up_to)", OF_PARTITION, MATCHING),
        Scopes::All => ("max(c.indexed_up_to, p.indexed_up_to, s.indexed_up_to)", OF_STORE, "TRUE"),
    };
    const OF_PARTITION: &str = "CROSS JOIN collection AS p ON p.n = c.pool";
    const MATCHING: &str = "c.n IN (SELECT n FROM collection WHERE EXISTS (SELECT 1 FROM json_each(?) AS pattern \
         WHERE partition GLOB pattern.value) AND partition NOT IN (SELECT value FROM json_each(?)))";
    const OF_STORE: &str =
        "CROSS JOIN collection AS p ON p.n = c.pool CROSS JOIN collection AS s ON s.n = p.pool";
    let sql = format!(
        "SELECT c.n, c.kind, {after} AS \"after\" FROM collection AS c {pools} \
         WHERE {scope} AND c.unindexed > 0 AND c.newest > \"after\""
    );
    let (_, names) = scope_condition(scopes);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(names))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(1)?.as_str()?;
        if let Some(kind) = kinds.iter().find(|kind| kind.name == name && kind.indexed.is_some()) {
            found.push(Unindexed { collection: CollectionRow { n: row.get(0)?, kind }, after: row.get(2)? });
        }
    }
    Ok(found)
}

impl Unindexed {
    /// Calls `visit` with each record and its text. Fails if the file cannot be read.
    pub(crate) fn visit(
        &self,
        connection: &Connection,
        kept: Option<&RecordCache>,
        mut visit: impl FnMut(DocMeta, &dyn ScannedText),
    ) -> rusqlite::Result<()> {
        let Some(kept) = kept else {
            return visit_between(connection, self, i64::MAX, |doc, folded| {
                let text = FoldedText::from_folded(folded);
                visit(DocMeta { length: text.length as u32, ..doc }, &text);
            });
        };
        let sql = "SELECT n FROM record INDEXED BY record_number WHERE collection = ? AND n > ? ORDER BY n";
        let mut statement = connection.prepare_cached(sql)?;
        let numbers = statement.query_map([self.collection.n, self.after], |row| row.get(0))?;
        let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
        for scanned in kept.scan(connection, self.collection.n, &numbers)?.iter() {
            visit(scanned.doc, scanned);
        }
        Ok(())
    }
}

/// Calls `visit` with each unindexed record before `end`, without its length, and its folded text.
pub(super) fn visit_between(
    connection: &Connection,
    Unindexed { collection, after }: &Unindexed,
    end: i64,
    mut visit: impl FnMut(DocMeta, String),
) -> rusqlite::Result<()> {
    const BETWEEN: &str = "record.collection = ? AND record.n > ? AND record.n < ? ORDER BY record.n";
    let between = [collection.n, *after, end];
    match collection.kind.indexed {
        TextSource::None => Ok(()),
        TextSource::Text => {
            let sql = format!(
                "SELECT n, timestamp, role, text FROM record INDEXED BY record_number WHERE {BETWEEN}"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(between)?;
            while let Some(row) = rows.next()? {
                let doc = DocMeta {
                    n: row.get(0)?,
                    timestamp: row.get(1)?,
                    role: role_bit(row.get(2)?),
                    length: 0,
                };
                visit(doc, fold(row.get_ref(3)?.as_str()?));
            }
            Ok(())
        }
        TextSource::Composed(_) => {
            let sql = format!("SELECT {COLUMNS}, record.n FROM {TABLES} WHERE {BETWEEN}");
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(between)?;
            while let Some(row) = rows.next()? {
                let record = record(row)?;
                let (n, timestamp, role) =
                    (row.get(record_columns::AFTER)?, record.timestamp, role_bit(record.role));
                let text = record.indexed_text().unwrap_or_default();
                visit(DocMeta { n, timestamp, role, length: 0 }, fold(&text));
            }
            Ok(())
        }
    }
}
