//! The links that follow from vectors: which vectors are not compared with the others of their scope yet, and what
//! they resemble.

use super::Neo4j;
use super::changes;
use super::fault::Answer;
use super::read::{number, scope_params};
use super::statements::{self, of_model, scoped};
use super::values::Params;
use super::vectors::Space;
use super::write::{ROWS, add, lock, scope_row};
use crate::record::{Scope, Scopes};
use crate::store::cosine::Query;
use crate::store::graph::{Alike, Changes, Linked, Near, Of, Rule};
use neo4rs::BoltType;
use std::collections::HashSet;

/// For fewer messages than this the index is asked, if the scope is large.
const ASKED: usize = 64;
const LARGE: u64 = 2000;

/// How far a cosine of numbers of 32 bits may be off.
const OFF: f32 = 1e-4;

/// How far what the index says of how near one is may be off, from 0 to 1: its numbers have 8 bits.
const INDEX_OFF: f64 = 0.01;

/// A message and its vector as they are listed: n, id, timestamp, mark, numbers, waiting.
type Listed = (i64, String, i64, i64, Vec<f64>, bool);

/// What the index has near to a vector: how near the last of it is, from 0 to 1, and what is of the scope.
type NearOne = (f64, Vec<Vector>);

/// A message and its vector.
struct Vector {
    n: i64,
    id: String,
    timestamp: i64,
    mark: i64,
    waiting: bool,
    numbers: Vec<f32>,
    /// The same, brought to length 1.
    unit: Vec<f32>,
}

impl Vector {
    fn of((n, id, timestamp, mark, numbers, waiting): Listed) -> Vector {
        let numbers: Vec<f32> = numbers.into_iter().map(|x| x as f32).collect();
        let length = numbers.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let unit = numbers.iter().map(|x| (f64::from(*x) / length.max(f64::MIN_POSITIVE)) as f32).collect();
        Vector { n, id, timestamp, mark, waiting, numbers, unit }
    }
}

/// About the cosine of two vectors of length 1: several sums at a time, which the processor takes together.
fn product(one: &[f32], other: &[f32]) -> f32 {
    let (ones, others) = (one.as_chunks::<16>(), other.as_chunks::<16>());
    let mut sums = [0.0_f32; 16];
    for (a, b) in ones.0.iter().zip(others.0) {
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
            *sum += x * y;
        }
    }
    let rest: f32 = ones.1.iter().zip(others.1).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

/// Who is compared with others, and the best so far.
struct Asker<'a> {
    vector: &'a Vector,
    query: Query,
    near: Vec<Near>,
}

impl Asker<'_> {
    fn compare(&mut self, other: &Vector, floor: f64, limit: usize) {
        if product(&self.vector.unit, &other.unit) < floor as f32 - OFF {
            return;
        }
        let score = self.query.cosine_with(other.numbers.iter().copied());
        if score >= floor {
            let (id, timestamp) = (other.id.clone(), other.timestamp);
            self.near.push(Near { id, timestamp, score, n: other.n });
            if self.near.len() > 4 * limit.max(16) {
                self.settle(limit);
            }
        }
    }

    /// Keeps the best, of equals the newest.
    fn settle(&mut self, limit: usize) {
        self.near.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.timestamp.cmp(&a.timestamp)));
        self.near.truncate(limit);
    }
}

impl Neo4j {
    pub(super) fn read_linked(&self, model: &str, scopes: &Scopes) -> Answer<Vec<Linked>> {
        let Some(model) = self.model(model)? else { return Ok(Vec::new()) };
        let waiting = self.server.rows(&of_model(statements::COUNT_WAITING, model), Params::new())?;
        let waiting: Vec<(Scope, u64)> = waiting
            .iter()
            .map(|row| Ok((row.scope()?, row.get::<i64>("waiting")?.unsigned_abs())))
            .collect::<Answer<_>>()?;
        let params = scope_params(scopes).with("model", model);
        let rows = self.server.rows(&scoped(statements::SPACES, scopes), params)?;
        let mut linked = rows
            .iter()
            .map(|row| {
                let rule = match (row.get("threshold")?, row.get::<Option<i64>>("degree")?) {
                    (Some(threshold), Some(degree)) => {
                        Some(Rule { threshold, degree: usize::try_from(degree).unwrap_or_default() })
                    }
                    _ => None,
                };
                let scope = row.scope()?;
                let waiting = waiting.iter().find(|(of, _)| *of == scope).map_or(0, |(_, count)| *count);
                Ok(Linked { scope, rule, wild: row.get("wild")?, waiting })
            })
            .collect::<Answer<Vec<Linked>>>()?;
        linked.sort_by(|a, b| a.scope.cmp(&b.scope));
        Ok(linked)
    }

