//! The groups of a sample: units that are near each other, that a link joins, or that follow each other in a
//! sitting.

use super::communities::communities;
use super::nearest::{Near, Vectors, dot, min_similarity, neighbours, unit_length};
use super::sample::{Brief, Sample};
use super::words::{UnitText, distinctive};
use crate::error::Result;
use crate::record::{Link, RESPONDED_WITH, Reach, Record, Role, Scope};
use crate::store::{Select, Store, Walk};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Two units that follow each other within this time, in milliseconds, belong to one sitting.
const SITTING: i64 = 30 * 60 * 1000;

/// The weight of following each other, as a similarity: less than that of most neighbours.
const SITTING_WEIGHT: f64 = 0.3;

/// The weight of a link without a score.
const LINK_WEIGHT: f64 = 1.0;

/// The greatest number of groups: more colours cannot be told apart.
pub(super) const MAX_GROUPS: usize = 12;

/// The number of records whose links are looked up at once.
const BATCH: usize = 1000;

/// The groups of a sample, the largest first.
pub(super) struct Grouping {
    /// The group of each unit; `None` for one that is not in the picture.
    pub(super) of_unit: Vec<Option<usize>>,
    pub(super) groups: Vec<GroupSize>,
    /// The messages that belong to none.
    pub(super) isolated: usize,
    /// The number of groups that are too small for the picture, and of the messages in them.
    pub(super) smaller: (usize, usize),
    /// The units that are near each other.
    pub(super) near: Vec<Near>,
}

/// A group as it is found.
pub(super) struct GroupSize {
    /// Whether its units are near no other.
    pub(super) is_rest: bool,
    /// None, if its texts have no typical word.
    pub(super) words: Vec<String>,
    /// The messages of the whole selection that belong to it.
    pub(super) messages: usize,
    /// The times of the first and the last of them in the sample.
    pub(super) first: i64,
    pub(super) last: i64,
    /// The scope of all of them, if it is one.
    pub(super) scope: Option<Scope>,
}

impl Grouping {
    /// Finds the groups of a sample of a selection. Units within the reach of each other may be similar. With
    /// `keep_isolated`, units of no group are the last group.
    pub(super) fn find(
        store: &mut dyn Store,
        which: &Select,
        sample: &Sample,
        vectors: &Vectors,
        keep_isolated: bool,
        reach: Reach,
    ) -> Result<Grouping> {
        let of_units: Vec<Option<Vec<f32>>> =
            (0..sample.units.len()).map(|unit| vectors.of_unit(sample, unit)).collect();
        let min_similarity = min_similarity(of_units.len());
        let near = neighbours(&of_units, min_similarity, |one, other| {
            reach.around(sample.scope(one)).contains(sample.scope(other))
        });
        let edges = edges(sample, &near, &links(store, sample)?);
        let communities = communities(sample.units.len(), &edges);
        let mut sizes = members(&communities);
        sizes.retain(|_, units| units.len() > 1);
        let mut sizes: Vec<Vec<usize>> = sizes.into_values().collect();
        let counts = if sample.stride == 1 {
            let count = |units: &Vec<usize>| units.iter().map(|unit| sample.units[*unit].len()).sum();
            sizes.iter().map(count).collect()
        } else {
            counts_of_all(store, which, vectors, &centroids(&of_units, &sizes, vectors), min_similarity)?
        };
        let isolated = sample.total.saturating_sub(counts.iter().sum());
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|at| (Reverse(counts[*at]), sizes[*at][0]));
        let (shown, smaller) = order.split_at(order.len().min(MAX_GROUPS));
        let smaller = (smaller.len(), smaller.iter().map(|at| counts[*at]).sum());
        let counts: Vec<usize> = shown.iter().map(|at| counts[*at]).collect();
        let units: Vec<Vec<usize>> = shown.iter().map(|at| std::mem::take(&mut sizes[*at])).collect();
        let mut grouping =
            Grouping { of_unit: vec![None; sample.units.len()], groups: Vec::new(), isolated, smaller, near };
        grouping.place(&units);
        let words = distinctive(&texts(sample, &grouping.of_unit), units.len());
        let groups = units.iter().zip(counts).zip(words);
        let groups = groups.map(|((units, count), words)| GroupSize::new(sample, units, count, words));
        grouping.groups = groups.collect();
        // A picture of nothing would say less than one of messages that have nothing in common.
        if keep_isolated || units.is_empty() {
            let alone = members(&communities).into_values().filter(|units| units.len() == 1);
            grouping.add_rest(sample, units, alone.flatten().collect());
        }
        Ok(grouping)
    }

    /// Notes the groups of units.
    fn place(&mut self, groups: &[Vec<usize>]) {
        for (group, units) in groups.iter().enumerate() {
            for unit in units {
                self.of_unit[*unit] = Some(group);
            }
        }
    }

    /// Adds the isolated units as the last group.
    fn add_rest(&mut self, sample: &Sample, mut groups: Vec<Vec<usize>>, alone: Vec<usize>) {
        if !alone.is_empty() {
            let rest = GroupSize::new(sample, &alone, std::mem::take(&mut self.isolated), Vec::new());
            self.groups.push(GroupSize { is_rest: true, ..rest });
            groups.push(alone);
            self.place(&groups);
        }
    }
}

