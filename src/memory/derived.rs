//! The members of a memory that are derived from signals and links whenever it is shown.

use super::confidence::{Beta, Evidence, PriorRule, Weights};
use crate::config::Settings;
use crate::error::Result;
use crate::record::{
    ARCHIVED_INTO, CONSOLIDATED_INTO, MEMORY, Object, Origin, SIGNAL, Scopes, SignalType, StoredRecord, time,
};
use crate::store::{Select, Store};
use std::collections::{BTreeMap, BTreeSet};

/// The state of a memory that is recalled.
pub(super) const ACTIVE: &str = "active";
/// The state of one whose place another has taken.
pub(super) const ARCHIVED: &str = "archived";

/// The least confidence of memories that are found, if a person or a program wrote them, and of all others.
const EXPLICIT_FLOOR: f64 = 0.7;
const OTHER_FLOOR: f64 = 0.5;
/// The tolerance of comparisons of confidences.
const TOLERANCE: f64 = 1e-9;

/// The number of memories whose evidence is read together.
const BATCH: usize = 1000;

impl PriorRule {
    /// Reads `memory.prior_strength` and `memory.prior`.
    pub fn from_settings(settings: &Settings) -> PriorRule {
        PriorRule {
            strength: settings.real("memory.prior_strength").unwrap_or(4.0),
            uniform: settings.text("memory.prior").as_deref() == Some("uniform"),
        }
    }
}

/// Sets the derived members of the memories among some records. Fails if the store cannot be read.
pub fn derive<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a mut StoredRecord>,
    rule: PriorRule,
) -> Result<()> {
    derive_members(store, records, rule, Members { times: true, evidence: true })
}

/// As `derive`, without `alpha`, `beta` and `signals`, which earlier releases would keep as unknown members.
pub fn derive_for_export<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a mut StoredRecord>,
    rule: PriorRule,
) -> Result<()> {
    derive_members(store, records, rule, Members { times: true, evidence: false })
}

/// As `derive`, without `updated_at`, for which the last signal of each memory would be read; see
/// `derive_times`.
pub fn derive_untimed<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a mut StoredRecord>,
    rule: PriorRule,
) -> Result<()> {
    derive_members(store, records, rule, Members { times: false, evidence: true })
}

/// Sets `updated_at` of the memories among `records`, which must be active, after `derive_untimed`.
pub fn derive_times<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a mut StoredRecord>,
) -> Result<()> {
    let memories: Vec<&mut StoredRecord> =
        records.into_iter().filter(|record| record.kind == &MEMORY).collect();
    let ids: Vec<String> = memories.iter().map(|memory| memory.id.clone()).collect();
    let last_signals = store.last_times(&SIGNAL, &ids.iter().map(String::as_str).collect::<Vec<_>>())?;
    for memory in memories {
        let signal = last_signals.get(&memory.id).copied();
        let updated_at = signal.map_or(memory.timestamp, |at| at.max(memory.timestamp));
        memory.members.set_text("updated_at", &time::rfc3339(updated_at));
    }
    Ok(())
}

/// The derived members that not all callers want.
#[derive(Clone, Copy)]
struct Members {
    /// `updated_at`.
    times: bool,
    /// `alpha`, `beta` and `signals`.
    evidence: bool,
}

fn derive_members<'a>(
    store: &mut dyn Store,
    records: impl IntoIterator<Item = &'a mut StoredRecord>,
    rule: PriorRule,
    wanted: Members,
) -> Result<()> {
    let mut memories: Vec<&mut StoredRecord> =
        records.into_iter().filter(|record| record.kind == &MEMORY).collect();
    let mut weights = BTreeMap::new();
    for memories in memories.chunks_mut(BATCH) {
        derive_batch(store, memories, rule, wanted, &mut weights)?;
    }
    Ok(())
}

