//! Finds the messages to recall: within the reach of the request, those that are recalled always and those
//! related to the question, and the last ones of its instance, each once, and none that the request already
//! holds or that is never recalled.

use super::action_search::related_actions;
use super::candidate::{CONSIDERED, Candidate, Recalled};
use super::degraded::Degraded;
use super::document_search::DocumentSearch;
use super::duplicate_filter::DuplicateFilter;
use super::newer::{mark_stale, with_newer};
use super::options::Options;
use super::question::{Question, STEPS, memories, text_of, turns};
use super::relevance::Relevance;
use super::schedule::{RecallStep, Schedule};
use super::turn::{Memory, Turn};
use crate::api;
use crate::error::Result;
use crate::ranking::weights;
use crate::record::{
    ACTION, Considered, DOCUMENT, Hit, MEMORY, MESSAGE, Object, Reach, RecallRule, RecalledPart, Scope,
    Scopes, StoredRecord,
};
use crate::search;
use crate::store::{Select, Store};
use std::collections::HashMap;

/// Finds what may be recalled for a message of a request, step by step: no step begins after the end of
/// the schedule. `publish` gets what is known after each. A step that fails is left out; fails if nothing
/// is found and the store cannot be read.
pub(super) fn recall(
    question: &Question,
    (request, message): (&api::Request, &Object),
    memory: &mut Memory,
    (turn, options): (&Turn, &Options),
    schedule: &Schedule,
    publish: &dyn Fn(&Recalled),
) -> Result<Recalled> {
    let duplicates = DuplicateFilter::new(request, options.redactor.as_ref());
    let (text, known) = (text_of(message), question.known(&duplicates));
    let recalled = Recalled {
        degraded: memory.degraded.clone(),
        missing: memory.missing.clone(),
        ..Recalled::default()
    };
    let mut recall = Recall {
        text: &text,
        known: &known,
        question,
        duplicates: &duplicates,
        turn,
        options,
        schedule,
        recalled,
    };
    recall.recalled.candidates = if question.is_open { recall.messages(memory) } else { known.clone() };
    publish(&recall.without(&STEPS[2..]));
    if question.has_memories {
        recall.add_memories(memory);
        publish(&recall.without(&STEPS[3..]));
    }
    recall.add_documents(memory);
    if options.actions {
        publish(&recall.without(&STEPS[4..]));
        recall.add_actions(request, memory);
    }
    let mut recalled = recall.recalled;
    recalled.left_out.extend(duplicates.left_out());
    // A message that did not pass as a hit may be linked to one that did.
    recalled.left_out.retain(|left| !recalled.candidates.iter().any(|kept| kept.record.id == left.id));
    if recalled.candidates.is_empty() {
        recalled.considered = Some(considered(&mut *memory.store, turn.scope, options)?);
    }
    Ok(recalled)
}

/// A recall in progress.
struct Recall<'a> {
    /// The question.
    text: &'a str,
    /// The pinned messages, then the last ones, newest first.
    known: &'a [Candidate],
    question: &'a Question,
    duplicates: &'a DuplicateFilter,
    turn: &'a Turn<'a>,
    options: &'a Options,
    schedule: &'a Schedule,
    recalled: Recalled,
}

