//! Synapses: which messages of a scope resemble each other, by the vectors that they have.
//!
//! A message is linked when its vector is there: it is compared with all that are linked already, so that the
//! graph grows with the store and is never made as a whole. Neighbours in time are compared like all others:
//! what follows them needs no synapse.

use crate::config::Settings;
use crate::embed;
use crate::error::{Error, Result};
use crate::fill;
use crate::record::{Link, SYNAPSE, Scope, Scopes};
use crate::store::Store;
use crate::store::graph::{Alike, Change, Linked, Of, Rule};
use std::collections::{BTreeMap, HashMap};

/// How many messages are compared and linked at a time: what is stopped has lost no more.
const SLAB: usize = 512;

/// How the synapses of a store are kept.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By whose vectors.
    pub model: String,
    pub rule: Rule,
}

impl Plan {
    /// The plan of the settings for what a store holds, with another threshold or degree than theirs if one is
    /// given; `None` for a store without vectors. Errors if nothing can be as near as the threshold.
    pub fn of(
        store: &mut dyn Store,
        settings: &Settings,
        threshold: Option<f64>,
        degree: Option<usize>,
    ) -> Result<Option<Plan>> {
        let Some(model) = fill::model_of(store)? else { return Ok(None) };
        let threshold = threshold
            .or_else(|| settings.real("link.threshold"))
            .unwrap_or_else(|| embed::synapse_floor(settings, &model));
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(Error::new(format!(
                "link.threshold: expected a cosine above 0, at most 1, found {threshold}"
            )));
        }
        let set = settings.integer("link.max_degree").and_then(|degree| usize::try_from(degree).ok());
        let degree = degree.or(set).unwrap_or_default();
        Ok(Some(Plan { model, rule: Rule { threshold, degree } }))
    }
}

/// The links that a scope was given, by their ends.
pub type Made = BTreeMap<(String, String), Link>;

/// Links messages that have a vector and are not linked yet, in some scopes, `most` of them. `report` gets how
/// many are done, and of how many; `made` the synapses of each scope when it is done.
pub fn grow(
    store: &mut dyn Store,
    plan: &Plan,
    scopes: &Scopes,
    most: usize,
    report: &mut dyn FnMut(u64, u64),
    made: &mut dyn FnMut(Made) -> Result<()>,
) -> Result<()> {
    let linked = store.linked(&plan.model, scopes)?;
    let total = linked.iter().map(|linked| linked.waiting).sum();
    let mut done = 0;
    for Linked { scope, .. } in linked.iter().filter(|linked| linked.waiting > 0) {
        let mut links = Made::new();
        loop {
            report(done as u64, total);
            let slab = compared(store, plan, scope, Of::Waiting(SLAB.min(most - done)))?;
            if slab.is_empty() {
                break;
            }
            let around = near_of(store, &slab)?;
            let changes = changes(plan, &slab, around, &mut links);
            store.relink(&plan.model, scope, plan.rule, &changes)?;
            done += slab.len();
        }
        made(links)?;
    }
    Ok(())
}

/// Brings the synapses of some scopes up to date with the plan: what is too weak or of another model is removed,
/// and where the rule allows what it did not before, or with `anew`, the graph is made from nothing.
pub fn update(
    store: &mut dyn Store,
    plan: &Plan,
    scopes: &Scopes,
    anew: bool,
    report: &mut dyn FnMut(u64, u64),
    made: &mut dyn FnMut(Made) -> Result<()>,
) -> Result<()> {
    for Linked { scope, rule, .. } in store.linked(&plan.model, scopes)? {
        store.prune(&plan.model, &scope, plan.rule, anew || widened(rule, plan.rule))?;
    }
    grow(store, plan, scopes, usize::MAX, report, made)
}

/// What `update` would make, in one scope after the other. Nothing is written.
pub fn rehearse(
    store: &mut dyn Store,
    plan: &Plan,
    scopes: &Scopes,
    anew: bool,
    made: &mut dyn FnMut(Made) -> Result<()>,
) -> Result<()> {
    for Linked { scope, rule, .. } in store.linked(&plan.model, scopes)? {
        let anew = anew || widened(rule, plan.rule);
        let slab = compared(store, plan, &scope, if anew { Of::All } else { Of::Waiting(usize::MAX) })?;
        let around = if anew { Vec::new() } else { near_of(store, &slab)? };
        let mut links = Made::new();
        changes(plan, &slab, around, &mut links);
        made(links)?;
    }
    Ok(())
}

