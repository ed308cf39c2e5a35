//! Opens and configures a connection to a file, and checks that the file is a store.

use super::error::{
    DAMAGED, LOCK_TIMEOUT, are_locks_refused, as_store_error, describe, forget_refusal, is_busy, kind_of,
};
use super::recovery::raw_pages::PAGE_SIZE;
use super::recovery::recover;
use super::{migrations, schema, wal};
use crate::cli::report_lock_wait;
use crate::store::api::OpenMode;
use crate::store::error::{ErrorKind, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use rustix::process::geteuid;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// The bytes of an index row that fit into a page beside SQLite's own. The rest of a longer row would be in
/// overflow pages, which are read one after the other and copied.
pub(super) const PAGE_PAYLOAD: usize = PAGE_SIZE - 84;

/// The number of pages (1 MiB) at which the write-ahead log is checkpointed: the first process that opens a
/// file reads the whole log (measured: 0.4 ms a MiB).
const CHECKPOINT_PAGES: i64 = 64;

/// The bytes of the file that are memory-mapped for random reads (the most that SQLite allows), which makes a
/// search twice as fast. Sequential reads and writes do not map the file, so that they need no more memory
/// than a buffer.
const MAPPED_BYTES: i64 = 2_147_418_112;

/// The page cache of a connection in KiB, and that of a pooled one, which is smaller: a write by one
/// connection invalidates the caches of the others.
const CACHE_KIB: (u32, u32) = (16_384, 2048);

/// The number of cached prepared statements: a turn with memory runs about thirty.
const CACHED_STATEMENTS: usize = 64;

/// The VFS of SQLite that keeps the index of the log in the memory of the process, which alone uses the file
/// meanwhile.
const EXCLUSIVE_VFS: &str = "unix-excl";

/// A connection to a file.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// Whether it keeps others out, also this process.
    pub(super) is_exclusive: bool,
}

impl From<Connection> for Opened {
    fn from(connection: Connection) -> Opened {
        Opened { connection, is_exclusive: false }
    }
}

/// Opens the file at a path. With `Existing` a file that is missing or has no tables is an empty store in
/// memory, and nothing is written; else the store is made. Fails if the file cannot be made, is no store, of
/// a later release, damaged, or locked for too long.
pub(super) fn open(path: &Path, mode: OpenMode, address: &str) -> Result<Opened, StoreError> {
    let attempt = || format!("cannot open store {address}");
    let failed = |kind, cause: String| StoreError::new(kind, attempt(), cause);
    let existing = path
        .try_exists()
        .map_err(|e| failed(ErrorKind::ReadOnly, format!("cannot inspect it: {}", plain_io(&e))))?;
    if mode == OpenMode::Existing && (!existing || is_empty(path)) {
        return in_memory(mode).map(Opened::from).map_err(|e| as_store_error(attempt(), &e));
    }
    if !existing {
        make(path).map_err(|(kind, cause)| failed(kind, cause))?;
    }
    if path.is_dir() {
        return Err(failed(ErrorKind::Directory, "is a directory".to_owned()));
    }
    // SQLite has the log beside the file itself, not beside a link to it. A link to nothing has no log yet.
    let target = if path.is_symlink() { fs::canonicalize(path).ok() } else { None };
    let path = target.as_deref().unwrap_or(path);
    let connected = match mode {
        OpenMode::Existing => connect_to_read(path),
        mode => connect(path, mode, None).map(Opened::from),
    };
    if connected.is_ok() && mode != OpenMode::Existing {
        make_private(path);
    }
    connected.map_err(|OpenError(kind, cause)| match kind {
        // Its header is damaged, which says what it is.
        ErrorKind::NotADatabase | ErrorKind::ForeignFile if recover::has_records(path) => {
            failed(ErrorKind::Corrupt, DAMAGED.to_owned())
        }
        ErrorKind::NotFound if mode != OpenMode::Existing => {
            let (kind, cause) = creation_error(path).unwrap_or((ErrorKind::NotFound, cause));
            failed(kind, cause)
        }
        kind => failed(kind, cause),
    })
}

/// Why no file can be created beside a store, if that has a remedy: SQLite says only that it cannot open one.
fn creation_error(path: &Path) -> Option<(ErrorKind, String)> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let error = tempfile::Builder::new().tempfile_in(directory.unwrap_or(Path::new("."))).err()?;
    Some((kind_of(&error)?, plain_io(&error)))
}

