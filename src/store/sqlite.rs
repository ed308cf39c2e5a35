//! Records in one SQLite file, in WAL mode, shared by any number of processes.

mod alike;
mod beside;
mod chunk;
mod coding;
mod embedding;
mod find;
mod graph;
mod held;
mod index;
mod lacking;
mod nearest;
mod read;
mod schema;
mod select;
mod write;

use super::graph::{Alike, Changes, Graph, Linked, Of, Rule};
use super::{
    Access, Around, Claim, Cosines, Model, Occur, Pending, Related, Select, Store, Visit, Walk, Written,
    words::Term,
};
use crate::error::{Context, Error, Result};
use crate::record::{Account, Embedding, Hit, Link, Message, Record, Scope, Scopes};
use beside::Beside;
use held::Held;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::cell::RefCell;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

/// A store in a file.
pub(super) struct Sqlite {
    connection: Connection,
    address: String,
    known: write::Known,
    beside: Beside,
    held: RefCell<Held>,
}

/// Measured: larger pages read vectors and long texts twice as fast as SQLite's own 4096.
const PAGE: i64 = 16_384;

/// So many bytes of a row of an index fit into a page beside what SQLite writes there: what does not lies in pages
/// that are looked for one after the other, and is copied.
const ROOM: usize = PAGE as usize - 84;

/// The write-ahead log is folded into the file when it has this many pages (1 MiB): a process that finds
/// no other at work has to read the log whole before it can begin (measured: 0.4 ms a MiB).
const LOG_PAGES: i64 = 64;

/// How much of the file is mapped for reading here and there (the most that SQLite allows): a search is twice
/// as fast. What reads or writes all of it does not map it, so that it needs no more memory than a buffer.
const MAPPED: i64 = 2_147_418_112;

/// How many KiB of the file a connection holds, and one of many that a process keeps: what one of them writes, the
/// others read anew anyway.
const CACHE: (u32, u32) = (16_384, 2048);

/// So many prepared statements are kept: a turn with memory asks in some thirty ways.
const STATEMENTS: usize = 64;

/// So many messages are looked around by two at once: for fewer it takes longer to begin.
const MANY: usize = 40;

/// A log that a large batch made longer than this is cut when the store is left.
const LOG_BYTES: u64 = 4 << 20;

/// How long a writer waits for the others, in steps of `pause`.
const PATIENCE: Duration = Duration::from_secs(60);

impl Sqlite {
    /// Opens the file, making it for writing; a missing one is empty for reading, and stays missing.
    pub(super) fn open(path: &Path, access: Access) -> Result<Sqlite> {
        let mut store = Sqlite::alone(path, access)?;
        store.beside = Beside::of(path, access);
        Ok(store)
    }

    /// The same, with no connection beside it.
    fn alone(path: &Path, access: Access) -> Result<Sqlite> {
        let address = format!("sqlite:{}", path.display());
        let open = || -> Result<Connection> {
            let there = path.try_exists().context("cannot look at it")?;
            if !there && access == Access::Read {
                let mut empty = Connection::open_in_memory().context("cannot open")?;
                return prepare(&mut empty, access).map(|()| empty);
            }
            if !there {
                make(path)?;
            }
            connect(path, access)
        };
        let connection = open().map_err(|e| remedied(e.at(format_args!("cannot open store {address}"))))?;
        Ok(Sqlite {
            connection,
            address,
            known: write::Known::default(),
            beside: Beside::Never,
            held: RefCell::new(Held::of(access)),
        })
    }

    /// Adds the store's address to what SQLite says, in words.
    fn failed(&self, what: &str, cause: rusqlite::Error) -> Error {
        remedied(Error::new(format!("cannot {what} store {}", self.address)).because(words_of(&cause)))
    }

    /// What stands around messages, and the cosines of what stands around the first of them: half of the messages are
    /// looked around at a time.
    fn surroundings(
        &mut self,
        messages: &[&Message],
        which: &Select,
        reach: usize,
        meant: Option<(&str, &[f32])>,
        first: usize,
    ) -> Result<(Vec<Around>, Cosines)> {
        let look = |store: &mut Sqlite, messages: &[&Message], first| {
            let found = store.standing_around(messages, which, reach, meant, first);
            found.map_err(|e| store.failed("read", e))
        };
        if messages.len() < MANY {
            return look(self, messages, first);
        }
        let half = messages.len() / 2;
        let (one, other) = messages.split_at(half);
        let (mut found, (around, cosines)) = self.at_once(
            |store| look(store, one, first),
            |store| look(store, other, first.saturating_sub(half)),
        )?;
        found.0.extend(around);
        found.1.extend(cosines);
        Ok(found)
    }

