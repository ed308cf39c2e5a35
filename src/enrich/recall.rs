//! Finds the messages to recall: within the reach of the request, those that are recalled always and those related to
//! the question, and the last ones of its instance, each once, and none that the request already holds or that is never
//! recalled.

use super::action_search::related_actions;
use super::candidate::{Block, CONSIDERED, Candidate, Recalled};
use super::degraded::Degraded;
use super::document_search::DocumentSearch;
use super::duplicate_filter::DuplicateFilter;
use super::newer::{mark_stale, with_newer};
use super::options::Options;
use super::relevance::Relevance;
use super::schedule::{RecallStep, Schedule};
use super::turn::{Memory, Turn};
use crate::api;
use crate::chat::{self, fence};
use crate::error::Result;
use crate::ranking::weights;
use crate::recall_rules::RecallRules;
use crate::record::{
    ACTION, Considered, DOCUMENT, Hit, LeftOut, MEMORY, MESSAGE, Object, Reach, RecallRule, RecalledPart,
    Role, Scope, Scopes, StoredRecord, kinds,
};
use crate::search;
use crate::search::tree::set_passage;
use crate::store::{Select, Store};
use crate::text::{Languages, Phrasing, Quotations, SoughtWords};
use std::collections::HashMap;
use std::time::Duration;

/// A question to memory, as far as it needs no search.
pub(super) struct Question {
    /// The messages that are recalled always, the last one that was pinned first.
    pinned: Vec<StoredRecord>,
    /// The last messages of the instance, newest first.
    recent: Vec<StoredRecord>,
    rules: RecallRules,
    /// Whether there is anything to search for, by the words.
    pub(super) is_open: bool,
    /// Whether memories are recalled, and there are any within the reach.
    has_memories: bool,
}

impl Question {
    /// Looks up the pinned and the last messages. `message` is the user's last one. Fails if the store does.
    pub(super) fn begin(
        store: &mut dyn Store,
        message: &Object,
        turn: &Turn,
        options: &Options,
    ) -> Result<Question> {
        let rules = RecallRules::read(store, &options.reach.around(turn.scope))?;
        let mut which = turns(Scopes::One(turn.scope.clone()));
        which.except.ids.extend(rules.never().cloned());
        // Those of a session are turns of the request already.
        let last = if options.session { 0 } else { options.recent };
        let mut recent = store.last_of(&which, last)?;
        recent.reverse();
        if options.selective {
            recent.truncate(sitting(&recent, turn.clock.now(), options.recent_gap).max(MIN_RECENT));
        }
        let pinned = pinned(store, &rules, turn, options)?;
        let is_open = !text_of(message).trim().is_empty() && has_any(store, turn, options)?;
        let has_memories = is_open && options.memories > 0 && store.count(&memories(turn, options), 1)? > 0;
        Ok(Question { pinned, recent, rules, is_open, has_memories })
    }

    /// The recall without a search: the pinned and the last messages, and the steps that are missing.
    pub(super) fn unsearched(&self, request: &api::Request, options: &Options) -> Recalled {
        let duplicates = DuplicateFilter::new(request, options.redactor.as_ref());
        let known = Recalled { candidates: self.known(&duplicates), ..Recalled::default() };
        self.without(known, &STEPS, options)
    }

    /// The same recall, with those of some steps as missing that the options ask for.
    fn without(&self, mut known: Recalled, steps: &[RecallStep], options: &Options) -> Recalled {
        let is_asked = |step: &&RecallStep| match step {
            RecallStep::Memories => self.has_memories,
            RecallStep::Documents => options.archives || options.documents > 0,
            RecallStep::Actions => options.actions,
            _ => options.similar > 0,
        };
        steps.iter().filter(is_asked).for_each(|step| known.add_missing(*step));
        known
    }

    /// The pinned and then the last messages that the request does not hold, each once.
    fn known(&self, duplicates: &DuplicateFilter) -> Vec<Candidate> {
        let passes = |record: &&StoredRecord| duplicates.passes(record);
        let mut known: Vec<Candidate> =
            self.pinned.iter().filter(passes).cloned().map(Candidate::pinned).collect();
        let is_pinned = |record: &&StoredRecord| self.pinned.iter().any(|pinned| pinned.id == record.id);
        let recent = self.recent.iter().filter(|record| !is_pinned(record)).filter(passes).cloned();
        known.extend(recent.map(|record| Candidate::new(record, None, 0)));
        known
    }

