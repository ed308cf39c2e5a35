//! Search by meaning: the vectors nearest to a question's.
//!
//! The server's vector index cannot filter: it returns the nearest of all vectors, those of the selection are
//! kept, and more are fetched until there are enough. If the collections are small, or a small part of the
//! store, their vectors are compared one by one. Scores are cosines, computed by the server where it can.

use super::error::{DbError, DbResult};
use super::graph::Neo4j;
use super::read::MeasuredRecord;
use super::record_node;
use super::rows::is_zero;
use super::selection::{number, scopes_params, select_params, with_kinds};
use super::statements::{self, for_model, for_scopes, selected};
use super::values::{self, Params};
use crate::record::{Hit, RecordKind, Scopes};
use crate::store::select::Select;
use crate::vector::QuantizedQuery;

/// Comparing at most this many vectors one by one is faster than querying the index.
const MAX_COMPARED: i64 = 500;

/// In collections of at most this size results are verified: if the 8-bit numbers of the index do not prove
/// that all others are farther, the vectors are compared one by one.
const MAX_VERIFIED: i64 = 2000;

/// The index returns nearly all of the nearest, so this many times the wanted number is fetched, and at least
/// `MIN_FETCHED`.
const OVERFETCH: usize = 2;
const MIN_FETCHED: usize = 100;
const MAX_FETCHED: usize = 1 << 30;

/// The number of rows that are read in addition: vectors that the server cannot compare may be ranked behind
/// them.
const SPARE_ROWS: usize = 10;

/// The growth of the next fetch if there were not enough.
const FETCH_GROWTH: i64 = 4;

/// A model, and the number of its vectors in some collections.
pub(super) struct VectorCount {
    pub(super) model: i64,
    dim: usize,
    pub(super) all: u64,
    pub(super) here: u64,
}

/// The result of a query to the vector index.
enum FromIndex {
    Found(Vec<Hit>),
    /// All vectors of the model with this number must be compared.
    CompareAll(i64),
    /// The index was not queried.
    NotAsked,
}

impl Neo4j {
    /// The number of a model. Fails if the server does.
    pub(super) fn model_number(&self, name: &str) -> DbResult<Option<i64>> {
        let row = self.server.row(statements::MODEL, Params::new().with("name", name))?;
        row.map(|row| row.get("n")).transpose()
    }

    /// The number of vectors that a model has in the collections of some kinds and scopes.
    pub(super) fn vector_count(
        &self,
        name: &str,
        kinds: &[&RecordKind],
        scopes: &Scopes,
    ) -> DbResult<Option<VectorCount>> {
        let params = with_kinds(scopes_params(scopes).with("name", name), kinds);
        let Some(row) = self.server.row(&for_scopes(statements::VECTOR_COUNT, scopes), params)? else {
            return Ok(None);
        };
        let dim = usize::try_from(row.count("dim")?).unwrap_or_default();
        let (all, here) = (row.count("all")?, row.count("here")?);
        Ok(Some(VectorCount { model: row.get("model")?, dim, all, here }))
    }

    /// The best `limit` records by cosine with `vector`, of any length. Fails if the server does, or the
    /// model has another dimension.
    pub(super) fn find_nearest(
        &self,
        model: &str,
        vector: &[f32],
        which: &Select,
        limit: usize,
    ) -> DbResult<Vec<Hit>> {
        let mut found = FromIndex::NotAsked;
        if limit > 0 && which.trace_id.is_none() && !is_zero(vector) {
            found = self.ask_index(model, vector, which, limit)?;
        }
        if let FromIndex::NotAsked = found {
            found = match self.vector_count(model, &which.kinds, &which.scopes)? {
                Some(VectorCount { dim, .. }) if dim != vector.len() => {
                    return Err(dimension_mismatch(model, vector.len(), dim));
                }
                Some(VectorCount { model, .. }) if limit > 0 => FromIndex::CompareAll(model),
                _ => FromIndex::Found(Vec::new()),
            };
        }
        let hits = match found {
            FromIndex::Found(hits) => hits,
            FromIndex::NotAsked => Vec::new(),
            FromIndex::CompareAll(model) => {
                let statement = for_model(statements::NEAREST_OF_ALL, model);
                let params = nearest_params(which, vector, limit);
                let lists = self.server.lists(&selected(&statement, which), params, limit)?;
                hits(lists, which, &QuantizedQuery::new(vector))?
            }
        };
        Ok(Hit::best(hits, limit))
    }

    /// Queries the index, which takes no zero vector, for more and more until there are enough.
    fn ask_index(&self, model: &str, vector: &[f32], which: &Select, limit: usize) -> DbResult<FromIndex> {
        let statement = selected(statements::NEAREST_BY_INDEX, which);
        let mut requested = number(limit.saturating_mul(OVERFETCH).clamp(MIN_FETCHED, MAX_FETCHED));
        loop {
            let params = nearest_params(which, vector, limit).with("name", model).with("wanted", requested);
            let params =
                params.with("few", MAX_COMPARED).with("exact", MAX_VERIFIED).with("more", FETCH_GROWTH);
            let row = match self.server.row(&statement, with_kinds(params, &which.kinds)) {
                // The index does not exist yet.
                Err(error) if error.is_of_procedure() => return Ok(FromIndex::NotAsked),
                row => row?,
            };
            let Some(row) = row else { return Ok(FromIndex::Found(Vec::new())) };
            let dim = usize::try_from(row.count("dim")?).unwrap_or_default();
            if dim != vector.len() {
                return Err(dimension_mismatch(model, vector.len(), dim));
            }
            if row.get::<Option<i64>>("asked")?.is_none() {
                return Ok(FromIndex::CompareAll(row.get("model")?));
            }
            let found = Hit::best(hits(row.get("rows")?, which, &QuantizedQuery::new(vector))?, limit);
            if let Some(last) = found.get(limit - 1) {
                let is_nearer = |most: f64| (1.0 + last.score) / 2.0 > most;
                if !row.get::<bool>("exact")? || row.get::<Option<f64>>("most")?.is_some_and(is_nearer) {
                    return Ok(FromIndex::Found(found));
                }
            }
            requested = requested.saturating_mul(FETCH_GROWTH);
        }
    }
}

/// The parameters of a statement that searches for the nearest vectors.
fn nearest_params(which: &Select, vector: &[f32], limit: usize) -> Params {
    select_params(which).with_question(vector).with("count", number(limit.saturating_add(SPARE_ROWS)))
}

/// The records, as hits scored by their cosines.
fn hits(lists: Vec<MeasuredRecord>, which: &Select, query: &QuantizedQuery) -> DbResult<Vec<Hit>> {
    let hit = |(listed, cosine, vector): MeasuredRecord| {
        let cosine = values::cosine((cosine, vector), query).unwrap_or_default(); // A vector was found.
        Ok(Hit::by_meaning(record_node::record(listed, &which.kinds)?, cosine))
    };
    lists.into_iter().map(hit).collect()
}

fn dimension_mismatch(model: &str, given: usize, dim: usize) -> DbError {
    DbError::Invalid(format!("the question's vector has {given} numbers, but those of {model} have {dim}"))
}
