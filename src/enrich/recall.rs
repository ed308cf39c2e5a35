//! Which messages to recall: those related to the question and the last ones, of the same scope, each
//! once, and none that the request already holds.

use super::{Memory, Options};
use crate::chat::{self, Request, fence};
use crate::error::Result;
use crate::fill;
use crate::record::Hit;
use crate::record::{Message, Object, Role, Scope, Scopes};
use crate::search;
use crate::store::Select;
use std::collections::HashSet;

/// A message that may be recalled.
pub(super) struct Candidate {
    pub(super) message: Message,
    /// The score of the search; `None` for one that is only recent.
    pub(super) score: Option<f64>,
}

/// What was found, in the order of its worth: the last messages from the newest, then the related ones
/// from the best.
#[derive(Default)]
pub(super) struct Recalled {
    pub(super) candidates: Vec<Candidate>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A message that was found and is not recalled.
pub(super) struct LeftOut {
    pub(super) id: String,
    pub(super) reason: &'static str,
}

/// A related message counts if its score is at least this part of the best one's: below lie those that
/// share a common word only.
const FLOOR: f64 = 0.3;

pub(super) fn recall(
    mut memory: Memory,
    request: &Request,
    user: &Object,
    scope: &Scope,
    options: &Options,
) -> Result<Recalled> {
    let mut which = Select::of(Scopes::One(scope.clone()));
    which.roles = vec![Role::User, Role::Assistant];
    let recent = if options.recent == 0 { Vec::new() } else { memory.store.last(&which, options.recent)? };
    // More than are wanted, since some will fall to the request's own turns.
    let wanted = if options.similar == 0 { 0 } else { options.similar * 2 + request.messages.len() };
    let empty = recent.is_empty() && memory.store.last(&which, 1)?.is_empty();
    let wanted = if empty { 0 } else { wanted };
    let similar = related(&mut memory, &chat::text(user), &which, wanted, options.catch_up)?;
    let floor = similar.first().map_or(0.0, |best| best.score * FLOOR);

    let mut sieve = Sieve::of(request, user);
    let mut recalled = Recalled::default();
    for message in recent.into_iter().rev() {
        sieve.pass(message, None, &mut recalled);
    }
    let mut taken = 0;
    for hit in similar {
        if taken == options.similar {
            break;
        }
        if hit.score < floor && !sieve.ids.contains(&hit.message.id) {
            recalled.left_out.push(LeftOut { id: hit.message.id, reason: "threshold" });
        } else if hit.score >= floor {
            taken += usize::from(sieve.pass(hit.message, Some(hit.score), &mut recalled));
        }
    }
    Ok(recalled)
}

/// The related messages. A model that fails is told of; words are left.
fn related(
    memory: &mut Memory,
    text: &str,
    which: &Select,
    wanted: usize,
    catch_up: usize,
) -> Result<Vec<Hit>> {
    let Memory { store, embedder, notes } = memory;
    if let Some(embedder) = embedder.as_deref_mut().filter(|_| wanted > 0 && !text.trim().is_empty()) {
        fill::catch_up(&mut **store, embedder, which, catch_up, notes);
        match search::hybrid(&mut **store, embedder, text, which, wanted) {
            Ok(hits) => return Ok(hits),
            Err(error) => notes.note(format_args!("{error}; messages are found by their words only")),
        }
    }
    search::related(&mut **store, text, which, wanted)
}

/// Lets every message through once, and none that the request holds.
struct Sieve {
    /// Role and text of the request's own turns.
    request: Vec<(Option<Role>, String)>,
    ids: HashSet<String>,
    seen: HashSet<(Role, String)>,
}

impl Sieve {
    fn of(request: &Request, user: &Object) -> Sieve {
        let turns = request.messages.iter().chain([user]);
        let request = turns.map(|turn| (chat::role(turn), fence::remove(&chat::text(turn)))).collect();
        Sieve { request, ids: HashSet::new(), seen: HashSet::new() }
    }

    fn pass(&mut self, message: Message, score: Option<f64>, recalled: &mut Recalled) -> bool {
        let text = message.content.text().trim().to_owned();
        let reason = if !self.ids.insert(message.id.clone()) {
            // It is there already; that it is related as well is worth telling.
            let again = recalled.candidates.iter_mut().find(|c| c.message.id == message.id);
            again.into_iter().for_each(|candidate| candidate.score = score);
            return false;
        } else if self.request.iter().any(|(role, turn)| *role == Some(message.role) && turn.contains(&text))
        {
            "in_request"
        } else if text.is_empty() || !self.seen.insert((message.role, text)) {
            "duplicate"
        } else {
            recalled.candidates.push(Candidate { message, score });
            return true;
        };
        recalled.left_out.push(LeftOut { id: message.id, reason });
        false
    }
}
