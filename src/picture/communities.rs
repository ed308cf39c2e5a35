//! The groups of a weighted graph, by the method of Louvain (Blondel et al. 2008): nodes move to the group of
//! a neighbour while that raises the modularity; then groups become the nodes of a smaller graph, until
//! nothing moves. Nodes are visited in their order and ties go to the first group, so that one graph always
//! gives the same groups.
// By hand: the crates that have it take their order from hash tables or random numbers, or bring a numeric
// stack.

use std::collections::BTreeMap;

/// The least gain of a move: with smaller ones, moving might never end.
const MIN_GAIN: f64 = 1e-9;

/// The weighted edges of each node, without loops.
type Edges = Vec<Vec<(usize, f64)>>;

/// The group of each node, of `count` nodes that `edges` join: numbers from 0, in the order of their first
/// nodes.
pub(super) fn communities(count: usize, edges: &[(usize, usize, f64)]) -> Vec<usize> {
    let mut of: Vec<usize> = (0..count).collect();
    let mut joined: Edges = vec![Vec::new(); count];
    for (one, other, weight) in edges {
        joined[*one].push((*other, *weight));
        joined[*other].push((*one, *weight));
    }
    let mut loops = vec![0.0; count];
    loop {
        let groups = move_nodes(&joined, &loops);
        let fewer = groups.iter().max().map_or(0, |last| last + 1);
        for group in &mut of {
            *group = groups[*group];
        }
        if fewer == joined.len() {
            return in_order(&of);
        }
        (joined, loops) = merge(&joined, &loops, &groups, fewer);
    }
}

/// Moves each node to the group where it gains most, until none moves.
fn move_nodes(edges: &Edges, loops: &[f64]) -> Vec<usize> {
    let degree = |node: usize| loops[node] + edges[node].iter().map(|(_, weight)| weight).sum::<f64>();
    let degrees: Vec<f64> = (0..edges.len()).map(degree).collect();
    let total = degrees.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut groups: Vec<usize> = (0..edges.len()).collect();
    let mut group_degrees = degrees.clone();
    loop {
        let mut has_moved = false;
        for node in 0..edges.len() {
            let own = groups[node];
            group_degrees[own] -= degrees[node];
            let mut weights: BTreeMap<usize, f64> = BTreeMap::from([(own, 0.0)]);
            for (other, weight) in &edges[node] {
                *weights.entry(groups[*other]).or_default() += weight;
            }
            let gain = |group: usize| weights[&group] - group_degrees[group] * degrees[node] / total;
            let mut best = own;
            for group in weights.keys() {
                if gain(*group) > gain(best) + MIN_GAIN {
                    best = *group;
                }
            }
            group_degrees[best] += degrees[node];
            groups[node] = best;
            has_moved |= best != own;
        }
        if !has_moved {
            return in_order(&groups);
        }
    }
}

/// The graph whose nodes are the groups.
fn merge(edges: &Edges, loops: &[f64], groups: &[usize], count: usize) -> (Edges, Vec<f64>) {
    let mut merged: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); count];
    let mut merged_loops = vec![0.0; count];
    for (node, joined) in edges.iter().enumerate() {
        merged_loops[groups[node]] += loops[node];
        for (other, weight) in joined {
            if groups[*other] == groups[node] {
                merged_loops[groups[node]] += weight;
            } else {
                *merged[groups[node]].entry(groups[*other]).or_default() += weight;
            }
        }
    }
    (merged.into_iter().map(|joined| joined.into_iter().collect()).collect(), merged_loops)
}

/// The same groups, numbered in the order of their first nodes.
fn in_order(groups: &[usize]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let number = |group: &usize| {
        let next = numbers.len();
        *numbers.entry(*group).or_insert(next)
    };
    groups.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cliques_are_groups_and_a_lone_node_is_its_own() {
        let clique = |first: usize| {
            (first..first + 4).flat_map(move |one| (first..one).map(move |other| (one, other, 1.0)))
        };
        let edges: Vec<_> =
            clique(0).chain(clique(4)).chain(clique(8)).chain([(0, 4, 1.0), (5, 8, 1.0)]).collect();
        assert_eq!(communities(13, &edges), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]);
        assert_eq!(communities(0, &[]), [0; 0]);
    }

    #[test]
    fn weights_decide() {
        assert_eq!(communities(4, &[(0, 1, 1.0), (1, 2, 0.1), (2, 3, 1.0)]), [0, 0, 1, 1]);
    }
}