    /// The numbers of the scopes that are meant; `None` for all of them.
    fn scope_numbers(&self, scopes: &Scopes) -> rusqlite::Result<Option<Vec<i64>>> {
        let rows = |sql: &str, params: &[&str]| -> rusqlite::Result<Vec<i64>> {
            self.connection
                .prepare_cached(sql)?
                .query_map(rusqlite::params_from_iter(params), |r| r.get(0))?
                .collect()
        };
        Ok(match scopes {
            Scopes::All => None,
            Scopes::Partition(name) => Some(rows("SELECT n FROM scope WHERE partition = ?", &[name])?),
            Scopes::One(scope) => {
                let names = [scope.partition.as_str(), scope.instance.as_str()];
                Some(rows("SELECT n FROM scope WHERE partition = ? AND instance = ?", &names)?)
            }
        })
    }
}

/// The scopes that a file holds, if they can be read at once.
pub(super) fn glance(path: &Path) -> Vec<Scope> {
    let read = || -> rusqlite::Result<Vec<Scope>> {
        // SQLite would make a file that is missing if it could write.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        let mut statement = connection.prepare("SELECT partition, instance FROM scope")?;
        let scope = |row: &rusqlite::Row| Ok(Scope { partition: row.get(0)?, instance: row.get(1)? });
        statement.query_map([], scope)?.collect()
    };
    read().unwrap_or_default()
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        let log = self.connection.path().map(|path| format!("{path}-wal"));
        let long = log.and_then(|log| fs::metadata(log).ok()).is_some_and(|log| log.len() > LOG_BYTES);
        if long && self.connection.busy_timeout(Duration::ZERO).is_ok() {
            // Somebody else at work will cut it later.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

impl Store for Sqlite {
    fn write(&mut self, batch: &[Record]) -> Result<Vec<Written>> {
        write::write(&mut self.connection, &mut self.known, batch).map_err(|e| {
            // What was remembered may have been rolled back.
            self.known = write::Known::default();
            self.failed("write to", e)
        })
    }

    fn last(&mut self, which: &Select, count: usize) -> Result<Vec<Message>> {
        self.read_last(which, count).map_err(|e| self.failed("read", e))
    }

    fn count(&mut self, which: &Select, most: usize) -> Result<usize> {
        self.count_up_to(which, most).map_err(|e| self.failed("read", e))
    }

    fn accounts(&mut self, which: &Select, digest: Option<&str>, count: usize) -> Result<Vec<Account>> {
        self.read_accounts(which, digest, count).map_err(|e| self.failed("read", e))
    }

    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>> {
        self.find_terms(terms, occur, which, limit, None)
            .map(|(hits, _)| hits)
            .map_err(|e| self.failed("search", e))
    }

    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<()> {
        self.walk_all(what, visit).map_err(|e| match e {
            read::Stopped::Here(cause) => self.failed("read", cause),
            read::Stopped::There(error) => error,
        })
    }

    fn scope_of(&mut self, id: &str) -> Result<Option<Scope>> {
        self.scope_of_record(id).map_err(|e| self.failed("read", e))
    }

    fn scopes(&mut self) -> Result<Vec<(Scope, u64)>> {
        self.count_scopes().map_err(|e| self.failed("read", e))
    }

    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let found = self.find_nearest(model, vector, which, limit).map_err(|e| self.failed("search", e))?;
        found.map_err(|dim| {
            super::other_dimension(model, vector.len(), usize::try_from(dim).unwrap_or_default())
        })
    }

    fn similarities(&mut self, model: &str, vector: &[f32], ids: &[&str]) -> Result<Cosines> {
        self.cosines(model, vector, ids).map_err(|e| self.failed("read", e))
    }

    fn related(
        &mut self,
        terms: &[Term],
        meant: (&str, &[f32]),
        which: &Select,
        limit: usize,
    ) -> Result<Related> {
        let ((worded, cosines), near) = self.at_once(
            |store| {
                let found = store.find_terms(terms, Occur::Any, which, limit, Some(meant));
                found.map_err(|e| store.failed("search", e))
            },
            |store| store.nearest(meant.0, meant.1, which, limit),
        )?;
        Ok(Related { worded, near, cosines })
    }

    fn around(&mut self, messages: &[&Message], which: &Select, reach: usize) -> Result<Vec<Around>> {
        self.surroundings(messages, which, reach, None, 0).map(|(around, _)| around)
    }

    fn around_measured(
        &mut self,
        messages: &[&Message],
        which: &Select,
        reach: usize,
        (model, vector, first): (&str, &[f32], usize),
    ) -> Result<(Vec<Around>, Cosines)> {
        self.surroundings(messages, which, reach, Some((model, vector)), first)
    }

    fn pending(&mut self, model: &str, which: &Select, limit: usize) -> Result<Pending> {
        self.read_pending(model, which, limit).map_err(|e| self.failed("read", e))
    }

    fn models(&mut self) -> Result<Vec<Model>> {
        embedding::models(&self.connection).map_err(|e| self.failed("read", e))
    }

    fn replace(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()> {
        let replaced = embedding::replace(&mut self.connection, vectors, fact);
        replaced.map_err(|e| self.failed("write to", e))?.map_err(Error::new)
    }

    fn forget(&mut self, model: &str) -> Result<()> {
        embedding::forget(&mut self.connection, model).map_err(|e| self.failed("write to", e))
    }

    fn mend(&mut self) -> Result<u64> {
        embedding::mend(&mut self.connection).map_err(|e| self.failed("mend", e))
    }

    fn faults(&mut self, most: u32) -> Result<Vec<String>> {
        self.look_through(most).map_err(|e| self.failed("read", e))
    }

    /// A file is of rsv alone.
    fn adopt(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn fact(&mut self, name: &str) -> Result<Option<String>> {
        let sql = "SELECT value FROM fact WHERE name = ?";
        let read = || self.connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional();
        read().map_err(|e| self.failed("read", e))
    }

    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        embedding::remember(&self.connection, name, value).map_err(|e| self.failed("write to", e))
    }

    fn claim(&mut self, job: &str) -> Result<Option<Claim>> {
        match self.connection.path() {
            // A store that is not there is nobody else's either.
            Some("") => Ok(Some(Claim(Box::new(())))),
            Some(path) => lock(format!("{path}-{job}").as_ref()),
            None => Err(Error::new(format!("cannot lock store {}: its path is not UTF-8", self.address))),
        }
    }
}

impl Graph for Sqlite {
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>> {
        self.read_links(ids, rel).map_err(|e| self.failed("read", e))
    }

    fn messages(&mut self, ids: &[&str], which: &Select) -> Result<Vec<Message>> {
        self.read_messages(ids, which).map_err(|e| self.failed("read", e))
    }

    fn linked(&mut self, model: &str, scopes: &Scopes) -> Result<Vec<Linked>> {
        self.read_linked(model, scopes).map_err(|e| self.failed("read", e))
    }

    fn alike(&mut self, model: &str, scope: &Scope, of: Of, floor: f64, limit: usize) -> Result<Vec<Alike>> {
        self.find_alike(model, scope, of, floor, limit).map_err(|e| self.failed("read", e))
    }

    fn relink(
        &mut self,
        model: &str,
        scope: &Scope,
        rule: Rule,
        compared: &[Alike],
        changes: &Changes,
    ) -> Result<bool> {
        let made = graph::relink(&mut self.connection, (model, scope), rule, compared, changes);
        made.map_err(|e| self.failed("write to", e))
    }

    fn prune(&mut self, model: &str, scope: &Scope, rule: Rule, anew: bool) -> Result<u64> {
        graph::prune(&mut self.connection, model, scope, rule, anew).map_err(|e| self.failed("write to", e))
    }
}

/// Locks a file, which is made if need be; `None` if another has locked it. The system unlocks it when the
/// guard is dropped or the process ends, however it does; the file stays, for whoever comes next.
fn lock(path: &Path) -> Result<Option<Claim>> {
    let file = open_private(path).context(format_args!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Claim(Box::new(file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(cause)) => Err(cause).context(format_args!("cannot lock {}", path.display())),
    }
}

/// Makes an empty file that only its owner can read, and its directories.
fn make(path: &Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        let mut directory = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut directory, 0o700);
        directory.recursive(true).create(parent).context(format_args!("cannot make {}", parent.display()))?;
    }
    open_private(path).context("cannot make the file").map(drop)
}

/// Opens a file, making an empty one that only its owner can read.
fn open_private(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.write(true).create(true).truncate(false).open(path)
}

fn connect(path: &Path, access: Access) -> Result<Connection> {
    if path.is_dir() {
        return Err(Error::new("is a directory"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // A file that is called `:memory:` is a file: SQLite would keep it in memory, and lose it.
    let path = &Path::new(".").join(path);
    let mut connection = Connection::open_with_flags(path, flags).map_err(|e| Error::new(words_of(&e)))?;
    prepare(&mut connection, access)?;
    Ok(connection)
}

/// Sets the connection up, refuses foreign and newer files, and brings older ones up to date.
fn prepare(connection: &mut Connection, access: Access) -> Result<()> {
    let plain = |e: rusqlite::Error| Error::new(words_of(&e));
    connection.busy_handler(Some(pause)).map_err(plain)?;
    // Folding the log into the file costs a short-lived process more than the write it came for.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(plain)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(plain)?;
    // Else a statement is prepared anew for every value it is given: more than half of a search's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(plain)?;
    // All that a turn asks: a statement is prepared once.
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // FULL: what is acknowledged survives a power cut, at the price of one fsync a batch.
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{}; PRAGMA mmap_size = {};
             PRAGMA wal_autocheckpoint = {LOG_PAGES};",
            if access == Access::Serve { CACHE.1 } else { CACHE.0 },
            if access == Access::Read { MAPPED } else { 0 }
        ))
        .map_err(plain)?;
    let marks = Marks::of(connection).map_err(plain)?;
    if marks.id == schema::APPLICATION_ID && marks.version == schema::VERSION {
        return Ok(());
    }
    marks.refuse_foreign()?;
    if marks.version == 0 {
        begin_file(connection).map_err(plain)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(plain)?;
    // Another process may have done it meanwhile.
    let version = Marks::of(&transaction).map_err(plain)?.version;
    schema::migrate(&transaction, version)?;
    transaction.commit().map_err(plain)
}

/// What tells whose file it is, read at one instant.
struct Marks {
    /// `application_id`
    id: i32,
    /// `user_version`
    version: i32,
    /// Whether there is any table.
    tables: bool,
}

impl Marks {
    fn of(connection: &Connection) -> rusqlite::Result<Marks> {
        let sql = "SELECT application_id, user_version, EXISTS (SELECT 1 FROM sqlite_schema)
                   FROM pragma_application_id, pragma_user_version";
        connection.query_row(sql, [], |row| {
            Ok(Marks { id: row.get(0)?, version: row.get(1)?, tables: row.get(2)? })
        })
    }

    fn refuse_foreign(&self) -> Result<()> {
        if self.id == schema::APPLICATION_ID && self.version > schema::VERSION {
            let text =
                format!("is of a newer rsv (version {}; this one knows {})", self.version, schema::VERSION);
            return Err(Error::new(text).hint("update rsv, or name another store with --store"));
        }
        if self.id != schema::APPLICATION_ID && (self.id != 0 || self.version != 0 || self.tables) {
            return Err(
                Error::new("is the database of another program").hint("name another store with --store")
            );
        }
        Ok(())
    }
}

/// Sets what can only be set before the first table. Two processes may do so at once: the switch to WAL
/// does not wait for the other, so it is tried again.
fn begin_file(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", PAGE)?;
    let mut attempt = 0;
    loop {
        let switched = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match switched {
            Err(e) if is_busy(&e) && pause(attempt) => attempt += 1,
            other => return other.map(drop),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

/// Waits before another try; false when patience is at its end. Short steps of uneven length, the same
/// for all: SQLite's own steps grow, so that whoever came last would win.
fn pause(attempt: i32) -> bool {
    let uneven = (std::process::id() as u64 ^ attempt as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    let step = Duration::from_micros(if attempt < 8 { 250 } else { 1500 } + uneven);
    std::thread::sleep(step);
    step * (attempt as u32) < PATIENCE
}

/// What SQLite's error says to somebody who knows no SQLite.
fn words_of(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::DiskFull) => "the disk is full".into(),
        Some(Code::NotADatabase) => "is not an rsv store".into(),
        Some(Code::DatabaseCorrupt) => "the file is damaged".into(),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => {
            format!("other programs kept it locked for {} s", PATIENCE.as_secs())
        }
        Some(Code::PermissionDenied | Code::ReadOnly) => "permission denied".into(),
        Some(Code::CannotOpen) => "cannot open the file or its directory".into(),
        Some(Code::SystemIoFailure) => "reading or writing the file failed (is the disk full?)".into(),
        _ => error.to_string(),
    }
}

/// Adds what helps against the commoner causes.
fn remedied(error: Error) -> Error {
    if error.remedy().is_some() {
        return error;
    }
    let text = error.to_string();
    let hints = [
        ("is damaged", "restore a backup, or save what can be read with rsv-export"),
        ("not an rsv store", "name another store with --store"),
        ("is a directory", "name a file in it, such as --store DIRECTORY/store.db"),
        ("cannot make", "check the permissions, or name another store with --store"),
        ("ermission denied", "check the permissions, or name another store with --store"),
        ("cannot open the file", "check the permissions, or name another store with --store"),
        ("disk", "free some space and run it again; nothing is half-written"),
        ("kept it locked", "find the program that holds it, and run it again"),
    ];
    match hints.iter().find(|(sign, _)| text.contains(sign)) {
        Some((_, hint)) => error.hint(*hint),
        None => error,
    }
}
