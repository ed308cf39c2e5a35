//! Synapses: which records of a kind in a partition resemble each other, by the vectors that they have.
//!
//! A record is linked as soon as it has a vector: it is compared with all records that are linked already, so
//! that the graph grows with the store and is never made as a whole. Neighbours in time are compared like all
//! others.

use super::groups::{Group, Purpose, groups};
use crate::backfill;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed;
use crate::error::Result;
use crate::record::{Link, Reach, SYNAPSE, Scopes, unexpected};
use crate::store::{Changes, Compare, Compared, Rule, Store};
use std::collections::{HashMap, HashSet};

/// The number of records that are compared and linked at a time: an interrupted run loses no more than these.
const BATCH_RECORDS: usize = 8192;

/// The number of records that are linked before a search, and the number of vectors that they are compared
/// with together: 6 of 100 000 records take 15 ms. At least one is linked.
const CATCH_UP_RECORDS: usize = 64;
const CATCH_UP_COMPARISONS: usize = 640_000;

/// The rule for the synapses of a store.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The model whose vectors are compared.
    pub model: String,
    pub rule: Rule,
    /// How far around it a record is compared; `None` if the partition decides, which keeps what it has.
    pub reach: Option<Reach>,
}

impl Plan {
    /// The plan of the settings for a store, with the given threshold or degree instead of theirs; `None` for
    /// a store without vectors. Errors if no cosine can reach the threshold.
    pub fn from_settings(
        store: &mut dyn Store,
        settings: &Settings,
        threshold: Option<f64>,
        degree: Option<usize>,
    ) -> Result<Option<Plan>> {
        let threshold = checked_threshold(settings, threshold)?;
        match backfill::model_of(store)? {
            Some(model) => Plan::for_model(model, settings, threshold, degree).map(Some),
            None => Ok(None),
        }
    }

    fn for_model(
        model: String,
        settings: &Settings,
        threshold: Option<f64>,
        degree: Option<usize>,
    ) -> Result<Plan> {
        let set = checked_threshold(settings, threshold)?;
        let threshold = set.unwrap_or_else(|| embed::synapse_threshold(settings, &model));
        let set = settings.integer("link.max_degree").and_then(|degree| usize::try_from(degree).ok());
        let degree = degree.or(set).unwrap_or_default();
        let reach = reach(settings);
        Ok(Plan { model, rule: Rule { threshold, degree }, reach })
    }
}

/// The reach of the settings; `None` if the store decides.
pub fn reach(settings: &Settings) -> Option<Reach> {
    settings.text("link.reach").and_then(|name| Reach::named(&name))
}

/// The threshold that is given, else that of the settings. Errors if no cosine can reach it.
fn checked_threshold(settings: &Settings, threshold: Option<f64>) -> Result<Option<f64>> {
    let set = threshold.or_else(|| settings.real("link.threshold"));
    match set.filter(|set| !(*set > 0.0 && *set <= 1.0)) {
        Some(wrong) => Err(unexpected("link.threshold", "a cosine above 0, at most 1", &wrong.to_string())),
        None => Ok(set),
    }
}

/// Links at most `limit` records in some scopes that have a vector and are not linked yet; where a partition
/// is linked as a whole, of all its instances. `report` gets how many are done, and of how many; `on_link`
/// gets each new synapse, group by group, in the order of their ends. Fails if the store or `on_link` does.
pub fn grow(
    store: &mut dyn Store,
    plan: &Plan,
    scopes: &Scopes,
    limit: usize,
    report: &mut dyn FnMut(u64, u64),
    on_link: &mut dyn FnMut(Link) -> Result<()>,
) -> Result<()> {
    let groups = groups(store, &plan.model, plan.reach, scopes, Purpose::Grow)?;
    let total = groups.iter().map(Group::unlinked).sum();
    let mut done = 0;
    for group in &groups {
        group.note_reach(store, &plan.model)?;
        let (mut graph, mut links) = (SynapseGraph::default(), LinkChanges::default());
        loop {
            report(done as u64, total);
            let batch = compared(store, plan, group, Compare::Unlinked(BATCH_RECORDS.min(limit - done)))?;
            if batch.is_empty() {
                break;
            }
            graph.read(store, &batch)?;
            let changes = graph.grow(&batch, plan.rule.degree);
            if store.relink(&plan.model, plan.rule, &batch, &changes)? {
                links.track(changes, &plan.model);
                done += batch.len();
            } else {
                graph = SynapseGraph::default();
            }
        }
        links.into_remaining().into_iter().try_for_each(&mut *on_link)?;
    }
    Ok(())
}

