//! Search by meaning, in SQLite.

use crate::record::Embedding;
use crate::store::api::{Model, Unembedded, Vectors};
use crate::store::error::{Result, StoreError};
use crate::store::select::Select;
use crate::store::sqlite::collections::Within;
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::facts;
use crate::store::sqlite::filter::Source;
use crate::store::sqlite::vectors::embedding;
use crate::store::sqlite::{newest, wal};
use rusqlite::Connection;

impl Vectors for Sqlite {
    fn unembedded(&mut self, model: &str, which: &Select, limit: usize) -> Result<Unembedded> {
        unembedded(&self.connection, model, which, limit).map_err(|e| self.failed("read", e))
    }

    fn models(&mut self) -> Result<Vec<Model>> {
        models(&self.connection).map_err(|e| self.failed("read", e))
    }

    fn put_vectors(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()> {
        self.durably(|store| {
            let written = put(&mut store.connection, vectors, fact);
            written.map_err(|e| store.failed("write to", e))?.map_err(StoreError::invalid)
        })
    }

    fn drop_model(&mut self, model: &str) -> Result<()> {
        drop_model(&mut self.connection, model).map_err(|e| self.failed("write to", e))
    }
}

fn unembedded(
    connection: &Connection,
    model: &str,
    which: &Select,
    limit: usize,
) -> rusqlite::Result<Unembedded> {
    let snapshot = connection.unchecked_transaction()?;
    let stored_model = embedding::model(connection, model)?;
    let source = match stored_model {
        Some((n, _)) => Source::unembedded(which, n),
        None => Source::embeddable(which),
    };
    let within = Within::resolve(connection, which)?;
    let total = newest::count(connection, &source, &within, None)?;
    let mut newest = Vec::new();
    if total > 0 && limit > 0 {
        newest = newest::last(connection, &source, &within, limit)?;
        newest.reverse();
    }
    snapshot.finish()?;
    Ok(Unembedded { newest, total, model_known: stored_model.is_some() })
}

fn models(connection: &Connection) -> rusqlite::Result<Vec<Model>> {
    let mut statement = connection.prepare_cached("SELECT name, dim, vectors FROM model ORDER BY name")?;
    let rows = statement.query_map([], |row| {
        let [dim, vectors] = [row.get::<_, i64>(1)?, row.get(2)?].map(i64::unsigned_abs);
        Ok(Model { name: row.get(0)?, dim: dim as usize, vectors })
    })?;
    rows.collect()
}

fn drop_model(connection: &mut Connection, name: &str) -> rusqlite::Result<()> {
    let transaction = wal::begin_write(connection)?;
    embedding::drop_model(&transaction, name)?;
    transaction.commit()
}

/// The inner error says why none of the vectors can be written.
fn put(
    connection: &mut Connection,
    vectors: &[Embedding],
    fact: Option<(&str, &str)>,
) -> rusqlite::Result<std::result::Result<(), String>> {
    let transaction = wal::begin_write(connection)?;
    if let Err(misfit) = embedding::put(&transaction, vectors)? {
        return Ok(Err(misfit));
    }
    if let Some((name, value)) = fact {
        facts::set(&transaction, name, Some(value))?;
    }
    transaction.commit().map(Ok)
}
