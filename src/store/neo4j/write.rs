//! Writes a batch while the writers' lock is held: reads the existing records, works out the changes, and
//! writes them.

use super::batch::Batch;
use super::batch_changes::{CollectionKey, Counts, New};
use super::changes;
use super::error::DbResult;
use super::existing::{self, ROWS, is_replaceable};
use super::graph::Neo4j;
use super::lock::{Models, lock};
use super::removal;
use super::rows::tally_rows;
use super::selection::{collection_params, scope_params};
use super::server::Transaction;
use super::statements::{self, for_model};
use super::values::Params;
use crate::record::{Record, kind_named};
use crate::store::forgetting::{Forgotten, NewTombstones, Received, WriteRules};
use crate::store::identity::{RefusedIds, WriteOutcome};
use crate::store::imports::{self, Brought};
use crate::store::languages;
use crate::store::write_plan;
use neo4rs::BoltType;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// The number of records that a transaction removes: a server with 1 GiB has memory for fewer than 100 000.
const REMOVED_AT_ONCE: usize = 10_000;

/// The number of stems in a row.
const STEMS: usize = 50;

/// Up to this many rows are combined with those of other statements, since a round trip takes longer than the
/// work.
const COMBINED_ROWS: usize = 100;

impl Neo4j {
    /// Writes a batch; returns the outcome of each record. Tombstones go first, because they apply to the
    /// records of the batch too. A record that takes the place of one that the batch names before begins
    /// another transaction. Fails, and writes nothing of the transaction that failed, if the server does.
    pub(super) fn write_batch(&self, batch: &[Record], rules: WriteRules) -> DbResult<Vec<WriteOutcome>> {
        let mut written = Vec::with_capacity(batch.len());
        let (mut received, mut refused) = (None, RefusedIds::default());
        while written.len() < batch.len() {
            let rest = &batch[written.len()..];
            let some = &rest[..independent(rest, rules)];
            let outcomes;
            (outcomes, received, refused) = self.write_in_one(|transaction| {
                let mut refused = refused.clone();
                let (received, shrunk) = match &received {
                    Some(received) => (Received::clone(received), BTreeSet::new()),
                    None => receive(transaction, batch)?,
                };
                let mut existing = existing::read(transaction, some, rules.forgotten)?;
                existing.shrunk = shrunk;
                existing.import = rules.import.cloned();
                let written = write_plan::write(&mut existing, some, rules, &received, &mut refused)?;
                Ok(((written, Some(received), refused), existing))
            })?;
            written.extend(outcomes);
        }
        Ok(written)
    }

    /// Removes records with their vectors, links and index entries; returns their number. They get
    /// tombstones. Many are removed in several transactions. Fails if the server does.
    pub(super) fn remove_records(&self, ids: &[&str], new: &NewTombstones) -> DbResult<u64> {
        let mut removed = 0;
        for ids in ids.chunks(REMOVED_AT_ONCE) {
            removed += self.write_in_one(|transaction| removal::of_ids(transaction, ids, new))?;
        }
        Ok(removed)
    }

    /// Works out changes and writes them in one transaction. Fails if the server or `work_out` does.
    pub(super) fn write_in_one<T>(
        &self,
        mut work_out: impl FnMut(&mut Transaction) -> DbResult<(T, Batch)>,
    ) -> DbResult<T> {
        loop {
            let (mut new, mut removed_models) = (Vec::new(), Vec::new());
            let written = self.server.write(|transaction| {
                let (written, existing) = work_out(transaction)?;
                new = existing.new_models();
                if new.is_empty() {
                    removed_models = existing.write(transaction)?;
                } else {
                    transaction.rollback();
                }
                Ok(written)
            })?;
            self.drop_indexes(&removed_models)?;
            if !removed_models.is_empty() {
                self.update_message_vectors()?;
            }
            if new.is_empty() {
                return Ok(written);
            }
            // An index that exists before its vectors costs far less than one that is built from them.
            self.add_models(&new)?;
        }
    }

