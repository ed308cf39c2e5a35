//! Forgets a turn, as rsv-forget does it.

use super::conversation::PastTurn;
use crate::config::Settings;
use crate::error::Result;
use crate::forget;
use crate::record::{ACCOUNT, MESSAGE, Scope, Scopes};
use crate::store::{self, Except, OpenMode, Select};

/// The numbers of the records of a turn.
pub(super) struct Forgotten {
    /// They were removed, and are kept out from now on.
    pub(super) removed: u64,
    /// They were made from its messages, and stay.
    pub(super) derived: usize,
}

/// Removes the messages and the account of a turn, with all that say the same words.
pub(super) fn forget_turn(
    settings: &Settings,
    scope: &Scope,
    turn: &PastTurn,
    now: i64,
) -> Result<Forgotten> {
    let store = &mut *store::open(&settings.store()?, OpenMode::Create)?;
    let of_trace = |kinds| Select {
        trace_id: Some(turn.trace_id.clone()),
        ..Select::records(kinds, Scopes::One(scope.clone()))
    };
    let mut which = of_trace(vec![&MESSAGE, &ACCOUNT]);
    if !turn.ids.is_empty() {
        let except = Except { ids: turn.ids.clone(), ..Except::default() };
        if store.count(&Select { except, ..of_trace(vec![&MESSAGE]) }, 1)? > 0 {
            which.only = Some(turn.ids.clone());
        }
    }
    let mut ids = forget::select(store, &which)?;
    ids.extend(forget::same_words(store, &ids)?);
    let derived = forget::derived(store, &ids)?.len();
    ids.extend(forget::left_alone(store, &ids)?);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let removed = if ids.is_empty() { 0 } else { store.forget(&ids, now)? };
    forget::erase(store)?;
    Ok(Forgotten { removed, derived })
}
