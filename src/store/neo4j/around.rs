//! The neighbours of records in their collections.

use super::error::DbResult;
use super::graph::Neo4j;
use super::record_node::{self, ListedRecord};
use super::selection::{number, select_params};
use super::server::ids_per_request;
use super::statements::{self, selected_of_kind};
use super::values::{self, Params};
use super::words::MeasuringVector;
use crate::record::{RecordKind, Scope, StoredRecord};
use crate::store::evidence::{Around, Cosines};
use crate::store::select::Select;
use crate::vector::QuantizedQuery;
use neo4rs::BoltType;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of bytes that a position takes in a request without its id.
const POSITION_BYTES: usize = 16;

/// A neighbour: the position of the record whose neighbour it is, whether it precedes that record, the
/// neighbour itself, and the nearness of its vector.
type Neighbour = (usize, bool, ListedRecord, Option<f64>, Option<Vec<f64>>);

impl Neo4j {
    /// Reads the neighbours of records, each in its collection, and their cosines with a vector.
    pub(super) fn read_around(
        &self,
        records: &[&StoredRecord],
        which: &Select,
        reach: usize,
        measure: MeasuringVector,
    ) -> DbResult<(Vec<Around>, Cosines)> {
        let mut around = vec![Around::default(); records.len()];
        let mut cosines = BTreeMap::new();
        for kind in &which.kinds {
            let is_of = |at: &usize| records[*at].kind == *kind && which.scopes.contains(&records[*at].scope);
            let positions: Vec<usize> = (0..records.len()).filter(is_of).collect();
            if positions.is_empty() || reach == 0 {
                continue;
            }
            let of_kind: Vec<&StoredRecord> = positions.iter().map(|at| records[*at]).collect();
            let read = self.read_around_of_kind(kind, &of_kind, (which, reach), measure, &mut cosines)?;
            for (at, read) in positions.into_iter().zip(read) {
                around[at] = read;
            }
        }
        Ok((around, cosines.into_iter().collect()))
    }

    /// As `read_around`, for records of one kind.
    fn read_around_of_kind(
        &self,
        kind: &'static RecordKind,
        records: &[&StoredRecord],
        (which, reach): (&Select, usize),
        measure: MeasuringVector,
        cosines: &mut BTreeMap<String, f64>,
    ) -> DbResult<Vec<Around>> {
        let statement = if measure.is_some() { statements::AROUND_MEASURED } else { statements::AROUND };
        let statement = &selected_of_kind(statement, kind, which);
        let (model, vector) = measure.unwrap_or_default(); // `AROUND` uses neither.
        let query = QuantizedQuery::new(vector);
        let mut all = Vec::with_capacity(records.len());
        let bytes = records.iter().map(|record| record.id.len()).max().unwrap_or_default() + POSITION_BYTES;
        for records in records.chunks(ids_per_request(statement, vector.len(), bytes)) {
            let mut around = vec![Around::default(); records.len()];
            let params = with_positions(select_params(which), records).with("reach", number(reach));
            let params = params.with("model", model).with_question(vector);
            let most = records.len().saturating_mul(2 * reach);
            for (i, before, listed, cosine, vector) in
                self.server.lists::<Neighbour>(statement, params, most)?
            {
                let record = record_node::record(listed, &[kind])?;
                if let Some(cosine) = values::cosine((cosine, vector), &query) {
                    cosines.insert(record.id.clone(), cosine);
                }
                if let Some(around) = around.get_mut(i) {
                    let side = if before { &mut around.before } else { &mut around.after };
                    side.push(Arc::new(record));
                }
            }
            all.append(&mut around);
        }
        for around in &mut all {
            around.before.sort_by_cached_key(|record| Reverse(record.position()));
            around.after.sort_by_cached_key(|record| record.position());
        }
        Ok(all)
    }
}

/// The positions of records as parameters.
fn with_positions(params: Params, records: &[&StoredRecord]) -> Params {
    let scopes: BTreeSet<&Scope> = records.iter().map(|record| &record.scope).collect();
    let scopes = Vec::from_iter(scopes);
    let position = |record: &&StoredRecord| {
        let scope = scopes.binary_search(&&record.scope).unwrap_or_default(); // Each is among them.
        let numbers = [record.timestamp, i64::from(record.seq), number(scope)].map(BoltType::from);
        BoltType::from_iter([BoltType::from(record.id.as_str())].into_iter().chain(numbers))
    };
    let names = |scope: &&Scope| BoltType::from_iter([scope.partition.as_str(), scope.instance.as_str()]);
    params
        .with("positions", records.iter().map(position).collect::<BoltType>())
        .with("scopes", scopes.iter().map(names).collect::<BoltType>())
}
