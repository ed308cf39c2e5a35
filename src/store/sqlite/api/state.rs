//! The state of the store, in SQLite.

use crate::record::{Scope, StoredRecord, title_of_question};
use crate::store::api::{Among, Claim, State, Tallies};
use crate::store::changes::{ChangeState, Witness};
use crate::store::error::{ErrorKind, Result, StoreError};
use crate::store::forgetting::blocking;
use crate::store::maintenance::{Derived, FileState, Leftovers, Maintenance};
use crate::store::rename::{Obstacle, Rename};
use crate::store::sqlite::connection::open_private;
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::error::kind_of;
use crate::store::sqlite::words::refold;
use crate::store::sqlite::{changes, erase, facts, rename, repair, tallies};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use std::fs::TryLockError;
use std::path::Path;
use std::time::Duration;

impl State for Sqlite {
    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        facts::set(&self.connection, name, value).map_err(|e| self.failed("write to", e))
    }

    fn facts(&mut self, prefix: &str) -> Result<Vec<(String, String)>> {
        facts::all(&self.connection, prefix).map_err(|e| self.failed("read", e))
    }

    fn foreign_version(&mut self) -> Result<Option<i64>> {
        let version = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        version.map(Some).map_err(|e| self.failed("read", e))
    }

    fn fingerprint_keys(&mut self, visit: &mut dyn FnMut(i64)) -> Result<()> {
        fingerprint_keys(&self.connection, visit).map_err(|e| self.failed("read", e))
    }

    fn claim(&mut self, job: &str) -> Result<Option<Claim>> {
        match self.connection.path() {
            // A missing store is used by nobody else.
            Some("") => Ok(Some(Claim(Box::new(())))),
            Some(path) => lock(format!("{path}-{job}").as_ref()),
            None => Err(StoreError::new(ErrorKind::Other, self.attempt("lock"), "its path is not UTF-8")),
        }
    }

    fn tallies(&mut self, subjects: &[&str]) -> Result<Tallies> {
        tallies::sums(&self.connection, subjects).map_err(|e| self.failed("read", e))
    }

    fn scopes(&mut self, instance: Option<&str>) -> Result<Vec<(Scope, u64)>> {
        scopes(&self.connection, instance).map_err(|e| self.failed("read", e))
    }

    fn identify(&mut self, which: Among) -> Result<Vec<(String, Scope)>> {
        identify(&self.connection, which).map_err(|e| self.failed("read", e))
    }

    fn are_kept_out(&mut self, records: &[StoredRecord]) -> Result<Vec<bool>> {
        let is_kept_out = |record| Ok(!blocking(record, &self.connection)?.is_empty());
        records.iter().map(is_kept_out).collect::<rusqlite::Result<_>>().map_err(|e| self.failed("read", e))
    }

    fn change_state(&mut self, earlier: &[Witness]) -> Result<ChangeState> {
        changes::state(&self.connection, earlier).map_err(|e| self.failed("read", e))
    }
}

fn fingerprint_keys(connection: &Connection, visit: &mut dyn FnMut(i64)) -> rusqlite::Result<()> {
    let sql = "SELECT fingerprint FROM record WHERE fingerprint IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        visit(row.get(0)?);
    }
    Ok(())
}

impl Maintenance for Sqlite {
    fn check_place(&mut self) -> Result<()> {
        self.check_origin()?;
        self.check_version()
    }

    fn erase(&mut self, what: Leftovers) -> Result<bool> {
        if what == Leftovers::Texts {
            return erase::wait(&mut self.connection).map_err(|e| self.failed("write to", e));
        }
        let is_finished = erase::compact(&mut self.connection).map_err(|e| self.failed("compact", e))?;
        if is_finished {
            return Ok(true);
        }
        Err(StoreError::new(ErrorKind::Locked, self.attempt("compact"), "other programs are using it"))
    }

    fn copy_file(&mut self, to: &Path) -> Result<bool> {
        let path = to.to_str().ok_or_else(|| rusqlite::Error::InvalidPath(to.to_owned()));
        let copied = path.and_then(|path| self.connection.execute("VACUUM INTO ?", [path]));
        copied.map(|_| true).map_err(|e| self.failed("copy", e))
    }

    fn rename(&mut self, rename: &Rename) -> Result<std::result::Result<u64, Obstacle>> {
        self.durably(|store| {
            let renamed = rename::rename(&mut store.connection, &mut store.known_collections, rename);
            renamed.map_err(|e| store.rolled_back(e))
        })
    }

    fn examine(&mut self, most: u32) -> Result<FileState> {
        let examine = |connection: &Connection| {
            let errors = if most > 0 { integrity_errors(connection, most)? } else { Vec::new() };
            Ok(FileState { errors, unused_bytes: erase::unused_bytes(connection)? })
        };
        examine(&self.connection).map_err(|e| self.failed("read", e))
    }

    fn update_words(&mut self) -> Result<u64> {
        self.durably(|store| {
            let updated = repair::words(&mut store.connection, UPDATE_TIME);
            updated.map_err(|e| store.failed("write to", e))
        })
    }

    fn outdated_words(&mut self) -> Result<u64> {
        refold::remaining(&self.connection).map_err(|e| self.failed("read", e))
    }

    fn repair(&mut self, what: Derived) -> Result<Vec<String>> {
        let connection = &mut self.connection;
        let (attempt, done) = match what {
            Derived::All => ("repair", repair::repair(connection)),
            Derived::VectorIndexes => ("mend", repair::vector_indexes(connection)),
            Derived::Tallies => ("write to", repair::sums(connection)),
        };
        done.map_err(|e| self.failed(attempt, e))
    }
}