fn derive_batch(
    store: &mut dyn Store,
    memories: &mut [&mut StoredRecord],
    rule: PriorRule,
    wanted: Members,
    weights: &mut BTreeMap<String, Weights>,
) -> Result<()> {
    for partition in memories.iter().map(|memory| &memory.scope.partition).collect::<BTreeSet<_>>() {
        if !weights.contains_key(partition) {
            weights.insert(partition.clone(), weights_of(store, partition)?);
        }
    }
    let ids: Vec<String> = memories.iter().map(|memory| memory.id.clone()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let sums = store.tallies(&ids)?;
    let judged: Vec<&str> = ids.iter().copied().filter(|id| wanted.times && sums.contains_key(*id)).collect();
    let last_signals = store.last_times(&SIGNAL, &judged)?;
    let mut consolidated = BTreeMap::new();
    for link in store.links(&ids, Some(CONSOLIDATED_INTO))? {
        // A link without a time is older than any other.
        let into = (link.timestamp.unwrap_or_default(), link.to);
        let newest = consolidated.entry(link.from).or_insert_with(|| into.clone());
        if *newest < into {
            *newest = into;
        }
    }
    for memory in memories {
        let evidence = sums.get(&memory.id).map(Evidence::from_sums).unwrap_or_default();
        // `record::memory` gives each memory a prior.
        let prior = memory.members.valid_number("prior").unwrap_or_default();
        let beta = Beta::new(prior, rule, &weights[&memory.scope.partition], &evidence);
        let into = consolidated.get(&memory.id);
        let times = [last_signals.get(&memory.id).copied(), into.map(|(at, _)| *at), Some(memory.timestamp)];
        let members = &mut memory.members;
        // Without any observation there is only the prior.
        members.set("confidence", decimal(beta.mean().unwrap_or(prior)));
        if wanted.evidence {
            members.set("alpha", decimal(beta.alpha));
            members.set("beta", decimal(beta.beta));
            members.set("signals", signal_counts(&evidence));
        }
        members.set("usage_count", evidence.uses.to_string());
        let archived_into = members.valid_text(ARCHIVED_INTO);
        let into = into.map(|(_, id)| id.clone());
        members.set_text("state", if into.is_some() || archived_into.is_some() { ARCHIVED } else { ACTIVE });
        if let Some(id) = into.or(archived_into).filter(|id| !id.is_empty()) {
            members.set_text("consolidation_id", &id);
        }
        if wanted.times {
            let updated_at = times.into_iter().flatten().max().unwrap_or_default();
            members.set_text("updated_at", &time::rfc3339(updated_at));
        }
    }
    Ok(())
}

/// The numbers of signals for and against a memory, by their type, as JSON.
fn signal_counts(evidence: &Evidence) -> String {
    let mut counts = Object::default();
    for (signal_type, [positive, negative]) in SignalType::ALL.into_iter().zip(evidence.counts) {
        counts.set(signal_type.name(), format!("{{\"positive\":{positive},\"negative\":{negative}}}"));
    }
    counts.to_json()
}

/// The weights of a partition. Fails if the store cannot be read.
pub fn weights_of(store: &mut dyn Store, partition: &str) -> Result<Weights> {
    let sums = store.tallies(&[partition])?;
    Ok(Weights::from_sums(sums.get(partition).unwrap_or(&BTreeMap::new())))
}

/// The signals about a memory.
pub(super) fn signals_of(id: &str) -> Select {
    Select { key: Some(id.to_owned()), ..Select::records(vec![&SIGNAL], Scopes::All) }
}

/// A confidence in writing: nine decimal places, which hide how a sum was rounded.
pub fn decimal(number: f64) -> String {
    ((number * 1e9).round() / 1e9).to_string()
}

/// Whether a memory, whose members are derived, is active.
pub fn is_active(memory: &StoredRecord) -> bool {
    memory.member_text("state") != ARCHIVED
}

/// Whether the confidence in a memory, whose members are derived, is high enough; `least` overrules the
/// floors.
pub fn is_trusted(memory: &StoredRecord, least: Option<f64>) -> bool {
    let floor = least.unwrap_or(match Origin::of(memory) {
        Origin::Explicit => EXPLICIT_FLOOR,
        Origin::Distilled | Origin::Consolidated | Origin::Extracted => OTHER_FLOOR,
    });
    confidence_of(memory) >= floor - TOLERANCE
}

/// The derived confidence of a memory.
pub fn confidence_of(memory: &StoredRecord) -> f64 {
    memory.members.valid_number("confidence").unwrap_or_default()
}
