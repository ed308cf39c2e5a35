//! Reading everything that a selection holds, in order.

use super::super::{Select, Visit, Walk};
use super::Sqlite;
use super::embedding::numbers;
use super::select::Filter;
use crate::error::Error;
use crate::record::{Account, Content, Embedding, Link, Message, Object, Record, Role, Scope, Vector};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{OptionalExtension, Row, params_from_iter};

/// Why a walk ended early.
pub(super) enum Stopped {
    /// SQLite failed.
    Here(rusqlite::Error),
    /// The visitor did.
    There(Error),
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Stopped {
        Stopped::Here(error)
    }
}

/// The columns that make a record, in the order that `record` reads them.
pub(super) const COLUMNS: &str = "record.kind, record.id, record.trace_id, scope.partition, scope.instance,
    record.role, record.content, record.parts, record.timestamp, record.seq, record.extra";
/// The numbers of the time among them, before seq, and of the column after them.
pub(super) const TIME: usize = 8;
pub(super) const AFTER: usize = 11;
/// Where the columns come from.
pub(super) const TABLES: &str = "record JOIN scope ON scope.n = record.scope";
/// The columns that make a link, after its relation and the ids of its ends.
pub(super) const LINK: &str = "link.timestamp, link.score, link.model, link.extra";

impl Sqlite {
    /// What SQLite finds wrong with the file, up to so many faults.
    pub(super) fn look_through(&self, most: u32) -> rusqlite::Result<Vec<String>> {
        let mut check =
            self.connection.prepare("SELECT integrity_check FROM pragma_integrity_check LIMIT ?")?;
        let mut faults: Vec<String> =
            check.query_map([most], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        faults.retain(|fault| fault != "ok");
        let mut astray = self.connection.prepare("SELECT \"table\" FROM pragma_foreign_key_check LIMIT ?")?;
        let astray = astray.query_map([most], |row| row.get::<_, String>(0))?;
        let astray = astray.collect::<rusqlite::Result<Vec<_>>>()?;
        faults.extend(astray.iter().map(|table| format!("a reference of {table} leads nowhere")));
        Ok(faults)
    }

    pub(super) fn walk_all(&mut self, what: &Walk, visit: &mut Visit) -> Result<(), Stopped> {
        self.connection.pragma_update(None, "mmap_size", 0)?;
        let snapshot = self.connection.unchecked_transaction()?;
        let scopes = self.scope_numbers(&what.which.scopes)?;
        self.walk_records(what, scopes.as_deref(), visit)?;
        if what.embeddings {
            self.walk_embeddings(&what.which, scopes.as_deref(), visit)?;
        }
        if what.links {
            self.walk_links(&what.which, scopes.as_deref(), visit)?;
        }
        Ok(snapshot.finish()?)
    }

    fn walk_records(&self, what: &Walk, scopes: Option<&[i64]>, visit: &mut Visit) -> Result<(), Stopped> {
        let mut filter = Filter::of(&what.which);
        filter.add_scopes("record", scopes);
        let kinds = if what.accounts { "'message', 'account'" } else { "'message'" };
        let (model, vectors) = match what.vectors.then(|| self.main_model()).transpose()?.flatten() {
            Some((n, name)) => (
                Some(name),
                format!("(SELECT vector FROM embedding WHERE record = record.n AND model = {n})"),
            ),
            None => (None, "NULL".to_owned()),
        };
        let sql = format!(
            "SELECT {COLUMNS}, {vectors} FROM {TABLES} WHERE record.kind IN ({kinds}){} \
             ORDER BY record.timestamp, record.seq, record.id",
            filter.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.values))?;
        while let Some(row) = rows.next()? {
            let mut record = record(row)?;
            if let (Record::Message(message), Some(model), ValueRef::Blob(bytes)) =
                (&mut record, &model, row.get_ref(AFTER)?)
            {
                message.vector = Some(Vector { model: model.clone(), numbers: numbers(bytes) });
            }
            visit(record).map_err(Stopped::There)?;
        }
        Ok(())
    }

    /// The number and name of the model that has the most vectors.
    fn main_model(&self) -> rusqlite::Result<Option<(i64, String)>> {
        let sql = "SELECT n, name FROM model ORDER BY vectors DESC, name LIMIT 1";
        self.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
    }

