//! The graph of a scope as a whole, as it is stored: its strongest paths, and the part near a message.

use super::error::LinkError;
use crate::error::Result;
use crate::record::{Link, Record, Scopes, StoredRecord, VectorFormat};
use crate::store::{self, Select, Store, Walk};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// Messages in the order of time, and the links between them.
#[derive(Debug)]
pub struct Graph {
    messages: Vec<StoredRecord>,
    links: Vec<Link>,
    places: HashMap<String, usize>,
}

impl Graph {
    /// Reads the messages and links of some scopes. Fails if the store cannot be read.
    pub fn read(store: &mut dyn Store, scopes: &Scopes) -> Result<Graph> {
        let (mut messages, mut links) = (Vec::new(), Vec::new());
        let walk = Walk { links: true, ..Walk::records(Select::messages(scopes.clone())) };
        store.walk(&walk, &mut |record| {
            match record {
                Record::Stored(message) => messages.push(message),
                Record::Link(link) => links.push(link),
                Record::Embedding(_) | Record::Tombstone(_) => {}
            }
            Ok(())
        })?;
        Ok(Graph::new(messages, links))
    }

    /// The part of the graph that is at most `hops` links away from a message of some scopes. Errors if it is
    /// in none of them.
    pub fn around(store: &mut dyn Store, scopes: &Scopes, id: &str, hops: usize) -> Result<Graph> {
        let id = &store::full_id(store, id, scopes)?;
        let around = scopes_around(store, scopes, id)?;
        Ok(Graph::read(store, &around)?.neighbourhood(id, hops))
    }

    /// The links of the strongest path between two messages of some scopes, as `path` finds it. Errors if
    /// either is in none of them.
    pub fn path_between(
        store: &mut dyn Store,
        scopes: &Scopes,
        ends: [&str; 2],
    ) -> Result<Option<Vec<Link>>> {
        let [from, to] = ends.map(|id| store::full_id(store, id, scopes));
        let (from, to) = (from?, to?);
        let around = scopes_around(store, scopes, &from)?;
        scopes_around(store, scopes, &to)?;
        let graph = Graph::read(store, &around)?;
        Ok(graph.path(&from, &to).map(|path| path.into_iter().cloned().collect()))
    }

    fn new(messages: Vec<StoredRecord>, mut links: Vec<Link>) -> Graph {
        let places: HashMap<String, usize> =
            messages.iter().enumerate().map(|(place, message)| (message.id.clone(), place)).collect();
        links.retain(|link| places.contains_key(&link.from) && places.contains_key(&link.to));
        Graph { messages, links, places }
    }

    /// The ids of its messages.
    pub fn ids(&self) -> Vec<String> {
        self.messages.iter().map(|message| message.id.clone()).collect()
    }

    /// The part of the graph that is at most `hops` links away from a message; empty if the message is not
    /// there.
    fn neighbourhood(self, id: &str, hops: usize) -> Graph {
        let ends = self.ends();
        let Some(start) = self.places.get(id).copied() else { return Graph::new(Vec::new(), Vec::new()) };
        let mut away: BTreeMap<usize, usize> = BTreeMap::from([(start, 0)]);
        let mut open = VecDeque::from([start]);
        while let Some(place) = open.pop_front() {
            let hop = away[&place] + 1;
            for (other, _) in ends[place].iter().filter(|_| hop <= hops) {
                if !away.contains_key(other) {
                    away.insert(*other, hop);
                    open.push_back(*other);
                }
            }
        }
        let kept = |(place, message)| away.contains_key(&place).then_some(message);
        Graph::new(self.messages.into_iter().enumerate().filter_map(kept).collect(), self.links)
    }

    /// For each message the others that it is linked with, and by which link.
    fn ends(&self) -> Vec<Vec<(usize, usize)>> {
        let mut ends = vec![Vec::new(); self.messages.len()];
        for (at, link) in self.links.iter().enumerate() {
            let (from, to) = (self.places[&link.from], self.places[&link.to]);
            ends[from].push((to, at));
            ends[to].push((from, at));
        }
        ends
    }

    /// The links of the strongest path between two messages, in its order: the one with the greatest product
    /// of scores, where the link from a question to its answer counts 1 (Dijkstra 1959, over logarithms).
    /// `None` if there is no path.
    // By hand: of equally strong paths petgraph gives any; here the order of the messages decides.
    fn path(&self, from: &str, to: &str) -> Option<Vec<&Link>> {
        let ends = self.ends();
        let (start, goal) = (*self.places.get(from)?, *self.places.get(to)?);
        let mut best = vec![f64::INFINITY; ends.len()];
        let mut before: Vec<Option<(usize, usize)>> = vec![None; ends.len()];
        let mut open = BinaryHeap::from([QueueEntry { cost: 0.0, place: start }]);
        best[start] = 0.0;
        while let Some(QueueEntry { cost, place }) = open.pop() {
            if place == goal {
                break;
            }
            if cost > best[place] {
                continue;
            }
            for (other, at) in &ends[place] {
                let cost = cost - strength(&self.links[*at]).ln();
                if cost < best[*other] {
                    best[*other] = cost;
                    before[*other] = Some((place, *at));
                    open.push(QueueEntry { cost, place: *other });
                }
            }
        }
        let mut path = Vec::new();
        let mut place = goal;
        while let Some((earlier, at)) = before[place] {
            path.push(&self.links[at]);
            place = earlier;
        }
        path.reverse();
        (place == start).then_some(path)
    }

    /// Returns the graph as one JSON object of `nodes` and `links`, which programs that draw graphs accept.
    pub fn to_json(&self) -> String {
        let mut text = Vec::from("{\"nodes\":[");
        let records = self.messages.iter().cloned().map(Record::Stored);
        write_joined(records, &mut text);
        text.extend_from_slice(b"],\"links\":[");
        write_joined(self.links.iter().cloned().map(Record::Link), &mut text);
        text.extend_from_slice(b"]}\n");
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The selected scopes that a message may be linked within, which must be in one of them.
fn scopes_around(store: &mut dyn Store, scopes: &Scopes, id: &str) -> Result<Scopes> {
    let message = store.get(&[id], &Select::messages(scopes.clone()))?.pop();
    let scopes = message.map(|message| match scopes {
        Scopes::All | Scopes::Matching(_) => Scopes::Partition(message.scope.partition),
        narrower => narrower.clone(),
    });
    scopes.ok_or_else(|| LinkError::NoMessage { id: id.to_owned() }.into())
}

/// The strength of a link, more than 0 and at most 1.
fn strength(link: &Link) -> f64 {
    link.score.map_or(1.0, |score| score.clamp(1e-9, 1.0))
}

/// A message in the queue, and the cost of the best path to it so far.
#[derive(PartialEq)]
struct QueueEntry {
    cost: f64,
    place: usize,
}

impl Eq for QueueEntry {}

impl PartialOrd for QueueEntry {
    fn partial_cmp(&self, other: &QueueEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueueEntry {
    /// The cheapest entry is the greatest, so that the heap gives it first; among equals the first message.
    fn cmp(&self, other: &QueueEntry) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.place.cmp(&self.place))
    }
}

fn write_joined(records: impl Iterator<Item = Record>, out: &mut Vec<u8>) {
    for (at, record) in records.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        record.write_line(VectorFormat::Numbers, out);
        out.pop();
    }
}
