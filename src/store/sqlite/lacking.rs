//! Which messages lack a vector, of every model that there are vectors of. A message with words is noted when
//! it is written and struck off when its vector is, so that to ask for what is pending costs as much as there
//! is of it.

use super::super::{Pending, Select};
use super::Sqlite;
use super::embedding::{self, Place};
use super::select::Source;
use rusqlite::{Connection, params};

/// The condition that a message has words, or other signs that are no space; to be given `spaces`.
pub(super) const HAS_WORDS: &str = "trim(record.content, ?) <> ''";

/// Every character that `str::trim` takes off.
pub(super) fn spaces() -> String {
    ('\0'..='\u{3000}').filter(|c| c.is_whitespace()).collect()
}

/// Notes that a new message lacks a vector of each model, unless it has no words.
pub(super) fn note(
    connection: &Connection,
    (n, scope, timestamp): (i64, i64, i64),
    text: &str,
) -> rusqlite::Result<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO lacking (model, scope, timestamp, record) SELECT n, ?, ?, ? FROM model";
    connection.prepare_cached(sql)?.execute([scope, timestamp, n]).map(drop)
}

/// Strikes a record off that has a vector of the model now.
pub(super) fn strike(connection: &Connection, model: i64, place: &Place) -> rusqlite::Result<()> {
    let sql = "DELETE FROM lacking WHERE model = ? AND scope = ? AND timestamp = ? AND record = ?";
    connection.prepare_cached(sql)?.execute([model, place.scope, place.timestamp, place.n]).map(drop)
}

/// Notes every message that lacks a vector of a model, and none that has one.
pub(super) fn begin(connection: &Connection, model: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM lacking WHERE model = ?1
               AND EXISTS (SELECT 1 FROM embedding WHERE record = lacking.record AND model = ?1)";
    connection.prepare_cached(sql)?.execute([model])?;
    let sql = format!(
        "INSERT INTO lacking (model, scope, timestamp, record) \
         SELECT ?1, scope, timestamp, n FROM record WHERE kind = 'message' AND {HAS_WORDS} \
         AND NOT EXISTS (SELECT 1 FROM embedding WHERE record = record.n AND model = ?1) \
         ORDER BY scope, timestamp ON CONFLICT DO NOTHING"
    );
    connection.prepare_cached(&sql)?.execute(params![model, spaces()]).map(drop)
}

impl Sqlite {
    pub(super) fn read_pending(
        &mut self,
        model: &str,
        which: &Select,
        limit: usize,
    ) -> rusqlite::Result<Pending> {
        let snapshot = self.connection.unchecked_transaction()?;
        let known = embedding::model(&self.connection, model)?;
        let source = match known {
            Some((n, _)) => Source::lacking(which, n),
            None => Source::with_words(which),
        };
        let scopes = self.scope_numbers(&which.scopes)?;
        let total = self.count(&source, scopes.as_deref())?;
        let mut newest = Vec::new();
        if total > 0 && limit > 0 {
            newest = self.last_of(&source, scopes.as_deref(), limit)?;
            newest.reverse();
        }
        snapshot.finish()?;
        Ok(Pending { newest, total, known: known.is_some() })
    }
}
