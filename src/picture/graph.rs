//! A graph of messages as it is drawn: some messages of each group, and the strongest links between them.

use super::groups::Grouping;
use super::lines::{Line, lines};
use super::nearest::Vectors;
use super::sample::{Brief, Sample};
use crate::error::Result;
use crate::record::{Reach, Scope, StoredRecord};
use crate::store::{Select, Store, titles};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The options of a graph.
#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// The greatest number of messages.
    pub nodes: usize,
    /// Whether messages that are near no other are shown too.
    pub keep_isolated: bool,
    /// How far apart messages may be that belong together since they are similar.
    pub reach: Reach,
}

/// The groups of the messages of a selection, and links between those that are shown.
#[derive(Debug)]
pub struct Graph {
    /// The messages that are shown, oldest first.
    pub(super) nodes: Vec<Node>,
    /// The largest first.
    pub(super) groups: Vec<Group>,
    pub(super) lines: Vec<Line>,
    /// The number of messages of the selection.
    pub(super) total: usize,
    /// The number of messages that the groups were found from.
    pub(super) sampled: usize,
    /// The messages that are near no other, and are not shown.
    pub(super) isolated: usize,
    /// The number of groups that are not shown, and of the messages in them.
    pub(super) smaller: (usize, usize),
}

/// A message that is shown.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) message: Brief,
    pub(super) group: usize,
    /// The number of its lines.
    pub(super) degree: usize,
}

/// Messages that belong together.
#[derive(Debug)]
pub(super) struct Group {
    /// Whether its messages are near no other.
    pub(super) is_rest: bool,
    /// At most three that distinguish it from the others.
    pub(super) words: Vec<String>,
    /// The messages of the selection that belong to it, and those of them that are shown.
    pub(super) messages: usize,
    pub(super) shown: usize,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) scope: Option<Scope>,
    /// The title of its conversation, if all of it is in one and others are in another.
    pub(super) title: Option<String>,
    /// Its most typical node.
    pub(super) example: usize,
}

impl Graph {
    /// Makes the graph of a selection of messages. Fails if the store cannot be read.
    pub fn read(store: &mut dyn Store, which: &Select, options: &GraphOptions) -> Result<Graph> {
        let sample = Sample::read(store, which)?;
        let vectors = Vectors::new(&sample);
        let grouping = Grouping::find(store, which, &sample, &vectors, options.keep_isolated, options.reach)?;
        let central = centrality(&sample, &grouping);
        let chosen = choose(&sample, &grouping, &central, options.nodes);
        let lines = lines(store, &sample, &grouping, &vectors, &chosen)?;
        let scopes: BTreeSet<Scope> =
            grouping.groups.iter().filter_map(|group| group.scope.clone()).collect();
        let titles = if scopes.len() > 1 { titles(store, &scopes)? } else { BTreeMap::new() };
        Ok(Graph::new(sample, grouping, (&central, &chosen), lines, &titles))
    }

    fn new(
        sample: Sample,
        grouping: Grouping,
        (central, chosen): (&[f64], &[usize]),
        lines: Vec<Line>,
        titles: &BTreeMap<Scope, String>,
    ) -> Graph {
        let sampled = sample.briefs.len();
        let unit_of = sample.unit_of();
        let mut messages: Vec<usize> = chosen.iter().flat_map(|unit| sample.units[*unit].clone()).collect();
        messages.sort_unstable();
        let at: HashMap<usize, usize> =
            messages.iter().enumerate().map(|(at, message)| (*message, at)).collect();
        let mut examples: Vec<(f64, usize)> = vec![(f64::NEG_INFINITY, 0); grouping.groups.len()];
        let mut shown = vec![0; grouping.groups.len()];
        let mut briefs: Vec<Option<Brief>> = sample.briefs.into_iter().map(Some).collect();
        let mut nodes = Vec::new();
        for message in &messages {
            let unit = unit_of[*message];
            if let (Some(group), Some(brief)) = (grouping.of_unit[unit], briefs[*message].take()) {
                shown[group] += 1;
                // Of a question and its answer, the question.
                if central[unit] > examples[group].0 {
                    examples[group] = (central[unit], nodes.len());
                }
                nodes.push(Node { message: brief, group, degree: 0 });
            }
        }
        let lines: Vec<Line> =
            lines.into_iter().map(|line| Line { from: at[&line.from], to: at[&line.to], ..line }).collect();
        for line in &lines {
            nodes[line.from].degree += 1;
            nodes[line.to].degree += 1;
        }
        let groups = grouping.groups.into_iter().zip(shown).zip(examples);
        let groups = groups.map(|((found, shown), (_, example))| Group {
            is_rest: found.is_rest,
            words: found.words,
            messages: found.messages,
            shown,
            first: found.first,
            last: found.last,
            title: found.scope.as_ref().and_then(|scope| titles.get(scope).cloned()),
            scope: found.scope,
            example,
        });
        Graph {
            nodes,
            groups: groups.collect(),
            lines,
            total: sample.total,
            sampled,
            isolated: grouping.isolated,
            smaller: grouping.smaller,
        }
    }