/// The time for which words are updated in one transaction: other writers wait so long.
const UPDATE_TIME: Duration = Duration::from_millis(30);

/// The scopes in a file, if they can be read at once. Fails if the file cannot be read.
pub(crate) fn peek_scopes(connection: &Connection) -> rusqlite::Result<Vec<Scope>> {
    let sql = "SELECT DISTINCT partition, instance FROM collection
               WHERE EXISTS (SELECT 1 FROM record WHERE collection = collection.n)";
    let mut statement = connection.prepare(sql)?;
    let scope = |row: &Row| Ok(Scope { partition: row.get(0)?, instance: row.get(1)? });
    statement.query_map([], scope)?.collect()
}

/// The titles of the instances of a partition in a file, stored or made of the first question, if they can be
/// read at once. Fails if the file cannot be read.
pub(crate) fn peek_titles(
    connection: &Connection,
    partition: &str,
) -> rusqlite::Result<Vec<(Scope, String)>> {
    let sql = "SELECT messages.instance,
                 (SELECT members ->> '$.title' FROM collection JOIN record ON record.collection = collection.n
                  WHERE kind = 'title' AND partition = ?1 AND instance = messages.instance),
                 (SELECT substr(text, 1, 1000) FROM record
                  WHERE record.collection = messages.n AND role = 'user' AND trim(text) <> ''
                  ORDER BY timestamp, seq LIMIT 1)
               FROM collection AS messages WHERE kind = 'message' AND partition = ?1";
    let mut statement = connection.prepare(sql)?;
    let title = |row: &Row| {
        let scope = Scope { partition: partition.to_owned(), instance: row.get(0)? };
        let (stored, question): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
        // An instance that nobody named holds more than one conversation.
        let question = question.filter(|_| !scope.is_of_partition_alone());
        let title = stored.or_else(|| question.map(|question| title_of_question(&question)));
        Ok((scope, title.unwrap_or_default()))
    };
    statement.query_map([partition], title)?.collect()
}

/// The scopes with records, or those of them whose instance has a name.
fn scopes(connection: &Connection, instance: Option<&str>) -> rusqlite::Result<Vec<(Scope, u64)>> {
    let sql = "SELECT partition, instance, sum(CASE WHEN kind = 'message' THEN
                 (SELECT count(*) FROM record WHERE collection = collection.n) ELSE 0 END)
               FROM collection WHERE (?1 IS NULL OR instance = ?1)
                 AND EXISTS (SELECT 1 FROM record WHERE collection = collection.n)
               GROUP BY partition, instance ORDER BY partition, instance";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([instance], |row| {
        let scope = Scope { partition: row.get(0)?, instance: row.get(1)? };
        Ok((scope, row.get::<_, i64>(2)?.unsigned_abs()))
    })?;
    rows.collect()
}

/// The errors that SQLite finds in the file.
fn integrity_errors(connection: &Connection, most: u32) -> rusqlite::Result<Vec<String>> {
    let mut check = connection.prepare("SELECT integrity_check FROM pragma_integrity_check LIMIT ?")?;
    let mut errors: Vec<String> =
        check.query_map([most], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    errors.retain(|error| error != "ok");
    // A line that names the database comes before the error.
    for error in &mut errors {
        *error = error.trim_start_matches("*** in database main ***\n").to_owned();
    }
    let mut astray = connection.prepare("SELECT \"table\" FROM pragma_foreign_key_check LIMIT ?")?;
    let astray = astray.query_map([most], |row| row.get::<_, String>(0))?;
    let astray = astray.collect::<rusqlite::Result<Vec<_>>>()?;
    errors.extend(astray.iter().map(|table| format!("{table} refers to a record that does not exist")));
    Ok(errors)
}

/// Locks a file, which is made if it is missing; `None` if another process has locked it. The system unlocks
/// it when the guard is dropped or the process ends for any reason; the file stays for the next lock.
fn lock(path: &Path) -> Result<Option<Claim>> {
    let failed = |what: &str, cause: std::io::Error| {
        let kind = kind_of(&cause).unwrap_or(ErrorKind::ReadOnly);
        StoreError::new(kind, format!("cannot {what} {}", path.display()), cause.to_string())
    };
    let file = open_private(path).map_err(|cause| failed("open", cause))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Claim(Box::new(file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(cause)) => Err(failed("lock", cause)),
    }
}

fn identify(connection: &Connection, which: Among) -> rusqlite::Result<Vec<(String, Scope)>> {
    let read = |condition: &str, keys: &mut dyn Iterator<Item = Vec<Value>>| {
        let sql = format!(
            "SELECT id, partition, instance FROM record JOIN collection ON collection.n = collection WHERE {condition}"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for values in keys {
            let named = statement.query_map(params_from_iter(values), |row| {
                Ok((row.get(0)?, Scope { partition: row.get(1)?, instance: row.get(2)? }))
            })?;
            for one in named {
                found.push(one?);
            }
        }
        Ok(found)
    };
    let range = |(first, last): (i64, i64)| vec![first.into(), last.into()];
    match which {
        Among::Ids(ids) => read("id = ?", &mut ids.iter().map(|id| vec![Value::from((*id).to_owned())])),
        Among::Digests(digests) => read(
            "record.n IN (SELECT record FROM id_digest WHERE digest BETWEEN ? AND ?)",
            &mut digests.iter().map(|digests| range((*digests.start(), *digests.end()))),
        ),
        // A record that changes gets another number.
        Among::Numbers { numbers, .. } => read("record.n BETWEEN ? AND ?", &mut numbers.iter().map(range)),
    }
}