/// Links a few of the newest unlinked records that have a vector, before their links are followed. Leaves
/// them to another process that links already. A failure is noted.
pub fn catch_up(store: &mut dyn Store, settings: &Settings, scopes: &Scopes, diagnostics: &Diagnostics) {
    if let Err(error) = link_newest(store, settings, scopes) {
        diagnostics.note(format_args!("{error}; some messages are not linked yet"));
    }
}

fn link_newest(store: &mut dyn Store, settings: &Settings, scopes: &Scopes) -> Result<()> {
    let Some(model) = backfill::model_of(store)? else { return Ok(()) };
    if store.link_states(&model, scopes, true)?.is_empty() {
        return Ok(());
    }
    let Some(_claim) = store.claim("link")? else { return Ok(()) };
    let plan = Plan::for_model(model, settings, None, None)?;
    let (mut records, mut comparisons) = (CATCH_UP_RECORDS, CATCH_UP_COMPARISONS);
    for group in groups(store, &plan.model, plan.reach, scopes, Purpose::Grow)? {
        let each = usize::try_from(group.vectors()).unwrap_or(usize::MAX).max(1);
        let limit = records.min((comparisons / each).max(1));
        let batch = compared(store, &plan, &group, Compare::Newest(limit))?;
        if batch.is_empty() {
            continue;
        }
        group.note_reach(store, &plan.model)?;
        let mut graph = SynapseGraph::default();
        graph.read(store, &batch)?;
        let changes = graph.grow(&batch, plan.rule.degree);
        // A record that has got another vector meanwhile is left to the next search.
        store.relink(&plan.model, plan.rule, &batch, &changes)?;
        records -= batch.len();
        comparisons = comparisons.saturating_sub(batch.len().saturating_mul(each));
        if records == 0 || comparisons == 0 {
            break;
        }
    }
    Ok(())
}

/// The links that were made, and the ends of those that were displaced again: no two messages are compared
/// twice.
#[derive(Default)]
struct LinkChanges {
    made: Vec<Link>,
    removed: HashSet<(String, String)>,
}

impl LinkChanges {
    fn track(&mut self, changes: Changes, model: &str) {
        self.made.extend(
            changes
                .add
                .into_iter()
                .map(|(of, near)| Link::synapse(&of.id, &near.id, of.time_with(near), near.score, model)),
        );
        self.removed.extend(changes.remove);
    }

    /// The links that were made and not displaced, in the order of their ends.
    fn into_remaining(self) -> Vec<Link> {
        let LinkChanges { mut made, removed } = self;
        if !removed.is_empty() {
            made.retain(|link| !removed.contains(&(link.from.clone(), link.to.clone())));
        }
        made.sort_unstable_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
        made
    }
}

/// Brings the synapses of some scopes up to date with the plan: removes those that are too weak or of another
/// model. If the rule allows more than before, or the reach is another, or with `rebuild`, rebuilds the
/// graph. Fails if the store or `on_link` does.
pub fn update(
    store: &mut dyn Store,
    plan: &Plan,
    scopes: &Scopes,
    rebuild: bool,
    report: &mut dyn FnMut(u64, u64),
    on_link: &mut dyn FnMut(Link) -> Result<()>,
) -> Result<()> {
    let groups = groups(store, &plan.model, plan.reach, scopes, purpose(rebuild))?;
    for group in &groups {
        let rebuild = rebuild || is_widened(group, plan);
        for state in &group.states {
            if rebuild || state.foreign_synapses || state.rule != Some(plan.rule) {
                store.prune(&plan.model, &state.collection, plan.rule, rebuild)?;
            }
        }
    }
    // Only then, so that an interrupted change of the reach is begun again.
    for group in &groups {
        group.note_reach(store, &plan.model)?;
    }
    let is_changed = groups.iter().any(Group::is_changed);
    match scopes {
        Scopes::One(scope) if is_changed => {
            let partition = Scopes::Partition(scope.partition.clone());
            grow(store, plan, &partition, usize::MAX, report, on_link)
        }
        scopes => grow(store, plan, scopes, usize::MAX, report, on_link),
    }
}

/// Gives the synapses that `update` would make, one group after the other, and writes nothing.
pub fn dry_run(
    store: &mut dyn Store,
    plan: &Plan,
    scopes: &Scopes,
    rebuild: bool,
    on_link: &mut dyn FnMut(Link) -> Result<()>,
) -> Result<()> {
    for group in groups(store, &plan.model, plan.reach, scopes, purpose(rebuild))? {
        let rebuild = rebuild || is_widened(&group, plan);
        let which = if rebuild { Compare::All } else { Compare::Unlinked(usize::MAX) };
        let batch = compared(store, plan, &group, which)?;
        let (mut graph, mut links) = (SynapseGraph::default(), LinkChanges::default());
        if !rebuild {
            graph.read(store, &batch)?;
        }
        links.track(graph.grow(&batch, plan.rule.degree), &plan.model);
        links.into_remaining().into_iter().try_for_each(&mut *on_link)?;
    }
    Ok(())
}

