//! Reads a selection: its last records, its records by id, and their number.

use super::error::DbResult;
use super::graph::Neo4j;
use super::record_node::{self, ListedRecord};
use super::selection::{number, scopes_params, select_params, with_kinds};
use super::server::ids_per_request;
use super::statements::{self, each_of, for_scopes, selected};
use super::values::{self, Params, Row};
use crate::ranking::bm25::Corpus;
use crate::record::{MESSAGE, RecordKind, Scopes, StoredRecord};
use crate::store::evidence::Cosines;
use crate::store::select::Select;
use crate::vector::QuantizedQuery;
use std::collections::HashMap;

/// The number of selections that are read together.
const SELECTIONS: usize = 1000;

/// With more collections than this, a query to the index does not name them; the records are filtered
/// instead.
const MAX_NAMED: usize = 100;

/// A record, and the nearness of its vector.
pub(super) type MeasuredRecord = (ListedRecord, Option<f64>, Option<Vec<f64>>);

/// The size of some collections; records that rsv did not write are not counted.
#[derive(Default)]
pub(super) struct Sizes {
    pub(super) corpus: Corpus,
    /// The beginning of a query that restricts it to these collections; empty if a query cannot do that.
    pub(super) prefix: String,
    /// Whether they contain messages that are not in the index, since rsv did not write them.
    pub(super) unadopted: bool,
}

impl Sizes {
    pub(super) fn from_row(row: &Row, kinds: &[&RecordKind]) -> DbResult<Sizes> {
        let [docs, words] = [row.get::<i64>("documents")?, row.get("words")?].map(|count| count as f64);
        let unadopted = row.get::<i64>("unadopted")? > 0 && kinds.contains(&&MESSAGE);
        Ok(Sizes { corpus: Corpus::new(kinds, docs, words), prefix: row.get("prefix")?, unadopted })
    }
}

/// The parameters of a statement that reads sizes.
pub(super) fn sizes_params(kinds: &[&RecordKind], scopes: &Scopes) -> Params {
    let params = scopes_params(scopes).with("everywhere", *scopes == Scopes::All);
    with_kinds(params.with("named", number(MAX_NAMED)), kinds)
}

impl Neo4j {
    pub(super) fn read_last(&self, which: &Select, count: usize) -> DbResult<Vec<StoredRecord>> {
        let params = select_params(which).with("count", number(count));
        let statement = selected(statements::LAST, which);
        let lists = self.server.lists::<(ListedRecord,)>(&statement, params, count)?;
        let mut found = listed_records(lists, &which.kinds)?;
        found.sort_by_cached_key(StoredRecord::position);
        self.with_irregular(which, count, found)
    }

