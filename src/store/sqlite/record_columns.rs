//! The columns of the table `record`, a row each. The table, what is inserted, what is recovered from a
//! damaged file, what a repair corrects and the conditions of a selection follow from them. A new column
//! comes last, with a step in `migrations.rs` that adds it to older files.

use super::row::{as_json, object};
use crate::record::{Scope, StoredRecord, quote};
use crate::store::select::{Below, Select, end_of_prefix};
use rusqlite::types::{Null, ToSqlOutput, Value};
use rusqlite::{Connection, OptionalExtension, Row};

/// A condition in SQL, and its values.
pub(super) type ColumnCondition = (String, Vec<Value>);

/// The condition that a selection sets, if it sets one.
type IfSelected = fn(&Select) -> Option<ColumnCondition>;

/// A column of the table, after its number.
struct RecordColumn {
    name: &'static str,
    /// Its type and constraints.
    definition: &'static str,
    /// The letter of its values in a page (`recover.rs`).
    letter: char,
    /// Its value for a record whose collection has a number.
    value: ValueOf,
    /// Whether it follows from the record, so that a repair corrects it.
    is_derived: bool,
    /// Conditions by which an index of the table finds few records. The indexes of words and vectors know
    /// nothing of them.
    selects: &'static [IfSelected],
    /// All other conditions.
    admits: &'static [IfSelected],
}

/// The value of a column, of a record and the number of its collection.
type ValueOf = for<'a> fn(&'a StoredRecord, i64) -> ToSqlOutput<'a>;

/// A column that no selection restricts.
const fn column(name: &'static str, definition: &'static str, letter: char, value: ValueOf) -> RecordColumn {
    RecordColumn { name, definition, letter, value, is_derived: false, selects: &[], admits: &[] }
}

/// `members` are the members without a column, as JSON; `key` is the value of the kind's lookup key;
/// `embeddable` tells whether there is a text to embed.
static RECORD: [RecordColumn; 11] = [
    RecordColumn {
        admits: &[
            |which| one("record.id IN (SELECT value FROM json_each(?))", which.only.as_deref().map(list)),
            |which| none_of("record.id", &which.except.ids),
        ],
        ..column("id", "TEXT NOT NULL UNIQUE", 't', |record, _| record.id.as_str().into())
    },
    column("collection", "INTEGER NOT NULL REFERENCES collection", 'i', |_, collection| collection.into()),
    RecordColumn {
        selects: &[|which| one("record.trace_id = ?", which.trace_id.clone())],
        admits: &[|which| none_of("record.trace_id", &which.except.traces)],
        ..column("trace_id", "TEXT NOT NULL", 't', |record, _| record.trace_id.as_str().into())
    },
    RecordColumn {
        admits: &[
            |which| one("record.timestamp >= ?", which.since),
            |which| one("record.timestamp <= ?", which.until),
            |which| {
                let before = which.before.as_ref()?;
                let values = vec![before.timestamp.into(), before.seq.into(), before.id.clone().into()];
                Some(("(record.timestamp, record.seq, record.id) < (?, ?, ?)".to_owned(), values))
            },
        ],
        ..column("timestamp", "INTEGER NOT NULL", 'd', |record, _| record.timestamp.into())
    },
    column("seq", "INTEGER NOT NULL", 'q', |record, _| record.seq.into()),
    RecordColumn {
        is_derived: true,
        ..column("embeddable", "INTEGER NOT NULL", 'i', |record, _| record.is_embeddable().into())
    },
    RecordColumn {
        admits: &[|which| {
            let roles: Vec<Value> = which.roles.iter().map(|role| role.name().to_owned().into()).collect();
            let marks = vec!["?"; roles.len()].join(", ");
            (!roles.is_empty()).then(|| (format!("record.role IN ({marks})"), roles))
        }],
        ..column("role", "TEXT", 'r', |record, _| record.role.map_or(Null.into(), |role| role.name().into()))
    },
    RecordColumn {
        is_derived: true,
        selects: &[
            |which| one("record.key = ?", which.key.clone()),
            |which| which.below.as_ref().map(is_below),
        ],
        ..column("key", "TEXT", 'T', |record, _| or_null(record.lookup_key()))
    },
    column("text", "TEXT NOT NULL", 't', |record, _| record.text.as_str().into()),
    column("members", "TEXT", 'j', |record, _| or_null(as_json(&record.members))),
    RecordColumn {
        is_derived: true,
        selects: &[|which| {
            let keys: Vec<String> = which.fingerprints.as_ref()?.iter().map(i64::to_string).collect();
            let list = format!("[{}]", keys.join(","));
            Some(("record.fingerprint IN (SELECT value FROM json_each(?))".to_owned(), vec![list.into()]))
        }],
        ..column("fingerprint", "INTEGER", 'I', |record, _| {
            record.fingerprint().map_or(Null.into(), |fingerprint| fingerprint.key().into())
        })
    },
];

