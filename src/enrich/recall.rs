//! Finds the messages to recall: those related to the question and the last ones, of the same scope, each once, and
//! none that the request already holds.

use super::candidate::{Block, CONSIDERED, Candidate, Recalled};
use super::degraded::Degraded;
use super::document_search::DocumentSearch;
use super::duplicate_filter::DuplicateFilter;
use super::options::Options;
use super::relevance::Relevance;
use super::turn::{Memory, Turn};
use crate::chat::{self, Request, fence};
use crate::error::Result;
use crate::ranking::weights;
use crate::record::{
    DOCUMENT, Hit, MEMORY, MESSAGE, Object, RecalledPart, Role, Scopes, StoredRecord, kinds,
};
use crate::search::tree::set_passage;
use crate::search::{self, By};
use crate::store::{Select, Store};
use crate::text::Phrasing;
use std::collections::HashMap;
use std::time::Duration;

/// Finds the messages that may be recalled for a question.
pub(super) fn recall(
    memory: &mut Memory,
    request: &Request,
    question: &Object,
    turn: &Turn,
    options: &Options,
) -> Result<Recalled> {
    let recalled_kinds = kinds().into_iter().filter(|kind| kind.recalled).collect();
    let mut which = Select::records(recalled_kinds, scopes_of_related(turn, options));
    which.roles = vec![Role::User, Role::Assistant];
    let duplicates = DuplicateFilter::new(request, options.redactor.as_ref());
    let text = fence::remove(&chat::text(question));
    let is_question = options.similar > 0 && !text.trim().is_empty();
    // Those of a session are turns of the request already.
    let last = if options.session { 0 } else { options.recent };
    let mut recent = memory.store.last_of(&which, last)?;
    let empty = recent.is_empty() && memory.store.last_of(&which, 1)?.is_empty();
    recent.reverse();
    if options.selective {
        recent.truncate(sitting(&recent, turn.clock.now(), options.recent_gap).max(MIN_RECENT));
    }
    recent.retain(|record| duplicates.passes(record));
    let mut recalled = Recalled { degraded: memory.degraded.clone(), ..Recalled::default() };
    let hits = if is_question && !empty {
        let selective_limit = options.selective.then_some(options.similar);
        let limit =
            selective_limit.map_or(options.similar + recent.len(), |most| most.saturating_mul(CONSIDERED));
        let search = RelatedSearch {
            which: &which,
            duplicates: &duplicates,
            limit,
            selective_limit,
            catch_up: options.catch_up,
        };
        let found = search.run(memory, &text, &mut recalled.degraded);
        or_nothing(found, memory, &mut recalled.degraded)
    } else {
        Vec::new()
    };
    if options.memories > 0 && !text.trim().is_empty() {
        let found = related_memories(memory, &text, turn, options);
        recalled.candidates = or_nothing(found, memory, &mut recalled.degraded);
    }
    recalled.candidates.extend(in_order(recent, hits, turn, options));
    let documents = DocumentSearch { text: &text, turn, options };
    if options.archives {
        let found = documents.archives(memory);
        recalled.candidates.extend(or_nothing(found, memory, &mut recalled.degraded));
    }
    if options.documents > 0 {
        let found = documents.at_target(memory, &mut recalled);
        recalled.candidates.extend(or_nothing(found, memory, &mut recalled.degraded));
    }
    recalled.left_out = duplicates.into_left_out();
    // A message that did not pass as a hit may be linked to one that did.
    recalled.left_out.retain(|left| !recalled.candidates.iter().any(|kept| kept.record.id == left.id));
    Ok(recalled)
}

/// The records found. If the search fails, none, and sets `degraded`: records that need no index are still recalled.
fn or_nothing<T>(found: Result<Vec<T>>, memory: &Memory, degraded: &mut Option<Degraded>) -> Vec<T> {
    found.unwrap_or_else(|error| {
        memory.diagnostics.note(format_args!("{error}; the request goes on without what it would find"));
        *degraded = Some(Degraded::StoreFailed(error.to_string()));
        Vec::new()
    })
}

/// The scopes of related messages: with a session, all those of its partition, since what a person said in one session
/// helps in the next.
fn scopes_of_related(turn: &Turn, options: &Options) -> Scopes {
    if options.session {
        Scopes::Partition(turn.scope.partition.clone())
    } else {
        Scopes::One(turn.scope.clone())
    }
}

/// Sets the passages of the documents except archives for a question: the same in all requests of a turn.
pub(super) fn set_passages(candidates: &mut [Candidate], question: &Object) {
    let phrasing = Phrasing::of(&fence::remove(&chat::text(question)));
    for candidate in candidates.iter_mut().filter(|one| one.block() == Block::Documents) {
        set_passage(&mut candidate.record, &phrasing);
    }
}

