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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Content, Draft, Fill, Role};

    #[test]
    fn what_is_told_to_be_next_is_next() {
        let said = |n: usize| {
            let fill =
                Fill { partition: None, instance: None, trace_id: "t".into(), timestamp: n as i64, seq: 0 };
            Draft::new(Role::User, Content::Text(n.to_string())).complete(&fill).unwrap()
        };
        let all: Vec<Message> = (0..30).map(said).collect();
        let asked = [0, 1, 4, 8, 9, 15, 20, 28];
        let around = |at: usize| Around {
            before: all[at.saturating_sub(REACH)..at].iter().rev().cloned().collect(),
            after: all[at + 1..(at + 1 + REACH).min(all.len())].to_vec(),
        };
        let mut beside = Beside::default();
        let messages: Vec<&Message> = asked.iter().map(|at| &all[*at]).collect();
        beside.see(&messages, asked.into_iter().map(around).collect(), Vec::new());
        let next = beside.next();
        let mut known = Vec::new();
        for (at, message) in all.iter().enumerate() {
            if let Some(next) = next.get(message.id.as_str()) {
                let wanted = [at.checked_sub(1).map(|before| &all[before]), all.get(at + 1)];
                assert_eq!(*next, wanted, "{at}");
                known.push(at);
            }
        }
        // Those that were asked for, those beside them, and where two that were asked for stand near each other, all
        // between them.
        assert_eq!(known, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 19, 20, 21, 27, 28, 29]);
    }
}