    fn walk_embeddings(
        &self,
        which: &Select,
        scopes: Option<&[i64]>,
        visit: &mut Visit,
    ) -> Result<(), Stopped> {
        let mut filter = Filter::of(which);
        filter.add_scopes("record", scopes);
        let sql = format!(
            "SELECT record.id, model.name, embedding.vector, embedding.extra FROM embedding JOIN record ON record.n = embedding.record \
             JOIN model ON model.n = embedding.model WHERE 1{} ORDER BY record.id, model.name",
            filter.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.values))?;
        while let Some(row) = rows.next()? {
            let vector = numbers(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?);
            let extra = object(row, 3)?;
            let embedding = Embedding { of: row.get(0)?, model: row.get(1)?, vector, extra };
            visit(Record::Embedding(embedding)).map_err(Stopped::There)?;
        }
        Ok(())
    }

    fn walk_links(&self, which: &Select, scopes: Option<&[i64]>, visit: &mut Visit) -> Result<(), Stopped> {
        let mut filter = Filter::of(which);
        filter.add_scopes("record", scopes);
        filter.and_for("other");
        let sql = format!(
            "SELECT link.rel, record.id, other.id, {LINK} FROM link JOIN record ON record.n = link.source \
             JOIN record AS other ON other.n = link.target WHERE 1{} ORDER BY record.id, link.rel, other.id",
            filter.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.values))?;
        while let Some(row) = rows.next()? {
            visit(Record::Link(link(row)?)).map_err(Stopped::There)?;
        }
        Ok(())
    }

    pub(super) fn scope_of_record(&self, id: &str) -> rusqlite::Result<Option<Scope>> {
        let sql = "SELECT partition, instance FROM record JOIN scope ON scope.n = record.scope WHERE id = ?";
        let scope = |row: &Row| Ok(Scope { partition: row.get(0)?, instance: row.get(1)? });
        self.connection.prepare_cached(sql)?.query_row([id], scope).optional()
    }

    pub(super) fn count_scopes(&mut self) -> rusqlite::Result<Vec<(Scope, u64)>> {
        let sql = "SELECT partition, instance, (SELECT count(*) FROM record WHERE scope = scope.n AND kind = 'message')
                   FROM scope ORDER BY partition, instance";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            Ok((
                Scope { partition: row.get(0)?, instance: row.get(1)? },
                row.get::<_, i64>(2)?.unsigned_abs(),
            ))
        })?;
        rows.collect()
    }
}

/// A row of `COLUMNS` as a record.
fn record(row: &Row) -> rusqlite::Result<Record> {
    if row.get_ref(0)?.as_str()? == "message" {
        return message(row).map(Record::Message);
    }
    account(row).map(Record::Account)
}

/// A row of `COLUMNS` as an account.
pub(super) fn account(row: &Row) -> rusqlite::Result<Account> {
    Ok(Account {
        id: row.get(1)?,
        trace_id: row.get(2)?,
        scope: Scope { partition: row.get(3)?, instance: row.get(4)? },
        timestamp: row.get(8)?,
        members: object(row, 10)?,
    })
}

/// A row of `COLUMNS` as a message.
pub(super) fn message(row: &Row) -> rusqlite::Result<Message> {
    let content = match row.get_ref(7)? {
        ValueRef::Null => Content::Text(row.get(6)?),
        parts if parts.as_str()? == "null" => Content::Null,
        parts => Content::Parts(parts.as_str()?.into()),
    };
    Ok(Message {
        id: row.get(1)?,
        trace_id: row.get(2)?,
        scope: Scope { partition: row.get(3)?, instance: row.get(4)? },
        role: row.get(5)?,
        content,
        timestamp: row.get(8)?,
        seq: row.get(9)?,
        vector: None,
        extra: object(row, 10)?,
    })
}

/// A row of a relation, two ids and `LINK` as a link.
pub(super) fn link(row: &Row) -> rusqlite::Result<Link> {
    Ok(Link {
        rel: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        timestamp: row.get(3)?,
        score: row.get(4)?,
        model: row.get(5)?,
        extra: object(row, 6)?,
    })
}

/// A column that holds members as JSON, or nothing.
fn object(row: &Row, column: usize) -> rusqlite::Result<Object> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(Object::default()),
        json => Object::parse(json.as_str()?).map_err(|e| {
            rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
        }),
    }
}

impl FromSql for Role {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Role> {
        value.as_str()?.parse().map_err(|e: Error| FromSqlError::Other(Box::new(e)))
    }
}
