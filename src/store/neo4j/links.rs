//! Links, the neighbours of a record, and the synapses that follow from vectors.

use super::changes;
use super::compare::{Found, ListedVector, Vector, compare};
use super::error::DbResult;
use super::existing::ROWS;
use super::graph::Neo4j;
use super::lock::lock;
use super::nearest::VectorCount;
use super::rows::{ends, tombstone_row};
use super::selection::{collection_params, instances_params, number, scopes_params};
use super::statements::{self, for_label, for_model, for_scopes};
use super::tombstones::{Contents, Tombstones};
use super::values::{self, ListedLink, Params, Row};
use super::write::run_over;
use crate::record::{Link, Scope, Scopes, Tombstone, kind_named, kinds};
use crate::store::api::Links;
use crate::store::error::Result;
use crate::store::select::Collection;
use crate::store::synapses::{Changes, Compare, Compared, LinkState, Near, Rule};
use neo4rs::BoltType;
use std::collections::{BTreeMap, BTreeSet};

/// The expected number of links of a record; few have more.
const MAX_LINKS: usize = 16;

/// In a large collection the index is queried if no more records than this are to be compared.
const MAX_INDEX_QUERIES: usize = 64;
const MIN_INDEXED: u64 = 2000;

impl Links for Neo4j {
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>> {
        self.or_error("read", self.read_links(ids, rel))
    }

    fn link_states(&mut self, model: &str, scopes: &Scopes, unlinked: bool) -> Result<Vec<LinkState>> {
        self.or_error("read", self.read_link_states(model, scopes, unlinked))
    }

    fn compare(
        &mut self,
        model: &str,
        collections: &[Collection],
        which: Compare,
        min_similarity: f64,
        limit: usize,
    ) -> Result<Vec<Compared>> {
        self.or_error("read", self.compare_vectors(model, collections, which, min_similarity, limit))
    }

    fn relink(&mut self, model: &str, rule: Rule, compared: &[Compared], changes: &Changes) -> Result<bool> {
        self.or_error("write to", self.change_synapses(model, rule, compared, changes))
    }

    fn prune(&mut self, model: &str, collection: &Collection, rule: Rule, rebuild: bool) -> Result<u64> {
        self.or_error("write to", self.prune_links(model, collection, rule, rebuild))
    }
}

impl Neo4j {
    pub(super) fn read_links(&self, ids: &[&str], rel: Option<&str>) -> DbResult<Vec<Link>> {
        let params = Params::new().with_texts("wanted", ids.iter().copied()).with("rel", rel);
        let mut found = BTreeMap::new();
        let most = ids.len().saturating_mul(MAX_LINKS);
        for listed in self.server.lists::<ListedLink>(statements::LINKS_BY_ID, params, most)? {
            let link = values::link(listed)?;
            found.insert((link.from.clone(), link.rel.clone(), link.to.clone()), link);
        }
        Ok(found.into_values().collect())
    }

