//! Conversations of account exports: trees of messages, of which one branch is shown.

use crate::error::Result;
use crate::record::time;
use std::collections::{HashMap, HashSet};

/// The messages of a conversation by their ids, each with the id of the message before it.
#[derive(Default)]
pub(super) struct MessageTree<'a> {
    /// The ids in the order of the export.
    order: Vec<&'a str>,
    parents: HashMap<&'a str, &'a str>,
}

impl<'a> MessageTree<'a> {
    /// Adds a message; a parent that the conversation lacks is ignored.
    pub(super) fn add(&mut self, id: &'a str, parent: Option<&'a str>) {
        self.order.push(id);
        if let Some(parent) = parent {
            self.parents.insert(id, parent);
        }
    }

    /// The branch that ends with a message, from its beginning, or from where messages that form a circle repeat.
    pub(super) fn branch(&self, leaf: &'a str) -> Vec<&'a str> {
        let mut branch = vec![leaf];
        let mut seen = HashSet::from([leaf]);
        let mut at = leaf;
        while let Some(parent) = self.parents.get(at)
            && seen.insert(parent)
        {
            branch.push(parent);
            at = parent;
        }
        branch.reverse();
        branch
    }

    /// All messages, each after the one before it; of those that form a circle, the first of the export begins it.
    pub(super) fn all(&self) -> Vec<&'a str> {
        let known: HashSet<&str> = self.order.iter().copied().collect();
        let mut children: HashMap<&str, Vec<&'a str>> = HashMap::new();
        let mut roots = Vec::new();
        for id in self.order.iter().rev() {
            match self.parents.get(id).filter(|parent| known.contains(*parent)) {
                Some(parent) => children.entry(parent).or_default().push(id),
                None => roots.push(*id),
            }
        }
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        let in_circles = self.order.iter().rev().copied();
        let mut open: Vec<&'a str> = in_circles.chain(roots).collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                all.push(id);
                open.extend(children.remove(id).unwrap_or_default());
            }
        }
        all
    }

    /// The last message that no other follows, or, if all are followed, since they form circles, the last message;
    /// `is_later` says whether a message is later than another. `None` if there is no message.
    pub(super) fn last_leaf(&self, is_later: impl Fn(&str, &str) -> bool) -> Option<&'a str> {
        let followed: HashSet<&str> = self.parents.values().copied().collect();
        let last = |last, id| if is_later(last, id) { last } else { id };
        let leaves = self.order.iter().copied().filter(|id| !followed.contains(id));
        leaves.reduce(last).or_else(|| self.order.iter().copied().reduce(last))
    }

    /// The message before another.
    pub(super) fn parent(&self, id: &str) -> Option<&'a str> {
        self.parents.get(id).copied()
    }
}

/// A time in seconds since 1970 in milliseconds. Errors if it cannot be written as a date.
pub(super) fn millis(member: &str, seconds: f64) -> Result<i64> {
    let millis = (seconds * 1000.0).round();
    // Beyond 2^53 the number names no millisecond; the check of the range refuses it.
    time::checked(millis as i64).map_err(|error| error.at(member))
}
