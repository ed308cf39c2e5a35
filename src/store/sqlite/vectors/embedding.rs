//! The vectors of records, unchanged, and their models; every vector index is updated in the same
//! transaction.

use super::code_page::{self, IndexKey};
use super::code_pool::{self, AddedCodes};
use super::code_scope::CodeScope;
use super::{unembedded, unlinked};
use crate::record::Embedding;
use crate::store::identity::dimension_mismatch;
use crate::store::sqlite::collections::{self, CollectionRow, Within};
use crate::store::sqlite::record_columns;
use crate::store::sqlite::record_row::{self, RecordRow, bytes};
use crate::store::sqlite::row::{as_json, object};
use crate::store::sqlite::wal;
use crate::store::versions::vector_of_version;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

/// The number and the dimension of a model. Fails if the file cannot be read.
pub(crate) fn model(connection: &Connection, name: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT n, dim FROM model WHERE name = ?";
    connection.prepare_cached(sql)?.query_row([name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Whether there is any model.
pub(crate) fn has_models(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM model)";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Describes the mismatch between a vector's dimension and its model's, if any.
pub(crate) fn misfit(connection: &Connection, name: &str, dim: usize) -> rusqlite::Result<Option<String>> {
    let known = model(connection, name)?;
    Ok(known.and_then(|(_, known)| dimension_mismatch(name, dim, usize::try_from(known).unwrap_or_default())))
}

/// The number of a model. A new one is added, and every record is marked as unembedded.
pub(crate) fn ensure_model(connection: &Connection, name: &str, dim: usize) -> rusqlite::Result<i64> {
    if let Some((n, _)) = model(connection, name)? {
        return Ok(n);
    }
    let sql = "INSERT INTO model (name, dim) VALUES (?, ?)";
    let n = connection.prepare_cached(sql)?.insert(params![name, dim as i64])?;
    unembedded::begin(connection, n)?;
    Ok(n)
}

/// Writes a vector, unless there is one; returns whether it did. `IndexUpdate` updates the indexes.
pub(crate) fn insert(
    connection: &Connection,
    model: i64,
    record: &RecordRow,
    embedding: &Embedding,
) -> rusqlite::Result<bool> {
    let sql =
        "INSERT INTO embedding (record, model, vector, extra) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let row = params![record.n, model, bytes(&embedding.vector), as_json(&embedding.extra)];
    Ok(connection.prepare_cached(sql)?.execute(row)? == 1)
}

/// The vectors that a transaction has written, for the indexes.
#[derive(Default)]
pub(crate) struct IndexUpdate {
    /// The number of vectors by model.
    vectors: BTreeMap<i64, i64>,
    codes: BTreeMap<IndexKey, AddedCodes>,
}

impl IndexUpdate {
    /// Adds a new vector, of any length (norm), to the indexes. Fails if the file cannot be written.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        model: i64,
        record: &RecordRow,
        vector: &[f32],
    ) -> rusqlite::Result<()> {
        *self.vectors.entry(model).or_default() += 1;
        if !record.is_embedded() {
            return Ok(());
        }
        let added = self.codes.entry(IndexKey { model, collection: record.collection.n }).or_default();
        added.checksum.add(record.n);
        added.records.insert(record.n);
        code_page::add(connection, model, record, vector)?;
        unlinked::mark(connection, model, record)?;
        unembedded::unmark(connection, model, record)
    }

    /// Adds a vector that was taken from its record to the same under another number.
    pub(crate) fn put(
        &mut self,
        connection: &Connection,
        record: &RecordRow,
        taken: TakenVector,
    ) -> rusqlite::Result<()> {
        let TakenVector { model, embedding, is_linked } = taken;
        insert(connection, model, record, &embedding)?;
        self.add(connection, model, record, &embedding.vector)?;
        if is_linked { unlinked::unmark(connection, model, record) } else { Ok(()) }
    }

    /// Updates checksums and packs codes; must be called before the transaction ends.
    pub(crate) fn flush(self, connection: &Connection) -> rusqlite::Result<()> {
        for (model, vectors) in self.vectors {
            let sql = "UPDATE model SET vectors = vectors + ? WHERE n = ?";
            connection.prepare_cached(sql)?.execute([vectors, model])?;
        }
        code_pool::grow(connection, &self.codes)
    }
}

/// Writes or replaces vectors. The inner error says why none of them can be written.
pub(crate) fn put(transaction: &Transaction, vectors: &[Embedding]) -> rusqlite::Result<Result<(), String>> {
    let mut removed = RemovedVectors::default();
    let mut written = Vec::new();
    for embedding in vectors {
        let Some(record) = record_row::by_id(transaction, &embedding.of)? else { continue };
        if let Some(misfit) = misfit(transaction, &embedding.model, embedding.vector.len())? {
            return Ok(Err(misfit));
        }
        let existing = match record.collection.kind.versions {
            Some(_) => record_columns::by_id(transaction, &embedding.of)?.map(|(_, existing)| existing),
            None => None,
        };
        if existing.is_some_and(|existing| vector_of_version(embedding, &existing).is_none()) {
            continue;
        }
        let model = ensure_model(transaction, &embedding.model, embedding.vector.len())?;
        removed.vector(transaction, model, &embedding.model, &record)?;
        insert(transaction, model, &record, embedding)?;
        written.push((model, record, embedding));
    }
    removed.flush(transaction)?;
    let mut update = IndexUpdate::default();
    for (model, record, embedding) in written {
        update.add(transaction, model, &record, &embedding.vector)?;
    }
    update.flush(transaction)?;
    Ok(Ok(()))
}

/// A vector that goes with its record to another number, by the number of its model.
pub(crate) struct TakenVector {
    model: i64,
    embedding: Embedding,
    /// Whether its synapses are made.
    is_linked: bool,
}

/// The vectors that a transaction removes, for the indexes.
#[derive(Default)]
pub(crate) struct RemovedVectors(BTreeMap<IndexKey, BTreeSet<i64>>);

impl RemovedVectors {
    /// Removes the vector of a record by a model, if there is one, and its synapses.
    fn vector(
        &mut self,
        connection: &Connection,
        model: i64,
        name: &str,
        record: &RecordRow,
    ) -> rusqlite::Result<()> {
        let sql = "DELETE FROM embedding WHERE record = ? AND model = ?";
        if connection.prepare_cached(sql)?.execute([record.n, model])? == 0 {
            return Ok(());
        }
        let sql = "UPDATE model SET vectors = vectors - 1 WHERE n = ?";
        connection.prepare_cached(sql)?.execute([model])?;
        unlinked::unmark(connection, model, record)?;
        unlinked::remove_synapses(connection, name, record.n)?;
        if record.is_embedded() {
            self.0.entry(IndexKey { model, collection: record.collection.n }).or_default().insert(record.n);
        }
        Ok(())
    }

    /// Removes all vectors of a record. Fails if the file cannot be written.
    pub(crate) fn all_vectors(
        &mut self,
        connection: &Connection,
        record: &RecordRow,
    ) -> rusqlite::Result<()> {
        let sql = "SELECT model.n, model.name FROM embedding JOIN model ON model.n = embedding.model
                   WHERE embedding.record = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let models: Vec<(i64, String)> = statement
            .query_map([record.n], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (model, name) in models {
            self.vector(connection, model, &name, record)?;
        }
        Ok(())
    }

    /// Takes the vectors of a record, whose synapses stay. Fails if the file cannot be written.
    pub(crate) fn take(
        &mut self,
        connection: &Connection,
        record: &RecordRow,
    ) -> rusqlite::Result<Vec<TakenVector>> {
        let sql = "SELECT model.n, model.name, vector, extra, NOT EXISTS (
                     SELECT 1 FROM unlinked WHERE model = model.n AND collection = ?1 AND record = ?2)
                   FROM embedding JOIN model ON model.n = embedding.model WHERE embedding.record = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row| {
            let vector = record_row::numbers(row.get_ref(2)?.as_blob()?);
            let (of, model, extra) = (String::new(), row.get(1)?, object(row, 3)?);
            let embedding = Embedding { of, model, vector, extra };
            Ok(TakenVector { model: row.get(0)?, embedding, is_linked: row.get(4)? })
        };
        let taken = statement.query_map([record.collection.n, record.n], read)?;
        let taken: Vec<TakenVector> = taken.collect::<Result<_, _>>()?;
        for TakenVector { model, .. } in &taken {
            let sql = "DELETE FROM embedding WHERE record = ? AND model = ?";
            connection.prepare_cached(sql)?.execute([record.n, *model])?;
            let sql = "UPDATE model SET vectors = vectors - 1 WHERE n = ?";
            connection.prepare_cached(sql)?.execute([model])?;
            unlinked::unmark(connection, *model, record)?;
            if record.is_embedded() {
                let key = IndexKey { model: *model, collection: record.collection.n };
                self.0.entry(key).or_default().insert(record.n);
            }
        }
        Ok(taken)
    }

    /// Removes the vectors from the indexes; must be called before others replace them.
    pub(crate) fn flush(self, connection: &Connection) -> rusqlite::Result<()> {
        for (key, records) in self.0 {
            code_pool::remove(connection, key, &records)?;
        }
        Ok(())
    }
}

/// Removes a model with its vectors, their indexes and their synapses. Fails if the file cannot be written.
pub(crate) fn drop_model(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    if let Some((n, _)) = model(connection, name)? {
        code_page::begin_generation(connection)?;
        for table in ["code_page", "pending_code", "index_checksum", "unembedded", "unlinked", "synapse_rule"]
        {
            connection.execute(&format!("DELETE FROM {table} WHERE model = ?"), [n])?;
        }
        // The rows are found by the table's index, which has a hundredth of its size.
        let sql = "DELETE FROM embedding WHERE rowid IN (SELECT rowid FROM embedding WHERE model = ?)";
        connection.execute(sql, [n])?;
        connection.execute("DELETE FROM model WHERE n = ?", [n])?;
    }
    connection.execute("DELETE FROM link WHERE rel = 'SYNAPSE' AND model = ?", [name]).map(drop)
}

/// Removes the models without vectors.
pub(crate) fn drop_empty_models(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("SELECT name FROM model WHERE vectors <= 0")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for name in names {
        drop_model(connection, &name)?;
    }
    Ok(())
}

/// Rebuilds the indexes of a model's vectors in some collections. Fails if the file cannot be written.
pub(crate) fn rebuild(connection: &Connection, model: i64, within: &[CollectionRow]) -> rusqlite::Result<()> {
    let sql = "UPDATE model SET vectors = (SELECT count(*) FROM embedding WHERE model = ?1) WHERE n = ?1";
    connection.prepare_cached(sql)?.execute([model])?;
    let mut pools = BTreeSet::new();
    for collection in within {
        code_page::rebuild(connection, model, *collection)?;
        if collection.kind.embedded.is_some() {
            unlinked::begin(connection, model, collection.n)?;
            pools.extend(code_pool::above(connection, collection.n)?);
        }
    }
    for collection in pools {
        code_pool::rebuild(connection, IndexKey { model, collection })?;
    }
    unembedded::begin(connection, model)
}

/// Compares the checksums of the indexes with the vectors, and rebuilds those that differ. Returns their
/// number.
pub(crate) fn repair(connection: &mut Connection) -> rusqlite::Result<u64> {
    let transaction = wal::begin_write(connection)?;
    let all = collections::all(&transaction)?;
    let embedded = || all.iter().filter(|collection| collection.kind.embedded.is_some());
    let numbers: Vec<String> = embedded().map(|collection| collection.n.to_string()).collect();
    let existing = format!(
        "SELECT model, collection, count(*), sum(n) FROM embedding JOIN record ON n = record \
         WHERE collection IN ({}) GROUP BY model, collection",
        numbers.join(", ")
    );
    let of_collections = "FROM index_checksum WHERE vectors > 0 \
                          AND collection NOT IN (SELECT pool FROM collection WHERE pool IS NOT NULL)";
    let known = format!("SELECT model, collection, vectors, sum {of_collections}");
    let sql = format!(
        "SELECT model, collection FROM (SELECT * FROM ({existing} EXCEPT {known}) \
         UNION ALL SELECT * FROM ({known} EXCEPT {existing})) GROUP BY model, collection"
    );
    let key = |row: &rusqlite::Row| Ok(IndexKey { model: row.get(0)?, collection: row.get(1)? });
    let mut odd: BTreeSet<IndexKey> =
        transaction.prepare(&sql)?.query_map([], key)?.collect::<Result<_, _>>()?;
    let mut parts = transaction.prepare(&format!("SELECT model, collection {of_collections}"))?;
    for part in parts.query_map([], key)? {
        let part = part?;
        let scope = CodeScope::of(Within::Listed(vec![part.collection]));
        if !code_page::visit(&transaction, part.model, &scope, &mut |_| {})? {
            odd.insert(part);
        }
    }
    drop(parts);
    let models: BTreeSet<i64> = odd.iter().map(|key| key.model).collect();
    for model in models {
        let is_odd = |row: &&CollectionRow| odd.contains(&IndexKey { model, collection: row.n });
        rebuild(&transaction, model, &all.iter().filter(is_odd).copied().collect::<Vec<_>>())?;
    }
    let rebuilt = odd.len() as u64 + code_pool::repair(&transaction)?;
    transaction.commit().map(|()| rebuilt)
}