/// The reason why a file is not opened.
struct OpenError(ErrorKind, String);

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        let (kind, cause) = describe(&error);
        OpenError(kind, cause)
    }
}

/// The message of an error of the operating system, without its number.
fn plain_io(error: &std::io::Error) -> String {
    crate::error::plain(&error.to_string())
}

/// Whether a file is empty: another process has just made it.
fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

fn in_memory(mode: OpenMode) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    set_up(&mut connection, mode)?;
    let transaction = connection.transaction()?;
    schema::create(&transaction)?;
    transaction.commit()?;
    Ok(connection)
}

/// Makes an empty file that only its owner can read, and its directories.
fn make(path: &Path) -> Result<(), (ErrorKind, String)> {
    let failed = |what: String, e: std::io::Error| {
        (kind_of(&e).unwrap_or(ErrorKind::NotFound), format!("{what}: {}", plain_io(&e)))
    };
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        let mut directory = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut directory, 0o700);
        let made = directory.recursive(true).create(parent);
        made.map_err(|e| failed(format!("cannot create {}", parent.display()), e))?;
    }
    open_private(path).map(drop).map_err(|e| failed("cannot create the file".to_owned(), e))
}

/// Opens a file, making an empty one that only its owner can read. Fails if its rights forbid it, or its
/// directory is missing.
pub(super) fn open_private(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.write(true).create(true).truncate(false).open(path)
}

/// The rights of others than the owner.
const RIGHTS_OF_OTHERS: u32 = 0o077;

/// Whether a file is the user's own, and others can read or change it.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| {
        metadata.is_file() && metadata.uid() == geteuid().as_raw() && metadata.mode() & RIGHTS_OF_OTHERS != 0
    })
}

/// Takes the rights of others from the user's own store, its log and the log's index, which SQLite makes with
/// the rights of the file. Where that is not possible, the doctor reports it.
fn make_private(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let file = Path::new(&name);
        if is_open_to_others(file) {
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).ok();
        }
    }
}

/// Connects to a file that exists, to read it, also where there is no room for the log's index, or where no
/// log can be created.
fn connect_to_read(path: &Path) -> Result<Opened, OpenError> {
    let error = match connect(path, OpenMode::Existing, None) {
        Ok(connection) => return Ok(connection.into()),
        Err(error) => error,
    };
    if matches!(error.0, ErrorKind::Full)
        && let Ok(connection) = connect(path, OpenMode::Existing, Some(EXCLUSIVE_VFS))
    {
        return Ok(Opened { connection, is_exclusive: true });
    }
    match error.0 {
        ErrorKind::Full | ErrorKind::NotFound | ErrorKind::ReadOnly => {
            connect_without_log(path).map(Opened::from).map_err(|_| error)
        }
        _ => Err(error),
    }
}

/// Connects to a file through a VFS, else the one of the system.
fn connect(path: &Path, mode: OpenMode, vfs: Option<&str>) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // The prefix makes `:memory:` the name of a file: SQLite would keep the store in memory, and lose it.
    let file = Path::new(".").join(path);
    // Before SQLite locks the file: to close it anywhere in the process gives the locks back.
    let alone = wal::read_alone(&file);
    let mut connection = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(&file, flags, vfs)?,
        None => Connection::open_with_flags(&file, flags)?,
    };
    set_up(&mut connection, mode)?;
    // Until it is known to belong to the file, the log stays as it is.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // The last process to leave empties the log, but only a writer that of a killed process.
    let keeps_log = mode == OpenMode::Existing && wal::len(&wal::path_of(path)) > 0;
    let identity = FileIdentity::read(&connection)?;
    identity.check()?;
    if identity.has_tables {
        if !wal::belongs_to_file(&connection, &file, alone)? {
            let log = wal::path_of(path);
            let cause = format!("{} is the log of another file", log.display());
            return Err(OpenError(ErrorKind::ForeignLog, cause));
        }
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps_log)?;
        return Ok(connection);
    }
    if mode == OpenMode::Existing {
        return Ok(in_memory(mode)?);
    }
    begin_file(&connection)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have made them meanwhile.
    if !FileIdentity::read(&transaction)?.has_tables {
        schema::create(&transaction)?;
    }
    transaction.commit()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(connection)
}

