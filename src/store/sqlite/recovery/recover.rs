//! Reads what can be read of a damaged file into a temporary database.
//!
//! Every page is read by itself, so that a row is found even if the schema, the inner pages above it, or the
//! indexes are damaged. The types of a row's values tell which table it belongs to: they differ between those
//! tables that are read here, and all others.

use super::raw_pages::RawPages;
use super::raw_rows::{RawRow, TreePage};
use crate::record::{Object, Role, TombstoneState, time};
use crate::store::damage::{Damage, UNSCOPED_PARTITION};
use crate::store::sqlite::record_columns::OLDEST_COLUMNS;
use crate::store::sqlite::{record_columns, schema};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, params, params_from_iter};
use std::collections::{HashMap, HashSet};
use std::iter::repeat;
use std::path::Path;
use std::sync::LazyLock;

/// The rows of a table or an index: their types, a letter a value, and the statement that keeps them, if they
/// are needed. Its parameters are the row number, if there is one, and the values.
struct Shape {
    types: String,
    /// The number of values in the rows of the oldest files. Later columns come last.
    least: usize,
    keep: Option<String>,
}

fn keep(types: impl Into<String>, statement: impl Into<String>) -> Shape {
    Shape { keep: Some(statement.into()), ..skip(types) }
}

fn skip(types: impl Into<String>) -> Shape {
    let types = types.into();
    Shape { least: types.len(), types, keep: None }
}

/// The types of the rows of the schema, and of an index of ids or names.
const SCHEMA: &str = "tttiT";
const NAMES: &str = "ti";

/// The columns of the segments that earlier releases have made.
const SEGMENT_COLUMNS: usize = 5;

/// The rows of tables with row numbers; those of records come first.
static TABLE_ROWS: LazyLock<[Shape; 10]> = LazyLock::new(|| {
    [
        Shape { least: OLDEST_COLUMNS, ..keep(record_columns::letters(), record_columns::insert_recovered()) },
        keep(
            "ntttRiii",
            "INSERT OR IGNORE INTO collection (n, kind, partition, instance) VALUES (?1, ?3, ?4, ?5)",
        ),
        keep("ntii", "INSERT OR IGNORE INTO model (n, name, dim) VALUES (?1, ?3, ?4)"),
        keep(
            "niibj",
            "INSERT OR IGNORE INTO embedding (change, record, model, vector, extra) VALUES (?1, ?3, ?4, ?5, ?6)",
        ),
        keep(
            "ntTtttsdj",
            "INSERT OR IGNORE INTO tombstone (change, of, also, what, partition, instance, state, timestamp, extra)
             VALUES (?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        ),
        skip(SCHEMA),
        skip(NAMES),
        Shape { least: SEGMENT_COLUMNS, ..skip("niiiiii") },
        skip("nb"),
        skip("niiiibb"),
    ]
});

/// The rows of indexes, and of tables without row numbers. The index of collections has all that their table
/// has; that of traces names every record.
static INDEX_ROWS: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let kept = [
        keep("itidRTji", "INSERT OR IGNORE INTO link VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"),
        keep(
            "ttti",
            "INSERT OR IGNORE INTO collection (partition, instance, kind, n) VALUES (?1, ?2, ?3, ?4)",
        ),
        keep("tii", "INSERT OR IGNORE INTO named VALUES (?3)"),
    ];
    let skipped = "ti tt ibb ii tti iti iiti iit it iii iiii iiiii iiibb iiRii ittTttttiTit";
    kept.into_iter().chain(skipped.split(' ').map(skip)).collect()
});

/// The index of the models' names, which is one page.
const MODEL_INDEX: &str = "sqlite_autoindex_model_1";

/// Counts the records that something names, but that are not there.
const LOST: &str = "SELECT count(*) FROM (SELECT n FROM named UNION SELECT record FROM embedding
    UNION SELECT source FROM link UNION SELECT target FROM link EXCEPT SELECT n FROM record)";

/// The pages of a file that are looked at to see whether it is a store: many are of the indexes.
const SAMPLED_PAGES: u32 = 4096;

/// The reason why nothing is recovered.
pub(crate) enum Failure {
    /// The file cannot be opened.
    Io(std::io::Error),
    /// The temporary database cannot be written.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Sqlite(error)
    }
}