    /// The whole records of the messages that are shown, in their order. Fails if the store cannot be read.
    pub(super) fn records(&self, store: &mut dyn Store, which: &Select) -> Result<Vec<StoredRecord>> {
        let ids: Vec<&str> = self.nodes.iter().map(|node| &*node.message.id).collect();
        let mut records: HashMap<String, StoredRecord> =
            store.get(&ids, which)?.into_iter().map(|record| (record.id.clone(), record)).collect();
        Ok(ids.iter().filter_map(|id| records.remove(*id)).collect())
    }
}

/// How near each unit is to the others of its group: the sum of the similarities, more for a unit with words
/// typical of the group, since units near to many others are often small talk.
fn centrality(sample: &Sample, grouping: &Grouping) -> Vec<f64> {
    let mut central = vec![0.0; sample.units.len()];
    for near in &grouping.near {
        if grouping.of_unit[near.one].is_some() && grouping.of_unit[near.one] == grouping.of_unit[near.other]
        {
            central[near.one] += f64::from(near.similarity);
            central[near.other] += f64::from(near.similarity);
        }
    }
    for (unit, central) in central.iter_mut().enumerate() {
        let Some(group) = grouping.of_unit[unit] else { continue };
        let texts = sample.units[unit].iter().map(|message| sample.briefs[*message].text.to_lowercase());
        let text = texts.collect::<Vec<_>>().join("\n");
        let words = grouping.groups[group].words.iter().filter(|word| text.contains(&word.to_lowercase()));
        *central *= 1.0 + words.count() as f64;
    }
    central
}

/// The units that are shown, in their order: all of the groups if they fit, else the most central of each, of
/// a group the more, the larger it is, by the square root of its size.
fn choose(sample: &Sample, grouping: &Grouping, central: &[f64], most: usize) -> Vec<usize> {
    let mut by_group: Vec<Vec<usize>> = vec![Vec::new(); grouping.groups.len()];
    for (unit, group) in grouping.of_unit.iter().enumerate() {
        if let Some(group) = group {
            by_group[*group].push(unit);
        }
    }
    for units in &mut by_group {
        units.sort_by(|one, other| central[*other].total_cmp(&central[*one]).then(one.cmp(other)));
    }
    let weights: Vec<f64> = grouping.groups.iter().map(|group| (group.messages as f64).sqrt()).collect();
    let mut chosen = Vec::new();
    let mut taken: Vec<usize> = vec![0; by_group.len()];
    let mut remaining = most;
    // One by one, to the group that has least of its share.
    while let Some(group) =
        (0..by_group.len()).filter(|group| taken[*group] < by_group[*group].len()).min_by_key(|group| {
            let share = taken[*group] as f64 / weights[*group];
            ((share * 1e6) as u64, Reverse(by_group[*group].len()), *group)
        })
    {
        let unit = by_group[group][taken[group]];
        let Some(left) = remaining.checked_sub(sample.units[unit].len()) else { break };
        remaining = left;
        taken[group] += 1;
        chosen.push(unit);
    }
    chosen.sort_unstable();
    chosen
}
