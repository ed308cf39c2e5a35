//! The SQLite databases of other programs, which are only read.

use crate::error::{Context, Result};
use crate::lines::{LocatedObject, ObjectSource, SourceLocation};
use crate::record::Object;
use rusqlite::{Connection, OpenFlags};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// The first bytes of an SQLite database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// An open database.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// The names of its tables.
    pub(super) tables: BTreeSet<String>,
}

impl Database {
    /// Opens a database, which another program may be writing.
    pub(super) fn open(path: &Path) -> Result<Database> {
        let cannot = format!("cannot read {}", path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let read = || {
            let connection = Connection::open_with_flags(path, flags)?;
            let mut names = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
            let tables = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            drop(names);
            Ok::<_, rusqlite::Error>(Database { connection, tables })
        };
        read().context(cannot)
    }

    /// Whether it has a table with this column; a file that cannot be read fails at its first row.
    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        let sql = "SELECT COUNT(*) FROM pragma_table_info(?) WHERE name = ?";
        self.connection.query_row(sql, [table, column], |row| row.get(0)).is_ok_and(|count: i64| count > 0)
    }

    /// Whether it has all these tables.
    pub(super) fn has_all(&self, tables: &[&str]) -> bool {
        tables.iter().all(|table| self.tables.contains(*table))
    }
}

/// Reads the messages of one turn or session of a database.
pub(super) trait ReadTurn {
    /// Appends the lines of the turn with this key; of a damaged one, those that can be read. Errors if some
    /// cannot.
    fn read(&mut self, connection: &Connection, key: &TurnKey, lines: &mut Vec<Object>) -> Result<()>;
}

/// A turn or a session of a database: its table, and its id there.
pub(super) struct TurnKey {
    pub(super) table: &'static str,
    pub(super) id: String,
}

/// The lines of a database, turn by turn.
pub(super) struct DatabaseLines {
    name: Arc<str>,
    connection: Connection,
    turns: VecDeque<TurnKey>,
    read: Box<dyn ReadTurn>,
    lines: VecDeque<LocatedObject>,
    /// The number of turns that were read, which names a turn in errors as a line does.
    count: u64,
}

impl DatabaseLines {
    pub(super) fn new(
        name: &str,
        connection: Connection,
        turns: Vec<TurnKey>,
        read: Box<dyn ReadTurn>,
    ) -> DatabaseLines {
        let (turns, lines) = (turns.into(), VecDeque::new());
        DatabaseLines { name: name.into(), connection, turns, read, lines, count: 0 }
    }
}

impl ObjectSource for DatabaseLines {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(Ok(line));
            }
            let turn = self.turns.pop_front()?;
            self.count += 1;
            let location = SourceLocation::new(self.name.clone(), self.count);
            let mut lines = Vec::new();
            let read = self.read.read(&self.connection, &turn, &mut lines);
            let located = |object| LocatedObject { location: location.clone(), object };
            self.lines.extend(lines.into_iter().map(located));
            if let Err(error) = read {
                return Some(Err(error.at(format_args!("{location}: {} {}", turn.table, turn.id))));
            }
        }
    }

    fn drained(&self) -> bool {
        false
    }

    fn consumed(&self) -> u64 {
        // A turn is taken for about a kilobyte, so that many are handed on together.
        self.count << 10
    }
}

/// The ids that a statement selects, as the turns of a table. Fails if the table cannot be read.
pub(super) fn turns(connection: &Connection, table: &'static str, sql: &str) -> Result<Vec<TurnKey>> {
    let read = || {
        let mut statement = connection.prepare(sql)?;
        let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
        ids.map(|id| Ok(TurnKey { table, id: id? })).collect::<rusqlite::Result<Vec<_>>>()
    };
    read().context(format_args!("cannot read the table {table}"))
}
