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

    /// Lets a message whose parent is missing follow the last message before it, `time` being that of a
    /// message: what was said before the gap would be lost. Those that lack the same parent are answers to
    /// it, or begin the conversation, and do not follow each other. The first has no parent then.
    pub(super) fn bridge_gaps(&mut self, time: impl Fn(&str) -> Option<f64>) {
        let known: HashSet<&str> = self.order.iter().copied().collect();
        let is_lost = |parent: &&&str| !known.contains(**parent);
        if !self.parents.values().any(|parent| is_lost(&parent)) {
            return;
        }
        // The parent that the first message of each branch lacks.
        let mut gaps: HashMap<&str, Option<&str>> = HashMap::new();
        for id in &self.order {
            let (mut branch, mut at) = (Vec::new(), *id);
            let gap = loop {
                if let Some(gap) = gaps.get(at) {
                    break *gap;
                }
                // Messages that form a circle lack none.
                gaps.insert(at, None);
                branch.push(at);
                match self.parents.get(at) {
                    Some(parent) if is_lost(&parent) => break Some(*parent),
                    Some(parent) => at = *parent,
                    None => break None,
                }
            };
            gaps.extend(branch.into_iter().map(|id| (id, gap)));
        }
        let mut timed: Vec<(f64, &'a str)> =
            self.order.iter().filter_map(|id| Some((time(id)?, *id))).collect();
        timed.sort_by(|one, other| one.0.total_cmp(&other.0));
        // The last message, and the last whose branch lacks another parent than that.
        let (mut last, mut last_other): (Option<&'a str>, Option<&'a str>) = (None, None);
        let gap_of = |id: &str| gaps.get(id).copied().flatten();
        for (_, id) in timed {
            let gap = gap_of(id);
            if let Some(parent) = self.parents.get_mut(id).filter(|parent| is_lost(&&**parent)) {
                let before = if last.is_some_and(|last| gap_of(last) != gap) { last } else { last_other };
                *parent = before.unwrap_or(*parent);
            }
            if last.is_some_and(|last| gap_of(last) != gap) {
                last_other = last;
            }
            last = Some(id);
        }
        self.parents.retain(|_, parent| known.contains(*parent));
    }

    /// The messages that are shown: the branch that ends with `leaf`, or all, if there is no leaf or the
    /// branch has no words, which `has_words` says of a message.
    pub(super) fn shown(&self, leaf: Option<&'a str>, has_words: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let branch = leaf.map(|leaf| self.branch(leaf)).unwrap_or_default();
        if branch.iter().any(|id| has_words(id)) { branch } else { self.all() }
    }

    /// The branch that ends with a message, from its beginning, or from where messages that form a circle
    /// repeat.
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

    /// All messages, each after the one before it; of those that form a circle, the first of the export
    /// begins it.
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

    /// The last message that no other follows, or, if all are followed, since they form circles, the last
    /// message; `is_later` says whether a message is later than another. `None` if there is no message.
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
