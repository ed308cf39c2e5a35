//! Which messages belong together: every answer and its question, and those that resemble each other.

mod graph;
mod picture;
pub mod synapse;

pub use graph::{Graph, Stats};

use crate::error::Result;
use crate::record::{Link, Message, RESPONDED_WITH, Record, Role, Scope, Scopes};
use crate::store::{Select, Store, Walk};
use std::collections::{HashMap, HashSet};

/// How many pairs of question and answer are looked up at a time.
const BATCH: usize = 1000;

/// The RESPONDED_WITH links that are missing: an answer belongs to the turn before it in its trace, if that
/// is a user's and neither is linked yet.
pub fn missing(store: &mut dyn Store, scopes: &Scopes) -> Result<Vec<Link>> {
    let mut open: HashMap<(Scope, String), Option<String>> = HashMap::new();
    let mut pairs = Vec::new();
    store.walk(&Walk::messages(Select::of(scopes.clone())), &mut |record| {
        if let Record::Message(message) = record {
            pairs.extend(pair(&mut open, &message));
        }
        Ok(())
    })?;
    let mut missing = Vec::new();
    for batch in pairs.chunks(BATCH) {
        let ids: Vec<&str> = batch.iter().flat_map(|link| [link.from.as_str(), &link.to]).collect();
        let there = store.links(&ids, Some(RESPONDED_WITH))?;
        let asked: HashSet<&str> = there.iter().map(|link| link.from.as_str()).collect();
        let answered: HashSet<&str> = there.iter().map(|link| link.to.as_str()).collect();
        let free = |link: &&Link| !asked.contains(link.from.as_str()) && !answered.contains(link.to.as_str());
        missing.extend(batch.iter().filter(free).cloned());
    }
    Ok(missing)
}

/// Notes a turn of a trace; an answer gives the link from the question before it.
fn pair(open: &mut HashMap<(Scope, String), Option<String>>, message: &Message) -> Option<Link> {
    let before = match message.role {
        Role::User => {
            let trace = (message.scope.clone(), message.trace_id.clone());
            open.insert(trace, Some(message.id.clone()));
            None
        }
        Role::Assistant => open.get_mut(&(message.scope.clone(), message.trace_id.clone()))?.take(),
        Role::System | Role::Tool => None,
    };
    before.map(|from| Link::responded_with(&from, &message.id, message.timestamp))
}