fn purpose(rebuild: bool) -> Purpose {
    if rebuild { Purpose::Rebuild } else { Purpose::Update }
}

/// Whether a plan allows synapses in a group that the rules before did not.
fn is_widened(group: &Group, plan: &Plan) -> bool {
    let now = plan.rule;
    let widens = |before: Rule| now.threshold < before.threshold || now.degree != before.degree;
    group.is_changed() || group.states.iter().any(|state| state.rule.is_some_and(widens))
}

fn compared(store: &mut dyn Store, plan: &Plan, group: &Group, which: Compare) -> Result<Vec<Compared>> {
    Ok(store.compare(&plan.model, &group.collections(), which, plan.rule.threshold, plan.rule.degree)?)
}

/// The synapses of a group, as far as they were read, and those that are made.
#[derive(Default)]
struct SynapseGraph {
    /// The positions of records in the lists below, by their ids.
    places: HashMap<String, usize>,
    ids: Vec<String>,
    /// The records that each one is linked with, and how strongly.
    ends: Vec<Vec<(usize, f64)>>,
    /// Whether all links of the record were read.
    read: Vec<bool>,
}

impl SynapseGraph {
    /// Reads the synapses that the records of a batch, and the records that they resemble, have already.
    fn read(&mut self, store: &mut dyn Store, batch: &[Compared]) -> Result<()> {
        let mut new = Vec::new();
        for of in batch.iter().filter(|of| !of.near.is_empty()) {
            for id in of.near.iter().map(|near| &near.id).chain([&of.id]) {
                let place = self.place(id);
                if !std::mem::replace(&mut self.read[place], true) {
                    new.push(id.as_str());
                }
            }
        }
        for link in store.links(&new, Some(SYNAPSE))? {
            let (from, to) = (self.place(&link.from), self.place(&link.to));
            // The link may have been read from its other end. An imported one without a score gives way
            // first.
            if !self.are_linked(from, to) {
                self.connect(from, to, link.score.unwrap_or(f64::NEG_INFINITY));
            }
        }
        Ok(())
    }

    fn place(&mut self, id: &str) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        self.places.insert(id.to_owned(), self.ids.len());
        self.ids.push(id.to_owned());
        self.ends.push(Vec::new());
        self.read.push(false);
        self.ids.len() - 1
    }

    fn are_linked(&self, one: usize, other: usize) -> bool {
        self.ends[one].iter().any(|(end, _)| *end == other)
    }

    fn connect(&mut self, one: usize, other: usize, score: f64) {
        self.ends[one].push((other, score));
        self.ends[other].push((one, score));
    }

    /// Adds the synapses of a batch: each record gets its strongest ones, up to `degree`, and displaces a
    /// weaker one where the other record has `degree` already.
    fn grow<'a>(&mut self, batch: &'a [Compared], degree: usize) -> Changes<'a> {
        let mut changes = Changes::default();
        let mut added = HashMap::new();
        for of in batch {
            let place = self.place(&of.id);
            for near in &of.near {
                let other = self.place(&near.id);
                if self.ends[place].len() >= degree {
                    break;
                }
                if self.are_linked(place, other) {
                    continue;
                }
                if self.ends[other].len() >= degree {
                    match self.weakest(other) {
                        Some((weakest, score)) if score < near.score => {
                            self.disconnect(other, weakest);
                            // A synapse that is made and displaced within a batch was never stored.
                            if added.remove(&ordered(other, weakest)).is_none() {
                                changes.remove.push(self.ends_of(other, weakest));
                            }
                        }
                        _ => continue,
                    }
                }
                self.connect(place, other, near.score);
                added.insert(ordered(place, other), (of, near));
            }
        }
        changes.add = added.into_values().collect();
        changes
    }

    /// The weakest synapse of a record; among equals the one with the least id.
    fn weakest(&self, place: usize) -> Option<(usize, f64)> {
        let weaker = |a: &&(usize, f64), b: &&(usize, f64)| {
            a.1.total_cmp(&b.1).then_with(|| self.ids[a.0].cmp(&self.ids[b.0]))
        };
        self.ends[place].iter().min_by(weaker).copied()
    }

    fn disconnect(&mut self, one: usize, other: usize) {
        self.ends[one].retain(|(end, _)| *end != other);
        self.ends[other].retain(|(end, _)| *end != one);
    }

    /// The ends of a synapse as it is stored.
    fn ends_of(&self, one: usize, other: usize) -> (String, String) {
        let (one, other) = (&self.ids[one], &self.ids[other]);
        let (from, to) = if one < other { (one, other) } else { (other, one) };
        (from.clone(), to.clone())
    }
}

fn ordered(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
