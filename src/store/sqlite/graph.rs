//! The links in their table, and which vectors are not linked yet: each is noted when it is written, and struck
//! off when its synapses are.

use super::super::Select;
use super::super::graph::{Alike, Changes, Linked, Near, Rule};
use super::Sqlite;
use super::embedding::{self, Place};
use super::read::{self, COLUMNS, LINK, TABLES, message};
use super::select::Filter;
use crate::record::{Link, Message, SYNAPSE, Scope, Scopes};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params, params_from_iter};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Notes that a new vector has not been compared with others. The mark tells it from any other of the message.
pub(super) fn note(connection: &Connection, model: i64, place: &Place) -> rusqlite::Result<()> {
    if place.role.is_none() {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO waiting (model, scope, record, mark) VALUES (?, ?, ?, random())";
    connection.prepare_cached(sql)?.execute([model, place.scope, place.n]).map(drop)
}

/// Notes every vector of a model in a scope, and none that is not there.
pub(super) fn begin(connection: &Connection, model: i64, scope: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM waiting WHERE model = ?1 AND scope = ?2
               AND NOT EXISTS (SELECT 1 FROM embedding WHERE record = waiting.record AND model = ?1)";
    connection.prepare_cached(sql)?.execute([model, scope])?;
    let sql = "INSERT INTO waiting (model, scope, record, mark)
               SELECT ?1, scope, n, random() FROM record INDEXED BY record_words
               WHERE scope = ?2 AND kind = 'message'
               AND EXISTS (SELECT 1 FROM embedding WHERE record = record.n AND model = ?1)
               ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute([model, scope]).map(drop)
}

/// Removes the synapses that came of a vector which is there no more.
pub(super) fn cut(connection: &Connection, model: &str, record: i64) -> rusqlite::Result<()> {
    for end in ["source", "target"] {
        let sql = format!("DELETE FROM link WHERE {end} = ? AND rel = ? AND model = ?");
        connection.prepare_cached(&sql)?.execute(params![record, SYNAPSE, model])?;
    }
    Ok(())
}

/// Notes that a synapse came from elsewhere.
pub(super) fn note_wild(connection: &Connection, source: i64) -> rusqlite::Result<()> {
    let sql =
        "UPDATE graph SET wild = TRUE WHERE NOT wild AND scope = (SELECT scope FROM record WHERE n = ?)";
    connection.prepare_cached(sql)?.execute([source]).map(drop)
}

impl Sqlite {
    pub(super) fn read_links(&self, ids: &[&str], rel: Option<&str>) -> rusqlite::Result<Vec<Link>> {
        // Of the two ends one is known.
        let side = |own: &str, far: &str, ends: &str| {
            let kind = if rel.is_some() { "AND link.rel = ?2" } else { "AND ?2 IS NULL" };
            format!(
                "SELECT link.rel, {ends}, {LINK} FROM link JOIN record AS far ON far.n = link.{far} \
                 WHERE link.{own} = (SELECT n FROM record WHERE id = ?1) {kind}"
            )
        };
        let sql = format!(
            "{} UNION ALL {}",
            side("source", "target", "?1, far.id"),
            side("target", "source", "far.id, ?1")
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = BTreeMap::new();
        for id in ids {
            for link in statement.query_map(params![id, rel], read::link)? {
                let link = link?;
                found.insert((link.from.clone(), link.rel.clone(), link.to.clone()), link);
            }
        }
        Ok(found.into_values().collect())
    }

    pub(super) fn read_messages(&self, ids: &[&str], which: &Select) -> rusqlite::Result<Vec<Message>> {
        let mut filter = Filter::of(which);
        filter.add_scopes("record", self.scope_numbers(&which.scopes)?.as_deref());
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} WHERE record.kind = 'message'{} AND record.id = ?",
            filter.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for id in ids {
            let values = filter.values.iter().cloned().chain([(*id).to_owned().into()]);
            found.extend(statement.query_row(params_from_iter(values), message).optional()?);
        }
        Ok(found)
    }

    pub(super) fn read_linked(&self, model: &str, scopes: &Scopes) -> rusqlite::Result<Vec<Linked>> {
        let Some((model, _)) = embedding::model(&self.connection, model)? else { return Ok(Vec::new()) };
        let sql = "SELECT partition, instance, threshold, degree, ifnull(wild, TRUE),
                     (SELECT count(*) FROM waiting WHERE waiting.model = space.model AND waiting.scope = space.scope)
                   FROM space JOIN scope ON scope.n = space.scope LEFT JOIN graph USING (model, scope)
                   WHERE space.model = ? AND space.vectors > 0 ORDER BY partition, instance";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([model], |row| {
            let scope = Scope { partition: row.get(0)?, instance: row.get(1)? };
            let rule = match (row.get(2)?, row.get::<_, Option<u32>>(3)?) {
                (Some(threshold), Some(degree)) => Some(Rule { threshold, degree: degree as usize }),
                _ => None,
            };
            Ok(Linked { scope, rule, wild: row.get(4)?, waiting: row.get::<_, i64>(5)?.unsigned_abs() })
        })?;
        rows.filter(|row| row.as_ref().map_or(true, |linked| scopes.hold(&linked.scope))).collect()
    }
}

