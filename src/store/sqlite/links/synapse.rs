//! The writing of synapses, after which a vector is no longer marked as unlinked.

use crate::record::SYNAPSE;
use crate::store::select::Collection;
use crate::store::sqlite::collections;
use crate::store::sqlite::vectors::unlinked;
use crate::store::sqlite::{changes, wal};
use crate::store::synapses::{Changes, Compared, Near, Rule};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashSet;

/// Notes that a synapse was imported.
pub(crate) fn note_foreign(connection: &Connection, source: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE synapse_rule SET foreign_synapses = TRUE
               WHERE NOT foreign_synapses AND collection = (SELECT collection FROM record WHERE n = ?)";
    connection.prepare_cached(sql)?.execute([source]).map(drop)
}

/// Adds and removes synapses, all or none; none if the vector of a record is not the one that was compared.
pub(crate) fn relink(
    connection: &mut Connection,
    model: &str,
    of: &Collection,
    rule: Rule,
    compared: &[Compared],
    changes: &Changes,
) -> rusqlite::Result<bool> {
    let transaction = wal::begin_write(connection)?;
    let Some((number, collection)) = numbers(&transaction, model, of)? else { return Ok(true) };
    let sql = "DELETE FROM unlinked WHERE model = ? AND collection = ? AND record = ? AND version = ?";
    for one in compared {
        if transaction.prepare_cached(sql)?.execute([number, collection, one.n, one.version])? == 0 {
            return Ok(false);
        }
    }
    let sql = "DELETE FROM link WHERE source = (SELECT n FROM record WHERE id = ?) AND rel = ?
               AND target = (SELECT n FROM record WHERE id = ?)";
    for (from, to) in &changes.remove {
        transaction.prepare_cached(sql)?.execute([from, SYNAPSE, to])?;
    }
    let linkable = linkable(&transaction, number, collection, changes)?;
    let row = |(of, near): &(&Compared, &Near)| {
        let (source, target) = if of.id < near.id { (of.n, near.n) } else { (near.n, of.n) };
        (source, target, of.time_with(near), near.score)
    };
    let mut rows: Vec<_> =
        changes.add.iter().filter(|(_, near)| linkable.contains(&near.n)).map(row).collect();
    // Writing in the order of the table is faster.
    rows.sort_unstable_by_key(|(source, target, ..)| (*source, *target));
    let sql =
        "INSERT INTO link (source, rel, target, timestamp, score, model, change) VALUES (?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT DO NOTHING";
    let mut last = changes::last_link(&transaction)?;
    for (source, target, timestamp, score) in rows {
        let row = params![source, SYNAPSE, target, timestamp, score, model, last + 1];
        last += transaction.prepare_cached(sql)?.execute(row)? as i64;
    }
    changes::set_last_link(&transaction, last)?;
    let sql = "INSERT INTO synapse_rule (model, collection, threshold, degree, foreign_synapses)
               VALUES (?, ?, ?, ?, TRUE) ON CONFLICT DO NOTHING";
    transaction.execute(sql, params![number, collection, rule.threshold, rule.degree as i64])?;
    transaction.commit().map(|()| true)
}

/// Those of the similar records that still exist and are linked: one that has got another vector meanwhile is compared
/// later, when its own turn comes.
fn linkable(
    connection: &Connection,
    model: i64,
    collection: i64,
    changes: &Changes,
) -> rusqlite::Result<FxHashSet<i64>> {
    let mut near: FxHashSet<i64> = changes.add.iter().map(|(_, near)| near.n).collect();
    let mut unlinked =
        connection.prepare_cached("SELECT record FROM unlinked WHERE model = ? AND collection = ?")?;
    for n in unlinked.query_map([model, collection], |row| row.get(0))? {
        near.remove(&n?);
    }
    let mut existing = connection.prepare_cached("SELECT 1 FROM record WHERE n = ?")?;
    let mut removed = Vec::new();
    for n in &near {
        if !existing.exists([n])? {
            removed.push(*n);
        }
    }
    for n in removed {
        near.remove(&n);
    }
    Ok(near)
}

/// Removes the synapses that the rule does not allow; with `rebuild` all.
pub(crate) fn prune(
    connection: &mut Connection,
    model: &str,
    of: &Collection,
    rule: Rule,
    rebuild: bool,
) -> rusqlite::Result<u64> {
    let transaction = wal::begin_write(connection)?;
    let Some((number, collection)) = numbers(&transaction, model, of)? else { return Ok(0) };
    let sql = "DELETE FROM link WHERE rel = ?1 AND source IN (SELECT n FROM record WHERE collection = ?2)
               AND (?3 OR model IS NOT ?4 OR score IS NULL OR score < ?5)";
    let removed = transaction.execute(sql, params![SYNAPSE, collection, rebuild, model, rule.threshold])?;
    if rebuild {
        unlinked::begin(&transaction, number, collection)?;
    }
    let sql = "INSERT OR REPLACE INTO synapse_rule (model, collection, threshold, degree, foreign_synapses)
               VALUES (?, ?, ?, ?, FALSE)";
    transaction.execute(sql, params![number, collection, rule.threshold, rule.degree as i64])?;
    transaction.commit().map(|()| removed as u64)
}

/// The numbers of a model and a collection, if the store has both.
pub(crate) fn numbers(
    connection: &Connection,
    model: &str,
    of: &Collection,
) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT n FROM model WHERE name = ?";
    let model = connection.prepare_cached(sql)?.query_row([model], |row| row.get(0)).optional()?;
    Ok(model.zip(collections::number(connection, of)?))
}
