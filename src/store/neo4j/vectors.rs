//! The vectors of records: what is nearest, what lacks one, and what becomes of those of a model.
//!
//! The server's vector index knows no scopes: it gives the nearest of all, of which those of the selection are
//! kept, and more of them are asked for until there are enough. Where a scope is small, or a small part of the
//! store, its vectors are compared one by one. What is found is scored here, from the vectors themselves.

use super::Neo4j;
use super::batch::{Kind, Place, misfit, vector_row};
use super::changes;
use super::fault::Answer;
use super::read::{number, params, scope_params};
use super::server::promptly;
use super::statements::{self, of_model, scoped, selected};
use super::values::{self, Listed, Params, Row};
use super::write::{add, add_all, begin, counted, lock};
use crate::record::{Embedding, Hit, Message, Scopes};
use crate::store::cosine::Query;
use crate::store::{Cosines, Model, Pending, Select};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many vectors are compared one by one sooner than by the index.
const FEW: i64 = 500;

/// The index finds nearly all of the nearest. Of so many hardly one should be missed: they are compared one by one where
/// its numbers of 8 bits do not tell that what it left out is farther.
const EXACT: i64 = 2000;

/// The index is asked for so many times what is wanted, as it finds nearly all of the nearest; and for so many at
/// least.
const OVER: usize = 2;
const LEAST: usize = 100;
const MOST: usize = 1 << 30;

/// So many more than are wanted are read: what the server cannot compare may fall behind them.
const EQUALS: usize = 10;

/// How many more are asked for where there were not enough.
const MORE: i64 = 4;

/// A model, and how many vectors it has in some scopes.
pub(super) struct Space {
    pub(super) model: i64,
    dim: usize,
    pub(super) all: u64,
    pub(super) here: u64,
}

/// A message, and how near its vector is.
type Found = (Listed, Option<f64>, Option<Vec<f64>>);

/// What the index of vectors gave.
enum Sought {
    Found(Vec<Hit>),
    /// The vectors of the model have so many numbers, and not as many as the question's.
    Misfit(usize),
    /// All vectors of the model with this number must be compared.
    InVain(i64),
    /// It was not asked.
    Nothing,
}

impl Neo4j {
    pub(super) fn read_models(&self) -> Answer<Vec<Model>> {
        let model = |row: &Row| {
            let [dim, vectors] = [row.get::<i64>("dim")?, row.get("vectors")?].map(i64::unsigned_abs);
            Ok(Model { name: row.get("name")?, dim: dim as usize, vectors })
        };
        let models: Answer<Vec<Model>> =
            self.server.rows(statements::MODELS, Params::new())?.iter().map(model).collect();
        // One that was about to get its first vectors has none.
        models.map(|models| models.into_iter().filter(|model| model.vectors > 0).collect())
    }

    /// The number of a model.
    pub(super) fn model(&self, name: &str) -> Answer<Option<i64>> {
        self.space(name, &Scopes::All).map(|space| space.map(|space| space.model))
    }

    /// What there is of a model in some scopes.
    pub(super) fn space(&self, name: &str, scopes: &Scopes) -> Answer<Option<Space>> {
        let params = scope_params(scopes).with("name", name);
        let Some(row) = self.server.row(&scoped(statements::SPACE, scopes), params)? else {
            return Ok(None);
        };
        let count = |name| row.get::<i64>(name).map(i64::unsigned_abs);
        let dim = usize::try_from(count("dim")?).unwrap_or_default();
        Ok(Some(Space { model: row.get("model")?, dim, all: count("all")?, here: count("here")? }))
    }

    /// The hits, or the dimension of the model if it is another than that of the vector.
    pub(super) fn find_nearest(
        &self,
        model: &str,
        vector: &[f32],
        which: &Select,
        limit: usize,
    ) -> Answer<Result<Vec<Hit>, usize>> {
        let mut sought = Sought::Nothing;
        if limit > 0 && which.trace_id.is_none() && !is_flat(vector) {
            sought = self.seek(model, vector, which, limit)?;
        }
        if let Sought::Nothing = sought {
            sought = match self.space(model, &which.scopes)? {
                Some(Space { dim, .. }) if dim != vector.len() => Sought::Misfit(dim),
                Some(Space { model, .. }) if limit > 0 => Sought::InVain(model),
                _ => Sought::Found(Vec::new()),
            };
        }
        let hits = match sought {
            Sought::Misfit(dim) => return Ok(Err(dim)),
            Sought::Found(hits) => hits,
            Sought::Nothing => Vec::new(),
            Sought::InVain(model) => {
                let statement = of_model(statements::NEAREST_OF_ALL, model);
                let statement = selected(&statement, which);
                let lists = self.server.lists(&statement, asking(which, vector, limit), limit)?;
                hits(lists, &Query::of(vector))?
            }
        };
        Ok(Ok(Hit::best(hits, limit)))
    }

