//! The collections that are compared with each other: each one alone, or all of a kind in a partition.
//!
//! The reach by which a partition was linked is a fact of the store, so that the partition keeps it.

use crate::error::Result;
use crate::record::{Reach, Scopes};
use crate::store::{Collection, LinkState, Store, reach_fact};

/// Collections of one kind and partition whose records are compared with each other.
pub(super) struct Group {
    pub(super) states: Vec<LinkState>,
    pub(super) reach: Reach,
    /// The reach by which the partition was linked before, if it was.
    before: Option<Reach>,
}

/// The purpose for which groups are listed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Purpose {
    /// To link the records that are not linked yet, by the reach that the partition has.
    Grow,
    /// To follow the settings, which may leave the reach as it is.
    Update,
    /// To rebuild all synapses.
    Rebuild,
}

impl Group {
    pub(super) fn collections(&self) -> Vec<Collection> {
        self.states.iter().map(|state| state.collection.clone()).collect()
    }

    /// The number of vectors with which a record is compared.
    pub(super) fn vectors(&self) -> u64 {
        self.states.iter().map(|state| state.vectors).sum()
    }

    pub(super) fn unlinked(&self) -> u64 {
        self.states.iter().map(|state| state.unlinked).sum()
    }

    /// Whether the partition was linked by another reach.
    pub(super) fn is_changed(&self) -> bool {
        self.before.is_some_and(|before| before != self.reach)
    }

    /// Notes the reach, unless the partition has it.
    pub(super) fn note_reach(&self, store: &mut dyn Store, model: &str) -> Result<()> {
        let Some(first) = self.states.first().filter(|_| self.before != Some(self.reach)) else {
            return Ok(());
        };
        let name = reach_fact(model, &first.collection.scope.partition);
        let value = Some(self.reach).filter(|reach| *reach == Reach::Partition).map(Reach::name);
        if store.fact(&name)?.as_deref() != value {
            store.set_fact(&name, value)?;
        }
        Ok(())
    }
}

/// Lists the groups of some scopes that have vectors of a model; to grow, those with records that are not
/// linked yet. `set` is the reach of the settings. A group of a partition is whole, and where the reach
/// changes, all groups of the partition are listed. Fails if the store cannot be read.
pub(super) fn groups(
    store: &mut dyn Store,
    model: &str,
    set: Option<Reach>,
    scopes: &Scopes,
    purpose: Purpose,
) -> Result<Vec<Group>> {
    let is_growing = purpose == Purpose::Grow;
    let states = store.link_states(model, scopes, is_growing)?;
    let mut groups = Vec::new();
    for chosen in states.chunk_by(|a, b| partition(a) == partition(b)) {
        let whole = if is_growing || matches!(scopes, Scopes::One(_)) {
            let scopes = Scopes::Partition(partition(&chosen[0]).to_owned());
            store.link_states(model, &scopes, false)?
        } else {
            chosen.to_vec()
        };
        let before = reach_before(store, model, &whole)?;
        let reach = match purpose {
            Purpose::Grow => before.or(set),
            Purpose::Update => set.or(before),
            Purpose::Rebuild => set,
        };
        let reach = reach.unwrap_or(Reach::Partition);
        let is_changed = !is_growing && before.is_some_and(|before| before != reach);
        let listed = if is_changed { &whole } else { chosen };
        let parts: Vec<Vec<LinkState>> = match reach {
            Reach::Instance => listed.iter().map(|state| vec![state.clone()]).collect(),
            Reach::Partition => whole_kinds(&whole, listed),
        };
        groups.extend(parts.into_iter().map(|states| Group { states, reach, before }));
    }
    Ok(groups)
}

/// The states of a whole partition, by kind, of the kinds that some of them have.
fn whole_kinds(whole: &[LinkState], some: &[LinkState]) -> Vec<Vec<LinkState>> {
    let mut kinds: Vec<Vec<LinkState>> = Vec::new();
    for listed in some {
        let kind = listed.collection.kind;
        if !kinds.iter().flatten().any(|state| state.collection.kind == kind) {
            kinds.push(whole.iter().filter(|state| state.collection.kind == kind).cloned().collect());
        }
    }
    // A collection that came since the partition was read is linked the next time.
    kinds.retain(|states| !states.is_empty());
    kinds
}

fn partition(state: &LinkState) -> &str {
    &state.collection.scope.partition
}

/// The reach by which a partition was linked, by the states of all its collections; `None` if it was not.
fn reach_before(store: &mut dyn Store, model: &str, states: &[LinkState]) -> Result<Option<Reach>> {
    let Some(first) = states.first().filter(|_| states.iter().any(|state| state.rule.is_some())) else {
        return Ok(None);
    };
    // Earlier releases, which noted no reach, linked within instances.
    let noted = store.fact(&reach_fact(model, partition(first)))?;
    Ok(Some(noted.as_deref().and_then(Reach::named).unwrap_or(Reach::Instance)))
}
