//! The lines of a graph: from questions to their answers, and the strongest of all others.

use super::groups::Grouping;
use super::nearest::{Near, Vectors, dot, neighbours};
use super::sample::Sample;
use crate::error::Result;
use crate::record::{Link, Object, SYNAPSE};
use crate::store::Store;
use std::collections::{BTreeMap, HashMap};

/// The relation of messages that are drawn near each other, and that no stored link joins.
pub(super) const SIMILAR: &str = "SIMILAR";

/// The number of lines of a unit within its group: the strongest.
const LINES_WITHIN: usize = 2;

/// A line between two messages: positions in the sample, in a graph those of its nodes.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) link: Link,
}

impl Line {
    /// The similarity of its ends, 0 to 1; `None` for a link of another kind.
    pub(super) fn similarity(&self) -> Option<f64> {
        self.link.score.filter(|_| [SYNAPSE, SIMILAR].contains(&self.link.rel.as_str()))
    }
}

/// The lines between the messages of chosen units: every answer; every link of a kind of its own; the
/// strongest similarities within each group, and one between each two groups that are near.
pub(super) fn lines(
    store: &mut dyn Store,
    sample: &Sample,
    grouping: &Grouping,
    vectors: &Vectors,
    chosen: &[usize],
) -> Result<Vec<Line>> {
    let mut lines = BTreeMap::new();
    let messages = || chosen.iter().flat_map(|unit| sample.units[*unit].iter().copied());
    let at: HashMap<&str, usize> = messages().map(|message| (&*sample.briefs[message].id, message)).collect();
    let ids: Vec<&str> = messages().map(|message| &*sample.briefs[message].id).collect();
    let mut synapses: HashMap<(usize, usize), Link> = HashMap::new();
    for link in store.links(&ids, None)? {
        let (Some(from), Some(to)) = (at.get(&*link.from).copied(), at.get(&*link.to).copied()) else {
            continue;
        };
        if link.rel == SYNAPSE {
            synapses.insert((from.min(to), from.max(to)), link);
        } else {
            lines.insert((from, to), Line { from, to, link });
        }
    }
    for unit in chosen {
        if let [question, answer] = sample.units[*unit][..] {
            let [from, to] = [question, answer].map(|message| &sample.briefs[message]);
            let link = Link::responded_with(&from.id, &to.id, to.timestamp);
            lines.entry((question, answer)).or_insert(Line { from: question, to: answer, link });
        }
    }
    for (from, to, score) in strongest(sample, grouping, vectors, chosen, &synapses) {
        let (from, to) = (from.min(to), from.max(to));
        let link = synapses.remove(&(from, to)).unwrap_or_else(|| similar(sample, from, to, score));
        lines.entry((from, to)).or_insert(Line { from, to, link });
    }
    Ok(lines.into_values().collect())
}

fn similar(sample: &Sample, from: usize, to: usize, score: f64) -> Link {
    let [from, to] = [from, to].map(|message| &sample.briefs[message]);
    Link {
        rel: SIMILAR.to_owned(),
        from: from.id.clone(),
        to: to.id.clone(),
        timestamp: None,
        score: Some(score),
        model: None,
        extra: Object::default(),
    }
}

/// The strongest similarities between chosen units, as their nearest messages and the score.
fn strongest(
    sample: &Sample,
    grouping: &Grouping,
    vectors: &Vectors,
    chosen: &[usize],
    synapses: &HashMap<(usize, usize), Link>,
) -> Vec<(usize, usize, f64)> {
    let near = candidates(sample, grouping, vectors, chosen, synapses);
    let mut counts = vec![0; sample.units.len()];
    let mut parts: Vec<usize> = (0..sample.units.len()).collect();
    let mut between: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut strongest = Vec::new();
    for near in near {
        let groups = [near.one, near.other].map(|unit| grouping.of_unit[unit].unwrap_or_default());
        let is_drawn = if groups[0] != groups[1] {
            let lines = between.entry((groups[0].min(groups[1]), groups[0].max(groups[1]))).or_default();
            *lines += 1;
            *lines == 1
        } else {
            // All lines that hold a group together (its maximum spanning tree, Kruskal 1956), and more strong
            // ones.
            let joins = parts[near.one] != parts[near.other];
            joins || counts[near.one].max(counts[near.other]) < LINES_WITHIN
        };
        if is_drawn {
            if groups[0] == groups[1] {
                counts[near.one] += 1;
                counts[near.other] += 1;
                let (kept, gone) = (parts[near.one], parts[near.other]);
                parts.iter_mut().filter(|part| **part == gone).for_each(|part| *part = kept);
            }
            strongest.push(nearest_messages(sample, vectors, &near));
        }
    }
    strongest
}

/// The chosen units that are near each other, the nearest first: those of one group among themselves, since
/// neighbours may not have been chosen, and those of several groups that are near anyhow or have a synapse.
fn candidates(
    sample: &Sample,
    grouping: &Grouping,
    vectors: &Vectors,
    chosen: &[usize],
    synapses: &HashMap<(usize, usize), Link>,
) -> Vec<Near> {
    let mut near: BTreeMap<(usize, usize), f32> = BTreeMap::new();
    let of_chosen: Vec<Option<Vec<f32>>> = chosen.iter().map(|unit| vectors.of_unit(sample, *unit)).collect();
    let is_group = |group: usize| !grouping.groups[group].is_rest;
    let is_comparable = |one: usize, other: usize| {
        let group = grouping.of_unit[chosen[one]];
        group == grouping.of_unit[chosen[other]] && group.is_some_and(is_group)
    };
    let within = neighbours(&of_chosen, 0.0, is_comparable);
    let within = within.iter().map(|near| ((chosen[near.one], chosen[near.other]), near.similarity));
    let anyhow = grouping.near.iter().map(|near| ((near.one, near.other), near.similarity));
    near.extend(anyhow.chain(within));
    let unit_of = sample.unit_of();
    for ((from, to), link) in synapses {
        let (one, other) = (unit_of[*from].min(unit_of[*to]), unit_of[*from].max(unit_of[*to]));
        if one != other {
            near.entry((one, other)).or_insert(link.score.unwrap_or_default() as f32);
        }
    }
    let mut is_chosen = vec![false; sample.units.len()];
    for unit in chosen {
        is_chosen[*unit] = true;
    }
    let mut near: Vec<Near> = { near.into_iter() }
        .filter(|((one, other), _)| is_chosen[*one] && is_chosen[*other])
        .map(|((one, other), similarity)| Near { one, other, similarity })
        .collect();
    near.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then((a.one, a.other).cmp(&(b.one, b.other))));
    near
}

/// The two messages of two units that are nearest.
fn nearest_messages(sample: &Sample, vectors: &Vectors, near: &Near) -> (usize, usize, f64) {
    let vector = |message: usize| {
        let brief = &sample.briefs[message];
        vectors.of(&brief.text, brief.vector.as_deref())
    };
    let mut best = (sample.units[near.one][0], sample.units[near.other][0], f64::NEG_INFINITY);
    for one in &sample.units[near.one] {
        for other in &sample.units[near.other] {
            if let (Some(a), Some(b)) = (vector(*one), vector(*other)) {
                let similarity = f64::from(dot(&a, &b));
                if similarity > best.2 {
                    best = (*one, *other, similarity);
                }
            }
        }
    }
    // More digits than a vector of 8 bits has would be noise.
    (best.0, best.1, (f64::from(near.similarity) * 1000.0).round() / 1000.0)
}
