//! Links messages that belong together: every answer and its question, and those that resemble each other.

mod graph;
mod picture;
mod stats;
pub mod synapse;

pub use graph::Graph;
pub use stats::Stats;

use crate::error::Result;
use crate::record::{Link, RESPONDED_WITH, Record, Role, Scope, Scopes, StoredRecord};
use crate::store::{Select, Store, Walk};
use std::collections::{HashMap, HashSet};

/// The number of pairs of question and answer that are looked up at a time.
const BATCH: usize = 1000;

/// The RESPONDED_WITH links that are missing: an answer belongs to the turn before it in its trace, if that
/// is a user's and neither is linked yet.
pub fn missing(store: &mut dyn Store, scopes: &Scopes) -> Result<Vec<Link>> {
    let mut open: HashMap<(Scope, String), Option<String>> = HashMap::new();
    let mut pairs = Vec::new();
    store.walk(&Walk::records(Select::messages(scopes.clone())), &mut |record| {
        if let Record::Stored(message) = record {
            pairs.extend(pair(&mut open, &message));
        }
        Ok(())
    })?;
    let mut missing = Vec::new();
    for batch in pairs.chunks(BATCH) {
        // Nearly all are linked, and are found by the first end: few are left for the second look-up.
        let mut batch: Vec<&Link> = batch.iter().collect();
        for end in [|link: &Link| link.from.clone(), |link: &Link| link.to.clone()] {
            let ids: Vec<String> = batch.iter().map(|link| end(link)).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let linked: HashSet<String> = store.links(&ids, Some(RESPONDED_WITH))?.iter().map(end).collect();
            batch.retain(|link| !linked.contains(&end(link)));
        }
        missing.extend(batch.into_iter().cloned());
    }
    Ok(missing)
}

/// Takes the next turn of a trace. An answer gives the link from the question before it.
fn pair(open: &mut HashMap<(Scope, String), Option<String>>, message: &StoredRecord) -> Option<Link> {
    let before = match message.role {
        Some(Role::User) => {
            let trace = (message.scope.clone(), message.trace_id.clone());
            open.insert(trace, Some(message.id.clone()));
            None
        }
        Some(Role::Assistant) => open.get_mut(&(message.scope.clone(), message.trace_id.clone()))?.take(),
        Some(Role::System | Role::Tool) | None => None,
    };
    before.map(|from| Link::responded_with(&from, &message.id, message.timestamp))
}
