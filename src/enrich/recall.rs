//! Which messages to recall: those related to the question and the last ones, of the same scope, each
//! once, and none that the request already holds.

use super::again::Found;
use super::{Memory, Options, Turn};
use crate::chat::{self, Request, fence};
use crate::error::Result;
use crate::record::{Hit, Message, Object, Role, Scopes};
use crate::search::{self, By, CatchUp};
use crate::store::Select;
use memchr::memmem;
use std::cell::RefCell;
use std::collections::HashMap;

/// A message that may be recalled.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) message: Message,
    /// The score of the search; `None` for one that is only recent.
    pub(super) score: Option<f64>,
    /// How many steps from a hit it was found along links; 0 for a hit.
    pub(super) hop: usize,
}

/// What was found, in the order of its worth: the last messages from the newest, then the related ones from the
/// best, then what hangs together with those.
#[derive(Default)]
pub(super) struct Recalled {
    pub(super) candidates: Vec<Candidate>,
    pub(super) left_out: Vec<LeftOut>,
    /// Why memory served in part only.
    pub(super) degraded: Option<String>,
}

/// A message that was found and is not recalled.
#[derive(Clone, Debug)]
pub(super) struct LeftOut {
    pub(super) id: String,
    pub(super) reason: &'static str,
}

/// What of the priority of a related message is how related it is; the rest is how recent.
const SIMILARITY: f64 = 0.7;

/// Finds what may be recalled for a question.
pub(super) fn recall(
    memory: &mut Memory,
    request: &Request,
    question: &Object,
    turn: &Turn,
    options: &Options,
) -> Result<Recalled> {
    let mut which = Select::of(Scopes::One(turn.scope.clone()));
    which.roles = vec![Role::User, Role::Assistant];
    let sieve = Sieve::of(request);
    let text = fence::remove(&chat::text(question));
    let asked = options.similar > 0 && !text.trim().is_empty();
    if asked && memory.embedder.is_some() {
        search::prefetch(&mut *memory.store, &text, &which, options.similar + options.recent);
    }
    let mut recent = memory.store.last(&which, options.recent)?;
    let empty = recent.is_empty() && memory.store.last(&which, 1)?.is_empty();
    recent.reverse();
    recent.retain(|message| sieve.passes(message));
    let mut recalled = Recalled { degraded: memory.degraded.clone(), ..Recalled::default() };
    let hits = if asked && !empty {
        related(memory, &text, &which, (&sieve, recent.len()), options, &mut recalled.degraded)?
    } else {
        Vec::new()
    };
    recalled.candidates = in_order(recent, hits, turn, options);
    recalled.left_out = sieve.left_out.take();
    // What did not pass by itself may hang together with what did.
    recalled.left_out.retain(|left| !recalled.candidates.iter().any(|kept| kept.message.id == left.id));
    Ok(recalled)
}

/// What was found for an earlier request of the same turn.
pub(super) fn again(memory: &mut Memory, found: &[Found], turn: &Turn) -> Result<Vec<Candidate>> {
    let which = Select::of(Scopes::One(turn.scope.clone()));
    let ids: Vec<&str> = found.iter().map(|found| found.id.as_str()).collect();
    let messages = memory.store.messages(&ids, &which)?;
    let mut messages: HashMap<String, Message> =
        messages.into_iter().map(|message| (message.id.clone(), message)).collect();
    let candidates = found.iter().filter_map(|Found { id, score, hop }| {
        Some(Candidate { message: messages.remove(id)?, score: *score, hop: *hop })
    });
    Ok(candidates.collect())
}

/// The recent messages; then the related ones that are not among them by their priority, `0.7 * similarity +
/// 0.3 * recency` (Reservoir's documents): similarity as a part of the best score, recency halved with every
/// half-life; then those along links.
fn in_order(recent: Vec<Message>, hits: Vec<Hit>, turn: &Turn, options: &Options) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> =
        recent.into_iter().map(|message| Candidate { message, score: None, hop: 0 }).collect();
    let best = hits.first().map_or(1.0, |hit| hit.score);
    let now = turn.clock.now();
    let mut rated: Vec<(f64, Candidate)> = Vec::new();
    for Hit { message, score, why, .. } in hits {
        let hop = why.get("hop").and_then(|hop| hop.parse().ok()).unwrap_or(0);
        if let Some(known) = candidates.iter_mut().find(|known| known.message.id == message.id) {
            // It is there already; that it is related as well is worth telling.
            known.score = Some(score).filter(|_| hop == 0);
        } else if rated.len() < options.similar {
            let age = (now - message.timestamp).max(0) as f64 / options.half_life.as_millis().max(1) as f64;
            let priority = SIMILARITY * score / best + (1.0 - SIMILARITY) * (-age).exp2();
            rated.push((priority, Candidate { message, score: Some(score), hop }));
        }
    }
    rated.sort_by(|(a, one), (b, other)| (one.hop > 0).cmp(&(other.hop > 0)).then(b.total_cmp(a)));
    candidates.extend(rated.into_iter().map(|(_, candidate)| candidate));
    candidates
}

