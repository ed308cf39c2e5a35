//! Which messages belong together: every answer and its question, and those that resemble each other.

mod graph;
mod picture;
pub mod synapse;

pub use graph::{Graph, Stats};

use crate::error::Result;
use crate::record::{Link, Message, RESPONDED_WITH, Record, Role, Scope, Scopes};
use crate::store::{Select, Store, Walk};
use std::collections::{HashMap, HashSet};

/// The RESPONDED_WITH links that are missing: an answer belongs to the turn before it in its trace, if that
/// is a user's and neither is linked yet.
pub fn missing(store: &mut dyn Store, scopes: &Scopes) -> Result<Vec<Link>> {
    let mut asked = HashSet::new();
    let mut answered = HashSet::new();
    let mut open: HashMap<(Scope, String), Option<String>> = HashMap::new();
    let mut pairs = Vec::new();
    let what = Walk { links: true, ..Walk::messages(Select::of(scopes.clone())) };
    store.walk(&what, &mut |record| {
        match record {
            Record::Message(message) => pairs.extend(pair(&mut open, &message)),
            Record::Link(link) if link.rel == RESPONDED_WITH => {
                asked.insert(link.from);
                answered.insert(link.to);
            }
            _ => {}
        }
        Ok(())
    })?;
    pairs.retain(|link| !asked.contains(&link.from) && !answered.contains(&link.to));
    Ok(pairs)
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
