//! The block is decided once for a user's turn. Later requests of the same turn, which bring what tools gave,
//! carry the identical block, so that the provider's cache keeps working: the account that tells of it is found
//! again by a digest of all that was said up to the turn.

use super::{Memory, Turn};
use crate::error::Result;
use crate::record::{Account, Object, Scope, Scopes};
use crate::store::Select;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The member of an account.
pub(super) const DIGEST: &str = "digest";

/// A digest of these messages of a scope: 32 hexadecimal digits of SHA-256.
pub(super) fn digest(scope: &Scope, messages: &[Object]) -> String {
    let mut hash = Sha256::new();
    for text in
        [&scope.partition, &scope.instance].into_iter().cloned().chain(messages.iter().map(Object::to_json))
    {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let mut digits = String::new();
    for byte in &hash.finalize()[..16] {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// What was decided for a turn.
pub(super) struct Decided {
    pub(super) trace_id: String,
    /// What was recalled, by its worth.
    pub(super) found: Vec<Found>,
}

/// A message that was recalled: its id, its score if it was related, and how many steps away it was found.
pub(super) struct Found {
    pub(super) id: String,
    pub(super) score: Option<f64>,
    pub(super) hop: usize,
}

/// What the newest account of a digest tells.
pub(super) fn decided(memory: &mut Memory, turn: &Turn, digest: &str) -> Result<Option<Decided>> {
    let which = Select::of(Scopes::One(turn.scope.clone()));
    let account = memory.store.accounts(&which, Some(digest), 1)?.pop();
    Ok(account.map(|account| Decided { found: found(&account), trace_id: account.trace_id }))
}

fn found(account: &Account) -> Vec<Found> {
    let list = |name: &str| account.members.objects(name).ok().flatten().unwrap_or_default();
    let entries = list("recent").into_iter().chain(list("recalled"));
    let found = entries.filter_map(|entry| {
        let hop = entry.integer("hop").ok().flatten().and_then(|hop| usize::try_from(hop).ok());
        let score = entry.number("score").ok().flatten();
        Some(Found { id: entry.text("id").ok().flatten()?, score, hop: hop.unwrap_or(0) })
    });
    found.collect()
}