    /// Adds models without vectors, and their indexes.
    fn add_models(&self, new: &[(String, usize)]) -> DbResult<()> {
        self.server.write(|transaction| {
            let (first, mut models) = lock(transaction, new.len())?;
            let (mut names, mut counts) = (BTreeSet::new(), Counts::default());
            for (n, (name, dim)) in (first + 1..).zip(new) {
                if !models.contains_key(name) {
                    models.insert(name.clone(), (n, *dim));
                    names.insert(name.clone());
                    counts.vectors.insert(name.clone(), 0);
                }
            }
            run_all(transaction, vector_steps(&models, counts))?;
            begin_unembedded(transaction, &models, &names)
        })?;
        self.index_models()
    }

    /// Makes the index of each model that has none yet, and that of messages. One of another dimension is of
    /// a model that is gone with its whole graph; one of a user may have none. Fails if the server does.
    pub(super) fn index_models(&self) -> DbResult<()> {
        let mut existing = HashMap::new();
        for row in self.server.rows(statements::VECTOR_INDEXES, Params::new())? {
            existing.insert(row.get::<String>("name")?, row.get::<Option<i64>>("dim")?);
        }
        for row in self.server.rows(statements::MODELS, Params::new())? {
            let (n, dim): (i64, i64) = (row.get("n")?, row.get("dim")?);
            match existing.get(&changes::vector_index(n)) {
                Some(other) if *other == Some(dim) => continue,
                Some(_) => self.drop_indexes(&[n])?,
                None => {}
            }
            self.server.make(&for_model(changes::MAKE_VECTOR_INDEX, n), Params::new().with("dim", dim))?;
        }
        self.update_message_vectors()
    }

    /// Drops the indexes of removed models.
    pub(super) fn drop_indexes(&self, models: &[i64]) -> DbResult<()> {
        let drop = |n: &i64| self.server.run(&for_model(changes::DROP_VECTOR_INDEX, *n), Params::new());
        models.iter().try_for_each(drop)
    }
}

/// The number of first records of a batch of which none takes the place of one that others before it are, or
/// name: data written for these would outlive it.
fn independent(batch: &[Record], rules: WriteRules) -> usize {
    let mut named: BTreeSet<Cow<str>> = BTreeSet::new();
    let may_return = matches!(rules.forgotten, Forgotten::Return { .. });
    for (at, record) in batch.iter().enumerate() {
        let replaceable = record.stored().filter(|record| is_replaceable(record, may_return));
        if replaceable.is_some_and(|record| named.contains(record.id.as_str())) {
            return at;
        }
        named.extend(record.references());
        named.extend(record.id().map(Cow::Borrowed));
    }
    batch.len()
}

/// Writes the tombstones of a batch and removes their records; also returns the models that lost vectors,
/// which the rest of the batch may add to. Nothing is read if there are none.
fn receive(transaction: &mut Transaction, batch: &[Record]) -> DbResult<(Received, BTreeSet<String>)> {
    if !batch.iter().any(|record| record.tombstone().is_some()) {
        return Ok(Default::default());
    }
    let (received, existing) = removal::of_tombstones(transaction, batch)?;
    Ok((received, existing.write_changes(transaction)?))
}

/// The newest texts, by which the language of short ones is told.
fn newest_texts(transaction: &mut Transaction) -> DbResult<Vec<String>> {
    let params = Params::new().with("count", languages::TOGETHER as i64);
    let rows = transaction.rows(statements::NEWEST_TEXTS, params)?;
    let texts = rows.iter().map(|row| row.get("text"));
    texts.filter_map(Result::transpose).collect()
}

impl Batch {
    /// The new models, with their dimensions.
    fn new_models(&self) -> Vec<(String, usize)> {
        let dim = |name: &String| Some((name.clone(), self.models.get(name)?.1));
        self.new.models.iter().filter_map(dim).collect()
    }

    /// Writes the changes; returns the numbers of models that have no vectors any more.
    fn write(mut self, transaction: &mut Transaction) -> DbResult<Vec<i64>> {
        let new_languages = std::mem::take(&mut self.languages);
        let (import, new) = (self.import.take(), std::mem::take(&mut self.new_numbers));
        let (same, changed) = (std::mem::take(&mut self.same), std::mem::take(&mut self.changed));
        let shrunk = self.write_changes(transaction)?;
        let changed = if import.is_some() { numbers(transaction, &changed)? } else { Vec::new() };
        let changed = changed.into_iter().filter_map(|(n, changed)| Some((n, changed?))).collect();
        let same = numbers(transaction, &same)?.into_iter().map(|(n, _)| n).collect();
        languages::note(new_languages, transaction, newest_texts)?;
        imports::note(import.as_ref(), Brought { new, same, changed }, transaction)?;
        delete_empty_models(transaction, &shrunk.into_iter().collect::<Vec<_>>())
    }

