//! The codes of small collections, in the pool of their kind and partition: it has a second copy of each
//! pending code, so that a search in the partition reads pages, and one in a collection only what that
//! collection has. A code that gets into a page of its collection leaves the pool.
//!
//! A pool is in the tables as a collection is, with the checksum of all vectors of its collections. In a file
//! of an earlier release the collections get into their pools some at a time, from the newest on, with later
//! writes.

use super::checksum::Checksum;
use super::code_page::{self, IndexKey};
use super::code_scope::{CodeScope, pooled_from, set_pooled_from};
use crate::record::kind_named;
use crate::store::sqlite::collections::{POOLS, Within};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// The number of older collections that a write adds to their pools: for 600 codes of each it takes a fifth
/// of a second.
const POOLED_AT_ONCE: usize = 16;

/// The codes that a transaction has added to a collection.
#[derive(Default)]
pub(crate) struct AddedCodes {
    pub(crate) checksum: Checksum,
    /// The records, which are pending.
    pub(crate) records: BTreeSet<i64>,
}

/// Updates checksums, packs what fills pages, and adds the rest to the pools.
pub(crate) fn grow(connection: &Connection, added: &BTreeMap<IndexKey, AddedCodes>) -> rusqlite::Result<()> {
    let mut pools = BTreeSet::new();
    for (key, AddedCodes { checksum, records }) in added {
        code_page::add_to_checksum(connection, *key, checksum)?;
        let packed = code_page::pack(connection, *key)?;
        let Some(pool) = pool(connection, *key)? else { continue };
        code_page::add_to_checksum(connection, pool, checksum)?;
        code_page::remove(connection, pool, &packed.difference(records).copied().collect())?;
        let sql = "INSERT OR REPLACE INTO pending_code (model, collection, record, metas, codes)
                   SELECT model, ?, record, metas, codes FROM pending_code
                   WHERE model = ? AND collection = ? AND record = ?";
        let mut copy = connection.prepare_cached(sql)?;
        for record in records.difference(&packed) {
            copy.execute([pool.collection, key.model, key.collection, *record])?;
        }
        pools.insert(pool);
    }
    for pool in pools {
        code_page::pack(connection, pool)?;
    }
    pool_more(connection)
}

/// Removes the codes of records, all of which are in the index of a collection, from it and its pool.
pub(crate) fn remove(
    connection: &Connection,
    key: IndexKey,
    records: &BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let removed = Checksum::of(records).negative();
    for key in [Some(key), pool(connection, key)?].into_iter().flatten() {
        code_page::add_to_checksum(connection, key, &removed)?;
        code_page::remove(connection, key, records)?;
    }
    Ok(())
}

/// The pool that has the pending codes of a collection, if one has them.
fn pool(connection: &Connection, key: IndexKey) -> rusqlite::Result<Option<IndexKey>> {
    if key.collection < pooled_from(connection)? {
        return Ok(None);
    }
    let pool = above(connection, key.collection)?;
    Ok(pool.map(|collection| IndexKey { collection, ..key }))
}

/// The number of the pool of a collection.
pub(crate) fn above(connection: &Connection, collection: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT pool FROM collection WHERE n = ?";
    Ok(connection.prepare_cached(sql)?.query_row([collection], |row| row.get(0)).optional()?.flatten())
}

/// Adds some older collections to their pools, if not all are in them.
fn pool_more(connection: &Connection) -> rusqlite::Result<()> {
    let from = pooled_from(connection)?;
    if from == 0 {
        return Ok(());
    }
    let sql = "SELECT n, kind, pool FROM collection WHERE n < ? ORDER BY n DESC LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([from, POOLED_AT_ONCE as i64], |row| {
        let (n, kind, pool): (i64, String, Option<i64>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // A pool is in no other one here.
        Ok((n, pool.filter(|_| kind_named(&kind).is_some())))
    })?;
    let next: Vec<(i64, Option<i64>)> = rows.collect::<Result<_, _>>()?;
    let mut pools = BTreeSet::new();
    for (n, pool) in &next {
        let Some(pool) = *pool else { continue };
        let sql = "SELECT model.n FROM model JOIN index_checksum ON model = model.n AND collection = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let models = statement.query_map([n], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
        for model in models {
            let key = IndexKey { model, collection: pool };
            copy_pending(connection, key, &Within::Listed(vec![*n]))?;
            pools.insert(key);
        }
    }
    for pool in pools {
        code_page::pack(connection, pool)?;
    }
    let last = next.get(POOLED_AT_ONCE - 1).map_or(0, |(n, _)| *n);
    set_pooled_from(connection, last)
}

/// Adds the pending codes and the checksums of collections to a pool.
fn copy_pending(connection: &Connection, pool: IndexKey, collections: &Within) -> rusqlite::Result<()> {
    for part in collections.parts() {
        let sql = format!(
            "INSERT OR REPLACE INTO pending_code (model, collection, record, metas, codes) \
             SELECT model, ?, record, metas, codes FROM pending_code WHERE model = ? AND {}",
            part.condition("collection")
        );
        connection.prepare_cached(&sql)?.execute(params![pool.collection, pool.model, part.value()])?;
    }
    let whole = CodeScope::of(collections.clone());
    let expected = code_page::expected(connection, pool.model, &whole)?;
    code_page::add_to_checksum(connection, pool, &expected.checksum)
}

/// Makes all collections those of pools; must be called while there are no codes.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    set_pooled_from(connection, 0)
}

/// Rebuilds a pool from the pending codes of its collections. Fails if the file cannot be written.
pub(crate) fn rebuild(connection: &Connection, pool: IndexKey) -> rusqlite::Result<()> {
    code_page::clear(connection, pool)?;
    let pooled = members(connection, pool.collection, pooled_from(connection)?)?;
    copy_pending(connection, pool, &pooled)?;
    code_page::pack(connection, pool).map(drop)
}

/// The collections of a pool from a number on.
fn members(connection: &Connection, pool: i64, from: i64) -> rusqlite::Result<Within> {
    let sql = "SELECT json_group_array(n) FROM collection WHERE pool = ? AND n >= ?";
    connection.prepare_cached(sql)?.query_row([pool, from], |row| row.get(0)).map(Within::Many)
}

/// Rebuilds the pools that differ from the codes of their collections; returns their number.
pub(crate) fn repair(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT model.n, collection.n FROM model JOIN collection WHERE kind LIKE '%' || ?";
    let mut statement = connection.prepare_cached(sql)?;
    let [_, of_partition] = POOLS;
    let key = |row: &rusqlite::Row| Ok(IndexKey { model: row.get(0)?, collection: row.get(1)? });
    let pools: Vec<IndexKey> = statement.query_map([of_partition], key)?.collect::<Result<_, _>>()?;
    let mut rebuilt = 0;
    for pool in pools {
        let members = members(connection, pool.collection, i64::MIN)?;
        let expected = code_page::expected(connection, pool.model, &CodeScope::of(members.clone()))?;
        let pooled = CodeScope::pooled(members, Within::Listed(vec![pool.collection]));
        let sound = code_page::visit(connection, pool.model, &pooled, &mut |_| {})?;
        if !sound || code_page::expected(connection, pool.model, &pooled)?.checksum != expected.checksum {
            rebuild(connection, pool)?;
            rebuilt += 1;
        }
    }
    Ok(rebuilt)
}
