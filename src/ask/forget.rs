//! Forgets a turn, as rsv-forget does it.

use crate::config::Settings;
use crate::error::Result;
use crate::forget;
use crate::record::{ACCOUNT, MESSAGE, Scope, Scopes};
use crate::store::{self, OpenMode, Select};

/// The numbers of the records of a turn.
pub(super) struct Forgotten {
    /// They were removed, and are kept out from now on.
    pub(super) removed: u64,
    /// They were made from its messages, and stay.
    pub(super) derived: usize,
}

/// Removes the messages and the account of a turn, with all that say the same words.
pub(super) fn forget_turn(settings: &Settings, scope: &Scope, trace_id: &str, now: i64) -> Result<Forgotten> {
    let store = &mut *store::open(&settings.store()?, OpenMode::Create)?;
    let scopes = Scopes::One(scope.clone());
    let which =
        Select { trace_id: Some(trace_id.to_owned()), ..Select::records(vec![&MESSAGE, &ACCOUNT], scopes) };
    let mut ids = forget::select(store, &which)?;
    ids.extend(forget::same_words(store, &ids)?);
    let derived = forget::derived(store, &ids)?.len();
    ids.extend(forget::titles(store, &ids)?);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let removed = if ids.is_empty() { 0 } else { store.forget(&ids, now)? };
    forget::erase(store)?;
    Ok(Forgotten { removed, derived })
}
