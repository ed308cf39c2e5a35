//! Finds the messages to recall: those related to the question and the last ones, of the same scope, each once, and
//! none that the request already holds.

use super::degraded::Degraded;
use super::options::Options;
use super::turn::{Memory, Turn};
use crate::chat::{self, Request, fence};
use crate::error::Result;
use crate::record::{Hit, LeftOut, Object, RecalledPart, Role, Scopes, StoredRecord, kinds};
use crate::search::{self, By, CatchUp};
use crate::store::Select;
use memchr::memmem;
use std::cell::RefCell;
use std::collections::HashMap;

/// A record that may be recalled.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) record: StoredRecord,
    /// The score of the search; `None` for one that is only recent.
    pub(super) score: Option<f64>,
    /// The number of links between it and a hit; 0 for a hit.
    pub(super) hop: usize,
}

/// The candidates in the order of their worth: the last messages, newest first, then the related ones, best first, then
/// those linked to these.
#[derive(Default)]
pub(super) struct Recalled {
    pub(super) candidates: Vec<Candidate>,
    pub(super) left_out: Vec<LeftOut>,
    /// The reason why memory worked only in part.
    pub(super) degraded: Option<Degraded>,
}

/// The weight of the similarity of a related message in its priority; the rest is recency.
const SIMILARITY_WEIGHT: f64 = 0.7;

/// Finds the messages that may be recalled for a question.
pub(super) fn recall(
    memory: &mut Memory,
    request: &Request,
    question: &Object,
    turn: &Turn,
    options: &Options,
) -> Result<Recalled> {
    let recalled_kinds = kinds().into_iter().filter(|kind| kind.recalled).collect();
    let mut which = Select::records(recalled_kinds, Scopes::One(turn.scope.clone()));
    which.roles = vec![Role::User, Role::Assistant];
    let duplicates = DuplicateFilter::new(request);
    let text = fence::remove(&chat::text(question));
    let is_question = options.similar > 0 && !text.trim().is_empty();
    let mut recent = memory.store.last_of(&which, options.recent)?;
    let empty = recent.is_empty() && memory.store.last_of(&which, 1)?.is_empty();
    recent.reverse();
    recent.retain(|record| duplicates.passes(record));
    let mut recalled = Recalled { degraded: memory.degraded.clone(), ..Recalled::default() };
    let hits = if is_question && !empty {
        let limit = options.similar + recent.len();
        let search =
            RelatedSearch { which: &which, duplicates: &duplicates, limit, catch_up: options.catch_up };
        search.run(memory, &text, &mut recalled.degraded)?
    } else {
        Vec::new()
    };
    recalled.candidates = in_order(recent, hits, turn, options);
    recalled.left_out = duplicates.left_out.take();
    // A message that did not pass as a hit may be linked to one that did.
    recalled.left_out.retain(|left| !recalled.candidates.iter().any(|kept| kept.record.id == left.id));
    Ok(recalled)
}

