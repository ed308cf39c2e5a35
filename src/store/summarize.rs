//! Summaries of the scopes of a store.

use super::api::Store;
use super::error::Result;
use super::select::{Select, Walk};
use crate::record::{Record, Scope, ScopeSummary};
use std::collections::BTreeMap;

/// Summarizes the messages of a selection by scope; in the order of their names.
pub fn summarize(store: &mut dyn Store, which: &Select) -> Result<Vec<ScopeSummary>> {
    let mut summaries: BTreeMap<Scope, ScopeSummary> = BTreeMap::new();
    store.walk(&Walk::records(which.clone()), &mut |record| {
        if let Record::Stored(message) = record {
            match summaries.get_mut(&message.scope) {
                Some(summary) => summary.add(&message),
                None => {
                    let mut summary = ScopeSummary::new(&message);
                    summary.add(&message);
                    summaries.insert(message.scope.clone(), summary);
                }
            }
        }
        Ok(())
    })?;
    Ok(summaries.into_values().collect())
}