    pub(super) fn find_alike(
        &self,
        model: &str,
        scope: &Scope,
        of: Of,
        floor: f64,
        limit: usize,
    ) -> Answer<Vec<Alike>> {
        let one = Scopes::One(scope.clone());
        let Some(Space { model, all, here, .. }) = self.space(model, &one)? else { return Ok(Vec::new()) };
        let names = scope_row(scope);
        let read = |statement: &str, params: Params| {
            let mut vectors = Vec::new();
            self.server.each(&of_model(statement, model), params, &mut |row| {
                vectors.push(Vector::of(row.get("vector")?));
                Answer::Ok(())
            })?;
            Answer::Ok(vectors)
        };
        if let Of::Waiting(count) = of
            && count < ASKED
            && here > LARGE
        {
            let vectors = read(statements::WAITING, names.clone().with("count", number(count)))?;
            match self.near_each(model, &names, &vectors, (limit, all, here)) {
                Ok(near) => {
                    if let Some(alike) = compared(&vectors, of, floor, limit, Some(&near)) {
                        return Ok(alike);
                    }
                }
                // The index is not there yet.
                Err(fault) if fault.is_of_procedure() => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut vectors = read(statements::VECTORS_OF_SCOPE, names)?;
        vectors.sort_by_key(|vector| vector.n);
        Ok(compared(&vectors, of, floor, limit, None).unwrap_or_default())
    }

    /// What the index has near to each of some vectors.
    fn near_each(
        &self,
        model: i64,
        names: &Params,
        vectors: &[Vector],
        (limit, all, here): (usize, u64, u64),
    ) -> Answer<Vec<NearOne>> {
        let wanted = (2 * limit + vectors.len()) as u64;
        let near = wanted.saturating_mul((all / here.max(1)).max(1)).min(all);
        let row = |(i, vector): (usize, &Vector)| {
            Params::new().with("i", number(i)).with_vector("vector", &vector.numbers)
        };
        let rows =
            vectors.iter().enumerate().filter(|(_, vector)| vector.unit.iter().any(|x| *x != 0.0)).map(row);
        let near = number(usize::try_from(near).unwrap_or(usize::MAX));
        let params = names.clone().with_rows("rows", rows).with("near", near);
        let mut each: Vec<NearOne> = vectors.iter().map(|_| NearOne::default()).collect();
        self.server.each(&of_model(statements::NEAR_EACH, model), params, &mut |row| {
            let i = usize::try_from(row.get::<i64>("i")?).unwrap_or_default();
            if let Some(one) = each.get_mut(i) {
                let near = row.get::<Vec<Listed>>("near")?.into_iter().map(Vector::of).collect();
                *one = (row.get::<Option<f64>>("least")?.unwrap_or_default(), near);
            }
            Answer::Ok(())
        })?;
        Ok(each)
    }

    pub(super) fn make_synapses(
        &self,
        name: &str,
        scope: &Scope,
        rule: Rule,
        compared: &[Alike],
        changes: &Changes,
    ) -> Answer<bool> {
        let Some(model) = self.model(name)? else { return Ok(true) };
        self.server.write(|transaction| {
            let (mut number, _) = lock(transaction, changes.add.len())?;
            let mut count = 0;
            for some in compared.chunks(ROWS) {
                let rows =
                    some.iter().map(|of| Params::new().with("id", of.id.as_str()).with("mark", of.mark));
                let params = Params::new().with_rows("rows", rows);
                let row = transaction.row(&of_model(changes::COMPARED, model), params)?;
                count += row.map_or(Ok(0), |row| row.get::<i64>("count"))?;
            }
            if count != compared.len() as i64 {
                transaction.take_back();
                return Ok(false);
            }
            let ends = |from: &str, to: &str| Params::new().with("from", from).with("to", to);
            let cut = changes.remove.iter().map(|(from, to)| ends(from, to)).collect();
            add(transaction, changes::CUT_SYNAPSES, cut)?;
            let row = |(of, near): &(&Alike, &Near)| {
                number += 1;
                let properties = Params::new()
                    .with("n", number)
                    .with("timestamp", of.time_with(near))
                    .with("score", near.score)
                    .with("model", name);
                let (from, to) = if of.id < near.id { (&of.id, &near.id) } else { (&near.id, &of.id) };
                ends(from, to)
                    .with("near", near.id.as_str())
                    .with("properties", BoltType::Map(properties.into()))
            };
            let rows = changes.add.iter().map(row).collect();
            add(transaction, &of_model(changes::ADD_SYNAPSES, model), rows)?;
            transaction.run(changes::BEGIN_RULE, rule_params(model, scope, rule))?;
            Ok(true)
        })
    }

    pub(super) fn prune_synapses(&self, name: &str, scope: &Scope, rule: Rule, anew: bool) -> Answer<u64> {
        let Some(model) = self.model(name)? else { return Ok(0) };
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let params = rule_params(model, scope, rule).with("name", name).with("anew", anew);
            let row = transaction.row(changes::PRUNE, params)?;
            let removed = row.map_or(Ok(0), |row| row.get::<i64>("count"))?;
            if anew {
                transaction.run(&of_model(changes::BEGIN_WAITING, model), scope_row(scope))?;
            }
            transaction.run(changes::SET_RULE, rule_params(model, scope, rule))?;
            Ok(removed.unsigned_abs())
        })
    }
}