impl Recall<'_> {
    /// The records that a step finds. None if it fails, which `degraded` says, or if the time is over.
    fn step(
        &mut self,
        step: RecallStep,
        memory: &mut Memory,
        find: impl FnOnce(&mut Self, &mut Memory) -> Result<Vec<Candidate>>,
    ) -> Vec<Candidate> {
        if self.is_late(step) {
            return Vec::new();
        }
        let found = find(self, memory);
        self.or_nothing(found, memory)
    }

    /// The records found; if the store fails, none, which `degraded` says.
    fn or_nothing(&mut self, found: Result<Vec<Candidate>>, memory: &Memory) -> Vec<Candidate> {
        found.unwrap_or_else(|error| {
            memory
                .diagnostics
                .note(format_args!("{error}; the request continues without what it would find"));
            self.recalled.degraded = Some(Degraded::StoreFailed(error.to_string()));
            Vec::new()
        })
    }

    /// The recall so far, without some steps.
    fn without(&self, steps: &[RecallStep]) -> Recalled {
        self.question.without(self.recalled.clone(), steps, self.options)
    }

    /// Whether the time is over, so that a step is missing.
    fn is_late(&mut self, step: RecallStep) -> bool {
        let is_late = self.schedule.is_over();
        if is_late {
            self.recalled.add_missing(step);
        }
        is_late
    }

    /// The pinned, the recent and the related messages, in the order of their worth.
    fn messages(&mut self, memory: &mut Memory) -> Vec<Candidate> {
        let (known, turn, options) = (self.known, self.turn, self.options);
        if options.similar == 0 {
            return self.with_newer(known.to_vec(), memory);
        }
        // However late it is: without them, a slow store would leave nothing at all.
        let hits = self.related(memory);
        let found = self.or_nothing(hits.map(|hits| in_order(known.to_vec(), hits, turn, options)), memory);
        let found = if found.is_empty() { known.to_vec() } else { found };
        self.with_newer(found, memory)
    }

    /// Candidates with what supersedes them; if the store fails, the candidates alone.
    fn with_newer(&mut self, candidates: Vec<Candidate>, memory: &mut Memory) -> Vec<Candidate> {
        let passes = |record: &StoredRecord| {
            !self.question.rules.is_never(&record.id) && self.duplicates.passes(record)
        };
        let which = turns(self.options.reach.around(self.turn.scope));
        let found = with_newer(candidates.clone(), &which, self.options.newer, &mut *memory.store, &passes);
        let found = self.or_nothing(found, memory);
        if found.is_empty() { candidates } else { found }
    }

    /// Finds the related memories, which come first of all.
    fn add_memories(&mut self, memory: &mut Memory) {
        let found = self.step(RecallStep::Memories, memory, |recall, memory| {
            let mut found = recall.related_memories(memory)?;
            let which = turns(recall.options.reach.around(recall.turn.scope));
            mark_stale(&mut found, &which, recall.options.newer, &mut *memory.store)?;
            Ok(found)
        });
        self.recalled.candidates.splice(0..0, found);
    }

    /// The memories within the reach that are related to the question, best first, without those that the
    /// request says.
    fn related_memories(&self, memory: &mut Memory) -> Result<Vec<Candidate>> {
        let (turn, options) = (self.turn, self.options);
        let which = memories(turn, options);
        let count = memory.store.count(&which, weights::SATURATION)?;
        let mut request = search::Request::new(self.text, which, options.memories.saturating_mul(CONSIDERED));
        request.options.deduplicate = true;
        request.options.clock = *turn.clock;
        let mut by = memory.by();
        let mut hits = request.run(&mut *memory.store, &mut by, options.prior)?.hits;
        let relevance = Relevance::new(&weights::MEMORIES, memory.vector.as_ref().map(|_| count), None);
        relevance.keep_relevant(&mut hits, |_| {});
        hits.retain(|hit| !self.duplicates.is_in_request(&hit.record));
        hits.truncate(options.memories);
        let candidate = |Hit { record, score, .. }: Hit| Candidate::new(record, Some(score), 0);
        Ok(hits.into_iter().map(candidate).collect())
    }

    /// Finds archives and documents; where the target has none of these, the first sections of some.
    fn add_documents(&mut self, memory: &mut Memory) {
        let Recall { text, turn, options, .. } = *self;
        let documents = DocumentSearch { text, turn, options };
        if options.archives {
            let found = self.step(RecallStep::Documents, memory, |_, memory| documents.archives(memory));
            self.recalled.candidates.extend(found);
        }
        if options.documents > 0 {
            let mut found = self.step(RecallStep::Documents, memory, |recall, memory| {
                documents.at_target(memory, &mut recall.recalled.steps)
            });
            if found.is_empty() {
                let sections = documents.first_sections(memory);
                found = self.or_nothing(sections, memory);
            }
            self.recalled.candidates.extend(found);
        }
    }

    /// Finds the actions on what the question and the recalled texts name.
    fn add_actions(&mut self, request: &api::Request, memory: &mut Memory) {
        let found = self.step(RecallStep::Actions, memory, |recall, memory| {
            let (found, scopes) =
                (&recall.recalled.candidates, recall.options.reach.around(recall.turn.scope));
            related_actions(&mut *memory.store, recall.text, request, found, scopes, recall.duplicates)
        });
        self.recalled.candidates.splice(0..0, found);
    }

    /// The related messages, best first, then those linked to them. Some may be among the known ones.
    fn related(&mut self, memory: &mut Memory) -> Result<Vec<Hit>> {
        let (options, duplicates) = (self.options, self.duplicates);
        let which = turns(options.reach.around(self.turn.scope));
        let all = Select { roles: Vec::new(), ..which.clone() };
        let selective_limit = options.selective.then_some(options.similar);
        let limit = selective_limit
            .map_or(options.similar + self.known.len(), |most| most.saturating_mul(CONSIDERED));
        let admits = |hit: &Hit| {
            if self.question.rules.is_never(&hit.record.id) {
                duplicates.leave_out(&hit.record, RecallRule::Never.name());
                return false;
            }
            duplicates.passes(&hit.record)
        };
        let link = !self.schedule.is_over();
        let wanted = search::Options {
            link,
            link_newest: memory.link_newest,
            admits: &admits,
            max_fetched: limit.saturating_mul(OVERFETCH),
            clock: *self.turn.clock,
            ..search::Options::new(limit)
        };
        let by = memory.by();
        let mut found = search::find(&mut *memory.store, by, self.text, &which, &wanted)?;
        let messages = match memory.vector {
            Some(_) => Some(memory.store.count(&all, weights::SATURATION)?),
            None => None,
        };
        let relevance = Relevance::new(&weights::MESSAGES, messages, selective_limit);
        relevance.keep_relevant(&mut found.hits, |hit| duplicates.leave_out(&hit.record, "threshold"));
        if self.is_late(RecallStep::Links) {
            return Ok(found.hits);
        }
        let mut hits = found.linked(&mut *memory.store, &wanted)?;
        relevance.keep_linked(&mut hits);
        Ok(hits)
    }
}