    /// Asks the index, for more and more until there are enough.
    fn seek(&self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Answer<Sought> {
        let statement = selected(statements::NEAREST_BY_INDEX, which);
        let mut wanted = number(limit.saturating_mul(OVER).clamp(LEAST, MOST));
        loop {
            let params = asking(which, vector, limit).with("name", model).with("wanted", wanted);
            let params = params.with("few", FEW).with("exact", EXACT).with("more", MORE);
            let row = match self.server.row(&statement, params) {
                // The index is not there yet.
                Err(fault) if fault.is_of_procedure() => return Ok(Sought::Nothing),
                row => row?,
            };
            let Some(row) = row else { return Ok(Sought::Found(Vec::new())) };
            let dim = usize::try_from(row.get::<i64>("dim")?).unwrap_or_default();
            if dim != vector.len() {
                return Ok(Sought::Misfit(dim));
            }
            if row.get::<Option<i64>>("asked")?.is_none() {
                return Ok(Sought::InVain(row.get("model")?));
            }
            let found = Hit::best(hits(row.get("rows")?, &Query::of(vector))?, limit);
            if let Some(last) = found.get(limit - 1) {
                let nearer = |most: f64| (1.0 + last.score) / 2.0 > most;
                if !row.get::<bool>("exact")? || row.get::<Option<f64>>("most")?.is_some_and(nearer) {
                    return Ok(Sought::Found(found));
                }
            }
            wanted = wanted.saturating_mul(MORE);
        }
    }

    pub(super) fn cosines(&self, model: &str, vector: &[f32], ids: &[&str]) -> Answer<Cosines> {
        let query = Query::of(vector);
        let mut cosines = HashMap::<String, f64>::new();
        let each = ids.iter().map(|id| id.len()).max().unwrap_or_default() + 2;
        for ids in ids.chunks(promptly(statements::SIMILARITIES, vector.len(), each)) {
            let wanted = Params::new().with_texts("wanted", ids.iter().copied());
            let params = wanted.with("model", model).with_question(vector);
            let lists = self.server.lists(statements::SIMILARITIES, params, ids.len())?;
            for (id, cosine, vector) in lists {
                if let Some(cosine) = values::cosine((cosine, vector), &query) {
                    cosines.insert(id, cosine);
                }
            }
        }
        let found = ids.iter().filter_map(|id| Some(((*id).to_owned(), *cosines.get(*id)?)));
        Ok(found.collect())
    }

    pub(super) fn read_pending(&mut self, model: &str, which: &Select, limit: usize) -> Answer<Pending> {
        let params = params(which).with("name", model).with("count", number(limit));
        let lacking = |store: &Neo4j, n| store.lacking(&of_model(statements::LACKING, n), which, &params);
        if let Some(n) = self.models.get(model) {
            let pending = lacking(self, *n)?;
            if pending.known {
                return Ok(pending);
            }
        }
        match self.model(model)? {
            Some(n) => {
                self.models.insert(model.to_owned(), n);
                lacking(self, n)
            }
            None => self.lacking(statements::SPOKEN, which, &params),
        }
    }

    /// The messages that a statement tells to lack vectors, and of how many.
    fn lacking(&self, statement: &str, which: &Select, params: &Params) -> Answer<Pending> {
        let statement = selected(statement, which);
        let Some(row) = self.server.row(&statement, params.clone())? else { return Ok(Pending::default()) };
        let newest: Vec<Listed> = row.get("newest")?;
        let mut newest: Vec<Message> =
            newest.into_iter().map(|listed| Ok(values::message(listed)?.0)).collect::<Answer<_>>()?;
        newest.sort_by_cached_key(|message| std::cmp::Reverse(message.position()));
        Ok(Pending { newest, total: row.get::<i64>("all")?.unsigned_abs(), known: row.get("known")? })
    }

    /// Makes the index of each model that has none yet.
    pub(super) fn index_models(&self) -> Answer<()> {
        for row in self.server.rows(statements::MODELS, Params::new())? {
            let statement = of_model(changes::MAKE_VECTOR_INDEX, row.get("n")?);
            self.server.make(&statement, Params::new().with("dim", row.get::<i64>("dim")?))?;
        }
        Ok(())
    }

    /// Writes vectors, be there others in their place or not, and a fact with them; gives whether there are new
    /// models. The inner error says why none of them can be written.
    pub(super) fn replace_vectors(
        &self,
        vectors: &[Embedding],
        fact: Option<(&str, &str)>,
    ) -> Answer<Result<bool, String>> {
        // Of two in the same place the later stays.
        let last: HashMap<(&str, &str), &Embedding> =
            vectors.iter().map(|vector| ((vector.of.as_str(), vector.model.as_str()), vector)).collect();
        self.server.write(|transaction| {
            let (mut number, mut known) = lock(transaction, 2 * vectors.len())?;
            let ids = Params::new().with_texts("wanted", last.keys().map(|(id, _)| *id));
            let mut places = HashMap::new();
            for row in transaction.rows(changes::PLACES, ids)? {
                let (scope, timestamp, message) = (row.scope()?, row.get("timestamp")?, row.get("message")?);
                places.insert(row.get::<String>("id")?, Place { scope, timestamp, message });
            }
            let (mut rows, mut new) = (BTreeMap::<Kind, Vec<Params>>::new(), BTreeSet::new());
            let (mut counts, mut spaces) = (BTreeMap::new(), BTreeMap::new());
            for vector in last.values() {
                let Some(place) = places.get(&vector.of) else { continue };
                let dim = vector.vector.len();
                number += 2;
                let (model, known) = *known.entry(vector.model.clone()).or_insert_with(|| {
                    new.insert(vector.model.clone());
                    (number - 1, dim)
                });
                if known != dim {
                    return Ok(Err(misfit(&vector.model, dim, known)));
                }
                let kind = Kind { model, dim, of_message: place.message, late: true };
                rows.entry(kind).or_default().push(vector_row(vector, place, number));
                *counts.entry(vector.model.clone()).or_default() += 1;
                if place.message {
                    *spaces.entry((model, place.scope.clone())).or_default() += 1;
                }
            }
            let old = last.keys().map(|(of, model)| Params::new().with("of", *of).with("model", *model));
            for row in transaction.rows(changes::REMOVE_VECTORS, Params::new().with_rows("rows", old))? {
                let (of, model): (String, String) = (row.get("of")?, row.get("model")?);
                if let (Some(place), Some((n, _))) = (places.get(&of), known.get(&model)) {
                    if place.message {
                        *spaces.entry((*n, place.scope.clone())).or_default() -= 1;
                    }
                    *counts.entry(model).or_default() -= 1;
                }
            }
            add_all(transaction, counted(&known, counts, spaces))?;
            begin(transaction, &known, &new)?;
            for (kind, rows) in rows {
                add(transaction, &changes::of_vectors(&kind), rows)?;
            }
            if let Some((name, value)) = fact {
                let params = Params::new().with("name", name).with("value", value);
                transaction.run(changes::SET_FACT, params)?;
            }
            Ok(Ok(!new.is_empty()))
        })
    }

    /// Removes a model with all that was made by it.
    pub(super) fn forget_model(&self, name: &str) -> Answer<()> {
        let Some(model) = self.model(name)? else {
            return self.server.write(|transaction| {
                lock(transaction, 0)?;
                transaction.run(changes::FORGET_SYNAPSES, Params::new().with("name", name))
            });
        };
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let params = || Params::new().with("name", name).with("model", model);
            for statement in [
                changes::FORGET_VECTORS,
                changes::FORGET_SYNAPSES,
                changes::FORGET_SPACES,
                changes::FORGET_LACKING,
                changes::FORGET_MODEL,
            ] {
                transaction.run(&of_model(statement, model), params())?;
            }
            Ok(())
        })?;
        self.server.run(&of_model(changes::DROP_VECTOR_INDEX, model), Params::new())
    }
}