impl GroupSize {
    fn new(sample: &Sample, units: &[usize], messages: usize, words: Vec<String>) -> GroupSize {
        let times =
            || units.iter().flat_map(|unit| &sample.units[*unit]).map(|at| sample.briefs[*at].timestamp);
        let scope = units.first().map(|unit| sample.scope(*unit).clone());
        GroupSize {
            is_rest: false,
            words,
            messages,
            first: times().min().unwrap_or_default(),
            last: times().max().unwrap_or_default(),
            scope: scope.filter(|scope| units.iter().all(|unit| sample.scope(*unit) == scope)),
        }
    }
}

/// The units of each community.
fn members(communities: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (unit, community) in communities.iter().enumerate() {
        members.entry(*community).or_default().push(unit);
    }
    members
}

/// The stored links between messages of the sample, by their positions.
fn links(store: &mut dyn Store, sample: &Sample) -> Result<Vec<(usize, usize, Link)>> {
    let at: HashMap<&str, usize> =
        sample.briefs.iter().enumerate().map(|(at, brief)| (&*brief.id, at)).collect();
    let ids: Vec<&str> = sample.briefs.iter().map(|brief| &*brief.id).collect();
    let mut links = Vec::new();
    for ids in ids.chunks(BATCH) {
        for link in store.links(ids, None)? {
            if let (Some(from), Some(to)) = (at.get(&*link.from), at.get(&*link.to)) {
                links.push((*from, *to, link));
            }
        }
    }
    // A link whose ends are in two batches comes twice.
    links.sort_by(|(a, b, one), (c, d, other)| (a, b, &one.rel).cmp(&(c, d, &other.rel)));
    links.dedup_by(|(a, b, one), (c, d, other)| (a, b, &one.rel) == (c, d, &other.rel));
    Ok(links)
}

/// The edges between units, each once, with their weights.
fn edges(sample: &Sample, near: &[Near], links: &[(usize, usize, Link)]) -> Vec<(usize, usize, f64)> {
    let mut edges: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for Near { one, other, similarity } in near {
        edges.insert((*one, *other), f64::from(*similarity));
    }
    let unit_of = sample.unit_of();
    for (from, to, link) in links.iter().filter(|(.., link)| link.rel != RESPONDED_WITH) {
        let (one, other) = (unit_of[*from].min(unit_of[*to]), unit_of[*from].max(unit_of[*to]));
        if one != other {
            let weight = edges.entry((one, other)).or_default();
            *weight = weight.max(link.score.unwrap_or(LINK_WEIGHT).clamp(0.0, LINK_WEIGHT));
        }
    }
    let mut is_related = vec![false; sample.units.len()];
    for (one, other) in edges.keys() {
        (is_related[*one], is_related[*other]) = (true, true);
    }
    if sample.stride == 1 {
        for (one, other) in sittings(sample) {
            if is_related[one] && is_related[other] {
                *edges.entry((one, other)).or_default() += SITTING_WEIGHT;
            }
        }
    }
    edges.into_iter().map(|((one, other), weight)| (one, other, weight)).collect()
}