    /// Writes the changes, except that models without vectors stay; returns the models that lost vectors.
    fn write_changes(self, transaction: &mut Transaction) -> DbResult<BTreeSet<String>> {
        let Batch { new, collections, models, mut shrunk, .. } = self;
        let New { records, adopted, replaced, without_vectors, vectors, links, foreign, counts, .. } = new;
        let fewer = counts.vectors.iter().filter(|(_, count)| **count < 0);
        shrunk.extend(fewer.map(|(name, _)| name.clone()));
        let ids = |ids: Vec<String>| ids.into_iter().map(|id| Params::new().with("id", id)).collect();
        // Statements that use an index go before those that delete many nodes: see `REMOVE_RECORDS`.
        let mut steps = vec![
            (changes::PUT_TOMBSTONES.to_owned(), new.tombstones.into_values().collect()),
            (changes::REMOVE_DOUBLES.to_owned(), ids(new.forgotten)),
            (changes::REMOVE_ALL_VECTORS.to_owned(), ids(without_vectors)),
        ];
        let has_fewer_words = !(new.removed.is_empty() && new.moved.is_empty() && replaced.is_empty());
        let unused_words = usize::from(has_fewer_words);
        let mut counts = counts;
        steps.extend(collection_steps(&collections, &mut counts));
        let numbers: Vec<i64> = models.values().map(|(n, _)| *n).collect();
        for (rows, statement) in [(records, changes::ADD_RECORDS), (adopted, changes::ADOPT)] {
            steps.extend(rows.into_iter().filter_map(|((kind, missing_models), rows)| {
                Some((changes::for_labels(statement, kind_named(kind)?, &missing_models), rows))
            }));
        }
        steps.extend(replaced.into_iter().filter_map(|((kind, missing_models), rows)| {
            Some((changes::replace_records(kind_named(kind)?, &missing_models, &numbers), rows))
        }));
        steps.push((changes::MOVE_RECORDS.to_owned(), new.moved));
        steps.extend(vector_steps(&models, counts));
        steps.extend(vectors.into_iter().map(|(labels, rows)| (changes::add_vectors(&labels), rows)));
        steps.extend(links.into_iter().filter_map(|(rel, rows)| Some((changes::add_links(&rel)?, rows))));
        if !new.tree.is_empty() {
            steps.push((changes::LINK_TO_PARENT.to_owned(), new.tree.clone()));
            steps.push((changes::LINK_CHILDREN.to_owned(), new.tree));
        }
        steps.push((changes::NOTE_FOREIGN.to_owned(), ids(foreign.into_iter().collect())));
        steps.extend([
            (changes::SET_MEMBERS.to_owned(), new.members),
            (changes::HIDE.to_owned(), new.hidden),
            (changes::ADD_TALLIES.to_owned(), tally_rows(new.tallies)),
            (changes::REMOVE_RECORDS.to_owned(), new.removed),
            (changes::DELETE_UNUSED_WORDS.to_owned(), vec![Params::new(); unused_words]),
        ]);
        run_all(transaction, steps)?;
        Ok(shrunk)
    }
}

/// The numbers of records, and those of their last changes in place, by their ids.
fn numbers(transaction: &mut Transaction, ids: &[String]) -> DbResult<Vec<(i64, Option<i64>)>> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(ROWS) {
        let params = Params::new().with_texts("ids", ids.iter().map(String::as_str));
        for row in transaction.rows(statements::NUMBERS, params)? {
            found.push((row.get("n")?, row.get("changed")?));
        }
    }
    Ok(found)
}

/// Deletes those of some models that have no vectors any more; returns their numbers.
pub(super) fn delete_empty_models(transaction: &mut Transaction, names: &[String]) -> DbResult<Vec<i64>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let params = Params::new().with_texts("names", names.iter().map(String::as_str));
    let removed_models = transaction.rows(changes::DELETE_EMPTY_MODELS, params)?;
    let removed_models: Vec<i64> = removed_models.iter().map(|row| row.get("n")).collect::<DbResult<_>>()?;
    for n in &removed_models {
        for statement in [changes::DELETE_UNEMBEDDED, changes::DELETE_VECTOR_COUNTS] {
            transaction.run(&for_model(statement, *n), Params::new().with("model", *n))?;
        }
    }
    Ok(removed_models)
}