/// The number of columns in the files of the first release, with the number of the record.
pub(super) const OLDEST_COLUMNS: usize = 11;

/// The index by time has the collection too, so that a walk over one kind reads no rows of others.
const INDEXES: &str = "
    CREATE INDEX record_time ON record (timestamp, seq, collection);
    CREATE INDEX record_collection ON record (collection, timestamp, seq);
    CREATE INDEX record_number ON record (collection);
    CREATE INDEX record_trace ON record (trace_id, timestamp);
    CREATE INDEX record_key ON record (key, timestamp) WHERE key IS NOT NULL;
    CREATE INDEX record_fingerprint ON record (fingerprint) WHERE fingerprint IS NOT NULL;";

/// The statements that make the table, which has one row for each record of any kind, and its indexes. A
/// number is never reused.
pub(super) fn create() -> String {
    let columns: String =
        RECORD.iter().map(|column| format!(", {} {}", column.name, column.definition)).collect();
    format!("CREATE TABLE record (n INTEGER PRIMARY KEY AUTOINCREMENT{columns}) STRICT;{INDEXES}")
}

/// The statement that inserts `values`.
pub(super) fn insert() -> String {
    format!("INSERT INTO record ({}) VALUES ({})", names(&RECORD), marks(1, RECORD.len()))
}

/// The values of a record in the collection that has a number.
pub(super) fn values(record: &StoredRecord, collection: i64) -> impl Iterator<Item = ToSqlOutput<'_>> {
    RECORD.iter().map(move |column| (column.value)(record, collection))
}

/// The letters of a row in a page, where null stands in place of its number.
pub(super) fn letters() -> String {
    ['n'].into_iter().chain(RECORD.iter().map(|column| column.letter)).collect()
}

/// The statement that inserts a row of a page, whose parameters are its number and the values there.
pub(super) fn insert_recovered() -> String {
    let (names, marks) = (names(&RECORD), marks(3, RECORD.len()));
    format!("INSERT OR IGNORE INTO record (n, {names}) VALUES (?1, {marks})")
}

/// The statement that corrects the derived columns of a record if one of them is wrong. Its parameters are
/// the number of the record and the `derived` values.
pub(super) fn correct() -> String {
    let derived = RECORD.iter().filter(|column| column.is_derived);
    let (names, marks) = (names(derived.clone()), marks(2, derived.count()));
    format!("UPDATE record SET ({names}) = ({marks}) WHERE n = ?1 AND ({names}) IS NOT ({marks})")
}

/// The values of the columns that follow from a record.
pub(super) fn derived(record: &StoredRecord) -> impl Iterator<Item = ToSqlOutput<'_>> {
    RECORD.iter().filter(|column| column.is_derived).map(|column| (column.value)(record, 0))
}

/// The conditions of a selection except kinds and scopes.
pub(super) fn conditions(which: &Select) -> impl Iterator<Item = ColumnCondition> {
    let all = RECORD.iter().flat_map(|column| column.selects.iter().chain(column.admits));
    all.filter_map(|condition| condition(which))
}

