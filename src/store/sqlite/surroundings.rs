//! The neighbours of records in their collections.

use super::super::evidence::{Around, Cosines};
use super::super::select::Select;
use super::filter::Filter;
use super::measure::{Measure, ModelVector, VECTOR};
use super::row::{self, COLUMNS};
use crate::record::StoredRecord;
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, params_from_iter};
use std::cmp::Reverse;

/// The number of neighbours to read, and of records whose neighbours are compared with the vector.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) which: &'a Select,
    /// The number of records before and after each.
    pub(super) reach: usize,
    pub(super) vector: Option<ModelVector<'a>>,
    /// The number of first records whose neighbours are compared with the vector.
    pub(super) measured: usize,
}

impl Surroundings<'_> {
    /// Reads the neighbours of each of some records, and the cosines, from one snapshot.
    pub(super) fn read(
        &self,
        connection: &Connection,
        records: &[&StoredRecord],
    ) -> rusqlite::Result<(Vec<Around>, Cosines)> {
        let snapshot = connection.unchecked_transaction()?;
        let mut measure = Measure::by(connection, self.vector)?;
        let filter = Filter::new(self.which);
        // In the order of the index, which has no ids: all records of the last time are read.
        let side = |sign: &str, order: &str| {
            connection.prepare_cached(&format!(
                "SELECT {COLUMNS}, {VECTOR} FROM record INDEXED BY record_collection \
                 JOIN collection ON collection.n = record.collection WHERE record.collection = \
                 (SELECT n FROM collection WHERE partition = ? AND instance = ? AND kind = ?) \
                 AND (record.timestamp, record.seq, record.id) {sign} (?, ?, ?){} \
                 ORDER BY record.timestamp {order}, record.seq {order}",
                filter.sql
            ))
        };
        let (mut earlier, mut later) = (side("<", "DESC")?, side(">", "ASC")?);
        let mut found = Vec::new();
        for (at, record) in records.iter().enumerate() {
            let (scope, position) = (&record.scope, record.position());
            let model = measure.model().filter(|_| at < self.measured);
            let own: [Value; 7] = [
                model.into(),
                scope.partition.clone().into(),
                scope.instance.clone().into(),
                record.kind.name.to_owned().into(),
                position.timestamp.into(),
                i64::from(position.seq).into(),
                position.id.into(),
            ];
            let values: Vec<Value> = own.into_iter().chain(filter.values.clone()).collect();
            let mut before = self.side(&mut earlier, &values, &mut measure)?;
            let mut after = self.side(&mut later, &values, &mut measure)?;
            before.sort_by_cached_key(|record| Reverse(record.position()));
            after.sort_by_cached_key(StoredRecord::position);
            before.truncate(self.reach);
            after.truncate(self.reach);
            found.push(Around { before, after });
        }
        drop((earlier, later));
        snapshot.finish()?;
        Ok((found, measure.cosines))
    }

    fn side(
        &self,
        statement: &mut CachedStatement,
        values: &[Value],
        measure: &mut Measure,
    ) -> rusqlite::Result<Vec<StoredRecord>> {
        let mut rows = statement.query(params_from_iter(values))?;
        let (mut side, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let time: (i64, u32) = (row.get(row::TIME)?, row.get(row::TIME + 1)?);
            if side.len() >= self.reach && last != Some(time) {
                break;
            }
            side.push(measure.record(row)?);
            last = Some(time);
        }
        Ok(side)
    }
}