/// Compares those whose turn it is with the others, or with what the index has near to each; `None` if that may lack
/// some.
fn compared(
    vectors: &[Vector],
    of: Of,
    floor: f64,
    limit: usize,
    near: Option<&[NearOne]>,
) -> Option<Vec<Alike>> {
    let mark = |vector: &Vector| if of == Of::All { 0 } else { vector.mark };
    let asks = |vector: &&Vector| of == Of::All || vector.waiting;
    let count = match of {
        Of::Waiting(count) => count,
        Of::All => usize::MAX,
    };
    let askers = vectors.iter().filter(asks).take(count);
    let mut askers: Vec<Asker> =
        askers.map(|vector| Asker { vector, query: Query::of(&vector.numbers), near: Vec::new() }).collect();
    let now: HashSet<i64> = askers.iter().map(|asker| asker.vector.n).collect();
    if limit > 0 {
        for (at, asker) in askers.iter_mut().enumerate() {
            let (least, others) = match near {
                Some(near) => (near[at].0, &near[at].1[..]),
                None => (f64::NEG_INFINITY, vectors),
            };
            for other in others {
                let turn = if now.contains(&other.n) {
                    other.n < asker.vector.n
                } else {
                    of == Of::All || !other.waiting
                };
                if turn {
                    asker.compare(other, floor, limit);
                }
            }
            asker.settle(limit);
            // What is of other scopes, or waits itself, may stand before some that count.
            if asker.near.len() < limit && 2.0 * (least + INDEX_OFF) - 1.0 >= floor {
                return None;
            }
        }
    }
    let alike = askers.into_iter().map(|Asker { vector, near, .. }| Alike {
        id: vector.id.clone(),
        timestamp: vector.timestamp,
        near,
        n: vector.n,
        mark: mark(vector),
    });
    Some(alike.collect())
}

fn rule_params(model: i64, scope: &Scope, rule: Rule) -> Params {
    scope_row(scope)
        .with("model", model)
        .with("threshold", rule.threshold)
        .with("degree", number(rule.degree))
}
