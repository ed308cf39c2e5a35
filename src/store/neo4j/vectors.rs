//! The vectors of records: search, the records without one, and changes of a model's vectors.

use super::batch_changes::Counts;
use super::changes::{self, VectorLabels};
use super::error::{DbError, DbResult};
use super::graph::Neo4j;
use super::lock::{Models, lock};
use super::record_node::{self, ListedRecord};
use super::rows::vector_row;
use super::selection::{collection_params, number, select_params};
use super::server::Transaction;
use super::statements::{self, for_model, selected};
use super::values::{Params, Row};
use super::write::{begin_unembedded, run_all, run_over, vector_steps};
use crate::record::{Embedding, Scope, StoredRecord, kinds};
use crate::store::api::{Model, Unembedded, Vectors};
use crate::store::error::Result;
use crate::store::identity::dimension_mismatch;
use crate::store::select::Select;
use crate::store::versions::vector_of_version;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl Vectors for Neo4j {
    fn unembedded(&mut self, model: &str, which: &Select, limit: usize) -> Result<Unembedded> {
        let unembedded = self.read_unembedded(model, which, limit);
        self.or_error("read", unembedded)
    }

    fn models(&mut self) -> Result<Vec<Model>> {
        self.or_error("read", self.read_models())
    }

    fn put_vectors(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()> {
        self.or_error("write to", self.replace_vectors(vectors, fact))
    }

    fn drop_model(&mut self, model: &str) -> Result<()> {
        self.or_error("write to", self.remove_model(model))
    }
}

/// Vectors by their record and their model; of two with the same key, the later one.
type LastVectors<'a> = BTreeMap<(&'a str, &'a str), &'a Embedding>;

impl Neo4j {
    pub(super) fn read_models(&self) -> DbResult<Vec<Model>> {
        let model = |row: &Row| {
            let dim = usize::try_from(row.count("dim")?).unwrap_or_default();
            Ok(Model { name: row.get("name")?, dim, vectors: row.count("vectors")? })
        };
        let models: DbResult<Vec<Model>> =
            self.server.rows(statements::MODELS, Params::new())?.iter().map(model).collect();
        // A model that is about to get its first vectors has none yet.
        models.map(|models| models.into_iter().filter(|model| model.vectors > 0).collect())
    }

    fn read_unembedded(&mut self, model: &str, which: &Select, limit: usize) -> DbResult<Unembedded> {
        let mut which = which.clone();
        which.kinds.retain(|kind| kind.embedded.is_some());
        let params = select_params(&which).with("name", model).with("count", number(limit));
        let of_number =
            |store: &Neo4j, n| store.list_unembedded(&for_model(statements::UNEMBEDDED, n), &which, &params);
        if let Some(n) = self.model_numbers.get(model) {
            let unembedded = of_number(self, *n)?;
            if unembedded.model_known {
                return Ok(unembedded);
            }
        }
        match self.model_number(model)? {
            Some(n) => {
                self.model_numbers.insert(model.to_owned(), n);
                of_number(self, n)
            }
            None => self.list_unembedded(statements::EMBEDDABLE, &which, &params),
        }
    }

    /// Reads the records without vectors that a statement lists, and their number.
    fn list_unembedded(&self, statement: &str, which: &Select, params: &Params) -> DbResult<Unembedded> {
        let statement = selected(statement, which);
        let Some(row) = self.server.row(&statement, params.clone())? else {
            return Ok(Unembedded::default());
        };
        let newest: Vec<ListedRecord> = row.get("newest")?;
        let newest = newest.into_iter().map(|listed| record_node::record(listed, &which.kinds));
        let mut newest: Vec<StoredRecord> = newest.collect::<DbResult<_>>()?;
        newest.sort_by_cached_key(|record| Reverse(record.position()));
        Ok(Unembedded { newest, total: row.count("all")?, model_known: row.get("known")? })
    }

    /// Writes or replaces vectors, and a fact with them.
    fn replace_vectors(&self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> DbResult<()> {
        let last: LastVectors =
            vectors.iter().map(|vector| ((vector.of.as_str(), vector.model.as_str()), vector)).collect();
        let has_new_models = self.server.write(|transaction| {
            let (first, mut models) = lock(transaction, 2 * vectors.len())?;
            let records = read_records(transaction, &last)?;
            let is_current = |vector: &Embedding| {
                records.get(&vector.of).is_some_and(|record| vector_of_version(vector, record).is_some())
            };
            let last = last.iter().map(|(key, vector)| (*key, *vector));
            let last: LastVectors = last.filter(|(_, vector)| is_current(vector)).collect();
            let new = write_vectors(transaction, &last, &records, (first, &mut models))?;
            if let Some((name, value)) = fact {
                let params = Params::new().with("name", name).with("value", value);
                transaction.run(changes::SET_FACT, params)?;
            }
            Ok(!new.is_empty())
        })?;
        if has_new_models { self.index_models() } else { Ok(()) }
    }

    /// Removes a model with its vectors and synapses.
    fn remove_model(&self, name: &str) -> DbResult<()> {
        let Some(model) = self.model_number(name)? else {
            return self.server.write(|transaction| {
                lock(transaction, 0)?;
                transaction.run(changes::DELETE_SYNAPSES, Params::new().with("name", name))
            });
        };
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let params = || Params::new().with("name", name).with("model", model);
            for statement in [
                changes::DELETE_VECTORS,
                changes::DELETE_SYNAPSES,
                changes::DELETE_VECTOR_COUNTS,
                changes::DELETE_UNEMBEDDED,
                changes::DELETE_MODEL,
            ] {
                transaction.run(&for_model(statement, model), params())?;
            }
            Ok(())
        })?;
        self.drop_indexes(&[model])?;
        self.update_message_vectors()
    }
}

