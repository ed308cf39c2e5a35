//! Recognizes a turn that a client sends again after an error or a timeout. Messages in the same scope that
//! are equal in folded form are the same turn until a client has received its answer. Such a turn keeps its
//! trace id and its timestamp, so that the user's message is stored once.

use crate::proxy::lock::locked;
use crate::record::{Content, DUPLICATE_WINDOW, Object, Scope};
use rustc_hash::FxHasher;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::time::Instant;

/// The number of turns that are remembered.
const MAX_TURNS: usize = 4096;

/// The key of a turn: its scope, and a hash of its messages, which may be long. A client that makes two turns
/// with one hash harms only itself.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TurnKey {
    scope: Scope,
    hash: u64,
}

/// The turns whose answer no client has received.
#[derive(Default)]
pub(super) struct RetryDedup(Mutex<HashMap<TurnKey, UnansweredTurn>>);

struct UnansweredTurn {
    /// The time at which the last attempt began.
    last_attempt: Instant,
    attempts: usize,
    identity: Option<TurnIdentity>,
    /// Whether part of an answer is stored.
    has_partial: bool,
}

/// The trace id and the timestamp of a turn's first attempt.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TurnIdentity {
    pub(super) trace_id: String,
    /// In milliseconds.
    pub(super) timestamp: i64,
}

/// One attempt at a turn.
pub(super) struct Attempt {
    key: TurnKey,
    number: usize,
    /// The identity of the first attempt, if this is a later one.
    pub(super) first: Option<TurnIdentity>,
}

impl UnansweredTurn {
    fn new(now: Instant) -> UnansweredTurn {
        UnansweredTurn { last_attempt: now, attempts: 0, identity: None, has_partial: false }
    }
}

impl RetryDedup {
    /// Begins an attempt at a turn with these messages, of the caller whose token has this name.
    pub(super) fn begin(&self, scope: &Scope, token: Option<&str>, messages: &[Cow<Object>]) -> Attempt {
        let mut hash = FxHasher::default();
        token.hash(&mut hash);
        for message in messages {
            // So that it is known where the next one begins.
            hash.write_usize(message.iter().count());
            // A provider refuses what is no content, so that no turn comes of it.
            let content = Content::from_message(message).unwrap_or(Content::Null);
            message.iter().filter(|(name, _)| *name != "content").for_each(|member| member.hash(&mut hash));
            content.folded().hash(&mut hash);
        }
        let key = TurnKey { scope: scope.clone(), hash: hash.finish() };
        let mut turns = locked(&self.0);
        if turns.len() >= MAX_TURNS {
            turns.retain(|_, turn| turn.last_attempt.elapsed() < DUPLICATE_WINDOW);
        }
        if turns.len() >= MAX_TURNS {
            turns.clear();
        }
        let now = Instant::now();
        let turn = turns.entry(key.clone()).or_insert_with(|| UnansweredTurn::new(now));
        if turn.last_attempt.elapsed() >= DUPLICATE_WINDOW {
            *turn = UnansweredTurn::new(now);
        }
        (turn.last_attempt, turn.attempts) = (now, turn.attempts + 1);
        Attempt { key, number: turn.attempts, first: turn.identity.clone() }
    }

    /// Remembers the identity of a turn, unless an earlier attempt has given it one.
    pub(super) fn identify(&self, attempt: &Attempt, trace_id: &str, timestamp: i64) {
        if let Some(turn) = locked(&self.0).get_mut(&attempt.key) {
            turn.identity.get_or_insert_with(|| TurnIdentity { trace_id: trace_id.to_owned(), timestamp });
        }
    }

    /// Forgets a turn whose answer a client has received: the same messages are a new turn from now on.
    pub(super) fn mark_answered(&self, attempt: &Attempt) {
        locked(&self.0).remove(&attempt.key);
    }

    /// Remembers that part of an answer is stored. Returns whether an earlier attempt has stored one.
    pub(super) fn mark_partial(&self, attempt: &Attempt) -> bool {
        locked(&self.0)
            .get_mut(&attempt.key)
            .is_some_and(|turn| std::mem::replace(&mut turn.has_partial, true))
    }

    /// Whether a later attempt has begun, or one was answered.
    pub(super) fn is_superseded(&self, attempt: &Attempt) -> bool {
        locked(&self.0).get(&attempt.key).is_none_or(|turn| turn.attempts > attempt.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::quote;

    fn asking(text: &str) -> [Cow<'static, Object>; 1] {
        let mut message = Object::default();
        message.set("content", quote(text));
        [Cow::Owned(message)]
    }

    #[test]
    fn a_retry_of_an_unanswered_request_is_the_same_turn() {
        let dedup = RetryDedup::default();
        let scope = Scope::new(None, None).unwrap();
        let first = dedup.begin(&scope, None, &asking("a"));
        dedup.identify(&first, "t", 7);
        assert!(first.first.is_none() && !dedup.is_superseded(&first));
        let second = dedup.begin(&scope, None, &asking("a"));
        assert_eq!(second.first, Some(TurnIdentity { trace_id: "t".into(), timestamp: 7 }));
        assert!(dedup.is_superseded(&first) && !dedup.is_superseded(&second));
        assert_eq!(dedup.begin(&scope, None, &asking(" A\n")).first, second.first);
        let second = dedup.begin(&scope, None, &asking("a"));
        assert!(dedup.begin(&scope, None, &asking("b")).first.is_none());
        assert!(dedup.begin(&scope, Some("anna"), &asking("a")).first.is_none());
        assert!(dedup.begin(&Scope::new(Some("p"), None).unwrap(), None, &asking("a")).first.is_none());
        dedup.mark_answered(&second);
        assert!(dedup.is_superseded(&first));
        assert!(dedup.begin(&scope, None, &asking("a")).first.is_none());
    }

    #[test]
    fn only_so_many_are_remembered() {
        let dedup = RetryDedup::default();
        let scope = Scope::new(None, None).unwrap();
        for number in 0..=MAX_TURNS {
            dedup.begin(&scope, None, &asking(&number.to_string()));
        }
        assert!(locked(&dedup.0).len() <= MAX_TURNS);
    }
}
