//! Retention: which records are older than their partition keeps them.

use crate::config::Settings;
use crate::error::Result;
use crate::record::Scopes;
use crate::store::{Select, Store, StoreFault};
use std::collections::BTreeSet;
use std::time::Duration;

/// Errors if no setting gives a retention to any partition of some scopes.
pub fn check_retention(settings: &Settings, scopes: &Scopes) -> Result<()> {
    let is_set = match scopes.partition() {
        Some(partition) => settings.partition(partition).retention.is_some(),
        None => settings.has_retention(),
    };
    if is_set {
        return Ok(());
    }
    let of = scopes.partition().map(|name| format!(" for the partition {name}")).unwrap_or_default();
    Err(StoreFault::NoRetention { of }.into())
}

/// The parts of a selection that are older than their partitions keep them at a time, in milliseconds since
/// 1970: one for each partition with a retention. Fails if the store cannot be read.
pub fn expired(store: &mut dyn Store, settings: &Settings, which: &Select, now: i64) -> Result<Vec<Select>> {
    let stored = store.scopes(None)?.into_iter().map(|(scope, _)| scope);
    let selected = stored.filter(|scope| which.scopes.contains(scope));
    let partitions: BTreeSet<String> = selected.map(|scope| scope.partition).collect();
    let part = |partition: String| {
        let age = settings.partition(&partition).retention?;
        let scopes = match &which.scopes {
            Scopes::All | Scopes::Matching(_) => Scopes::Partition(partition),
            narrower => narrower.clone(),
        };
        Some(Select { scopes, until: Some(before(now, age)), ..which.clone() })
    };
    Ok(partitions.into_iter().filter_map(part).collect())
}

/// The last millisecond that is older than an age.
fn before(now: i64, age: Duration) -> i64 {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    now.saturating_sub(age).saturating_sub(1)
}