/// The candidates of an earlier request of the same turn.
pub(super) fn recall_cached(
    memory: &mut Memory,
    parts: &[RecalledPart],
    turn: &Turn,
) -> Result<Vec<Candidate>> {
    let which = Select::messages(Scopes::One(turn.scope.clone()));
    let ids: Vec<&str> = parts.iter().map(|part| part.id.as_str()).collect();
    let records = memory.store.get(&ids, &which)?;
    let mut records: HashMap<String, StoredRecord> =
        records.into_iter().map(|record| (record.id.clone(), record)).collect();
    let candidates = parts.iter().filter_map(|RecalledPart { id, score, hop, .. }| {
        Some(Candidate { record: records.remove(id)?, score: *score, hop: *hop })
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
            let priority = SIMILARITY_WEIGHT * score / best + (1.0 - SIMILARITY_WEIGHT) * (-age).exp2();
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
    /// The greatest number of messages without a vector that are embedded first.
    catch_up: usize,
}

impl RelatedSearch<'_> {
    /// The related messages, best first, then those linked to them. Some may be among the recent ones. If messages are
    /// found by their words only, `degraded` gets the reason.
    fn run(&self, memory: &mut Memory, text: &str, degraded: &mut Option<Degraded>) -> Result<Vec<Hit>> {
        let RelatedSearch { which, duplicates, limit, catch_up } = *self;
        let admits = |hit: &Hit| duplicates.passes(&hit.record);
        let max_fetched = limit.saturating_mul(OVERFETCH);
        let wanted = search::Options {
            limit,
            min_score: None,
            deduplicate: false,
            link: true,
            admits: &admits,
            max_fetched,
        };
        let Memory { store, embedder, diagnostics, .. } = memory;
        let mut found = None;
        if let Some(embedder) = embedder.as_deref_mut() {
            let pending = Some(CatchUp { limit: catch_up, diagnostics });
            match search::find(&mut **store, By::Both(embedder, pending), text, which, &wanted) {
                Ok(hits) => found = Some(hits),
                Err(error) => {
                    let why = Degraded::EmbedderUnavailable(error);
                    diagnostics.note(&why);
                    *degraded = Some(why);
                }
            }
        }
        let by_meaning = found.is_some();
        let mut found = match found {
            Some(found) => found,
            None => search::find(&mut **store, By::Any, text, which, &wanted)?,
        };
        let messages =
            store.count(&Select::records(which.kinds.clone(), which.scopes.clone()), SATURATION)?;
        duplicates.keep_relevant(&mut found.hits, relevance_threshold(by_meaning.then_some(messages)));
        found.linked(&mut **store, &wanted)
    }
}

/// The greatest number of messages that are fetched for each wanted one: a question that is asked every day has many
/// duplicates.
const OVERFETCH: usize = 8;

/// A related message is recalled if its score is at least this part of the best one's: messages below share only a
/// common word with the question.
const SCORE_FLOOR: f64 = 0.3;

/// The least relevance of a message that is recalled. With a model it rises with the number of messages in the scope,
/// since among many messages one resembles any question by chance; by words alone it is constant. Both were chosen on
/// conversations with questions that they answer, questions of other conversations and general ones.
fn relevance_threshold(messages: Option<usize>) -> f64 {
    match messages {
        Some(messages) => 0.05 + 0.09 * (messages.clamp(1, SATURATION) as f64).log10(),
        None => 0.2,
    }
}

/// The number of messages from which on the threshold is constant.
const SATURATION: usize = 1000;

/// Passes every text once, and none that the request holds. The result for the same message is always the same.
struct DuplicateFilter {
    /// The request's own turns, by role.
    request: HashMap<Role, String>,
    /// The ids of the messages that passed, by role and text.
    seen: RefCell<HashMap<(Option<Role>, String), String>>,
    left_out: RefCell<Vec<LeftOut>>,
}

/// Stands between the turns of a request, so that no text is found across two of them.
const TURN_SEPARATOR: char = '\0';

impl DuplicateFilter {
    fn new(request: &Request) -> DuplicateFilter {
        let mut turns: HashMap<Role, String> = HashMap::new();
        for turn in &request.messages {
            if let Some(role) = chat::role(turn) {
                let texts = turns.entry(role).or_default();
                texts.push_str(&fence::remove(&chat::text(turn)));
                texts.push(TURN_SEPARATOR);
            }
        }
        DuplicateFilter { request: turns, seen: RefCell::default(), left_out: RefCell::default() }
    }

    fn passes(&self, record: &StoredRecord) -> bool {
        let role = record.role;
        let text = record.text.trim().to_owned();
        let contains_text = |turns: &String| memmem::find(turns.as_bytes(), text.as_bytes()).is_some();
        let reason = if text.is_empty() {
            "duplicate"
        } else if fence::is_fragment(&text) {
            "fragment"
        } else if role.and_then(|role| self.request.get(&role)).is_some_and(contains_text) {
            "in_request"
        } else if *self.seen.borrow_mut().entry((role, text)).or_insert(record.id.clone()) != record.id {
            "duplicate"
        } else {
            return true;
        };
        self.leave_out(record, reason);
        false
    }

    fn leave_out(&self, record: &StoredRecord, reason: &str) {
        let mut left_out = self.left_out.borrow_mut();
        if !left_out.iter().any(|left| left.id == record.id) {
            left_out.push(LeftOut { id: record.id.clone(), reason: reason.to_owned() });
        }
    }

    /// Keeps the hits that are relevant to the question.
    fn keep_relevant(&self, hits: &mut Vec<Hit>, threshold: f64) {
        let min_score = hits.first().map_or(0.0, |best| best.score * SCORE_FLOOR);
        hits.retain(|hit| {
            let passes = hit.score >= min_score && hit.why.relevance.unwrap_or_default() >= threshold;
            if !passes {
                self.leave_out(&hit.record, "threshold");
            }
            passes
        });
    }
}
