//! The vectors of records, as they came, and the models that made them; every index of them is kept right in
//! the same transaction.

use super::super::Model;
use super::chunk::Count;
use super::write::as_json;
use super::{chunk, graph, lacking};
use crate::record::{Embedding, Role};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::collections::{BTreeMap, BTreeSet};

/// A record as the indexes know it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its number.
    pub(super) n: i64,
    pub(super) scope: i64,
    pub(super) timestamp: i64,
    /// Of a message; what has none is not searched for.
    pub(super) role: Option<Role>,
}

/// The record that has an id.
pub(super) fn place(connection: &Connection, id: &str) -> rusqlite::Result<Option<Place>> {
    let sql = "SELECT n, scope, timestamp, role FROM record WHERE id = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let place = |row: &rusqlite::Row| {
        Ok(Place { n: row.get(0)?, scope: row.get(1)?, timestamp: row.get(2)?, role: row.get(3)? })
    };
    statement.query_row([id], place).optional()
}

/// The number and the dimension of a model.
pub(super) fn model(connection: &Connection, name: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT n, dim FROM model WHERE name = ?";
    connection.prepare_cached(sql)?.query_row([name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Why a vector cannot be one of its model's: it has another length than the others.
pub(super) fn misfit(connection: &Connection, name: &str, dim: usize) -> rusqlite::Result<Option<String>> {
    let known = model(connection, name)?.filter(|(_, known)| *known != dim as i64);
    Ok(known.map(|(_, known)| format!("embedding: has {dim} numbers, but those of {name} have {known}")))
}

/// The number of a model, which is made if it is new: every message lacks a vector of it then.
pub(super) fn known_model(connection: &Connection, name: &str, dim: usize) -> rusqlite::Result<i64> {
    if let Some((n, _)) = model(connection, name)? {
        return Ok(n);
    }
    let sql = "INSERT INTO model (name, dim) VALUES (?, ?)";
    let n = connection.prepare_cached(sql)?.insert(params![name, dim as i64])?;
    lacking::begin(connection, n)?;
    Ok(n)
}

/// Writes a vector, unless there is one; whether it did. The indexes are for `Grown` to tell.
pub(super) fn insert(
    connection: &Connection,
    model: i64,
    place: &Place,
    embedding: &Embedding,
) -> rusqlite::Result<bool> {
    let sql =
        "INSERT INTO embedding (record, model, vector, extra) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let row = params![place.n, model, bytes(&embedding.vector), as_json(&embedding.extra)];
    Ok(connection.prepare_cached(sql)?.execute(row)? == 1)
}

/// A vector as it is stored: f32, little-endian.
pub(super) fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// What a transaction has written: by model and scope how many vectors, and how many of them of messages.
#[derive(Default)]
pub(super) struct Grown(BTreeMap<(i64, i64), (i64, Count)>);

impl Grown {
    /// Tells the indexes of a new vector.
    pub(super) fn add(
        &mut self,
        connection: &Connection,
        model: i64,
        place: &Place,
        embedding: &Embedding,
    ) -> rusqlite::Result<()> {
        let (vectors, coded) = self.0.entry((model, place.scope)).or_default();
        *vectors += 1;
        if place.role.is_none() {
            return Ok(());
        }
        coded.add(place.n);
        chunk::add(connection, model, place, &embedding.vector)?;
        graph::note(connection, model, place)?;
        lacking::strike(connection, model, place)
    }

    /// Counts and packs what was written; to be called before the transaction ends.
    pub(super) fn settle(self, connection: &Connection) -> rusqlite::Result<()> {
        for ((model, scope), (vectors, coded)) in self.0 {
            let sql = "UPDATE model SET vectors = vectors + ? WHERE n = ?";
            connection.prepare_cached(sql)?.execute([vectors, model])?;
            chunk::count(connection, model, scope, &coded)?;
            chunk::pack(connection, model, scope)?;
        }
        Ok(())
    }
}

/// The models, by name.
pub(super) fn models(connection: &Connection) -> rusqlite::Result<Vec<Model>> {
    let mut statement = connection.prepare_cached("SELECT name, dim, vectors FROM model ORDER BY name")?;
    let rows = statement.query_map([], |row| {
        let [dim, vectors] = [row.get::<_, i64>(1)?, row.get(2)?].map(i64::unsigned_abs);
        Ok(Model { name: row.get(0)?, dim: dim as usize, vectors })
    })?;
    rows.collect()
}

/// Writes vectors, be there others in their place or not, and a fact with them. The inner error says why none
/// of them can be written.
pub(super) fn replace(
    connection: &mut Connection,
    vectors: &[Embedding],
    fact: Option<(&str, &str)>,
) -> rusqlite::Result<Result<(), String>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut gone: BTreeMap<(i64, i64), BTreeSet<i64>> = BTreeMap::new();
    let mut written = Vec::new();
    for embedding in vectors {
        let Some(place) = place(&transaction, &embedding.of)? else { continue };
        if let Some(misfit) = misfit(&transaction, &embedding.model, embedding.vector.len())? {
            return Ok(Err(misfit));
        }
        let model = known_model(&transaction, &embedding.model, embedding.vector.len())?;
        if remove(&transaction, model, &place)? {
            gone.entry((model, place.scope)).or_default().insert(place.n);
            graph::cut(&transaction, &embedding.model, place.n)?;
        }
        insert(&transaction, model, &place, embedding)?;
        written.push((model, place, embedding));
    }
    let mut grown = Grown::default();
    for ((model, scope), records) in gone {
        chunk::remove(&transaction, model, scope, &records)?;
    }
    for (model, place, embedding) in written {
        grown.add(&transaction, model, &place, embedding)?;
    }
    grown.settle(&transaction)?;
    if let Some((name, value)) = fact {
        remember(&transaction, name, Some(value))?;
    }
    transaction.commit().map(Ok)
}

/// Removes the vector of a record, if it has one; whether it had. The index is for `chunk::remove` to tell.
fn remove(connection: &Connection, model: i64, place: &Place) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM embedding WHERE record = ? AND model = ?";
    if connection.prepare_cached(sql)?.execute([place.n, model])? == 0 {
        return Ok(false);
    }
    let sql = "UPDATE model SET vectors = vectors - 1 WHERE n = ?";
    connection.prepare_cached(sql)?.execute([model])?;
    Ok(true)
}

/// Removes a model with all that was made by it: vectors, their indexes, and the synapses they gave.
pub(super) fn forget(connection: &mut Connection, name: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let Some((n, _)) = model(&transaction, name)? {
        chunk::begin_generation(&transaction)?;
        for table in ["chunk", "loose", "space", "lacking", "waiting", "graph"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE model = ?"), [n])?;
        }
        // The rows are named by the index of the table, which is a hundredth of it.
        let sql = "DELETE FROM embedding WHERE rowid IN (SELECT rowid FROM embedding WHERE model = ?)";
        transaction.execute(sql, [n])?;
        transaction.execute("DELETE FROM model WHERE n = ?", [n])?;
    }
    transaction.execute("DELETE FROM link WHERE rel = 'SYNAPSE' AND model = ?", [name])?;
    transaction.commit()
}

/// Remembers a fact, or forgets it.
pub(super) fn remember(connection: &Connection, name: &str, value: Option<&str>) -> rusqlite::Result<()> {
    let sql = match value {
        Some(_) => {
            "INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2"
        }
        None => "DELETE FROM fact WHERE name = ?1 AND ?2 IS NULL",
    };
    connection.prepare_cached(sql)?.execute(params![name, value]).map(drop)
}

/// Makes the indexes of all vectors there are.
pub(super) fn index_all(connection: &Connection) -> rusqlite::Result<()> {
    let scopes = rows(connection, "scope")?;
    rows(connection, "model")?.iter().try_for_each(|model| index(connection, *model, &scopes))
}

/// The numbers of all scopes, or models.
pub(super) fn rows(connection: &Connection, table: &str) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(&format!("SELECT n FROM {table}"))?.query_map([], |row| row.get(0))?.collect()
}

