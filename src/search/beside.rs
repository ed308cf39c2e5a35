//! Who stands beside whom, as far as a search has seen it: the store is not asked for it again.

use super::hybrid::REACH;
use crate::record::Message;
use crate::store::{Around, Cosines};
use std::collections::HashMap;

/// What stands around messages within one selection, and how near the question that is.
#[derive(Default)]
pub(super) struct Beside {
    seen: HashMap<String, (Message, Around)>,
    pub(super) cosines: Cosines,
}

impl Beside {
    /// What stands around a message, by its id.
    pub(super) fn around(&self, id: &str) -> Option<&Around> {
        self.seen.get(id).map(|(_, around)| around)
    }

    /// Tells what stands around messages.
    pub(super) fn see(&mut self, messages: &[&Message], around: Vec<Around>, cosines: Cosines) {
        let seen = messages.iter().zip(around);
        self.seen.extend(seen.map(|(one, around)| (one.id.clone(), ((*one).clone(), around))));
        self.cosines.extend(cosines);
    }

    /// What stands before and after each message of which both are known.
    pub(super) fn next(&self) -> HashMap<&str, [Option<&Message>; 2]> {
        let mut sides: HashMap<&str, [Option<Option<&Message>>; 2]> = HashMap::new();
        for (message, around) in self.seen.values() {
            for (side, [toward, back]) in [(&around.before, [0, 1]), (&around.after, [1, 0])] {
                let mut last = message;
                for next in side {
                    sides.entry(&last.id).or_default()[toward] = Some(Some(next));
                    sides.entry(&next.id).or_default()[back] = Some(Some(last));
                    last = next;
                }
                if side.len() < REACH {
                    sides.entry(&last.id).or_default()[toward] = Some(None);
                }
            }
        }
        sides.into_iter().filter_map(|(id, [before, after])| Some((id, [before?, after?]))).collect()
    }
}