/// Whether there are records in a file.
pub(crate) fn has_records(path: &Path) -> bool {
    let Ok(pages) = RawPages::open(path) else { return false };
    let (mut page, mut continued) = (Vec::new(), HashSet::new());
    (1..=pages.last.min(SAMPLED_PAGES)).any(|number| {
        pages.read(number, &mut page)
            && TreePage::parse(number, &page, pages.usable).is_some_and(|tree| {
                let is_record =
                    |row: RawRow| shape(&tree, &row).is_some_and(|shape| std::ptr::eq(shape, &TABLE_ROWS[0]));
                tree.rows(&pages, &mut continued).flatten().any(is_record)
            })
    })
}

/// Reads what can be read of the file at a path, and its damage. Fails if the file cannot be opened, or the
/// temporary one that gets the records not be written.
pub(crate) fn recover(path: &Path, address: &str) -> Result<(Connection, Damage), Failure> {
    let pages = RawPages::open(path).map_err(Failure::Io)?;
    let mut connection = temporary()?;
    let transaction = connection.transaction()?;
    let mut recovery = Recovery {
        pages: &pages,
        connection: &transaction,
        continued: HashSet::new(),
        model_index: None,
        models: HashMap::new(),
    };
    let unusable_pages = recovery.read_pages()?;
    let models = recovery.models;
    let unscoped_records = complete_collections(&transaction)?;
    complete_models(&transaction, &models)?;
    let count = |sql| transaction.query_row(sql, [], |row| row.get(0)).map(i64::unsigned_abs);
    let (records, lost_records) = (count("SELECT count(*) FROM record")?, count(LOST)?);
    transaction.commit()?;
    let damage = Damage {
        address: address.to_owned(),
        pages: pages.total.into(),
        unusable_pages,
        records,
        unscoped_records,
        lost_records,
    };
    Ok((connection, damage))
}

/// An empty store in a temporary file, which nobody else can open and which ends with the process.
fn temporary() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open("")?;
    // A row may name another that is lost.
    connection
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;")?;
    let transaction = connection.transaction()?;
    schema::create(&transaction)?;
    transaction.execute_batch("CREATE TEMP TABLE named (n INTEGER PRIMARY KEY)")?;
    transaction.commit()?;
    Ok(connection)
}

/// The reading of a file.
struct Recovery<'a> {
    pages: &'a RawPages,
    connection: &'a Connection,
    /// The pages in which rows of other pages continue.
    continued: HashSet<u32>,
    /// The page of the index of the models' names.
    model_index: Option<u32>,
    /// The names of models by number, as far as that index tells.
    models: HashMap<i64, String>,
}

impl Recovery<'_> {
    /// Keeps the rows of all pages; returns the number of pages that are damaged, or belong to an unreadable
    /// row.
    fn read_pages(&mut self) -> rusqlite::Result<u64> {
        let (mut unknown, mut torn) = (Vec::new(), 0);
        let mut page = Vec::new();
        for number in 1..=self.pages.last {
            if self.pages.is_unused(number) {
                continue;
            }
            let existing = self.pages.read(number, &mut page);
            let tree = TreePage::parse(number, &page, self.pages.usable).filter(|_| existing);
            match tree {
                Some(tree) => torn += u64::from(!self.keep_rows(number, &tree)?),
                // It may be free.
                None if existing
                    && number > 1
                    && !self.pages.knows_free_pages()
                    && page.iter().all(|byte| *byte == 0) => {}
                None => unknown.push(number),
            }
        }
        unknown.retain(|number| !self.continued.contains(number));
        let missing = u64::from(self.pages.total - self.pages.last);
        Ok(torn + unknown.len() as u64 + missing)
    }

    /// Keeps the rows of a page; returns whether all of them could be read.
    fn keep_rows(&mut self, number: u32, tree: &TreePage) -> rusqlite::Result<bool> {
        let mut continued = std::mem::take(&mut self.continued);
        let mut is_whole = true;
        for row in tree.rows(self.pages, &mut continued) {
            let kept = match row {
                Some(row) => self.keep_row(number, tree, row)?,
                None => false,
            };
            is_whole &= kept;
        }
        self.continued = continued;
        Ok(is_whole)
    }

    /// Keeps a row, if it is needed; false if it cannot be a row of a store.
    fn keep_row(&mut self, number: u32, tree: &TreePage, row: RawRow) -> rusqlite::Result<bool> {
        let Some(shape) = shape(tree, &row) else { return Ok(false) };
        match (shape.types.as_str(), &row.values[..]) {
            (SCHEMA, [_, Value::Text(name), _, Value::Integer(root), _]) if name == MODEL_INDEX => {
                self.model_index = u32::try_from(*root).ok();
            }
            (NAMES, [Value::Text(name), Value::Integer(n)]) if self.model_index == Some(number) => {
                self.models.insert(*n, name.clone());
            }
            _ => {}
        }
        let Some(sql) = &shape.keep else { return Ok(true) };
        if row.has_blank_page {
            return Ok(false);
        }
        let mut statement = self.connection.prepare_cached(sql)?;
        // A row has no values of columns that were added after it.
        let values = row.number.map(Value::Integer).into_iter().chain(row.values).chain(repeat(Value::Null));
        let values = values.take(statement.parameter_count());
        match statement.execute(params_from_iter(values)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(false),
            kept => kept.map(|_| true),
        }
    }
}

