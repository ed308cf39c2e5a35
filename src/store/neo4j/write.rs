//! Writing a batch: what is there of it is read, what follows is worked out here, and what is new is written, all
//! while the writers' lock is held.

use super::Neo4j;
use super::batch::Batch;
use super::changes;
use super::schema;
use super::server::{Answer, Transaction};
use super::statements;
use super::values::Params;
use crate::record::{Record, Scope, Vector, reservoir_model};
use crate::store::Written;
use std::collections::{BTreeMap, BTreeSet};

/// So many messages are taken over at a time.
const ADOPTED: i64 = 500;

/// So many rows of vectors are sent in one statement, and of anything else.
pub(super) const VECTORS: usize = 500;
pub(super) const ROWS: usize = 2000;

impl Neo4j {
    /// Writes a batch; gives what became of each record.
    pub(super) fn write_batch(&self, batch: &[Record]) -> Answer<Vec<Written>> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        loop {
            let mut new = Vec::new();
            let written = self.server.write(|transaction| {
                let mut there = Batch::read(transaction, batch)?;
                let written = batch.iter().map(|record| there.add(record)).collect();
                new = there.new_models();
                if new.is_empty() {
                    there.write(transaction)?;
                } else {
                    transaction.take_back();
                }
                Ok(written)
            })?;
            if new.is_empty() {
                return Ok(written);
            }
            // An index that is there before the vectors costs far less than one that is made of them.
            self.add_models(&new)?;
        }
    }

    /// Makes models that have no vectors yet, and their indexes.
    fn add_models(&self, new: &[(String, usize)]) -> Answer<()> {
        self.server.write(|transaction| {
            let (first, mut known) = lock(transaction, new.len())?;
            let (mut names, mut counts) = (BTreeSet::new(), BTreeMap::new());
            for (n, (name, dim)) in (first + 1..).zip(new) {
                if !known.contains_key(name) {
                    known.insert(name.clone(), (n, *dim));
                    names.insert(name.clone());
                    counts.insert(name.clone(), 0);
                }
            }
            grow(transaction, &known, &names, counts, BTreeMap::new())
        })?;
        self.index_models()
    }
}

impl Neo4j {
    /// Takes over what rsv did not write: writing the same makes it rsv's own. Of two that are the same one is.
    pub(super) fn adopt_strangers(&self) -> Answer<u64> {
        let mut adopted = 0;
        let mut after = String::new();
        loop {
            let params = Params::new().with("after", after.as_str()).with("count", ADOPTED);
            let rows = self.server.rows(statements::STRANGERS_TO_ADOPT, params)?;
            let mut batch = Vec::new();
            for row in &rows {
                after = row.get("element")?;
                let mut message = row.message()?;
                if row.get::<Option<Vec<f64>>>("vector")?.is_some() {
                    let numbers = row.vector("vector")?;
                    let model = reservoir_model(numbers.len()).ok();
                    message.vector = model.map(|model| Vector { model: model.to_owned(), numbers });
                }
                batch.push(Record::Message(message));
            }
            if batch.is_empty() {
                return Ok(adopted);
            }
            let written = self.write_batch(&batch)?;
            adopted += written.iter().filter(|written| matches!(written, Written::Same(_))).count() as u64;
        }
    }
}

/// Models by name: number and dimension.
pub(super) type Models = BTreeMap<String, (i64, usize)>;

/// Takes the writers' lock; gives the first of so many numbers, and the models that there are.
pub(super) fn lock(transaction: &mut Transaction, count: usize) -> Answer<(i64, Models)> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let params = Params::new().with("version", schema::VERSION).with("count", count);
    let (mut first, mut models) = (0, Models::new());
    for row in transaction.rows(changes::LOCK, params)? {
        first = row.get("n")?;
        if let Some(name) = row.get("name")? {
            let dim = usize::try_from(row.get::<i64>("dim")?).unwrap_or_default();
            models.insert(name, (row.get("model")?, dim));
        }
    }
    Ok((first, models))
}

pub(super) fn scope_row(scope: &Scope) -> Params {
    Params::new().with("partition", scope.partition.as_str()).with("instance", scope.instance.as_str())
}

impl Batch {
    /// The models that are not there yet, with their dimensions.
    fn new_models(&self) -> Vec<(String, usize)> {
        let dim = |name: &String| Some((name.clone(), self.models.get(name)?.1));
        self.new.models.iter().filter_map(dim).collect()
    }

    fn write(self, transaction: &mut Transaction) -> Answer<()> {
        let Batch { new, scopes, models, .. } = self;
        let number_of = |scope: &Scope| scopes.get(scope).copied().unwrap_or_default();
        let scopes = new.scopes.iter().map(|(scope, (messages, words))| {
            scope_row(scope).with("n", number_of(scope)).with("messages", *messages).with("words", *words)
        });
        add(transaction, changes::ADD_SCOPES, scopes.collect(), ROWS)?;
        for (statement, rows) in [(changes::ADD_MESSAGES, new.messages), (changes::ADOPT, new.adopted)] {
            for (lacks, rows) in rows {
                add(transaction, &changes::of_lacking(statement, &lacks), rows, ROWS)?;
            }
        }
        add(transaction, changes::ADD_ACCOUNTS, new.accounts, ROWS)?;
        grow(transaction, &models, &new.models, new.counts, new.spaces)?;
        for (kind, rows) in new.vectors {
            add(transaction, &changes::of_vectors(&kind), rows, VECTORS)?;
        }
        for (rel, rows) in new.links {
            if let Some(statement) = changes::of_relation(changes::ADD_LINKS, &rel) {
                add(transaction, &statement, rows, ROWS)?;
            }
        }
        if !new.wild.is_empty() {
            let wanted = new.wild.iter().map(String::as_str);
            transaction.run(changes::NOTE_WILD, Params::new().with_texts("wanted", wanted))?;
        }
        Ok(())
    }
}

/// Counts new vectors; every message with words lacks one of a new model.
pub(super) fn grow(
    transaction: &mut Transaction,
    models: &Models,
    new: &BTreeSet<String>,
    counts: BTreeMap<String, i64>,
    spaces: BTreeMap<(i64, Scope), i64>,
) -> Answer<()> {
    let counted = counts.iter().filter_map(|(name, vectors)| {
        let (n, dim) = models.get(name)?;
        let row = Params::new().with("name", name.as_str()).with("n", *n).with("dim", *dim as i64);
        Some(row.with("vectors", *vectors))
    });
    add(transaction, changes::ADD_MODELS, counted.collect(), ROWS)?;
    let spaces = spaces
        .iter()
        .map(|((model, scope), vectors)| scope_row(scope).with("model", *model).with("vectors", *vectors));
    add(transaction, changes::ADD_SPACES, spaces.collect(), ROWS)?;
    for name in new {
        if let Some((n, _)) = models.get(name) {
            transaction.run(&statements::of_model(changes::BEGIN_LACKING, *n), Params::new())?;
        }
    }
    Ok(())
}

/// Runs a statement over rows, so many at a time.
pub(super) fn add(
    transaction: &mut Transaction,
    statement: &str,
    rows: Vec<Params>,
    size: usize,
) -> Answer<()> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let some: Vec<Params> = rows.by_ref().take(size).collect();
        transaction.run(statement, Params::new().with_rows("rows", some))?;
    }
    Ok(())
}