    /// Finds what may be recalled for a message of a request, step by step: no step begins after the end of
    /// the schedule. `publish` gets what is known after each. A step that fails is left out; fails if nothing
    /// is found and the store cannot be read.
    pub(super) fn recall(
        &self,
        (request, message): (&api::Request, &Object),
        memory: &mut Memory,
        (turn, options): (&Turn, &Options),
        schedule: &Schedule,
        publish: &dyn Fn(&Recalled),
    ) -> Result<Recalled> {
        let duplicates = DuplicateFilter::new(request, options.redactor.as_ref());
        let (text, known) = (text_of(message), self.known(&duplicates));
        let recalled = Recalled {
            degraded: memory.degraded.clone(),
            missing: memory.missing.clone(),
            ..Recalled::default()
        };
        let mut recall = Recall {
            text: &text,
            known: &known,
            question: self,
            duplicates: &duplicates,
            turn,
            options,
            schedule,
            recalled,
        };
        recall.recalled.candidates = if self.is_open { recall.messages(memory) } else { known.clone() };
        publish(&recall.without(&STEPS[2..]));
        if self.has_memories {
            let found = recall.step(RecallStep::Memories, memory, |_, memory| {
                let mut found = related_memories(memory, &text, (turn, options), &duplicates)?;
                let which = turns(options.reach.around(turn.scope));
                mark_stale(&mut found, &which, options.newer, &mut *memory.store)?;
                Ok(found)
            });
            recall.recalled.candidates.splice(0..0, found);
            publish(&recall.without(&STEPS[3..]));
        }
        let documents = DocumentSearch { text: &text, turn, options };
        if options.archives {
            let found = recall.step(RecallStep::Documents, memory, |_, memory| documents.archives(memory));
            recall.recalled.candidates.extend(found);
        }
        if options.documents > 0 {
            let mut found = recall.step(RecallStep::Documents, memory, |recall, memory| {
                documents.at_target(memory, &mut recall.recalled.steps)
            });
            if found.is_empty() {
                let sections = documents.first_sections(memory);
                found = recall.or_nothing(sections, memory);
            }
            recall.recalled.candidates.extend(found);
        }
        if options.actions {
            publish(&recall.without(&STEPS[4..]));
            let found = recall.step(RecallStep::Actions, memory, |recall, memory| {
                let asked = (&*text, request, &*recall.recalled.candidates);
                let scopes = options.reach.around(turn.scope);
                related_actions(&mut *memory.store, asked, scopes, recall.duplicates)
            });
            recall.recalled.candidates.splice(0..0, found);
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
}

/// The user's own words in a message.
pub(super) fn text_of(message: &Object) -> String {
    fence::remove(&chat::text(message))
}

/// The steps with a search, in their order.
const STEPS: [RecallStep; 5] = [
    RecallStep::Messages,
    RecallStep::Links,
    RecallStep::Memories,
    RecallStep::Documents,
    RecallStep::Actions,
];

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
            memory.diagnostics.note(format_args!("{error}; the request goes on without what it would find"));
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

/// Whether there is anything to find.
fn has_any(store: &mut dyn Store, turn: &Turn, options: &Options) -> Result<bool> {
    let which = options.searched(turn.scope);
    Ok(!which.kinds.is_empty() && store.count(&which, 1)? > 0)
}

/// The turns of the user and the assistant in some scopes.
fn turns(scopes: Scopes) -> Select {
    let recalled_kinds = kinds().into_iter().filter(|kind| kind.recalled).collect();
    Select { roles: vec![Role::User, Role::Assistant], ..Select::records(recalled_kinds, scopes) }
}

/// The greatest number of messages that are recalled always: those that were pinned last.
const MAX_PINNED: usize = 100;

/// The messages within the reach that are recalled always, the last one that was pinned first.
fn pinned(
    store: &mut dyn Store,
    rules: &RecallRules,
    turn: &Turn,
    options: &Options,
) -> Result<Vec<StoredRecord>> {
    let ids: Vec<&str> = rules.always().iter().take(MAX_PINNED).map(String::as_str).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = store.get(&ids, &turns(options.reach.around(turn.scope)))?;
    found.sort_by_key(|record| ids.iter().position(|id| *id == record.id));
    Ok(found)
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

/// Sets the passages of the documents except archives for a question: the same in all requests of a turn.
pub(super) fn set_passages(candidates: &mut [Candidate], question: &Object) {
    let text = text_of(question);
    let phrasing = Phrasing::of(&text, Languages::of_text(&text));
    for candidate in candidates.iter_mut().filter(|one| one.block() == Block::Documents) {
        set_passage(&mut candidate.record, &phrasing);
    }
}

/// Quotes of each long message that was found, or is pinned, those passages which answer a question; one that was found
/// and repeats what better messages or memories say is left out.
pub(super) fn quote_passages(found: &mut Recalled, question: &Object) {
    let text = text_of(question);
    let words = SoughtWords::of(&text, Languages::of_text(&text));
    let mut quotations = Quotations::new(&words);
    let Recalled { candidates, left_out, .. } = found;
    for memory in candidates.iter().filter(|candidate| candidate.block() == Block::Memories) {
        quotations.add(&memory.record.text);
    }
    candidates.retain_mut(|candidate| {
        if candidate.block() != Block::Messages || candidate.is_recent() {
            return true;
        }
        let is_repeated = !candidate.pinned && candidate.newer.is_empty();
        if is_repeated && quotations.have(&candidate.record.text) {
            let id = candidate.record.id.clone();
            left_out.push(LeftOut { id, reason: "duplicate".to_owned() });
            return false;
        }
        match quotations.ranges(&candidate.record.text) {
            Some(ranges) if ranges.is_empty() => {
                let id = candidate.record.id.clone();
                left_out.push(LeftOut { id, reason: "duplicate".to_owned() });
                return false;
            }
            Some(ranges) => candidate.quote(ranges),
            None => {}
        }
        true
    });
}

/// The memories within the reach.
fn memories(turn: &Turn, options: &Options) -> Select {
    Select::records(vec![&MEMORY], options.reach.around(turn.scope))
}

/// The memories within the reach that are related to a question, best first, without those that the request says.
fn related_memories(
    memory: &mut Memory,
    text: &str,
    (turn, options): (&Turn, &Options),
    duplicates: &DuplicateFilter,
) -> Result<Vec<Candidate>> {
    let which = memories(turn, options);
    let count = memory.store.count(&which, weights::SATURATION)?;
    let mut request = search::Request::new(text, which, options.memories.saturating_mul(CONSIDERED));
    request.options.deduplicate = true;
    request.options.clock = *turn.clock;
    let mut by = memory.by();
    let mut hits = request.run(&mut *memory.store, &mut by, options.prior)?.hits;
    let relevance = Relevance::new(&weights::MEMORIES, memory.vector.as_ref().map(|_| count), None);
    relevance.keep_relevant(&mut hits, |_| {});
    hits.retain(|hit| !duplicates.is_in_request(&hit.record));
    hits.truncate(options.memories);
    let candidate = |Hit { record, score, .. }: Hit| Candidate::new(record, Some(score), 0);
    Ok(hits.into_iter().map(candidate).collect())
}

/// The number of recent messages that are recalled where the sitting has just begun: the last question and its answer.
const MIN_RECENT: usize = 2;

/// The number of messages that belong to the present sitting, which began after the last pause longer than `gap`.
/// `recent` is sorted by time, newest first; `now` is in milliseconds since 1970, UTC.
fn sitting(recent: &[StoredRecord], now: i64, gap: Duration) -> usize {
    let mut later = now;
    let goes_on = |record: &&StoredRecord| {
        let pause = later.saturating_sub(record.timestamp).max(0).unsigned_abs();
        later = record.timestamp;
        Duration::from_millis(pause) <= gap
    };
    recent.iter().take_while(goes_on).count()
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

/// The greatest number of messages that are fetched for each wanted one: a question that is asked every day has many
/// duplicates.
const OVERFETCH: usize = 8;
