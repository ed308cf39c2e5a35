//! The histories of the sessions of clients' programs. If a session continues without its earlier messages
//! and without a known summary, the part before is carried over as after a compaction. A session continues if
//! the request still has some of its last messages: else the user has started over, or another agent makes
//! the request.

use crate::api::Request;
use crate::proxy::lock::locked;
use crate::record::Scope;
use rustc_hash::FxHasher;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;

/// The most sessions that are known.
const MAX_SESSIONS: usize = 1024;

/// The fewest messages of a session of which earlier ones can be gone: shorter ones have started over.
const MIN_MESSAGES: usize = 8;

/// The number of the last messages by which a request is known to continue a session.
const LAST_MESSAGES: usize = 8;

/// The sessions that this process has seen, each in its scope.
#[derive(Default)]
pub(super) struct Histories(Mutex<HashMap<(Scope, String), History>>);

/// The last request of a session.
struct History {
    messages: usize,
    /// The digest of the words with which it begins.
    beginning: u64,
    /// The digests of its last messages.
    last: Vec<u64>,
    loss: Option<Loss>,
}

/// The loss of the beginning of a session.
#[derive(Clone, Copy)]
struct Loss {
    /// The digest of the last turn since, and whether the user began it since.
    turn: u64,
    has_turn: bool,
}

impl Histories {
    /// Marks a request whose session has lost its beginning, up to the end of the next turn that the user
    /// begins.
    pub(super) fn mark(&self, scope: &Scope, request: &mut Request) {
        let is_own = !request.is_side_call() && !request.has_shared_session();
        let Some(session) = request.client_session().filter(|_| is_own) else { return };
        let (messages, beginning) = (request.message_count(), digest(&request.beginning()));
        let turn = digest(&request.turn_key().iter().flatten().map(|one| one.to_json()).collect::<Vec<_>>());
        let begins_turn = request.ends_with_user();
        let digests = |first| request.messages_from(first).iter().map(digest).collect::<Vec<_>>();
        let newest = digests(messages.saturating_sub(LAST_MESSAGES));
        let continues = |last: &History| {
            let all = digests(0);
            all[..messages.saturating_sub(1)].iter().any(|message| last.last.contains(message))
        };
        // Held until the request is known: two of a session at once must not both be compared with the last.
        let mut known = locked(&self.0);
        if known.len() >= MAX_SESSIONS {
            known.clear();
        }
        let key = (scope.clone(), session);
        let loss = known.get(&key).and_then(|last| {
            let is_shorter = last.messages >= MIN_MESSAGES && messages * 2 <= last.messages;
            if is_shorter && beginning != last.beginning && continues(last) {
                return Some(Loss { turn, has_turn: begins_turn });
            }
            match last.loss? {
                loss if loss.turn == turn => Some(loss),
                loss if loss.has_turn => None,
                _ => Some(Loss { turn, has_turn: true }),
            }
        });
        known.insert(key, History { messages, beginning, last: newest, loss });
        drop(known);
        if let Some(loss) = loss {
            request.mark_compaction(loss.has_turn);
        }
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    of.hash(&mut hasher);
    hasher.finish()
}
