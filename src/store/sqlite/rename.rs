//! Moves the records of a partition to another name, in one transaction. Each gets a new number in another
//! collection, as if it had changed: what other processes have in memory of the old ones stays true, and
//! cursors pass the new ones on.

use super::collections::KnownCollections;
use super::record_columns::{self, COLUMNS, TABLES};
use super::{changes, facts, tombstones, wal, write};
use crate::record::{SYNAPSE, StoredRecord, kind_named};
use crate::store::imports::{self, Renumbered};
use crate::store::rename::{self, Obstacle, Rename, RenamedIds};
use rusqlite::{Connection, OptionalExtension, params};

/// The number of records between two updates of the indexes.
const AT_ONCE: usize = 2000;

/// Renames a partition; returns the number of moved records, or why none can be. One that is under way
/// continues. Fails, and moves nothing, if the file cannot be written.
pub(super) fn rename(
    connection: &mut Connection,
    known_collections: &mut KnownCollections,
    rename: &Rename,
) -> rusqlite::Result<Result<u64, Obstacle>> {
    let transaction = wal::begin_write(connection)?;
    if let Some(obstacle) = obstacle(&transaction, rename)? {
        return Ok(Err(obstacle));
    }
    let ids = match renamed_ids(&transaction, rename)? {
        Ok(ids) => ids,
        Err(obstacle) => return Ok(Err(obstacle)),
    };
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    let renamed = |record: &StoredRecord| {
        ids.record(record).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
    };
    let (numbers, last) = (numbers(&transaction, &rename.from)?, last_number(&transaction)?);
    let mut moved = Vec::with_capacity(numbers.len());
    for some in numbers.chunks(AT_ONCE) {
        moved.extend(write::move_records(&transaction, known_collections, some, &renamed)?);
    }
    renumber_links(&transaction, last)?;
    move_rules(&transaction, rename)?;
    let stones = tombstones::of_partition(&transaction, &rename.from)?;
    let stones: Vec<_> = stones.iter().map(|one| one.renamed(&rename.to)).collect();
    for one in &stones {
        tombstones::put(&transaction, one)?;
    }
    let models = models(&transaction)?;
    rename::begin(rename, models.iter().map(String::as_str), &mut &*transaction)?;
    rename::note_former(&stones, &mut &*transaction)?;
    let pairs: Vec<Renumbered> =
        moved.iter().map(|(n, new)| Renumbered { n: *n, change: *n, new: *new }).collect();
    imports::renumber(&pairs, &mut &*transaction)?;
    transaction.commit()?;
    Ok(Ok(moved.len() as u64))
}

/// The reason not to begin. A process that was killed may have left the rest undone, and others may have
/// written under the old name since: then there is none.
fn obstacle(connection: &Connection, rename: &Rename) -> rusqlite::Result<Option<Obstacle>> {
    let is_under_way = facts::get(connection, &rename.fact())?.is_some();
    let has = |partition: &str, instance: Option<&str>| {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM collection WHERE partition = ?1 AND (?2 IS NULL OR instance = ?2)
                     AND EXISTS (SELECT 1 FROM record WHERE collection = collection.n))";
        connection.prepare_cached(sql)?.query_row((partition, instance), |row| row.get::<_, bool>(0))
    };
    let Rename { from, to } = rename;
    if !is_under_way && !has(from, None)? {
        return Ok(Some(Obstacle::Missing { name: from.clone() }));
    }
    if !is_under_way && has(to, None)? {
        return Ok(Some(Obstacle::Taken { name: to.clone() }));
    }
    if has(from, Some(to))? && has(from, Some(from))? {
        return Ok(Some(Obstacle::InstanceTaken { from: from.clone(), to: to.clone() }));
    }
    let sql = "SELECT DISTINCT kind FROM collection WHERE partition = ?
               AND EXISTS (SELECT 1 FROM record WHERE collection = collection.n)";
    let mut kinds = connection.prepare_cached(sql)?;
    for kind in kinds.query_map([from], |row| row.get::<_, String>(0))? {
        let kind = kind?;
        if kind_named(&kind).is_none() {
            return Ok(Some(Obstacle::UnknownKind { kind }));
        }
    }
    Ok(None)
}

/// The ids that follow from the name.
fn renamed_ids<'a>(
    connection: &Connection,
    rename: &'a Rename,
) -> rusqlite::Result<Result<RenamedIds<'a>, Obstacle>> {
    let mut ids = RenamedIds::new(rename);
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE collection.partition = ?");
    let mut statement = connection.prepare(&sql)?;
    for partition in [&rename.from, &rename.to] {
        let mut rows = statement.query([partition])?;
        while let Some(row) = rows.next()? {
            let record = record_columns::record(row)?;
            if RenamedIds::are_of(record.kind)
                && let Err(obstacle) = ids.note(&record)
            {
                return Ok(Err(obstacle));
            }
        }
    }
    Ok(Ok(ids))
}

/// The numbers of the records of a partition, in their order.
fn numbers(connection: &Connection, partition: &str) -> rusqlite::Result<Vec<i64>> {
    let sql =
        "SELECT n FROM record WHERE collection IN (SELECT n FROM collection WHERE partition = ?) ORDER BY n";
    connection.prepare(sql)?.query_map([partition], |row| row.get(0))?.collect()
}

/// The last number that a record got.
fn last_number(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'record'";
    Ok(connection.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// Gives the links of records with numbers after one the numbers of new changes; a synapse leads from the
/// lesser id to the greater, which may be other ones now.
fn renumber_links(connection: &Connection, after: i64) -> rusqlite::Result<()> {
    let sql = "SELECT source, rel, target, rel = ?2 AND (SELECT id FROM record WHERE n = source)
                 > (SELECT id FROM record WHERE n = target)
               FROM link WHERE source > ?1 OR target > ?1 ORDER BY change";
    let mut statement = connection.prepare(sql)?;
    let read = |row: &rusqlite::Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let links = statement.query_map(params![after, SYNAPSE], read)?;
    let links: Vec<(i64, String, i64, bool)> = links.collect::<rusqlite::Result<_>>()?;
    let mut last = changes::last_link(connection)?;
    let sql =
        "UPDATE link SET source = ?, target = ?, change = ? WHERE source = ? AND rel = ? AND target = ?";
    let mut update = connection.prepare(sql)?;
    for (source, rel, target, is_turned) in links {
        last += 1;
        let (from, to) = if is_turned { (target, source) } else { (source, target) };
        update.execute(params![from, to, last, source, rel, target])?;
    }
    changes::set_last_link(connection, last)
}

/// Has the rules of synapses follow their collections.
fn move_rules(connection: &Connection, rename: &Rename) -> rusqlite::Result<()> {
    let Rename { from, to } = rename;
    let sql = "INSERT OR REPLACE INTO synapse_rule (model, collection, threshold, degree, foreign_synapses)
               SELECT rule.model, new.n, threshold, degree, foreign_synapses FROM synapse_rule AS rule
               JOIN collection AS old ON old.n = rule.collection JOIN collection AS new ON new.kind = old.kind
                 AND new.partition = ?2 AND new.instance = CASE old.instance WHEN ?1 THEN ?2 ELSE old.instance END
               WHERE old.partition = ?1";
    connection.execute(sql, [from, to])?;
    let sql = "DELETE FROM synapse_rule WHERE collection IN (SELECT n FROM collection WHERE partition = ?)";
    connection.execute(sql, [from]).map(drop)
}

/// The names of the models.
fn models(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection.prepare("SELECT name FROM model")?.query_map([], |row| row.get(0))?.collect()
}