/// Reads the records of vectors, without their texts.
fn read_records(
    transaction: &mut Transaction,
    last: &LastVectors,
) -> DbResult<HashMap<String, StoredRecord>> {
    let kinds = kinds();
    let ids = Params::new().with_texts("wanted", last.keys().map(|(id, _)| *id));
    let mut records = HashMap::new();
    for row in transaction.rows(&changes::places(&kinds), ids)? {
        let Some(kind) = row.get::<Option<usize>>("kind")? else { continue };
        let (id, Scope { partition, instance }): (String, _) = (row.get("id")?, row.scope()?);
        let (time, extra) = (Some(row.get("timestamp")?), row.get("extra")?);
        let listed = (kind, Some(id.clone()), None, partition, instance, None, None, time, None, extra, None);
        records.insert(id, record_node::record(listed, &kinds)?);
    }
    Ok(records)
}

/// Writes or replaces vectors; returns the new models.
fn write_vectors(
    transaction: &mut Transaction,
    last: &LastVectors,
    records: &HashMap<String, StoredRecord>,
    (mut n, models): (i64, &mut Models),
) -> DbResult<BTreeSet<String>> {
    let (mut rows, mut new) = (BTreeMap::<VectorLabels, Vec<Params>>::new(), BTreeSet::new());
    let mut counts = Counts::default();
    for vector in last.values() {
        let Some(StoredRecord { kind, scope, timestamp, .. }) = records.get(&vector.of) else { continue };
        let dim = vector.vector.len();
        n += 2;
        let (model, stored_dim) = *models.entry(vector.model.clone()).or_insert_with(|| {
            new.insert(vector.model.clone());
            (n - 1, dim)
        });
        if let Some(why) = dimension_mismatch(&vector.model, dim, stored_dim) {
            return Err(DbError::Invalid(why));
        }
        let row = vector_row(vector, collection_params(kind.name, scope), *timestamp, n);
        rows.entry(VectorLabels::new(kind, model, dim, true)).or_default().push(row);
        counts.add_vectors(&vector.model, models, kind, scope, 1);
    }
    let old = last.keys().map(|(of, model)| Params::new().with("of", *of).with("model", *model));
    for row in transaction.rows(changes::REMOVE_VECTORS, Params::new().with_rows("rows", old))? {
        let (of, model): (String, String) = (row.get("of")?, row.get("model")?);
        if let Some(StoredRecord { kind, scope, .. }) = records.get(&of) {
            counts.add_vectors(&model, models, kind, scope, -1);
        }
    }
    run_all(transaction, vector_steps(models, counts))?;
    begin_unembedded(transaction, models, &new)?;
    for (labels, rows) in rows {
        run_over(transaction, &changes::add_vectors(&labels), rows)?;
    }
    Ok(new)
}