/// The shape of a row; `None` if there is no such row in a store.
fn shape(tree: &TreePage, row: &RawRow) -> Option<&'static Shape> {
    let shapes: &[Shape] = if tree.is_table() { &*TABLE_ROWS } else { &INDEX_ROWS };
    shapes.iter().find(|shape| {
        (shape.least..=shape.types.len()).contains(&row.values.len())
            && shape.types.chars().zip(&row.values).all(|(letter, value)| is_of_type(letter, value))
    })
}

/// Whether a value is of the type of a letter.
fn is_of_type(letter: char, value: &Value) -> bool {
    match (letter, value) {
        ('n' | 'T' | 'R' | 'I' | 'j' | 'r', Value::Null) => true,
        ('i' | 'I', Value::Integer(_)) | ('R', Value::Integer(_) | Value::Real(_)) => true,
        ('b', Value::Blob(_)) | ('t' | 'T', Value::Text(_)) => true,
        // A time, and a sequence number.
        ('d', Value::Integer(number)) => time::checked(*number).is_ok(),
        ('q', Value::Integer(number)) => u32::try_from(*number).is_ok(),
        // Members as JSON, a role, and the state of a tombstone.
        ('j', Value::Text(json)) => Object::parse(json).is_ok(),
        ('r', Value::Text(name)) => name.parse::<Role>().is_ok(),
        ('s', Value::Text(name)) => TombstoneState::named(name).is_some(),
        _ => false,
    }
}

/// Gives the records of unknown collections one; returns their number. Only messages have a role; of the
/// others only memories have a text, and only accounts a trace.
fn complete_collections(connection: &Connection) -> rusqlite::Result<u64> {
    let unscoped = "FROM record WHERE collection NOT IN (SELECT n FROM collection)";
    let count: i64 = connection.query_row(&format!("SELECT count(*) {unscoped}"), [], |row| row.get(0))?;
    let sql = format!(
        "INSERT OR IGNORE INTO collection (n, kind, partition, instance)
         SELECT collection,
           CASE WHEN max(role) IS NOT NULL THEN 'message' WHEN max(text) <> '' THEN 'memory'
             WHEN max(trace_id) <> '' THEN 'account' ELSE 'signal' END,
           ?, collection {unscoped} GROUP BY collection"
    );
    connection.execute(&sql, [UNSCOPED_PARTITION])?;
    Ok(count.unsigned_abs())
}

/// Adds the models that only the index names, and counts the vectors of each; those of another length are no
/// vectors.
fn complete_models(connection: &Connection, names: &HashMap<i64, String>) -> rusqlite::Result<()> {
    for (n, name) in names {
        let sql = "INSERT OR IGNORE INTO model (n, name, dim)
                   SELECT ?1, ?2, length(vector) / 4 FROM embedding WHERE model = ?1
                   GROUP BY length(vector) ORDER BY count(*) DESC LIMIT 1";
        connection.execute(sql, params![n, name])?;
    }
    connection.execute_batch(
        "DELETE FROM embedding WHERE length(vector) <> 4 * (SELECT dim FROM model WHERE n = model);
         UPDATE model SET vectors = (SELECT count(*) FROM embedding WHERE model = n);",
    )
}
