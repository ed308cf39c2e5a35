//! The neighbours of records in their collections.

use super::collections;
use super::filter::Filter;
use super::record_cache::RecordCache;
use super::record_columns::{self, COLUMNS};
use super::snapshot::Snapshot;
use super::vectors::measure::{Measure, ModelVector, VECTOR};
use crate::record::StoredRecord;
use crate::store::evidence::{Around, Cosines};
use crate::store::select::{Collection, Select};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, params_from_iter};
use std::cmp::Ordering;
use std::sync::Arc;

/// The neighbours to read, and the vector with which they are compared.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) which: &'a Select,
    /// The number of records before and after each.
    pub(super) reach: usize,
    pub(super) vector: Option<ModelVector<'a>>,
}

/// The records on one side of a record.
type Side = Vec<Arc<StoredRecord>>;

impl Surroundings<'_> {
    /// Reads the neighbours of each of some records, and the cosines, from one snapshot.
    pub(super) fn read(
        &self,
        connection: &Connection,
        kept: Option<&RecordCache>,
        records: &[&StoredRecord],
    ) -> rusqlite::Result<(Vec<Around>, Cosines)> {
        let snapshot = Snapshot::begin(connection)?;
        let mut measure = Measure::by(connection, kept, self.vector)?;
        let found = match kept.filter(|_| self.which.key.is_none()) {
            Some(kept) => self.by_index(connection, kept, records, &mut measure)?,
            None => self.by_rows(connection, records, &mut measure)?,
        };
        snapshot.finish()?;
        Ok((found, measure.cosines))
    }

    /// Reads the rows of all neighbours.
    fn by_rows(
        &self,
        connection: &Connection,
        records: &[&StoredRecord],
        measure: &mut Measure,
    ) -> rusqlite::Result<Vec<Around>> {
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
        for record in records {
            let (scope, position) = (&record.scope, record.position());
            let own: [Value; 7] = [
                measure.model().into(),
                scope.partition.clone().into(),
                scope.instance.clone().into(),
                record.kind.name.to_owned().into(),
                position.timestamp.into(),
                i64::from(position.seq).into(),
                position.id.into(),
            ];
            let values: Vec<Value> = own.into_iter().chain(filter.values.clone()).collect();
            let before = self.side(&mut earlier, &values, measure)?;
            let after = self.side(&mut later, &values, measure)?;
            found.push(self.nearest_first(before, after));
        }
        Ok(found)
    }

    /// The first ones of both sides of a record, of which all of the last time were read.
    fn nearest_first(&self, mut before: Side, mut after: Side) -> Around {
        before.sort_by(|a, b| b.sort_key().cmp(&a.sort_key()));
        after.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        before.truncate(self.reach);
        after.truncate(self.reach);
        Around { before, after }
    }

    fn side(
        &self,
        statement: &mut CachedStatement,
        values: &[Value],
        measure: &mut Measure,
    ) -> rusqlite::Result<Side> {
        let mut rows = statement.query(params_from_iter(values))?;
        let (mut side, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let time: (i64, u32) = (row.get(record_columns::TIME)?, row.get(record_columns::TIME + 1)?);
            if side.len() >= self.reach && last != Some(time) {
                break;
            }
            side.push(Arc::new(measure.record(row)?));
            last = Some(time);
        }
        Ok(side)
    }

    /// Reads the numbers of the neighbours in the index, and of their rows those that are not kept.
    fn by_index(
        &self,
        connection: &Connection,
        kept: &RecordCache,
        records: &[&StoredRecord],
        measure: &mut Measure,
    ) -> rusqlite::Result<Vec<Around>> {
        let side = |sign: &str, order: &str| {
            connection.prepare_cached(&format!(
                "SELECT n, timestamp, seq FROM record INDEXED BY record_collection WHERE collection = ? \
                 AND (timestamp, seq) {sign} (?, ?) ORDER BY timestamp {order}, seq {order}"
            ))
        };
        let (mut earlier, mut later) = (side("<=", "DESC")?, side(">=", "ASC")?);
        let mut collection: Option<(Collection, Option<i64>)> = None;
        let mut found = Vec::new();
        for record in records {
            let of = Collection { kind: record.kind, scope: record.scope.clone() };
            if collection.as_ref().is_none_or(|(known, _)| *known != of) {
                let number = collections::number(connection, &of)?;
                collection = Some((of, number));
            }
            let Some((_, Some(collection))) = collection else {
                found.push(Around::default());
                continue;
            };
            let mut read = |statement: &mut CachedStatement, order| {
                self.index_side(connection, kept, (statement, collection), (record, order), measure)
            };
            let before = read(&mut earlier, Ordering::Less)?;
            let after = read(&mut later, Ordering::Greater)?;
            found.push(self.nearest_first(before, after));
        }
        Ok(found)
    }

    /// The records on one side of a record, in the order of the index.
    fn index_side(
        &self,
        connection: &Connection,
        kept: &RecordCache,
        (statement, collection): (&mut CachedStatement, i64),
        (record, order): (&StoredRecord, Ordering),
        measure: &mut Measure,
    ) -> rusqlite::Result<Side> {
        let own = (record.timestamp, record.seq);
        let mut rows = statement.query((collection, own.0, i64::from(own.1)))?;
        let (mut side, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let time: (i64, u32) = (row.get(1)?, row.get(2)?);
            if side.len() >= self.reach && last != Some(time) {
                break;
            }
            let n = row.get(0)?;
            let Some(known) = kept.read(connection, n)? else { continue };
            let is_beyond = time.cmp(&own).then_with(|| known.record.id.cmp(&record.id)) == order;
            if is_beyond && self.which.admits(&known.record) {
                measure.compare(connection, n, &known.record.id)?;
                side.push(known.record.clone());
                last = Some(time);
            }
        }
        Ok(side)
    }
}