/// Makes the indexes of a model's vectors anew in some scopes.
pub(super) fn index(connection: &Connection, model: i64, scopes: &[i64]) -> rusqlite::Result<()> {
    let sql = "UPDATE model SET vectors = (SELECT count(*) FROM embedding WHERE model = ?1) WHERE n = ?1";
    connection.prepare_cached(sql)?.execute([model])?;
    chunk::make(connection, model, scopes)?;
    for scope in scopes {
        graph::begin(connection, model, *scope)?;
    }
    lacking::begin(connection, model)
}

/// Compares what the indexes count with the vectors, and makes those anew that differ. Gives their number.
pub(super) fn mend(connection: &mut Connection) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let there = "SELECT model, scope, count(*), sum(n) FROM embedding JOIN record ON n = record
                 WHERE kind = 'message' GROUP BY model, scope";
    let known = "SELECT model, scope, vectors, sum FROM space WHERE vectors > 0";
    let sql = format!(
        "SELECT model, scope FROM (SELECT * FROM ({there} EXCEPT {known}) \
         UNION ALL SELECT * FROM ({known} EXCEPT {there})) GROUP BY model, scope"
    );
    let mut odd: Vec<(i64, i64)> = transaction
        .prepare(&sql)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut spaces = transaction.prepare("SELECT model, scope FROM space WHERE vectors > 0")?;
    for space in spaces.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (model, scope) = space?;
        if !chunk::visit(&transaction, model, Some(&[scope]), &mut |_| {})? {
            odd.push((model, scope));
        }
    }
    drop(spaces);
    odd.sort_unstable();
    odd.dedup();
    odd.iter().try_for_each(|(model, scope)| index(&transaction, *model, &[*scope]))?;
    transaction.commit().map(|()| odd.len() as u64)
}

/// A stored vector.
pub(super) fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