    /// As `read_last`, for several selections: those with one kind, one scope and a trace are read together.
    pub(super) fn read_last_of_each(
        &self,
        which: &[Select],
        count: usize,
    ) -> DbResult<Vec<Vec<StoredRecord>>> {
        let mut found = vec![Vec::new(); which.len()];
        let mut together: HashMap<&str, (&'static RecordKind, Vec<usize>)> = HashMap::new();
        for (at, which) in which.iter().enumerate() {
            match kind_of_trace(which) {
                Some(kind) => together.entry(kind.name).or_insert((kind, Vec::new())).1.push(at),
                None => found[at] = self.read_last(which, count)?,
            }
        }
        for (kind, positions) in together.into_values() {
            for positions in positions.chunks(SELECTIONS) {
                let some: Vec<Select> = positions.iter().map(|at| which[*at].clone()).collect();
                let row = |(at, which): (&usize, &Select)| select_params(which).with("i", number(*at));
                let rows = positions.iter().zip(&some).map(row);
                let params = Params::new().with_rows("rows", rows).with("count", number(count));
                for row in self.server.rows(&each_of(statements::LAST_OF_EACH, kind, &some), params)? {
                    let i: usize = row.get("i")?;
                    if let Some(records) = found.get_mut(i) {
                        records.push(row.record(&[kind])?);
                    }
                }
                for (at, which) in positions.iter().zip(&some) {
                    found[*at].sort_by_cached_key(StoredRecord::position);
                    found[*at] = self.with_irregular(which, count, std::mem::take(&mut found[*at]))?;
                }
            }
        }
        Ok(found)
    }

    pub(super) fn count_up_to(&self, which: &Select, most: usize) -> DbResult<usize> {
        if which.is_whole() {
            let sizes = self.sizes(&which.kinds, &which.scopes)?;
            if !sizes.unadopted {
                return Ok(most.min(sizes.corpus.docs as usize));
            }
        }
        let statement = selected(statements::COUNT, which);
        let row = self.server.row(&statement, select_params(which).with("most", number(most)))?;
        let count = row.map_or(Ok(0), |row| row.count("count"))?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(most.min(count.saturating_add(self.irregular(which)?.len())))
    }

    /// The size of the collections of some kinds and scopes.
    fn sizes(&self, kinds: &[&RecordKind], scopes: &Scopes) -> DbResult<Sizes> {
        let row = self.server.row(&for_scopes(statements::CORPUS, scopes), sizes_params(kinds, scopes))?;
        row.map_or_else(|| Ok(Sizes::default()), |row| Sizes::from_row(&row, kinds))
    }

    /// Whether there are messages that rsv has neither written nor taken over. Fails if the server does.
    pub(super) fn has_unadopted(&self) -> DbResult<bool> {
        let row = self.server.row(statements::UNADOPTED, Params::new())?;
        Ok(row.map_or(Ok(0), |row| row.get::<i64>("unadopted"))? > 0)
    }

    pub(super) fn read_by_id(&self, ids: &[&str], which: &Select) -> DbResult<Vec<StoredRecord>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let statement = selected(statements::RECORDS_BY_ID, which);
        let params = select_params(which).with_texts("wanted", ids.iter().copied());
        listed_records(self.server.lists::<(ListedRecord,)>(&statement, params, ids.len())?, &which.kinds)
    }

    /// Reads records by id, and the cosines of a vector with their vectors of a model. Fails if the server
    /// does, or a row is no record.
    pub(super) fn read_measured(
        &self,
        ids: &[&str],
        which: &Select,
        (model, vector): (&str, &[f32]),
    ) -> DbResult<(Vec<StoredRecord>, Cosines)> {
        let statement = selected(statements::RECORDS_MEASURED, which);
        let query = QuantizedQuery::new(vector);
        let (mut records, mut cosines) = (Vec::new(), Vec::new());
        for ids in ids.chunks(ids_per_request(&statement, vector.len(), longest(ids))) {
            let params = select_params(which).with_texts("wanted", ids.iter().copied());
            let params = params.with("model", model).with_question(vector);
            let lists = self.server.lists::<MeasuredRecord>(&statement, params, ids.len())?;
            for (listed, cosine, vector) in lists {
                let record = record_node::record(listed, &which.kinds)?;
                if let Some(cosine) = values::cosine((cosine, vector), &query) {
                    cosines.push((record.id.clone(), cosine));
                }
                records.push(record);
            }
        }
        Ok((records, cosines))
    }
}

/// The number of bytes that the longest of some ids takes in a request.
pub(super) fn longest(ids: &[&str]) -> usize {
    ids.iter().map(|id| id.len()).max().unwrap_or_default() + 2
}

fn listed_records(lists: Vec<(ListedRecord,)>, kinds: &[&'static RecordKind]) -> DbResult<Vec<StoredRecord>> {
    lists.into_iter().map(|(listed,)| record_node::record(listed, kinds)).collect()
}

/// The kind of a selection that consists of a trace in one scope.
fn kind_of_trace(which: &Select) -> Option<&'static RecordKind> {
    match (&which.kinds[..], &which.scopes, &which.trace_id) {
        ([kind], Scopes::One(_), Some(_)) if kind.traced && which.key.is_none() => Some(kind),
        _ => None,
    }
}