/// Makes and removes synapses, all of them or none; none if one of the messages was not compared by the vector
/// that it has.
pub(super) fn relink(
    connection: &mut Connection,
    (name, scope): (&str, &Scope),
    rule: Rule,
    compared: &[Alike],
    changes: &Changes,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some((model, scope)) = numbers(&transaction, name, scope)? else { return Ok(true) };
    let sql = "DELETE FROM waiting WHERE model = ? AND scope = ? AND record = ? AND mark = ?";
    for of in compared {
        if transaction.prepare_cached(sql)?.execute([model, scope, of.n, of.mark])? == 0 {
            return Ok(false);
        }
    }
    let sql = "DELETE FROM link WHERE source = (SELECT n FROM record WHERE id = ?) AND rel = ?
               AND target = (SELECT n FROM record WHERE id = ?)";
    for (from, to) in &changes.remove {
        transaction.prepare_cached(sql)?.execute([from, SYNAPSE, to])?;
    }
    let row = |(of, near): &(&Alike, &Near)| {
        let (source, target) = if of.id < near.id { (of.n, near.n) } else { (near.n, of.n) };
        (source, target, of.time_with(near), near.score)
    };
    // One that has got another vector meanwhile is compared with the others when its turn comes.
    let sql = "SELECT record FROM waiting WHERE model = ? AND scope = ?";
    let mut statement = transaction.prepare_cached(sql)?;
    let waiting: FxHashSet<i64> =
        statement.query_map([model, scope], |row| row.get(0))?.collect::<Result<_, _>>()?;
    drop(statement);
    let there = changes.add.iter().filter(|(_, near)| !waiting.contains(&near.n));
    let mut rows: Vec<_> = there.map(row).collect();
    // In the order of the table they are written faster.
    rows.sort_unstable_by_key(|(source, target, ..)| (*source, *target));
    let sql = "INSERT INTO link (source, rel, target, timestamp, score, model) VALUES (?, ?, ?, ?, ?, ?)
               ON CONFLICT DO NOTHING";
    for (source, target, timestamp, score) in rows {
        let row = params![source, SYNAPSE, target, timestamp, score, name];
        transaction.prepare_cached(sql)?.execute(row)?;
    }
    let sql = "INSERT INTO graph (model, scope, threshold, degree, wild) VALUES (?, ?, ?, ?, TRUE)
               ON CONFLICT DO NOTHING";
    transaction.execute(sql, params![model, scope, rule.threshold, rule.degree as i64])?;
    transaction.commit().map(|()| true)
}

/// Removes what no longer follows; with `anew` everything.
pub(super) fn prune(
    connection: &mut Connection,
    name: &str,
    scope: &Scope,
    rule: Rule,
    anew: bool,
) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some((model, scope)) = numbers(&transaction, name, scope)? else { return Ok(0) };
    let sql = "DELETE FROM link WHERE rel = ?1 AND source IN (SELECT n FROM record WHERE scope = ?2)
               AND (?3 OR model IS NOT ?4 OR score IS NULL OR score < ?5)";
    let removed = transaction.execute(sql, params![SYNAPSE, scope, anew, name, rule.threshold])?;
    if anew {
        begin(&transaction, model, scope)?;
    }
    let sql =
        "INSERT OR REPLACE INTO graph (model, scope, threshold, degree, wild) VALUES (?, ?, ?, ?, FALSE)";
    transaction.execute(sql, params![model, scope, rule.threshold, rule.degree as i64])?;
    transaction.commit().map(|()| removed as u64)
}

/// The numbers of a model and of a scope that the store has.
pub(super) fn numbers(
    connection: &Connection,
    model: &str,
    scope: &Scope,
) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT model.n, scope.n FROM model, scope WHERE name = ? AND partition = ? AND instance = ?";
    let names = [model, &scope.partition, &scope.instance];
    connection.prepare_cached(sql)?.query_row(names, |row| Ok((row.get(0)?, row.get(1)?))).optional()
}
