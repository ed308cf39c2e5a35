//! The turn cache: recall is decided once for a user's turn. Later requests of the turn, which bring the
//! results of tools, carry the identical block, so that the provider's cache keeps working. The key is a
//! digest of all messages up to the user's; the account of the first request holds the value.

use super::turn::Turn;
use crate::error::Result;
use crate::record::{ACCOUNT, Account, Object, RecalledPart, Scope, Scopes};
use crate::store::{Select, Store};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write;

/// The digest of messages of a scope: 32 hexadecimal digits of SHA-256.
pub(super) fn digest(scope: &Scope, messages: &[Cow<Object>]) -> String {
    let mut hash = Sha256::new();
    for text in [&scope.partition, &scope.instance]
        .into_iter()
        .cloned()
        .chain(messages.iter().map(|message| message.to_json()))
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

/// The messages that the first request of a turn recalled.
pub(super) struct CachedTurn {
    pub(super) trace_id: String,
    /// The recalled records, best first.
    pub(super) recalled: Vec<RecalledPart>,
    /// Whether the part of the session before a compaction was carried over.
    pub(super) carries: bool,
}

/// Reads the newest account with a digest. Fails if the store cannot be read.
pub(super) fn look_up(store: &mut dyn Store, turn: &Turn, digest: &str) -> Result<Option<CachedTurn>> {
    let scope = Scopes::One(turn.scope.clone());
    let which = Select { key: Some(digest.to_owned()), ..Select::records(vec![&ACCOUNT], scope) };
    let newest = store.last_of(&which, 1)?.pop();
    Ok(newest.map(|record| {
        let account = Account::from_record(&record);
        let Account { memories, recent, recalled, documents, actions, carried, .. } = account;
        let recalled =
            actions.into_iter().chain(memories).chain(recent).chain(recalled).chain(documents).collect();
        CachedTurn { recalled, trace_id: record.trace_id, carries: carried.is_some() }
    }))
}
