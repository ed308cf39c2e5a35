//! Clients try again what failed, or took too long. The same messages in the same scope are the same turn as long
//! as nobody got its answer: it keeps its trace and its time, so that what the user said is stored once.

use crate::record::Scope;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long after a try another one belongs to it.
const HOLDS: Duration = Duration::from_secs(600);
/// How many turns are remembered.
const MOST: usize = 4096;

/// The turns that were begun and that nobody has got an answer to.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<[u8; 32], Begun>>);

struct Begun {
    at: Instant,
    /// How many tries there were.
    tries: usize,
    first: Option<First>,
    /// Whether part of an answer is stored.
    begun: bool,
}

/// What the first try was known by.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct First {
    pub(super) trace_id: String,
    /// In milliseconds.
    pub(super) timestamp: i64,
}

/// One try.
pub(super) struct Try {
    digest: [u8; 32],
    number: usize,
    /// What the first one is known by, if this is not it.
    pub(super) first: Option<First>,
}

impl Turns {
    fn begun(&self) -> MutexGuard<'_, HashMap<[u8; 32], Begun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a try; `messages` is the JSON text of what was said.
    pub(super) fn begin(&self, scope: &Scope, messages: &str) -> Try {
        let mut hash = Sha256::new();
        for text in [&scope.partition, &scope.instance, messages] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        let digest = hash.finalize().into();
        let mut begun = self.begun();
        if begun.len() >= MOST {
            begun.retain(|_, turn| turn.at.elapsed() < HOLDS);
        }
        if begun.len() >= MOST {
            begun.clear();
        }
        let now = Instant::now();
        let turn = begun.entry(digest).or_insert(Begun { at: now, tries: 0, first: None, begun: false });
        if turn.at.elapsed() >= HOLDS {
            *turn = Begun { at: now, tries: 0, first: None, begun: false };
        }
        (turn.at, turn.tries) = (now, turn.tries + 1);
        Try { digest, number: turn.tries, first: turn.first.clone() }
    }

    /// Remembers by what a try is known.
    pub(super) fn known(&self, one: &Try, trace_id: &str, timestamp: i64) {
        if let Some(turn) = self.begun().get_mut(&one.digest) {
            turn.first.get_or_insert_with(|| First { trace_id: trace_id.to_owned(), timestamp });
        }
    }

    /// Somebody got the answer: what is said again from now on is said anew.
    pub(super) fn answered(&self, one: &Try) {
        self.begun().remove(&one.digest);
    }

    /// Whether part of an answer is stored by now: that of the first try that got any.
    pub(super) fn began(&self, one: &Try) -> bool {
        self.begun().get_mut(&one.digest).is_some_and(|turn| std::mem::replace(&mut turn.begun, true))
    }

    /// Whether there was another try after this one, or one was answered.
    pub(super) fn is_followed(&self, one: &Try) -> bool {
        self.begun().get(&one.digest).is_none_or(|turn| turn.tries > one.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_got_an_answer_to_is_the_same_turn() {
        let turns = Turns::default();
        let scope = Scope::of(None, None).unwrap();
        let first = turns.begin(&scope, "a");
        turns.known(&first, "t", 7);
        assert!(first.first.is_none() && !turns.is_followed(&first));
        let second = turns.begin(&scope, "a");
        assert_eq!(second.first, Some(First { trace_id: "t".into(), timestamp: 7 }));
        assert!(turns.is_followed(&first) && !turns.is_followed(&second));
        assert!(turns.begin(&scope, "b").first.is_none());
        assert!(turns.begin(&Scope::of(Some("p"), None).unwrap(), "a").first.is_none());
        turns.answered(&second);
        assert!(turns.is_followed(&first));
        assert!(turns.begin(&scope, "a").first.is_none());
    }

    #[test]
    fn only_so_many_are_remembered() {
        let turns = Turns::default();
        let scope = Scope::of(None, None).unwrap();
        for number in 0..=MOST {
            turns.begin(&scope, &number.to_string());
        }
        assert!(turns.begun().len() <= MOST);
    }
}
