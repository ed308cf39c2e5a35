//! Selections of records.

use super::changes::{ChangeNumbers, Mark};
use crate::cli::Filter;
use crate::record::{Address, MESSAGE, Position, Query, RecordKind, Role, Scope, Scopes, StoredRecord};

/// A kind in a scope: the unit of every index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collection {
    pub kind: &'static RecordKind,
    pub scope: Scope,
}

/// A selection of records. Every condition must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// Any of these.
    pub kinds: Vec<&'static RecordKind>,
    pub scopes: Scopes,
    pub trace_id: Option<String>,
    /// Any of these; if empty, every role, and records without one.
    pub roles: Vec<Role>,
    /// The value of the kind's lookup key.
    pub key: Option<String>,
    /// The subtrees of the lookup key, an address.
    pub below: Option<Below>,
    /// Messages whose fingerprints have any of these keys.
    pub fingerprints: Option<Vec<i64>>,
    /// The earliest timestamp.
    pub since: Option<i64>,
    /// The latest timestamp.
    pub until: Option<i64>,
    /// Only records before this position.
    pub before: Option<Position>,
    /// Only records that have one of these ids.
    pub only: Option<Vec<String>>,
    pub except: Except,
}

/// The addresses below some others.
#[derive(Clone, PartialEq, Debug)]
pub struct Below {
    /// The texts of which each of them begins with one; they end with a slash.
    pub(super) prefixes: Vec<String>,
    /// The addresses themselves, if these are among them.
    pub(super) roots: Vec<String>,
    /// The greatest number of segments after a prefix; only of a single one.
    levels: Option<usize>,
}

impl Below {
    /// The addresses below one, down to this many levels.
    pub fn new(address: &Address, levels: Option<usize>) -> Below {
        Below { prefixes: vec![address.below()], roots: Vec::new(), levels }
    }

    /// The addresses at or below any of some, none of which is below another.
    pub fn within(addresses: &[Address]) -> Below {
        Below {
            prefixes: addresses.iter().map(Address::below).collect(),
            roots: addresses.iter().map(Address::to_string).collect(),
            levels: None,
        }
    }

    /// The prefix, if they are below a single address.
    pub(super) fn only_prefix(&self) -> Option<&str> {
        match &self.prefixes[..] {
            [prefix] if self.roots.is_empty() => Some(prefix),
            _ => None,
        }
    }

    /// The greatest number of slashes in them.
    pub(super) fn max_slashes(&self) -> Option<usize> {
        let slashes = self.only_prefix()?.matches('/').count();
        Some((slashes + self.levels?).saturating_sub(1))
    }

    /// Whether an address is one of them.
    fn holds(&self, address: &str) -> bool {
        let is_shallow = self.max_slashes().is_none_or(|most| address.matches('/').count() <= most);
        is_shallow
            && (self
                .prefixes
                .iter()
                .any(|prefix| address.len() > prefix.len() && address.starts_with(prefix))
                || self.roots.iter().any(|root| root == address))
    }
}

/// The text that is greater than all that begin with a prefix, and than nothing else that is greater than the
/// prefix, which ends with a slash.
pub(super) fn end_of_prefix(prefix: &str) -> String {
    // The character after the slash is the digit 0.
    format!("{}0", prefix.trim_end_matches('/'))
}

/// Records that are excluded from a selection, regardless of its conditions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Except {
    /// Every record of these traces.
    pub traces: Vec<String>,
    /// The records that have these ids.
    pub ids: Vec<String>,
}

impl Select {
    /// The selection with the conditions of the flags by which people choose among messages.
    pub fn filtered(self, Filter { role: roles, since, until }: Filter) -> Select {
        Select { roles, since, until, ..self }
    }

    /// The selection for a query line, whose members override those of `self`.
    pub fn narrowed(&self, query: &Query) -> Select {
        Select {
            scopes: query.scopes.clone().unwrap_or_else(|| self.scopes.clone()),
            roles: query.role.map_or_else(|| self.roles.clone(), |role| vec![role]),
            since: query.since.or(self.since),
            until: query.until.or(self.until),
            except: Except {
                traces: query.exclude_trace.clone().unwrap_or_else(|| self.except.traces.clone()),
                ids: query.exclude.clone().unwrap_or_else(|| self.except.ids.clone()),
            },
            ..self.clone()
        }
    }

    /// All messages of these scopes.
    pub fn messages(scopes: Scopes) -> Select {
        Select::records(vec![&MESSAGE], scopes)
    }

    /// All records of some kinds in these scopes.
    pub fn records(kinds: Vec<&'static RecordKind>, scopes: Scopes) -> Select {
        Select {
            kinds,
            scopes,
            trace_id: None,
            roles: Vec::new(),
            key: None,
            below: None,
            fingerprints: None,
            since: None,
            until: None,
            before: None,
            only: None,
            except: Except::default(),
        }
    }

    /// Whether kind and scope are the only conditions.
    pub(super) fn is_whole(&self) -> bool {
        *self == Select::records(self.kinds.clone(), self.scopes.clone())
    }

    /// Whether a record meets every condition except kind, scope and lookup key.
    pub(super) fn admits(&self, record: &StoredRecord) -> bool {
        self.trace_id.as_ref().is_none_or(|trace| *trace == record.trace_id)
            && (self.roles.is_empty() || record.role.is_some_and(|role| self.roles.contains(&role)))
            && self.fingerprints.as_ref().is_none_or(|keys| {
                record.fingerprint().is_some_and(|fingerprint| keys.contains(&fingerprint.key()))
            })
            && self.since.is_none_or(|since| record.timestamp >= since)
            && self.until.is_none_or(|until| record.timestamp <= until)
            && self.before.as_ref().is_none_or(|before| record.position() < *before)
            && self.only.as_ref().is_none_or(|ids| ids.contains(&record.id))
            && self
                .below
                .as_ref()
                .is_none_or(|below| record.lookup_key().is_some_and(|key| below.holds(&key)))
            && !self.except.traces.contains(&record.trace_id)
            && !self.except.ids.contains(&record.id)
    }
}

/// The records, embeddings and links that a walk visits.
#[derive(Clone, Debug)]
pub struct Walk {
    pub which: Select,
    /// Whether the tombstones of its scopes and times are visited, first of all.
    pub tombstones: bool,
    /// Whether each record carries its vector of the model with the most vectors.
    pub vectors: bool,
    pub embeddings: bool,
    pub links: bool,
    /// Whether the records have their texts. A store that can reads none if they have not.
    pub texts: bool,
    /// Whether the readable records of a damaged store are visited. Records before the damage was found are
    /// not visited again.
    pub recover: bool,
    /// Leaves out the records of traces that have got no record since, if the store can; none, if a record
    /// was removed since.
    pub traces_since: Option<Mark>,
    /// Leaves out what did not change since.
    pub changed_since: Option<ChangeNumbers>,
}

impl Walk {
    /// Records alone.
    pub fn records(which: Select) -> Walk {
        Walk {
            which,
            tombstones: false,
            vectors: false,
            embeddings: false,
            links: false,
            texts: true,
            recover: false,
            traces_since: None,
            changed_since: None,
        }
    }
}