/// What a statement about what is nearest to a vector is given.
fn asking(which: &Select, vector: &[f32], limit: usize) -> Params {
    params(which).with_question(vector).with("count", number(limit.saturating_add(EQUALS)))
}

/// Messages by their cosines.
fn hits(lists: Vec<Found>, query: &Query) -> Answer<Vec<Hit>> {
    let hit = |(listed, cosine, vector): Found| {
        let cosine = values::cosine((cosine, vector), query).unwrap_or_default();
        Ok(Hit::by("similarity", values::message(listed)?.0, cosine))
    };
    lists.into_iter().map(hit).collect()
}

fn is_flat(vector: &[f32]) -> bool {
    vector.iter().all(|x| *x == 0.0)
}

/// How near a vector is to any other that the server cannot compare with others, as it reckons with 32 bits: one
/// without a direction as near as what is at right angles (0.5, as its measure goes from 0 to 1), one that is too
/// long or too short as near as may be.
pub(super) fn nearness(vector: &[f32]) -> Option<f64> {
    let square = vector.iter().map(|x| x * x).sum::<f32>();
    match square {
        _ if is_flat(vector) => Some(0.5),
        _ if !square.is_finite() || square < f32::MIN_POSITIVE => Some(1.0),
        _ => None,
    }
}
