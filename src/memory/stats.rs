//! The numbers of memories and signals, and how much is trusted.

use super::confidence::PriorRule;
use super::derived::{confidence_of, decimal, derive, is_active};
use crate::error::Result;
use crate::record::{MEMORY, Object, Record, SIGNAL, Scopes, SignalType, StoredRecord, time};
use crate::store::{Select, Store, Walk};

/// The number of memories that are held at once.
const BATCH: usize = 1000;

/// The numbers of memories and signals in some scopes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    pub memories: u64,
    pub active: u64,
    pub signals: u64,
    /// The time of the last use, in milliseconds since 1970, UTC.
    pub last_use: Option<i64>,
    /// The mean confidence of the active memories, 0 to 1; `None` if there is none.
    pub mean_confidence: Option<f64>,
    /// The id and the confidence of the memory that was used last.
    pub last_used: Option<(String, f64)>,
}

impl Stats {
    /// The numbers as an object.
    pub fn to_object(&self) -> Object {
        let mut object = Object::default();
        for (name, count) in [("memories", self.memories), ("active", self.active), ("signals", self.signals)]
        {
            object.set(name, count.to_string());
        }
        if let Some(at) = self.last_use {
            object.set_text("last_use", &time::rfc3339(at));
        }
        if let Some(mean) = self.mean_confidence {
            object.set("mean_confidence", decimal(mean));
        }
        if let Some((id, confidence)) = &self.last_used {
            object.set_text("last_used_id", id);
            object.set("last_used_confidence", decimal(*confidence));
        }
        object
    }
}

/// Counts the memories and signals of some scopes. Fails if the store cannot be read.
pub fn stats(store: &mut dyn Store, scopes: &Scopes, rule: PriorRule) -> Result<Stats> {
    let mut stats = Stats::default();
    let mut last: Option<(i64, String)> = None;
    let signals = Select::records(vec![&SIGNAL], scopes.clone());
    store.walk(&Walk::records(signals), &mut |record| {
        if let Record::Stored(signal) = record {
            stats.signals += 1;
            let at = (signal.timestamp, signal.member_text("of"));
            if SignalType::of(&signal) == SignalType::Usage && last.as_ref().is_none_or(|last| *last < at) {
                last = Some(at);
            }
        }
        Ok(())
    })?;
    stats.last_use = last.as_ref().map(|(at, _)| *at);
    let mut ids: Vec<String> = Vec::new();
    let memories = Select::records(vec![&MEMORY], scopes.clone());
    store.walk(&Walk::records(memories.clone()), &mut |record| {
        ids.extend(record.id().map(str::to_owned));
        Ok(())
    })?;
    stats.memories = ids.len() as u64;
    let mut sum = 0.0;
    for ids in ids.chunks(BATCH) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut found: Vec<StoredRecord> = store.get(&ids, &memories)?;
        derive(store, &mut found, rule)?;
        for memory in found {
            if last.as_ref().is_some_and(|(_, id)| *id == memory.id) {
                stats.last_used = Some((memory.id.clone(), confidence_of(&memory)));
            }
            if is_active(&memory) {
                stats.active += 1;
                sum += confidence_of(&memory);
            }
        }
    }
    stats.mean_confidence = (stats.active > 0).then(|| sum / stats.active as f64);
    Ok(stats)
}
