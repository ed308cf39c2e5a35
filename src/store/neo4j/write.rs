//! Writing a batch: what is there of it is read, what follows is worked out here, and what is new is written, all
//! while the writers' lock is held.

use super::Neo4j;
use super::batch::Batch;
use super::changes;
use super::fault::Answer;
use super::read::number;
use super::schema;
use super::server::Transaction;
use super::statements;
use super::values::{Params, Row};
use crate::record::{Record, Scope, Vector, reservoir_model};
use crate::store::Written;
use neo4rs::BoltType;
use std::collections::{BTreeMap, BTreeSet};

/// So many messages are taken over at a time.
const ADOPTED: i64 = 500;

/// So many rows are sent in one statement.
pub(super) const ROWS: usize = 500;

/// So many stems of words stand in a row.
const STEMS: usize = 50;

/// So few are sent with those of other statements: to ask the server takes longer than to do it.
const TOGETHER: usize = 100;

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
            add_all(transaction, counted(&known, counts, BTreeMap::new()))?;
            begin(transaction, &known, &names)
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
                return Ok(adopted - self.mark_doubles()?);
            }
            let written = self.write_batch(&batch)?;
            adopted += written.iter().filter(|written| matches!(written, Written::Same(_))).count() as u64;
        }
    }
}

impl Neo4j {
    fn mark_doubles(&self) -> Answer<u64> {
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let row = transaction.row(changes::MARK_DOUBLES, Params::new())?;
            row.map_or(Ok(0), |row| Ok(row.get::<i64>("count")?.unsigned_abs()))
        })
    }
}

/// Models by name: number and dimension.
pub(super) type Models = BTreeMap<String, (i64, usize)>;

/// Takes the writers' lock; gives the first of so many numbers, and the models that there are.
pub(super) fn lock(transaction: &mut Transaction, count: usize) -> Answer<(i64, Models)> {
    let row = transaction.row(changes::LOCK, lock_params(count))?;
    row.map_or_else(|| Ok(Default::default()), |row| locked(&row))
}

/// What it takes to take the writers' lock.
pub(super) fn lock_params(count: usize) -> Params {
    Params::new().with("version", schema::VERSION).with("count", number(count))
}

/// What is read with the writers' lock.
pub(super) fn locked(row: &Row) -> Answer<(i64, Models)> {
    let models: Vec<(String, i64, usize)> = row.get("models")?;
    Ok((row.get("n")?, models.into_iter().map(|(name, n, dim)| (name, (n, dim))).collect()))
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
        let words = new.words.into_iter().flat_map(|(scope, stems)| {
            let each =
                |(stem, messages)| BoltType::from_iter([BoltType::from(stem), BoltType::from(messages)]);
            let stems: Vec<BoltType> = stems.into_iter().map(each).collect();
            let row = |some: &[BoltType]| {
                Params::new().with("scope", scope).with("stems", some.iter().cloned().collect::<BoltType>())
            };
            stems.chunks(STEMS).map(row).collect::<Vec<_>>()
        });
        let mut steps = vec![
            (changes::ADD_SCOPES.to_owned(), scopes.collect()),
            (changes::ADD_WORDS.to_owned(), words.collect()),
        ];
        for (statement, rows) in [(changes::ADD_MESSAGES, new.messages), (changes::ADOPT, new.adopted)] {
            steps
                .extend(rows.into_iter().map(|(lacks, rows)| (changes::of_lacking(statement, &lacks), rows)));
        }
        steps.push((changes::ADD_ACCOUNTS.to_owned(), new.accounts));
        steps.extend(counted(&models, new.counts, new.spaces));
        steps.extend(new.vectors.into_iter().map(|(kind, rows)| (changes::of_vectors(&kind), rows)));
        let links = new.links.into_iter();
        steps.extend(
            links.filter_map(|(rel, rows)| Some((changes::of_relation(changes::ADD_LINKS, &rel)?, rows))),
        );
        let wild = new.wild.iter().map(|id| Params::new().with("id", id.as_str()));
        steps.push((changes::NOTE_WILD.to_owned(), wild.collect()));
        add_all(transaction, steps)
    }
}

/// A statement, and the rows that it is run over.
pub(super) type Step = (String, Vec<Params>);

/// What counts new vectors, by model and by space.
pub(super) fn counted(
    models: &Models,
    counts: BTreeMap<String, i64>,
    spaces: BTreeMap<(i64, Scope), i64>,
) -> Vec<Step> {
    let counted = counts.iter().filter_map(|(name, vectors)| {
        let (n, dim) = models.get(name)?;
        let row = Params::new().with("name", name.as_str()).with("n", *n).with("dim", *dim as i64);
        Some(row.with("vectors", *vectors))
    });
    let spaces = spaces
        .iter()
        .map(|((model, scope), vectors)| scope_row(scope).with("model", *model).with("vectors", *vectors));
    vec![
        (changes::ADD_MODELS.to_owned(), counted.collect()),
        (changes::ADD_SPACES.to_owned(), spaces.collect()),
    ]
}

/// Every message with words lacks a vector of a new model.
pub(super) fn begin(transaction: &mut Transaction, models: &Models, new: &BTreeSet<String>) -> Answer<()> {
    for (n, _) in new.iter().filter_map(|name| models.get(name)) {
        transaction.run(&statements::of_model(changes::BEGIN_LACKING, *n), Params::new())?;
    }
    Ok(())
}

/// Runs statements over their rows, one after the other; together, where they are few.
pub(super) fn add_all(transaction: &mut Transaction, mut steps: Vec<Step>) -> Answer<()> {
    steps.retain(|(_, rows)| !rows.is_empty());
    let rows: usize = steps.iter().map(|(_, rows)| rows.len()).sum();
    if steps.len() < 2 || rows > TOGETHER {
        return steps.into_iter().try_for_each(|(statement, rows)| add(transaction, &statement, rows));
    }
    let statement = changes::together(steps.iter().map(|(statement, _)| statement.as_str()));
    let with_rows = |params: Params, (i, (_, rows))| params.with_rows(&format!("rows{i}"), rows);
    transaction.run(&statement, steps.into_iter().enumerate().fold(Params::new(), with_rows))
}

/// Runs a statement over rows, so many at a time.
pub(super) fn add(transaction: &mut Transaction, statement: &str, rows: Vec<Params>) -> Answer<()> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let some: Vec<Params> = rows.by_ref().take(ROWS).collect();
        transaction.run(statement, Params::new().with_rows("rows", some))?;
    }
    Ok(())
}
