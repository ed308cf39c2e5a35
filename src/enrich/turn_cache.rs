//! The block is decided once for a user's turn. Later requests of the same turn, which bring what tools gave,
//! carry the identical block, so that the provider's cache keeps working: the account that tells of it is found
//! again by a digest of all that was said up to the turn.

use super::turn::{Memory, Turn};
use crate::error::Result;
use crate::record::{ACCOUNT, Account, Object, RecalledPart, Scope, Scopes};
use crate::store::Select;
use sha2::{Digest, Sha256};
use std::fmt::Write;

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
    pub(super) recalled: Vec<RecalledPart>,
}

/// What the newest account of a digest tells.
pub(super) fn decided(memory: &mut Memory, turn: &Turn, digest: &str) -> Result<Option<Decided>> {
    let scope = Scopes::One(turn.scope.clone());
    let which = Select { key: Some(digest.to_owned()), ..Select::of_kinds(vec![&ACCOUNT], scope) };
    let newest = memory.store.last_of(&which, 1)?.pop();
    Ok(newest.map(|record| {
        let Account { recent, recalled, .. } = Account::of(&record);
        Decided { recalled: recent.into_iter().chain(recalled).collect(), trace_id: record.trace_id }
    }))
}
