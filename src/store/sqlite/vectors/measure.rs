//! Reads records and the cosines of their vectors with a question's.

use super::embedding;
use crate::record::StoredRecord;
use crate::store::evidence::Cosines;
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::record_columns::{self, COLUMNS, TABLES};
use crate::vector::QuantizedQuery;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// The vector of a model, of any length (norm), with which records are compared.
#[derive(Clone, Copy)]
pub(crate) struct ModelVector<'a> {
    pub(crate) model: &'a str,
    pub(crate) numbers: &'a [f32],
}

/// Reads records from rows of COLUMNS and VECTOR, and computes the cosine of each with a vector, if there is
/// one.
pub(crate) struct Measure<'a> {
    /// The records that need not be read, if any are kept.
    kept: Option<&'a RecordCache>,
    query: Option<(i64, QuantizedQuery)>,
    pub(crate) cosines: Cosines,
}

/// The vector of a record; the parameter is `Measure::model`.
pub(crate) const VECTOR: &str = "(SELECT vector FROM embedding WHERE record = record.n AND model = ?)";

impl<'a> Measure<'a> {
    /// Compares with a vector of a model, if the model is known and has vectors of that dimension.
    pub(crate) fn by(
        connection: &Connection,
        kept: Option<&'a RecordCache>,
        vector: Option<ModelVector>,
    ) -> rusqlite::Result<Measure<'a>> {
        let mut query = None;
        if let Some(ModelVector { model, numbers }) = vector {
            let stored_model =
                embedding::model(connection, model)?.filter(|(_, dim)| *dim == numbers.len() as i64);
            query = stored_model.map(|(model, _)| (model, QuantizedQuery::new(numbers)));
        }
        Ok(Measure { kept, query, cosines: Vec::new() })
    }

    /// The number of the model.
    pub(crate) fn model(&self) -> Option<i64> {
        self.query.as_ref().map(|(model, _)| *model)
    }

    /// The record of a row.
    pub(crate) fn record(&mut self, row: &Row) -> rusqlite::Result<StoredRecord> {
        let record = record_columns::record(row)?;
        if let (Some((_, query)), ValueRef::Blob(vector)) = (&self.query, row.get_ref(record_columns::AFTER)?)
        {
            self.cosines.push((record.id.clone(), query.cosine(vector)));
        }
        Ok(record)
    }

    /// The record that has a number, which the snapshot has.
    pub(crate) fn nth(&mut self, connection: &Connection, n: i64) -> rusqlite::Result<Option<StoredRecord>> {
        let Some(kept) = self.kept else { return self.read(connection, n) };
        let Some(known) = kept.read(connection, n)? else { return Ok(None) };
        self.compare(connection, n, &known.record.id)?;
        Ok(Some((*known.record).clone()))
    }

    /// Compares the vector of the record that has a number and an id.
    pub(crate) fn compare(&mut self, connection: &Connection, n: i64, id: &str) -> rusqlite::Result<()> {
        let Some((model, query)) = &self.query else { return Ok(()) };
        let sql = "SELECT vector FROM embedding WHERE record = ? AND model = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let cosine = |row: &Row| Ok(query.cosine(row.get_ref(0)?.as_blob()?));
        let cosine = statement.query_row([n, *model], cosine).optional()?;
        self.cosines.extend(cosine.map(|cosine| (id.to_owned(), cosine)));
        Ok(())
    }

    fn read(&mut self, connection: &Connection, n: i64) -> rusqlite::Result<Option<StoredRecord>> {
        let sql = format!("SELECT {COLUMNS}, {VECTOR} FROM {TABLES} WHERE record.n = ?");
        let which = params![self.model(), n];
        connection.prepare_cached(&sql)?.query_row(which, |row| self.record(row)).optional()
    }
}