/// The memories of the partition that are related to a question, best first.
fn related_memories(
    memory: &mut Memory,
    text: &str,
    turn: &Turn,
    options: &Options,
) -> Result<Vec<Candidate>> {
    let which = Select::records(vec![&MEMORY], Scopes::Partition(turn.scope.partition.clone()));
    let count = memory.store.count(&which, weights::SATURATION)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut request = search::Request::new(text, which, options.memories.saturating_mul(CONSIDERED));
    request.options.deduplicate = true;
    let search = |store: &mut dyn Store, by: &mut By| Ok(request.run(store, by, options.prior)?.hits);
    let (mut hits, by_meaning) = memory.search(options.catch_up, drop, search)?;
    let relevance = Relevance::new(&weights::MEMORIES, by_meaning.then_some(count), None);
    relevance.keep_relevant(&mut hits, |_| {});
    hits.truncate(options.memories);
    let candidate = |Hit { record, score, .. }: Hit| Candidate { record, score: Some(score), hop: 0 };
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

/// The candidates of an earlier request of the same turn.
pub(super) fn recall_cached(
    memory: &mut Memory,
    parts: &[RecalledPart],
    turn: &Turn,
) -> Result<Vec<Candidate>> {
    let kinds = vec![&MESSAGE, &MEMORY, &DOCUMENT];
    let which = Select::records(kinds, Scopes::Partition(turn.scope.partition.clone()));
    let ids: Vec<&str> = parts.iter().map(|part| part.id.as_str()).collect();
    let records = memory.store.get(&ids, &which)?;
    let mut records: HashMap<String, StoredRecord> =
        records.into_iter().map(|record| (record.id.clone(), record)).collect();
    let candidates = parts.iter().filter_map(|RecalledPart { id, score, hop, confidence, .. }| {
        let mut record = records.remove(id)?;
        if let Some(confidence) = confidence {
            record.members.set("confidence", confidence);
        }
        Some(Candidate { record, score: *score, hop: *hop })
    });
    Ok(candidates.collect())
}

/// The recent messages; then the related ones that are not among them by their priority, `0.7 * similarity +
/// 0.3 * recency` (Reservoir's documents): similarity as a part of the best score, recency halved with every
/// half-life; then those along links.
fn in_order(recent: Vec<StoredRecord>, hits: Vec<Hit>, turn: &Turn, options: &Options) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> =
        recent.into_iter().map(|record| Candidate { record, score: None, hop: 0 }).collect();
    let best = hits.first().map_or(1.0, |hit| hit.score);
    let now = turn.clock.now();
    let mut rated: Vec<(f64, Candidate)> = Vec::new();
    for hit in hits {
        let hop = hit.hop();
        let Hit { record, score, .. } = hit;
        if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.record.id == record.id) {
            // The message is recent and related: it gets its score.
            candidate.score = Some(score).filter(|_| hop == 0);
        } else if rated.len() < options.similar {
            let age = (now - record.timestamp).max(0) as f64 / options.half_life.as_millis().max(1) as f64;
            let priority = weights::PRIORITY_OF_SIMILARITY * score / best
                + (1.0 - weights::PRIORITY_OF_SIMILARITY) * (-age).exp2();
            rated.push((priority, Candidate { record, score: Some(score), hop }));
        }
    }
    rated.sort_by(|(a, one), (b, other)| (one.hop > 0).cmp(&(other.hop > 0)).then(b.total_cmp(a)));
    candidates.extend(rated.into_iter().map(|(_, candidate)| candidate));
    candidates
}

/// A search for messages that are related to a question.
struct RelatedSearch<'a> {
    which: &'a Select,
    duplicates: &'a DuplicateFilter,
    limit: usize,
    /// The greatest number of messages that are recalled, if recall is selective.
    selective_limit: Option<usize>,
    /// The greatest number of messages without a vector that are embedded first.
    catch_up: usize,
}

impl RelatedSearch<'_> {
    /// The related messages, best first, then those linked to them. Some may be among the recent ones. If messages are
    /// found by their words only, `degraded` gets the reason.
    fn run(&self, memory: &mut Memory, text: &str, degraded: &mut Option<Degraded>) -> Result<Vec<Hit>> {
        let RelatedSearch { which, duplicates, limit, selective_limit, catch_up } = *self;
        let admits = |hit: &Hit| duplicates.passes(&hit.record);
        let max_fetched = limit.saturating_mul(OVERFETCH);
        let (link, link_newest) = (true, memory.link_newest);
        let wanted = search::Options {
            link,
            link_newest,
            admits: &admits,
            max_fetched,
            ..search::Options::new(limit)
        };
        let search =
            |store: &mut dyn Store, by: &mut By| search::find(store, by.again(), text, which, &wanted);
        let diagnostics = memory.diagnostics;
        let tell = |error| {
            let why = Degraded::EmbedderUnavailable(error);
            diagnostics.note(&why);
            *degraded = Some(why);
        };
        let (mut found, by_meaning) = memory.search(catch_up, tell, search)?;
        let store = &mut *memory.store;
        let all = Select::records(which.kinds.clone(), which.scopes.clone());
        let messages = if by_meaning { Some(store.count(&all, weights::SATURATION)?) } else { None };
        let relevance = Relevance::new(&weights::MESSAGES, messages, selective_limit);
        relevance.keep_relevant(&mut found.hits, |hit| duplicates.leave_out(&hit.record, "threshold"));
        let mut hits = found.linked(store, &wanted)?;
        relevance.keep_linked(&mut hits);
        Ok(hits)
    }
}

/// The greatest number of messages that are fetched for each wanted one: a question that is asked every day has many
/// duplicates.
const OVERFETCH: usize = 8;