    pub(super) fn remove_link(&self, link: &Link, at: i64) -> DbResult<bool> {
        let Some(statement) = changes::remove_link(&link.rel) else { return Ok(false) };
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let Some(row) = transaction.row(&statement, ends(&link.from, &link.to))? else {
                return Ok(false);
            };
            let digests = BTreeSet::from([link.digest()]);
            let before = Tombstones::read(transaction, &digests, &Contents::default())?;
            let tombstone = Tombstone::of_link(link, row.scope()?, at, before.get(&link.digest()));
            run_over(transaction, changes::PUT_TOMBSTONES, vec![tombstone_row(&tombstone)])?;
            Ok(true)
        })
    }

    fn read_link_states(&self, name: &str, scopes: &Scopes, only_unlinked: bool) -> DbResult<Vec<LinkState>> {
        let Some(model) = self.model_number(name)? else { return Ok(Vec::new()) };
        let rows = self.server.rows(&for_model(statements::COUNT_UNLINKED, model), Params::new())?;
        let mut unlinked: BTreeMap<(String, Scope), u64> = BTreeMap::new();
        for row in rows {
            unlinked.insert((row.get("kind")?, row.scope()?), row.count("unlinked")?);
        }
        if only_unlinked && unlinked.is_empty() {
            return Ok(Vec::new());
        }
        let params = scopes_params(scopes).with("model", model);
        let mut states = Vec::new();
        for row in self.server.rows(&for_scopes(statements::LINK_STATES, scopes), params)? {
            let (name, scope): (String, Scope) = (row.get("kind")?, row.scope()?);
            // Collections of a kind that this process does not know stay as they are.
            let Some(kind) = kind_named(&name) else { continue };
            let rule = rule_of(&row)?;
            let unlinked = unlinked.get(&(name, scope.clone())).copied().unwrap_or_default();
            if only_unlinked && unlinked == 0 {
                continue;
            }
            let (collection, vectors) = (Collection { kind, scope }, row.count("vectors")?);
            let foreign_synapses = row.get("foreign")?;
            states.push(LinkState { collection, rule, foreign_synapses, vectors, unlinked });
        }
        let kinds = kinds();
        let position = |state: &LinkState| kinds.iter().position(|kind| *kind == state.collection.kind);
        states.sort_by_cached_key(|state| (state.collection.scope.clone(), position(state)));
        Ok(states)
    }

    fn compare_vectors(
        &self,
        model: &str,
        collections: &[Collection],
        which: Compare,
        min_similarity: f64,
        limit: usize,
    ) -> DbResult<Vec<Compared>> {
        let scopes = match collections {
            [] => return Ok(Vec::new()),
            [one] => Scopes::One(one.scope.clone()),
            [first, ..] => Scopes::Partition(first.scope.partition.clone()),
        };
        let kind = collections[0].kind;
        let Some(count) = self.vector_count(model, &[kind], &scopes)? else { return Ok(Vec::new()) };
        let few = match which {
            Compare::Unlinked(most) => Some((statements::UNLINKED, most)),
            Compare::Newest(most) => Some((statements::NEWEST_UNLINKED, most)),
            Compare::All => None,
        };
        if let Some((statement, most)) = few
            && most <= MAX_INDEX_QUERIES
            && count.here > MIN_INDEXED
        {
            let mut vectors =
                self.read_vectors(statement, count.model, collections, ("count", number(most)))?;
            vectors.sort_by_key(|vector| vector.n);
            match self.near_each(collections, &vectors, limit, &count) {
                Ok(near) => {
                    if let Some(compared) = compare(&vectors, which, min_similarity, limit, Some(&near)) {
                        return Ok(compared);
                    }
                }
                // The index does not exist yet.
                Err(error) if error.is_of_procedure() => {}
                Err(error) => return Err(error),
            }
            if matches!(which, Compare::Newest(_)) {
                return Ok(Vec::new());
            }
        }
        let all = ("count", i64::MAX);
        let mut vectors =
            self.read_vectors(statements::VECTORS_OF_COLLECTIONS, count.model, collections, all)?;
        vectors.sort_by_key(|vector| vector.n);
        // Without an index none is missed.
        Ok(compare(&vectors, which, min_similarity, limit, None).unwrap_or_default())
    }

    /// Reads the vectors of some collections.
    fn read_vectors(
        &self,
        statement: &str,
        model: i64,
        collections: &[Collection],
        (name, value): (&str, i64),
    ) -> DbResult<Vec<Vector>> {
        let Some(Collection { kind, .. }) = collections.first() else { return Ok(Vec::new()) };
        let statement = for_model(&for_label(statement, kind), model);
        let params = instances_params(collections).with(name, value);
        let mut vectors = Vec::new();
        self.server.each(&statement, params, &mut |row| {
            vectors.push(Vector::new(row.get("vector")?));
            Ok(())
        })?;
        Ok(vectors)
    }

    /// Finds the nearest vectors to each of some vectors by the index.
    fn near_each(
        &self,
        collections: &[Collection],
        vectors: &[Vector],
        limit: usize,
        count: &VectorCount,
    ) -> DbResult<Vec<Found>> {
        let Some(Collection { kind, .. }) = collections.first() else { return Ok(Vec::new()) };
        let requested = (2 * limit + vectors.len()) as u64;
        let near = requested.saturating_mul((count.all / count.here.max(1)).max(1)).min(count.all);
        let row = |(i, vector): (usize, &Vector)| {
            Params::new().with("i", number(i)).with_vector("vector", &vector.numbers)
        };
        let rows = vectors.iter().enumerate().filter(|(_, vector)| !vector.is_zero()).map(row);
        let near = number(usize::try_from(near).unwrap_or(usize::MAX));
        let params = instances_params(collections).with_rows("rows", rows).with("near", near);
        let statement = for_model(&for_label(statements::NEAR_EACH, kind), count.model);
        let mut each: Vec<Found> = vectors.iter().map(|_| Found::default()).collect();
        self.server.each(&statement, params, &mut |row| {
            let i: usize = row.get("i")?;
            if let Some(one) = each.get_mut(i) {
                let vectors = row.get::<Vec<ListedVector>>("near")?.into_iter().map(Vector::new).collect();
                *one = Found { least: row.get::<Option<f64>>("least")?.unwrap_or_default(), vectors };
            }
            Ok(())
        })?;
        Ok(each)
    }

    fn change_synapses(
        &self,
        name: &str,
        rule: Rule,
        compared: &[Compared],
        changes: &Changes,
    ) -> DbResult<bool> {
        let Some(model) = self.model_number(name)? else { return Ok(true) };
        self.server.write(|transaction| {
            let (mut n, _) = lock(transaction, changes.add.len())?;
            let mut count = 0;
            for some in compared.chunks(ROWS) {
                let row =
                    |of: &Compared| Params::new().with("id", of.id.as_str()).with("version", of.version);
                let params = || Params::new().with_rows("rows", some.iter().map(row));
                let row = transaction.row(&for_model(changes::MARK_LINKED, model), params())?;
                count += row.map_or(Ok(0), |row| row.get::<i64>("count"))?;
                let params = with_rule(params().with("model", model), rule);
                transaction.run(&for_model(changes::BEGIN_RULES, model), params)?;
            }
            if count != number(compared.len()) {
                transaction.rollback();
                return Ok(false);
            }
            let cut = changes.remove.iter().map(|(from, to)| ends(from, to)).collect();
            run_over(transaction, changes::CUT_SYNAPSES, cut)?;
            let mut row = |(of, near): &(&Compared, &Near)| {
                n += 1;
                synapse_row(of, near, n, name)
            };
            let rows = changes.add.iter().map(&mut row).collect();
            run_over(transaction, &for_model(changes::ADD_SYNAPSES, model), rows)?;
            Ok(true)
        })
    }

    fn prune_links(&self, name: &str, collection: &Collection, rule: Rule, rebuild: bool) -> DbResult<u64> {
        let Some(model) = self.model_number(name)? else { return Ok(0) };
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let params = || rule_params(model, collection, rule);
            let statement = for_label(changes::PRUNE, collection.kind);
            let row = transaction.row(&statement, params().with("name", name).with("rebuild", rebuild))?;
            let removed = row.map_or(Ok(0), |row| row.count("count"))?;
            if rebuild {
                let statement = for_label(changes::BEGIN_UNLINKED, collection.kind);
                transaction.run(&for_model(&statement, model), params())?;
            }
            transaction.run(changes::SET_RULE, params())?;
            Ok(removed)
        })
    }
}

/// A synapse as a row to write, from the lesser id to the greater.
fn synapse_row(of: &Compared, near: &Near, n: i64, model: &str) -> Params {
    let properties = Params::new()
        .with("n", n)
        .with("timestamp", of.time_with(near))
        .with("score", near.score)
        .with("model", model);
    let (from, to) = if of.id < near.id { (&of.id, &near.id) } else { (&near.id, &of.id) };
    ends(from, to).with("near", near.id.as_str()).with("properties", BoltType::Map(properties.into()))
}

/// The rule of a row, if it has one.
fn rule_of(row: &Row) -> DbResult<Option<Rule>> {
    Ok(match (row.get("threshold")?, row.get::<Option<i64>>("degree")?) {
        (Some(threshold), Some(degree)) => {
            Some(Rule { threshold, degree: usize::try_from(degree).unwrap_or_default() })
        }
        _ => None,
    })
}

fn rule_params(model: i64, collection: &Collection, rule: Rule) -> Params {
    with_rule(collection_params(collection.kind.name, &collection.scope).with("model", model), rule)
}

fn with_rule(params: Params, rule: Rule) -> Params {
    params.with("threshold", rule.threshold).with("degree", number(rule.degree))
}