/// The pairs of units that follow each other in their scope and in one sitting.
fn sittings(sample: &Sample) -> Vec<(usize, usize)> {
    let mut last: HashMap<&Scope, usize> = HashMap::new();
    let mut pairs = Vec::new();
    for unit in 0..sample.units.len() {
        let time =
            |unit: usize, end: fn(&[usize]) -> usize| sample.briefs[end(&sample.units[unit])].timestamp;
        let begins = time(unit, |messages| messages[0]);
        if let Some(before) = last.insert(sample.scope(unit), unit) {
            let ended = time(before, |messages| messages[messages.len() - 1]);
            if begins - ended < SITTING {
                pairs.push((before, unit));
            }
        }
    }
    pairs
}

/// The centre of each group, of length 1; `None` if its sum is zero.
fn centroids(
    of_units: &[Option<Vec<f32>>],
    groups: &[Vec<usize>],
    vectors: &Vectors,
) -> Vec<Option<Vec<f32>>> {
    let centre = |units: &Vec<usize>| {
        let mut sum = vec![0.0; vectors.dim()];
        for vector in units.iter().filter_map(|unit| of_units[*unit].as_ref()) {
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
        }
        unit_length(sum)
    };
    groups.iter().map(centre).collect()
}

/// The number of messages of a whole selection that are nearest to each centre (of length 1), if near enough
/// to any.
fn counts_of_all(
    store: &mut dyn Store,
    which: &Select,
    vectors: &Vectors,
    centroids: &[Option<Vec<f32>>],
    min_similarity: f32,
) -> Result<Vec<usize>> {
    let mut counts = vec![0; centroids.len()];
    store.walk(&Walk { vectors: true, ..Walk::records(which.clone()) }, &mut |record| {
        let Record::Stored(message) = record else { return Ok(()) };
        let numbers = message.vector.as_ref().map(|vector| vector.numbers.as_slice());
        let Some(vector) = vectors.of(&message.text, numbers) else { return Ok(()) };
        let similarity = |at: usize| centroids[at].as_ref().map_or(-1.0, |centre| dot(centre, &vector));
        let nearest = (0..centroids.len()).map(|at| (similarity(at), at));
        let nearest = nearest.max_by(|(one, a), (other, b)| one.total_cmp(other).then(b.cmp(a)));
        if let Some((_, at)) = nearest.filter(|(similarity, _)| *similarity >= min_similarity) {
            counts[at] += 1;
        }
        Ok(())
    })?;
    Ok(counts)
}

/// The text of each unit, with its group and the number of its scope.
fn texts(sample: &Sample, of_unit: &[Option<usize>]) -> Vec<UnitText> {
    let mut scopes: HashMap<&Scope, usize> = HashMap::new();
    let texts = sample.units.iter().zip(of_unit).enumerate().map(|(unit, (messages, group))| {
        let joined = |of: &dyn Fn(&Brief) -> bool| {
            let briefs = messages.iter().map(|message| &sample.briefs[*message]).filter(|brief| of(brief));
            briefs.map(|brief| brief.text.as_str()).collect::<Vec<_>>().join("\n")
        };
        let (question, text) = (joined(&|brief| brief.role == Some(Role::User)), joined(&|_| true));
        let next = scopes.len();
        let scope = *scopes.entry(sample.scope(unit)).or_insert(next);
        UnitText { question, text, group: *group, scope }
    });
    texts.collect()
}
