//! The way down the tree: best-first search from the targets and the best directories.
//!
//! A node's score is `OWN_SHARE` of its own score and, for the rest, the score of the directory that was
//! visited above it. The directory with the best score is visited next: its children get their scores, and
//! those that have candidates below them wait to be visited. A node that is no candidate has an own score of
//! 0. The search ends when the first hits have stayed the same for `STABLE_ROUNDS` directories and no other
//! candidate can be among them, or when nothing waits.

use super::candidates::Candidate;
use super::step::Step;
use crate::ranking::weights::{OWN_SHARE, STABLE_ROUNDS, START_DIRECTORIES};
use crate::record::Address;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

/// A directory that waits to be visited.
#[derive(PartialEq)]
struct Waiting {
    score: f64,
    address: Address,
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.score.total_cmp(&other.score).then_with(|| Reverse(&self.address).cmp(&Reverse(&other.address)))
    }
}

/// Gives the candidates their scores, and marks those whose directory was visited. The targets have the best
/// own score of all, so that nodes near them do not rank behind deep ones.
pub(super) fn descend(
    targets: &[Address],
    candidates: &mut [Candidate],
    limit: usize,
    steps: &mut Vec<Step>,
) {
    for candidate in &mut *candidates {
        candidate.is_visited = targets.contains(&candidate.address);
        if candidate.is_visited {
            steps.push(candidate.step());
        }
    }
    let best_own = candidates.iter().map(|one| one.own).fold(0.0, f64::max);
    let start = targets.iter().map(|target| Waiting { score: best_own, address: target.clone() });
    let mut heap: BinaryHeap<Waiting> = start.collect();
    let tree = Skeleton::new(targets, candidates);
    heap.extend(tree.best_directories(candidates));
    let mut visited = HashSet::new();
    let (mut best, mut stable) = (Vec::new(), 0);
    while let Some(Waiting { score, address }) = heap.pop() {
        if !visited.insert(address.clone()) {
            continue;
        }
        let children = tree.children.get(&address).into_iter().flatten();
        steps.push(Step::Directory { uri: address.clone(), score, children: children.clone().count() });
        for child in children {
            // A directory that matches by its children only has no score of its own.
            let own = tree.positions.get(child).map(|at| candidates[*at].own);
            let total = OWN_SHARE * own.unwrap_or_default() + (1.0 - OWN_SHARE) * score;
            if let Some(at) = tree.positions.get(child) {
                candidates[*at].arrive(score, total, steps);
            }
            if tree.children.contains_key(child) {
                heap.push(Waiting { score: total, address: child.clone() });
            }
        }
        let now = first(candidates, limit);
        stable = if now == best && now.len() >= limit { stable + 1 } else { 0 };
        best = now;
        if stable >= STABLE_ROUNDS && !heap.is_empty() && is_final(candidates, best_own, best.last()) {
            steps.push(Step::Converged { rounds: visited.len() });
            return;
        }
    }
}

/// Whether no candidate that was not visited can come before the last of the first hits. No directory has a
/// better score than `best_own`.
fn is_final(candidates: &[Candidate], best_own: f64, last: Option<&usize>) -> bool {
    let Some(last) = last else { return true };
    let unvisited = candidates.iter().filter(|one| !one.is_visited);
    let best_unvisited = unvisited.map(|one| one.own).fold(0.0, f64::max);
    candidates[*last].hit.score > OWN_SHARE * best_unvisited + (1.0 - OWN_SHARE) * best_own
}

impl Candidate {
    /// Sets the score of a candidate whose directory has the score `above`.
    fn arrive(&mut self, above: f64, total: f64, steps: &mut Vec<Step>) {
        self.is_visited = true;
        self.hit.scale(OWN_SHARE);
        self.hit.score = total;
        let lent = (1.0 - OWN_SHARE) * above;
        if lent != 0.0 {
            self.hit.parts.push(("directory".to_owned(), lent));
        }
        let (uri, own) = (self.address.clone(), self.own);
        steps.push(Step::Candidate { uri, own, parent: Some(above), score: total });
    }
}

/// The positions of the best visited candidates, best first.
fn first(candidates: &[Candidate], limit: usize) -> Vec<usize> {
    let mut visited: Vec<usize> = (0..candidates.len()).filter(|at| candidates[*at].is_visited).collect();
    visited.sort_by(|a, b| {
        let (one, other) = (&candidates[*a], &candidates[*b]);
        other.hit.score.total_cmp(&one.hit.score).then_with(|| one.address.cmp(&other.address))
    });
    visited.truncate(limit);
    visited
}

/// The part of the tree between the targets and the candidates.
struct Skeleton {
    /// The positions of the candidates.
    positions: HashMap<Address, usize>,
    /// The children of each node that has candidates below it.
    children: HashMap<Address, BTreeSet<Address>>,
}

impl Skeleton {
    fn new(targets: &[Address], candidates: &[Candidate]) -> Skeleton {
        let mut children: HashMap<Address, BTreeSet<Address>> = HashMap::new();
        for candidate in candidates {
            let mut node = candidate.address.clone();
            while !targets.contains(&node) {
                let Some(parent) = node.parent() else { break };
                let is_new = children.entry(parent.clone()).or_default().insert(node);
                if !is_new {
                    break;
                }
                node = parent;
            }
        }
        let positions = candidates.iter().enumerate().map(|(at, one)| (one.address.clone(), at)).collect();
        Skeleton { positions, children }
    }

    /// The candidates with the best own scores that have others below them.
    fn best_directories(&self, candidates: &[Candidate]) -> Vec<Waiting> {
        let is_directory = |one: &&Candidate| self.children.contains_key(&one.address);
        let mut directories: Vec<Waiting> = candidates
            .iter()
            .filter(is_directory)
            .map(|one| Waiting { score: one.own, address: one.address.clone() })
            .collect();
        directories.sort_by(|a, b| b.cmp(a));
        directories.truncate(START_DIRECTORIES);
        directories
    }
}