/// Whether a rule asks for more than what was linked by another can have.
fn widened(before: Option<Rule>, now: Rule) -> bool {
    before.is_some_and(|before| now.threshold < before.threshold || now.degree != before.degree)
}

fn compared(store: &mut dyn Store, plan: &Plan, scope: &Scope, of: Of) -> Result<Vec<Alike>> {
    store.alike(&plan.model, scope, of, plan.rule.threshold, plan.rule.degree)
}

/// The synapses that messages and what they resemble have already.
fn near_of(store: &mut dyn Store, slab: &[Alike]) -> Result<Vec<Link>> {
    let resembling = slab.iter().filter(|alike| !alike.near.is_empty());
    let mut ids: Vec<&str> = resembling
        .flat_map(|alike| alike.near.iter().map(|near| near.id.as_str()).chain([alike.id.as_str()]))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let mut links = store.links(&ids)?;
    links.retain(|link| link.rel == SYNAPSE);
    Ok(links)
}

/// The synapses of messages, by their ids: how strong each is, and to whom.
#[derive(Default)]
struct Ends(HashMap<String, HashMap<String, f64>>);

impl Ends {
    fn add(&mut self, one: &str, other: &str, score: f64) {
        for (from, to) in [(one, other), (other, one)] {
            self.0.entry(from.to_owned()).or_default().insert(to.to_owned(), score);
        }
    }

    fn remove(&mut self, one: &str, other: &str) {
        for (from, to) in [(one, other), (other, one)] {
            self.0.get_mut(from).map(|ends| ends.remove(to));
        }
    }

    fn degree(&self, id: &str) -> usize {
        self.0.get(id).map_or(0, HashMap::len)
    }

    fn has(&self, one: &str, other: &str) -> bool {
        self.0.get(one).is_some_and(|ends| ends.contains_key(other))
    }

    /// The weakest synapse of a message; of equals that with the least id.
    fn weakest(&self, id: &str) -> Option<(String, f64)> {
        let ends = self.0.get(id)?.iter();
        let weakest = ends.min_by(|a, b| a.1.total_cmp(b.1).then_with(|| a.0.cmp(b.0)))?;
        Some((weakest.0.clone(), *weakest.1))
    }
}

/// What follows from what messages resemble: each gets its strongest synapses, as many as it may have, and takes
/// the place of a weaker one where another has all that it may. `made` holds what came of it.
fn changes<'a>(plan: &Plan, slab: &'a [Alike], around: Vec<Link>, made: &mut Made) -> Vec<Change<'a>> {
    let mut ends = Ends::default();
    for link in &around {
        ends.add(&link.from, &link.to, link.score.unwrap_or(f64::NEG_INFINITY));
    }
    let mut changes = Vec::new();
    for of in slab {
        let mut change = Change { of, add: Vec::new(), remove: Vec::new() };
        for near in &of.near {
            if ends.degree(&of.id) >= plan.rule.degree {
                break;
            }
            if ends.has(&of.id, &near.id) {
                continue;
            }
            if ends.degree(&near.id) >= plan.rule.degree {
                match ends.weakest(&near.id) {
                    Some((other, score)) if score < near.score => {
                        ends.remove(&near.id, &other);
                        let gone = Link::synapse(&near.id, &other, 0, score, &plan.model);
                        made.remove(&(gone.from.clone(), gone.to.clone()));
                        change.remove.push((gone.from, gone.to));
                    }
                    _ => continue,
                }
            }
            let timestamp = of.timestamp.max(near.timestamp);
            let link = Link::synapse(&of.id, &near.id, timestamp, near.score, &plan.model);
            ends.add(&of.id, &near.id, near.score);
            made.insert((link.from.clone(), link.to.clone()), link.clone());
            change.add.push(link);
        }
        changes.push(change);
    }
    changes
}