/// Opens a file in a directory where no log can be created. Errors if there is a log: without it
/// the file alone is not the store.
fn connect_without_log(path: &Path) -> Result<Connection, OpenError> {
    if wal::len(&wal::path_of(path)) > 0 {
        return Err(rusqlite::Error::InvalidPath(path.to_owned()).into());
    }
    let mut connection = wal::open_alone(&Path::new(".").join(path))?;
    set_up(&mut connection, OpenMode::Existing)?;
    let identity = FileIdentity::read(&connection)?;
    identity.check()?;
    if identity.user_version < migrations::VERSION && identity.has_tables {
        let cause =
            "is of an earlier version of rsv, and cannot be written to bring it up to date".to_owned();
        return Err(OpenError(ErrorKind::ReadOnly, cause));
    }
    Ok(connection)
}

/// Makes a connection wait for the locks of others.
pub(super) fn wait_for_locks(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(pause))
}

fn set_up(connection: &mut Connection, mode: OpenMode) -> rusqlite::Result<()> {
    wait_for_locks(connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Otherwise SQLite prepares a statement again for every value: more than half of a search's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    let cache = if mode == OpenMode::Pooled { CACHE_KIB.1 } else { CACHE_KIB.0 };
    let mapped = if mode == OpenMode::Existing { MAPPED_BYTES } else { 0 };
    // FULL: acknowledged writes survive a power failure, at the cost of one fsync a batch.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{cache}; PRAGMA mmap_size = {mapped};
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};"
    ))
}

/// Maps the file into memory, or unmaps it.
pub(super) fn set_mapped(connection: &Connection, mapped: bool) -> rusqlite::Result<()> {
    connection.pragma_update(None, "mmap_size", if mapped { MAPPED_BYTES } else { 0 })
}

/// The header of a file, which tells whether it is a store.
struct FileIdentity {
    application_id: i32,
    user_version: i32,
    has_tables: bool,
}

impl FileIdentity {
    fn read(connection: &Connection) -> rusqlite::Result<FileIdentity> {
        let sql = "SELECT application_id, user_version, EXISTS (SELECT 1 FROM sqlite_schema)
                   FROM pragma_application_id, pragma_user_version";
        connection.query_row(sql, [], |row| {
            Ok(FileIdentity {
                application_id: row.get(0)?,
                user_version: row.get(1)?,
                has_tables: row.get(2)?,
            })
        })
    }

    /// Refuses the files of other programs, and of other versions.
    fn check(&self) -> Result<(), OpenError> {
        let FileIdentity { application_id, user_version, has_tables } = *self;
        if application_id == schema::APPLICATION_ID
            && !(migrations::OLDEST..=migrations::VERSION).contains(&user_version)
        {
            return Err(OpenError(ErrorKind::OtherVersion, migrations::other_version(user_version)));
        }
        if application_id != schema::APPLICATION_ID
            && (application_id != 0 || user_version != 0 || has_tables)
        {
            let cause = "is the database of another program".to_owned();
            return Err(OpenError(ErrorKind::ForeignFile, cause));
        }
        Ok(())
    }
}

/// The number of refused locks after which no more are tried for: a network may lose one.
const REFUSALS: i32 = 8;

/// Sets the options that must precede the first table. Two processes may do so at once: the switch to WAL
/// does not wait for a lock, so it is retried.
fn begin_file(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", PAGE_SIZE as i64)?;
    let mut attempt = 0;
    loop {
        let switched = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match switched {
            Err(e) if is_busy(&e) && pause(attempt) => attempt += 1,
            other => return other.map(drop),
        }
    }
}

/// Waits before a retry; false after the timeout, or if the file system refuses locks, which SQLite takes for
/// a lock that another program holds. The waits are short, with jitter: SQLite's own backoff grows, so that
/// the latest process would win.
fn pause(attempt: i32) -> bool {
    if are_locks_refused() {
        if attempt >= REFUSALS {
            return false;
        }
        // If it is the last failure again, it will be one of the next attempt.
        forget_refusal();
    }
    let jitter = (std::process::id() as u64 ^ attempt as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    let step = Duration::from_micros(if attempt < 8 { 250 } else { 1500 } + jitter);
    std::thread::sleep(step);
    let waited = step * (attempt as u32);
    report_lock_wait(waited);
    waited < LOCK_TIMEOUT
}
