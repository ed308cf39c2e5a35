//! Stores signals about memories.

use super::confidence::Evidence;
use super::derived::signals_of;
use crate::error::Result;
use crate::record::{
    Clock, Draft, DraftDefaults, MEMORY, Object, Record, Scopes, SignalType, StoredRecord, id, quote,
};
use crate::store::{self, Select, Store, WriteOutcome, WriteRules};
use std::collections::HashMap;

/// An explicit signal is compared with the signals of the other types in this time before it, in
/// milliseconds.
const PREDICTION_MILLIS: i64 = 24 * 3600 * 1000;

/// The numbers of the last signals about a memory that are compared with an explicit one: at first, the
/// growth factor while a type is unsettled, and at most.
const FIRST_COMPARED: usize = 50;
const COMPARED_GROWTH: usize = 4;
const MAX_COMPARED: usize = 10_000;

/// A signal to store about memories.
#[derive(Clone, Debug)]
pub struct NewSignal {
    pub signal_type: SignalType,
    pub positive: bool,
    pub session_id: Option<String>,
}

/// Stores the same signal about some memories, in one transaction; returns the memories of the ids, `None`
/// for an id that is no memory's within the scopes. A signal of usage counts a use for each time that an id
/// is given.
pub fn store_signals(
    store: &mut dyn Store,
    ids: &[String],
    signal: &NewSignal,
    scopes: &Scopes,
    clock: &Clock,
) -> Result<Vec<Option<StoredRecord>>> {
    let which = Select::records(vec![&MEMORY], scopes.clone());
    let mut wanted: Vec<&str> = ids.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let memories = store.get(&wanted, &which)?;
    let memories: HashMap<String, StoredRecord> =
        memories.into_iter().map(|memory| (memory.id.clone(), memory)).collect();
    let mut batch = Vec::new();
    for (at, memory) in ids.iter().filter_map(|id| memories.get(id)).enumerate() {
        batch.push(Record::Stored(new_signal(store, memory, signal, clock, at)?));
    }
    let written = store.write(&batch, WriteRules::KEEP_OUT)?;
    // A memory that was forgotten meanwhile takes its signal with it.
    let mut written = written.into_iter();
    let outcome = ids.iter().map(|id| {
        let memory = memories.get(id)?;
        let is_stored =
            !matches!(written.next(), None | Some(WriteOutcome::Refused(_) | WriteOutcome::KeptOut));
        is_stored.then(|| memory.clone())
    });
    Ok(outcome.collect())
}

fn new_signal(
    store: &mut dyn Store,
    memory: &StoredRecord,
    signal: &NewSignal,
    clock: &Clock,
    at: usize,
) -> Result<StoredRecord> {
    let now = clock.now();
    let tag = format!("{} {} {} {at}", signal.signal_type.name(), signal.positive, memory.id);
    let mut draft = match signal.signal_type {
        SignalType::Usage => Draft::usage(&memory.id, &store::id(store)?, now)?,
        signal_type => Draft {
            id: Some(id::fresh(clock, &tag)?),
            ..Draft::signal(&memory.id, signal_type, signal.positive, now)
        },
    };
    if let Some(session) = &signal.session_id {
        draft.members.set_text("session_id", session);
    }
    if signal.signal_type == SignalType::Explicit {
        predict(store, memory, now, &mut draft.members)?;
    }
    let partition = Some(memory.scope.partition.clone());
    let instance = Some(memory.scope.instance.clone());
    let fill = DraftDefaults { partition, instance, trace_id: String::new(), timestamp: now, seq: 0 };
    draft.complete(&fill)
}

/// Notes the predictions of usage and outcome signals of the day before: positive, if any of a type is.
fn predict(store: &mut dyn Store, memory: &StoredRecord, now: i64, members: &mut Object) -> Result<()> {
    let sums = store.tallies(&[&memory.id])?;
    let evidence = sums.get(&memory.id).map(Evidence::from_sums).unwrap_or_default();
    let types = SignalType::ALL.into_iter().zip(evidence.counts);
    let types: Vec<(SignalType, [i64; 2])> =
        types.filter(|(known, counts)| *known != SignalType::Explicit && *counts != [0, 0]).collect();
    let recent = Select { since: Some(now - PREDICTION_MILLIS), until: Some(now), ..signals_of(&memory.id) };
    let mut found = vec![None; types.len()];
    let mut compared = if types.is_empty() { 0 } else { FIRST_COMPARED };
    while compared > 0 {
        let signals = store.last_of(&recent, compared)?;
        for signal in &signals {
            let at = types.iter().position(|(known, _)| *known == SignalType::of(signal));
            if let Some(found) = at.map(|at| &mut found[at]) {
                *found = Some(*found == Some(true) || signal.members.get("positive") == Some("true"));
            }
        }
        // A type is settled by a positive signal, or by any if it has no positive one at all.
        let is_settled = |(found, (_, counts)): (&Option<bool>, &(SignalType, [i64; 2]))| {
            *found == Some(true) || found.is_some() && counts[0] == 0
        };
        let is_done = signals.len() < compared || compared >= MAX_COMPARED;
        let are_settled = found.iter().zip(&types).all(is_settled);
        compared = if is_done || are_settled { 0 } else { compared.saturating_mul(COMPARED_GROWTH) };
    }
    let predicted = types.iter().zip(found).filter_map(|((signal_type, _), is_positive)| {
        Some(quote(&format!("{}{}", signal_type.name(), if is_positive? { "+" } else { "-" })))
    });
    let predicted: Vec<String> = predicted.collect();
    if !predicted.is_empty() {
        members.set("predicted", format!("[{}]", predicted.join(",")));
    }
    Ok(())
}