/// The related messages, best first, then what hangs together with them. Some of them may be recent; why they
/// were found by their words only, if that is so, goes to `degraded`.
fn related(
    memory: &mut Memory,
    text: &str,
    which: &Select,
    (sieve, recent): (&Sieve, usize),
    options: &Options,
    degraded: &mut Option<String>,
) -> Result<Vec<Hit>> {
    let admits = |hit: &Hit| sieve.passes(&hit.message);
    let limit = options.similar + recent;
    let among = limit.saturating_mul(AMONG);
    let wanted =
        search::Options { limit, min_score: None, deduplicate: false, link: false, admits: &admits, among };
    let Memory { store, embedder, notes, .. } = memory;
    let mut found = None;
    if let Some(embedder) = embedder.as_deref_mut() {
        let behind = Some(CatchUp { limit: options.catch_up, notes });
        match search::find(&mut **store, By::Both(embedder, behind), text, which, &wanted) {
            Ok(hits) => found = Some(hits),
            Err(error) => {
                let why = format!("{error}; messages are found by their words only");
                notes.note(&why);
                *degraded = Some(why);
            }
        }
    }
    let meant = found.is_some();
    let mut found = match found {
        Some(found) => found,
        None => search::find(&mut **store, By::Any, text, which, &wanted)?,
    };
    let messages = store.count(&Select::of(which.scopes.clone()), CROWD)?;
    sieve.gate(&mut found.hits, bar(meant.then_some(messages)));
    found.linked(&mut **store, &wanted)
}

/// For each message that is wanted so many are looked at at most, where a question is asked every day.
const AMONG: usize = 8;

/// A related message counts if its score is at least this part of the best one's: below lie those that
/// share a common word only.
const FLOOR: f64 = 0.3;

/// The relevance from which on a message is recalled: with a model it rises with the number of messages in the
/// scope, since among more of them one resembles any question by chance; by words alone it does not. Both were
/// chosen on conversations with questions that they answer, questions of other conversations and general ones.
fn bar(messages: Option<usize>) -> f64 {
    match messages {
        Some(messages) => 0.05 + 0.09 * (messages.clamp(1, CROWD) as f64).log10(),
        None => 0.2,
    }
}

/// With more messages than these the bar rises no more.
const CROWD: usize = 1000;

/// Lets every message through once, and none that the request holds. Asked again about the same message, it says
/// the same.
struct Sieve {
    /// The request's own turns, by role.
    request: HashMap<Role, String>,
    /// Who said what first, of those that passed.
    said: RefCell<HashMap<(Role, String), String>>,
    left_out: RefCell<Vec<LeftOut>>,
}

/// Stands between the turns of a request, so that no text is found across two of them.
const BETWEEN: char = '\0';

impl Sieve {
    fn of(request: &Request) -> Sieve {
        let mut turns: HashMap<Role, String> = HashMap::new();
        for turn in &request.messages {
            if let Some(role) = chat::role(turn) {
                let held = turns.entry(role).or_default();
                held.push_str(&fence::remove(&chat::text(turn)));
                held.push(BETWEEN);
            }
        }
        Sieve { request: turns, said: RefCell::default(), left_out: RefCell::default() }
    }

    fn passes(&self, message: &Message) -> bool {
        let role = message.role;
        let text = message.content.text().trim().to_owned();
        let held = |turns: &String| memmem::find(turns.as_bytes(), text.as_bytes()).is_some();
        let reason = if text.is_empty() {
            "duplicate"
        } else if fence::is_fragment(&text) {
            "fragment"
        } else if self.request.get(&role).is_some_and(held) {
            "in_request"
        } else if *self.said.borrow_mut().entry((role, text)).or_insert(message.id.clone()) != message.id {
            "duplicate"
        } else {
            return true;
        };
        self.leave_out(message, reason);
        false
    }

    fn leave_out(&self, message: &Message, reason: &'static str) {
        let mut left_out = self.left_out.borrow_mut();
        if !left_out.iter().any(|left| left.id == message.id) {
            left_out.push(LeftOut { id: message.id.clone(), reason });
        }
    }

    /// Keeps the hits that have to do with the question.
    fn gate(&self, hits: &mut Vec<Hit>, bar: f64) {
        let floor = hits.first().map_or(0.0, |best| best.score * FLOOR);
        let relevance = |hit: &Hit| hit.why.number("relevance").ok().flatten().unwrap_or_default();
        hits.retain(|hit| {
            let passes = hit.score >= floor && relevance(hit) >= bar;
            if !passes {
                self.leave_out(&hit.message, "threshold");
            }
            passes
        });
    }
}