/// Those of them by which an index of the table finds few records.
pub(super) fn selective(which: &Select) -> impl Iterator<Item = ColumnCondition> {
    RECORD.iter().flat_map(|RecordColumn { name, selects, .. }| {
        let conditions = selects.iter().filter_map(|condition| condition(which));
        // An index may have only the rows that have a value.
        conditions.map(move |(sql, values)| (format!("record.{name} IS NOT NULL AND {sql}"), values))
    })
}

/// Names as a JSON array, which is one value however many there are.
pub(super) fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    format!("[{}]", names.join(","))
}

fn none_of(column: &str, names: &[String]) -> Option<ColumnCondition> {
    let condition = format!("{column} NOT IN (SELECT value FROM json_each(?))");
    (!names.is_empty()).then(|| (condition, vec![list(names).into()]))
}

fn one(condition: &str, value: Option<impl Into<Value>>) -> Option<ColumnCondition> {
    value.map(|value| (condition.to_owned(), vec![value.into()]))
}

fn or_null<'a>(text: Option<String>) -> ToSqlOutput<'a> {
    text.map_or(Null.into(), Into::into)
}

/// The condition that the lookup key is one of some addresses.
fn is_below(below: &Below) -> ColumnCondition {
    let mut any = vec!["record.key >= ? AND record.key < ?"; below.prefixes.len()];
    let ends = |prefix: &String| [prefix.clone().into(), end_of_prefix(prefix).into()];
    let mut values: Vec<Value> = below.prefixes.iter().flat_map(ends).collect();
    if !below.roots.is_empty() {
        any.push("record.key IN (SELECT value FROM json_each(?))");
        values.push(list(&below.roots).into());
    }
    let mut sql = format!("({})", any.join(" OR "));
    if let Some(slashes) = below.max_slashes() {
        sql.push_str(" AND length(record.key) - length(replace(record.key, '/', '')) <= ?");
        values.push(i64::try_from(slashes).unwrap_or(i64::MAX).into());
    }
    (sql, values)
}

fn names<'a>(columns: impl IntoIterator<Item = &'a RecordColumn>) -> String {
    columns.into_iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// The marks of this many parameters from a number on.
fn marks(first: usize, count: usize) -> String {
    (first..first + count).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ")
}

/// The columns from which `record` reads a record, in their order.
pub(super) const COLUMNS: &str = "collection.kind, record.id, record.trace_id, collection.partition,
    collection.instance, record.role, record.text, record.timestamp, record.seq, record.members";
/// The index of the timestamp among them, before seq; and the index of the first column after them.
pub(super) const TIME: usize = 7;
pub(super) const AFTER: usize = 10;
/// The tables of the columns.
pub(super) const TABLES: &str = "record JOIN collection ON collection.n = record.collection";

/// Reads a record from a row of `COLUMNS`. Fails if a column has another type or an unknown kind.
pub(super) fn record(row: &Row) -> rusqlite::Result<StoredRecord> {
    Ok(StoredRecord {
        kind: row.get(0)?,
        id: row.get(1)?,
        trace_id: row.get(2)?,
        scope: Scope { partition: row.get(3)?, instance: row.get(4)? },
        role: row.get(5)?,
        text: row.get(6)?,
        timestamp: row.get(TIME)?,
        seq: row.get(TIME + 1)?,
        members: object(row, 9)?,
        vector: None,
    })
}

/// The record with an id, and its number. Fails if the file cannot be read.
pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<(i64, StoredRecord)>> {
    let sql = format!("SELECT {COLUMNS}, record.n FROM {TABLES} WHERE record.id = ?");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row([id], |row| Ok((row.get(AFTER)?, record(row)?))).optional()
}

/// The record that has a number. Fails if the file cannot be read.
pub(super) fn nth(connection: &Connection, n: i64) -> rusqlite::Result<Option<StoredRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE record.n = ?");
    connection.prepare_cached(&sql)?.query_row([n], record).optional()
}