/// A statement, and the rows that it is run over.
pub(super) type Step = (String, Vec<Params>);

/// The steps that count records and their words.
pub(super) fn collection_steps(collections: &HashMap<CollectionKey, i64>, counts: &mut Counts) -> Vec<Step> {
    let collection = |(key, (documents, words)): (&CollectionKey, &(i64, i64))| {
        let n = collections.get(key).copied().unwrap_or_default();
        collection_params(key.0, &key.1).with("n", n).with("documents", *documents).with("words", *words)
    };
    let rows = counts.collections.iter().map(collection).collect();
    let (mut more, mut less) = (Vec::new(), Vec::new());
    for ((collection, kind), stems) in std::mem::take(&mut counts.words) {
        let (added, subtracted): (Vec<_>, Vec<_>) =
            stems.into_iter().filter(|(_, count)| *count != 0).partition(|(_, count)| *count > 0);
        for (rows, stems) in [(&mut more, added), (&mut less, subtracted)] {
            let each = |(stem, count)| BoltType::from_iter([BoltType::from(stem), BoltType::from(count)]);
            let stems: Vec<BoltType> = stems.into_iter().map(each).collect();
            rows.extend(stems.chunks(STEMS).map(|some| {
                let stems = some.iter().cloned().collect::<BoltType>();
                Params::new().with("collection", collection).with("kind", kind).with("stems", stems)
            }));
        }
    }
    vec![
        (changes::ADD_COLLECTIONS.to_owned(), rows),
        (changes::ADD_WORDS.to_owned(), more),
        (changes::SUBTRACT_WORDS.to_owned(), less),
    ]
}

/// The steps that count vectors.
pub(super) fn vector_steps(models: &Models, counts: Counts) -> Vec<Step> {
    let of_models = counts.vectors.iter().filter_map(|(name, vectors)| {
        let (n, dim) = models.get(name)?;
        let row = Params::new().with("name", name.as_str()).with("n", *n).with("dim", *dim as i64);
        Some(row.with("vectors", *vectors))
    });
    let of_collections = counts.collection_vectors.iter().map(|((model, kind, scope), vectors)| {
        scope_params(scope).with("kind", *kind).with("model", *model).with("vectors", *vectors)
    });
    vec![
        (changes::ADD_MODELS.to_owned(), of_models.collect()),
        (changes::ADD_VECTOR_COUNTS.to_owned(), of_collections.collect()),
    ]
}

/// Every record with a text to embed lacks a vector of a new model.
pub(super) fn begin_unembedded(
    transaction: &mut Transaction,
    models: &Models,
    new: &BTreeSet<String>,
) -> DbResult<()> {
    for (n, _) in new.iter().filter_map(|name| models.get(name)) {
        transaction.run(&for_model(changes::BEGIN_UNEMBEDDED, *n), Params::new())?;
    }
    Ok(())
}

/// Runs statements over their rows, one after the other; combined, if the rows are few.
pub(super) fn run_all(transaction: &mut Transaction, mut steps: Vec<Step>) -> DbResult<()> {
    steps.retain(|(_, rows)| !rows.is_empty());
    let rows: usize = steps.iter().map(|(_, rows)| rows.len()).sum();
    if steps.len() < 2 || rows > COMBINED_ROWS {
        return steps.into_iter().try_for_each(|(statement, rows)| run_over(transaction, &statement, rows));
    }
    let statement = changes::together(steps.iter().map(|(statement, _)| statement.as_str()));
    let with_rows = |params: Params, (i, (_, rows))| params.with_rows(&format!("rows{i}"), rows);
    transaction.run(&statement, steps.into_iter().enumerate().fold(Params::new(), with_rows))
}

/// Runs a statement over rows in batches.
pub(super) fn run_over(transaction: &mut Transaction, statement: &str, rows: Vec<Params>) -> DbResult<()> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let some: Vec<Params> = rows.by_ref().take(ROWS).collect();
        transaction.run(statement, Params::new().with_rows("rows", some))?;
    }
    Ok(())
}
