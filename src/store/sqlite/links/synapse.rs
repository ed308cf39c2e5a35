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
    rule: Rule,
    compared: &[Compared],
    changes: &Changes,
) -> rusqlite::Result<bool> {
    let transaction = wal::begin_write(connection)?;
    let Some(number) = model_number(&transaction, model)? else { return Ok(true) };
    let sql = "DELETE FROM unlinked WHERE model = ?1 AND record = ?2 AND version = ?3
               AND collection = (SELECT collection FROM record WHERE n = ?2)";
    let begin = "INSERT INTO synapse_rule (model, collection, threshold, degree, foreign_synapses)
                 SELECT ?, collection, ?, ?, TRUE FROM record WHERE n = ? ON CONFLICT DO NOTHING";
    for one in compared {
        if transaction.prepare_cached(sql)?.execute([number, one.n, one.version])? == 0 {
            return Ok(false);
        }
        let rule = params![number, rule.threshold, rule.degree as i64, one.n];
        transaction.prepare_cached(begin)?.execute(rule)?;
    }
    let sql = "DELETE FROM link WHERE source = (SELECT n FROM record WHERE id = ?) AND rel = ?
               AND target = (SELECT n FROM record WHERE id = ?)";
    for (from, to) in &changes.remove {
        transaction.prepare_cached(sql)?.execute([from, SYNAPSE, to])?;
    }
    let linkable = linkable(&transaction, number, changes)?;
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
    transaction.commit().map(|()| true)
}

/// Those of the similar records that still exist and are linked: one that has got another vector meanwhile is
/// compared later, when its own turn comes.
fn linkable(connection: &Connection, model: i64, changes: &Changes) -> rusqlite::Result<FxHashSet<i64>> {
    let near: FxHashSet<i64> = changes.add.iter().map(|(_, near)| near.n).collect();
    let sql = "SELECT 1 FROM record WHERE n = ?2 AND NOT EXISTS (
                 SELECT 1 FROM unlinked WHERE model = ?1 AND collection = record.collection AND record = ?2)";
    let mut is_linked = connection.prepare_cached(sql)?;
    let mut linkable = FxHashSet::default();
    for n in near {
        if is_linked.exists([model, n])? {
            linkable.insert(n);
        }
    }
    Ok(linkable)
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
    let number = model_number(&transaction, model)?;
    let Some((number, collection)) = number.zip(collections::number(&transaction, of)?) else { return Ok(0) };
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

/// The number of a model, if the store has it.
pub(crate) fn model_number(connection: &Connection, model: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT n FROM model WHERE name = ?";
    connection.prepare_cached(sql)?.query_row([model], |row| row.get(0)).optional()
}