/// The greatest number of messages that are counted.
const MAX_COUNTED: usize = 1_000_000;

/// The messages within the reach around a scope, and beyond it: in its partition, or in the store.
fn considered(store: &mut dyn Store, scope: &Scope, options: &Options) -> Result<Considered> {
    let within = store.count(&Select::messages(options.reach.around(scope)), MAX_COUNTED)?;
    let all = if options.counts_others { Scopes::All } else { Reach::Partition.around(scope) };
    let all = store.count(&Select::messages(all), MAX_COUNTED)?;
    Ok(Considered { within: within as u64, beyond: all.saturating_sub(within) as u64 })
}

/// The candidates of an earlier request of the same turn. Fails if the store cannot be read.
pub(super) fn recall_cached(
    store: &mut dyn Store,
    parts: &[RecalledPart],
    turn: &Turn,
) -> Result<Vec<Candidate>> {
    let kinds = vec![&MESSAGE, &MEMORY, &DOCUMENT, &ACTION];
    let which = Select::records(kinds, Scopes::Partition(turn.scope.partition.clone()));
    let ids: Vec<&str> = parts.iter().map(|part| part.id.as_str()).collect();
    let records = store.get(&ids, &which)?;
    let mut records: HashMap<String, StoredRecord> =
        records.into_iter().map(|record| (record.id.clone(), record)).collect();
    let candidates = parts.iter().filter_map(
        |RecalledPart { id, score, hop, pinned, confidence, quoted, newer, files, .. }| {
            let mut record = records.remove(id)?;
            if let Some(confidence) = confidence {
                record.members.set("confidence", confidence);
            }
            let (pinned, newer, files) = (*pinned, newer.clone(), files.clone());
            let mut candidate = Candidate { pinned, newer, files, ..Candidate::new(record, *score, *hop) };
            if let Some(ranges) = quoted {
                candidate.quote(ranges.clone());
            }
            Some(candidate)
        },
    );
    Ok(candidates.collect())
}

/// The known messages; then the related ones that are not among them by their priority, `0.7 * similarity +
/// 0.3 * recency` (Reservoir's documents): similarity as a part of the best score, recency halved with every
/// half-life; then those along links.
fn in_order(
    mut candidates: Vec<Candidate>,
    hits: Vec<Hit>,
    turn: &Turn,
    options: &Options,
) -> Vec<Candidate> {
    // Without hits nothing is divided by it.
    let best = hits.first().map_or(1.0, |hit| hit.score);
    let now = turn.clock.now();
    let mut rated: Vec<(f64, Candidate)> = Vec::new();
    for hit in hits {
        let hop = hit.hop();
        let Hit { record, score, .. } = hit;
        if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.record.id == record.id) {
            // The message is known and related: it gets its score.
            candidate.score = Some(score).filter(|_| hop == 0);
        } else if rated.len() < options.similar {
            let age = (now - record.timestamp).max(0) as f64 / options.half_life.as_millis().max(1) as f64;
            let priority = weights::PRIORITY_OF_SIMILARITY * score / best
                + (1.0 - weights::PRIORITY_OF_SIMILARITY) * (-age).exp2();
            rated.push((priority, Candidate::new(record, Some(score), hop)));
        }
    }
    rated.sort_by(|(a, one), (b, other)| (one.hop > 0).cmp(&(other.hop > 0)).then(b.total_cmp(a)));
    candidates.extend(rated.into_iter().map(|(_, candidate)| candidate));
    candidates
}

/// The greatest number of messages that are fetched for each wanted one: a question that is asked every day
/// has many duplicates.
const OVERFETCH: usize = 8;
