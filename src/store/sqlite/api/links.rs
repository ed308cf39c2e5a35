//! Links and neighbours, in SQLite.

use crate::record::{Link, Scope, Scopes, StoredRecord, kind_named};
use crate::store::api::Links;
use crate::store::error::Result;
use crate::store::evidence::{Around, Cosines};
use crate::store::select::Collection;
use crate::store::sqlite::collections;
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::links::resemblance::Resemblance;
use crate::store::sqlite::links::synapse;
use crate::store::sqlite::row::{self, LINK};
use crate::store::sqlite::snapshot::Snapshot;
use crate::store::sqlite::surroundings::Surroundings;
use crate::store::sqlite::vectors::embedding;
use crate::store::synapses::{Changes, Compare, Compared, LinkState, Rule};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use std::collections::BTreeMap;

/// The least number of records whose neighbours are read by two connections in parallel: for fewer, starting
/// a thread takes longer.
const MIN_FOR_TWO: usize = 40;

impl Links for Sqlite {
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>> {
        links(&self.connection, ids, rel).map_err(|e| self.failed("read", e))
    }

    fn link_states(&mut self, model: &str, scopes: &Scopes, unlinked: bool) -> Result<Vec<LinkState>> {
        link_states(&self.connection, model, scopes, unlinked).map_err(|e| self.failed("read", e))
    }

    fn compare(
        &mut self,
        model: &str,
        collections: &[Collection],
        which: Compare,
        min_similarity: f64,
        limit: usize,
    ) -> Result<Vec<Compared>> {
        let resemblance = Resemblance { model, collections, which, min_similarity, limit };
        let found = self.map().and_then(|()| resemblance.find(&mut self.connection));
        found.map_err(|e| self.failed("read", e))
    }

    fn relink(&mut self, model: &str, rule: Rule, compared: &[Compared], changes: &Changes) -> Result<bool> {
        let made = synapse::relink(&mut self.connection, model, rule, compared, changes);
        made.map_err(|e| self.failed("write to", e))
    }

    fn prune(&mut self, model: &str, collection: &Collection, rule: Rule, rebuild: bool) -> Result<u64> {
        let pruned = synapse::prune(&mut self.connection, model, collection, rule, rebuild);
        pruned.map_err(|e| self.failed("write to", e))
    }
}

impl Sqlite {
    /// The neighbours of records, and the cosines: both halves of the records are read in parallel.
    pub(crate) fn neighbours(
        &mut self,
        surroundings: &Surroundings,
        records: &[&StoredRecord],
    ) -> Result<(Vec<Around>, Cosines)> {
        let look = |store: &mut Sqlite, records: &[&StoredRecord]| {
            surroundings
                .read(&store.connection, store.records.as_deref(), records)
                .map_err(|e| store.failed("read", e))
        };
        if records.len() < MIN_FOR_TWO {
            return look(self, records);
        }
        let (one, other) = records.split_at(records.len() / 2);
        let (mut found, (around, cosines)) =
            self.in_parallel(|store| look(store, one), |store| look(store, other))?;
        found.0.extend(around);
        found.1.extend(cosines);
        Ok(found)
    }
}

fn links(connection: &Connection, ids: &[&str], rel: Option<&str>) -> rusqlite::Result<Vec<Link>> {
    // Each statement outside of a transaction would take the locks of one.
    let snapshot = Snapshot::begin(connection)?;
    // Many stores have none, which is known sooner than that each record has none.
    let sql = "SELECT EXISTS (SELECT 1 FROM link)";
    if !connection.prepare_cached(sql)?.query_row([], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    // One of the two ends is given.
    let side = |own: &str, far: &str, ends: &str| {
        let of_relation = if rel.is_some() { "AND link.rel = ?2" } else { "AND ?2 IS NULL" };
        format!(
            "SELECT link.rel, {ends}, {LINK} FROM link JOIN record AS far ON far.n = link.{far} \
             WHERE link.{own} = ?3 {of_relation}"
        )
    };
    let [from, to] = [side("source", "target", "?1, far.id"), side("target", "source", "far.id, ?1")];
    let sql = format!("{from} UNION ALL {to}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut number = connection.prepare_cached("SELECT n FROM record WHERE id = ?")?;
    let mut found = BTreeMap::new();
    for id in ids {
        let Some(n) = number.query_row([id], |row| row.get::<_, i64>(0)).optional()? else { continue };
        for link in statement.query_map(params![id, rel, n], row::link)? {
            let link = link?;
            found.insert((link.from.clone(), link.rel.clone(), link.to.clone()), link);
        }
    }
    snapshot.finish()?;
    Ok(found.into_values().collect())
}

fn link_states(
    connection: &Connection,
    model: &str,
    scopes: &Scopes,
    unlinked: bool,
) -> rusqlite::Result<Vec<LinkState>> {
    let Some((model, _)) = embedding::model(connection, model)? else { return Ok(Vec::new()) };
    let (condition, values) = collections::scope_condition(scopes);
    let of_part = "unlinked.model = index_checksum.model AND unlinked.collection = collection.n";
    let only =
        if unlinked { format!("AND EXISTS (SELECT 1 FROM unlinked WHERE {of_part})") } else { String::new() };
    let sql = format!(
        "SELECT kind, partition, instance, threshold, degree, ifnull(foreign_synapses, TRUE), vectors, \
           (SELECT count(*) FROM unlinked WHERE {of_part}) \
         FROM collection JOIN index_checksum ON index_checksum.collection = collection.n \
         LEFT JOIN synapse_rule ON synapse_rule.model = index_checksum.model AND synapse_rule.collection = collection.n \
         WHERE {condition} AND index_checksum.model = {model} AND vectors > 0 {only} \
         ORDER BY partition, instance, kind"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(link_state(row)?);
    }
    Ok(found)
}

/// `None` for a kind that this process does not know.
fn link_state(row: &Row) -> rusqlite::Result<Option<LinkState>> {
    let Some(kind) = kind_named(row.get_ref(0)?.as_str()?) else { return Ok(None) };
    let scope = Scope { partition: row.get(1)?, instance: row.get(2)? };
    let rule = match (row.get(3)?, row.get::<_, Option<u32>>(4)?) {
        (Some(threshold), Some(degree)) => Some(Rule { threshold, degree: degree as usize }),
        _ => None,
    };
    Ok(Some(LinkState {
        collection: Collection { kind, scope },
        rule,
        foreign_synapses: row.get(5)?,
        vectors: row.get::<_, i64>(6)?.unsigned_abs(),
        unlinked: row.get::<_, i64>(7)?.unsigned_abs(),
    }))
}
