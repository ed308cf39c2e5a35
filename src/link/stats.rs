//! The statistics of the graph of a scope.

use crate::error::Result;
use crate::record::{Object, RESPONDED_WITH, Record, SYNAPSE, Scope, Scopes, StoredRecord};
use crate::store::{Select, Store, Walk};
use std::collections::HashMap;

/// The statistics of a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Stats {
    pub messages: usize,
    pub answers: usize,
    pub synapses: usize,
    /// The mean and the greatest number of links that a message has.
    pub mean_degree: f64,
    pub max_degree: usize,
    /// The number of messages without a link.
    pub alone: usize,
    /// The number of groups of linked messages, and the number of messages in the largest.
    pub components: usize,
    pub largest: usize,
    /// The messages with the most links, and how many they have.
    pub hubs: Vec<(StoredRecord, usize)>,
}

/// The number of hubs to name.
const HUBS: usize = 5;

impl Stats {
    /// Computes the statistics of a scope, of whose messages only the hubs are held. Fails if the store does.
    pub fn read(store: &mut dyn Store, scope: &Scope) -> Result<Stats> {
        let which = Select::messages(Scopes::One(scope.clone()));
        let (mut places, mut ends) = (HashMap::new(), Vec::new());
        let (mut answers, mut synapses) = (0, 0);
        store.walk(&Walk { links: true, ..Walk::records(which.clone()) }, &mut |record| {
            match record {
                Record::Stored(message) => {
                    places.insert(message.id, places.len() as u32);
                }
                Record::Link(link) => {
                    if let (Some(from), Some(to)) = (places.get(&link.from), places.get(&link.to)) {
                        ends.push((*from, *to));
                        answers += usize::from(link.rel == RESPONDED_WITH);
                        synapses += usize::from(link.rel == SYNAPSE);
                    }
                }
                Record::Embedding(_) | Record::Tombstone(_) => {}
            }
            Ok(())
        })?;
        let mut degrees = vec![0_usize; places.len()];
        for (from, to) in &ends {
            degrees[*from as usize] += 1;
            degrees[*to as usize] += 1;
        }
        let sizes = component_sizes(places.len(), &ends);
        let mut hubs: Vec<(String, u32)> =
            places.into_iter().filter(|(_, place)| degrees[*place as usize] > 0).collect();
        hubs.sort_unstable_by_key(|(_, place)| (std::cmp::Reverse(degrees[*place as usize]), *place));
        hubs.truncate(HUBS);
        let ids: Vec<&str> = hubs.iter().map(|(id, _)| id.as_str()).collect();
        let mut records: HashMap<String, StoredRecord> =
            store.get(&ids, &which)?.into_iter().map(|record| (record.id.clone(), record)).collect();
        let hub = |(id, place): &(String, u32)| Some((records.remove(id)?, degrees[*place as usize]));
        Ok(Stats {
            messages: degrees.len(),
            answers,
            synapses,
            mean_degree: 2.0 * ends.len() as f64 / degrees.len().max(1) as f64,
            max_degree: degrees.iter().copied().max().unwrap_or_default(),
            alone: degrees.iter().filter(|degree| **degree == 0).count(),
            components: sizes.len(),
            largest: sizes.into_iter().max().unwrap_or_default(),
            hubs: hubs.iter().filter_map(hub).collect(),
        })
    }

    /// Returns the statistics as one JSON object of a scope.
    pub fn to_object(&self, scope: &Scope) -> Object {
        let mut line = Object::default();
        line.set_text("partition", &scope.partition);
        line.set_text("instance", &scope.instance);
        for (name, number) in [
            ("messages", self.messages),
            ("answers", self.answers),
            ("synapses", self.synapses),
            ("max_degree", self.max_degree),
            ("alone", self.alone),
            ("components", self.components),
            ("largest", self.largest),
        ] {
            line.set(name, number.to_string());
        }
        line.set("mean_degree", self.mean_degree.to_string());
        let hubs = self.hubs.iter().map(|(message, degree)| {
            let mut hub = Object::default();
            hub.set_text("id", &message.id);
            hub.set("degree", degree.to_string());
            hub.set_text("content", &message.text);
            hub.to_json()
        });
        line.set("hubs", format!("[{}]", hubs.collect::<Vec<_>>().join(",")));
        line
    }
}

/// The sizes of the groups of linked nodes, of `count` nodes that are linked as `ends` says (union-find, the
/// sizes at the roots).
// By hand: petgraph's has no sizes, and nothing else of it would be used.
fn component_sizes(count: usize, ends: &[(u32, u32)]) -> Vec<usize> {
    let mut parents: Vec<u32> = (0..count as u32).collect();
    let mut sizes = vec![1; count];
    fn root(parents: &mut [u32], mut node: u32) -> u32 {
        while parents[node as usize] != node {
            let above = parents[parents[node as usize] as usize];
            parents[node as usize] = above;
            node = above;
        }
        node
    }
    for (from, to) in ends {
        let (one, other) = (root(&mut parents, *from), root(&mut parents, *to));
        if one != other {
            let (large, small) =
                if sizes[one as usize] < sizes[other as usize] { (other, one) } else { (one, other) };
            parents[small as usize] = large;
            sizes[large as usize] += std::mem::take(&mut sizes[small as usize]);
        }
    }
    sizes.into_iter().filter(|size| *size > 1).collect()
}
