//! Asks a store its own questions: whether their turn is found and recalled, and what is recalled for the
//! questions of another partition.

use super::questions::{OwnQuestion, number, questions};
use crate::api::{Api, Request};
use crate::backfill;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::enrich::{self, Memory, Options, Schedule, Turn};
use crate::error::Result;
use crate::record::{
    Account, Clock, Object, Reach, RequestScope, Role, Scope, Scopes, StoredRecord, kinds, quote,
};
use crate::search::{self, By};
use crate::store::{QuestionVector, Select, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The numbers of hits among which a turn is sought.
pub(super) const DEPTHS: [usize; 3] = [1, 5, 10];
/// The time after which no further question is asked.
const LIMIT: Duration = Duration::from_secs(8);
/// A partition is asked questions of others if it has this many messages.
const MIN_MESSAGES: u64 = 20;

/// The outcome of the questions.
#[derive(Default, Debug)]
pub(super) struct Probe {
    /// Whether they were asked by meaning too.
    pub(super) by_meaning: bool,
    /// The questions that were made, and of these asked.
    pub(super) made: usize,
    pub(super) asked: usize,
    /// The questions whose turn was among the first hits, for each of the `DEPTHS`.
    pub(super) found: [usize; 3],
    /// The questions whose turn was recalled.
    pub(super) recalled: usize,
    /// The questions that were asked in another partition.
    pub(super) foreign: usize,
    /// Of these, those for which anything was recalled as related, and the number of records.
    pub(super) foreign_answered: usize,
    pub(super) foreign_records: usize,
    /// The recalled records of a partition that was not asked.
    pub(super) strays: usize,
}

/// A store with what it takes to ask it.
struct Prober<'a> {
    store: &'a mut dyn Store,
    settings: &'a Settings,
    diagnostics: &'a Diagnostics,
    embedder: Option<Embedder>,
    clock: Clock,
}

impl Probe {
    /// Asks the questions of some scopes, within a time. Writes nothing, and asks no server to embed.
    pub(super) fn run(
        store: &mut dyn Store,
        settings: &Settings,
        scopes: &Scopes,
        clock: Clock,
        diagnostics: &Diagnostics,
    ) -> Result<Probe> {
        let begin = Instant::now();
        // A model that fails leaves the search by words, which the report says.
        let embedder = backfill::optional(store, settings, Workload::Few, diagnostics).ok().flatten();
        let embedder = embedder.filter(|embedder| !embedder.is_remote());
        let own = questions(store, scopes)?;
        let others = partitions(store)?;
        let mut probe = Probe { by_meaning: embedder.is_some(), made: own.len(), ..Probe::default() };
        let mut prober = Prober { store, settings, diagnostics, embedder, clock };
        for question in &own {
            if begin.elapsed() > LIMIT {
                break;
            }
            probe.ask(question, &others, &mut prober)?;
        }
        Ok(probe)
    }

    fn ask(&mut self, question: &OwnQuestion, others: &[String], prober: &mut Prober) -> Result<()> {
        let OwnQuestion { text, source } = question;
        let vector = prober.vector(text);
        self.asked += 1;
        if let Some(place) = prober.place(text, vector.as_ref(), source)? {
            for (found, depth) in self.found.iter_mut().zip(DEPTHS) {
                *found += usize::from(place < depth);
            }
        }
        let recalled = prober.recall(text, vector.as_ref(), &source.scope.partition)?;
        self.recalled += usize::from(recalled.iter().any(|record| is_of_turn(record, source)));
        let others: Vec<&String> = others.iter().filter(|name| **name != source.scope.partition).collect();
        if others.is_empty() {
            return Ok(());
        }
        let other = others[number(&["other", &source.id]) as usize % others.len()];
        let recalled = prober.recall(text, vector.as_ref(), other)?;
        self.foreign += 1;
        self.foreign_answered += usize::from(!recalled.is_empty());
        self.foreign_records += recalled.len();
        self.strays += recalled.iter().filter(|record| record.scope.partition != *other).count();
        Ok(())
    }
}

