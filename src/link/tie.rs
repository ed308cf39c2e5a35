//! A link that a person makes between two records.

use super::error::LinkError;
use crate::error::Result;
use crate::record::{Address, Link, Object, Record, SYNAPSE, Scopes};
use crate::store::{self, Forgotten, Store, StoreFault, WriteOutcome, WriteRules, WriteSource};

/// The name of a link that has no other.
const RELATED: &str = "RELATED";

/// The link as it is asked for.
pub struct Tie<'a> {
    /// Its ends, each by its id, its short id, or the address of a document.
    pub ends: [&'a str; 2],
    /// Its name; without one, RELATED.
    pub rel: Option<&'a str>,
    pub reason: Option<&'a str>,
}

impl Tie<'_> {
    /// The link, made at `now`, in milliseconds since 1970, UTC. `partition` is that of addresses. Errors if
    /// an end is in none of the scopes, and for a name that no person gives.
    pub fn to_link(&self, store: &mut dyn Store, scopes: &Scopes, partition: &str, now: i64) -> Result<Link> {
        let mut line = Object::default();
        line.set_text("rel", self.rel.unwrap_or(RELATED));
        for (member, end) in ["from", "to"].into_iter().zip(self.ends) {
            let id = if end.starts_with("viking://") {
                Address::resolve(end, partition)?.document_id(partition)
            } else {
                store::full_id(store, end, scopes)?
            };
            if !store.scope_of(&id)?.is_some_and(|scope| scopes.contains(&scope)) {
                return Err(LinkError::NoRecord { end: end.to_owned() }.into());
            }
            line.set_text(member, &id);
        }
        line.set("timestamp", now.to_string());
        if let Some(reason) = self.reason {
            line.set_text("reason", reason);
        }
        let link = Link::parse(line)?;
        if link.rel == SYNAPSE {
            return Err(LinkError::NamedSynapse.into());
        }
        Ok(link)
    }
}

/// Writes such a link, even if it was forgotten. Errors if the store refuses it.
pub fn write_tie(store: &mut dyn Store, link: &Link, now: i64) -> Result<()> {
    let rules =
        WriteRules { forgotten: Forgotten::Return { at: now }, source: WriteSource::Import, import: None };
    match store.write(&[Record::Link(link.clone())], rules)?.pop() {
        Some(WriteOutcome::Refused(why)) => Err(StoreFault::Refused { why }.into()),
        _ => Ok(()),
    }
}