/// Whether a record is of the same turn as another, or says the same.
fn is_of_turn(record: &StoredRecord, source: &StoredRecord) -> bool {
    let is_of_trace = record.trace_id == source.trace_id && record.scope == source.scope;
    record.id == source.id || is_of_trace || record.text_digest() == source.text_digest()
}

/// The partitions with enough messages, by name.
fn partitions(store: &mut dyn Store) -> Result<Vec<String>> {
    let mut partitions: BTreeMap<String, u64> = BTreeMap::new();
    for (scope, messages) in store.scopes(None)? {
        *partitions.entry(scope.partition).or_default() += messages;
    }
    partitions.retain(|_, messages| *messages >= MIN_MESSAGES);
    Ok(partitions.into_keys().collect())
}

impl Prober<'_> {
    fn vector(&mut self, question: &str) -> Option<QuestionVector> {
        let embedder = self.embedder.as_mut()?;
        // A question that cannot be embedded is asked by words, as all are without a model.
        let numbers = embedder.embed_question(question).ok()?;
        let min_similarity = f64::from(embedder.min_similarity());
        Some(QuestionVector { model: embedder.model().to_owned(), numbers, min_similarity })
    }

    /// The place of a turn among the hits in its partition, from 0.
    fn place(
        &mut self,
        question: &str,
        vector: Option<&QuestionVector>,
        source: &StoredRecord,
    ) -> Result<Option<usize>> {
        let scopes = Scopes::Partition(source.scope.partition.clone());
        let which = Select { roles: vec![Role::User, Role::Assistant], ..Select::messages(scopes) };
        let deepest = DEPTHS.into_iter().max().unwrap_or_default();
        let options =
            search::Options { deduplicate: true, clock: self.clock, ..search::Options::new(deepest) };
        let by = vector.map_or(By::Any, By::Vector);
        let hits = search::find(self.store, by, question, &which, &options)?.hits;
        Ok(hits.iter().position(|hit| is_of_turn(&hit.record, source)))
    }

    /// The records that are recalled as related to a question in a partition.
    fn recall(
        &mut self,
        question: &str,
        vector: Option<&QuestionVector>,
        partition: &str,
    ) -> Result<Vec<StoredRecord>> {
        let scope = Scope::new(Some(partition), None)?;
        let body = format!("{{\"messages\":[{{\"role\":\"user\",\"content\":{}}}]}}", quote(question));
        let request = Request::parse(Api::Chat, Object::parse(&body)?)?;
        let named = RequestScope { scope: scope.clone(), reach: Reach::Partition };
        // The last messages of the instance are recalled for any question.
        let options =
            Options { recent: 0, holdout: 0.0, ..Options::for_request(self.settings, &request, &named)? };
        let turn = Turn {
            scope: &scope,
            trace_id: None,
            clock: &self.clock,
            served_window: &|| None,
            is_awaited: &|| true,
        };
        let begun = enrich::begin(Ok(&mut *self.store), request, &turn, &options, self.diagnostics)?;
        let mut memory = Memory {
            store: &mut *self.store,
            vector,
            link_newest: None,
            diagnostics: self.diagnostics,
            degraded: None,
            missing: Vec::new(),
        };
        let found = begun.recall(&mut memory, &turn, &options, &Schedule::begin(LIMIT), &|_| {});
        let prepared = Arc::new(begun).prepare(found, &turn, &options)?;
        let Account { recalled, memories, documents, actions, .. } = prepared.place()?.account;
        let related =
            recalled.into_iter().filter(|part| !part.pinned).chain(memories).chain(documents).chain(actions);
        let ids: BTreeSet<String> = related.map(|part| part.id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Ok(self.store.get(&ids, &Select::records(kinds(), Scopes::All))?)
    }
}
