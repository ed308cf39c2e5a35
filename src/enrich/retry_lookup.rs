//! Finds the turn that an earlier attempt at a request has stored, at whichever process: a client that got no
//! answer asks another proxy of the store, or the same one after it was started again. The account of a
//! request has what it is known by.

use super::turn_cache;
use crate::api::Request;
use crate::error::Result;
use crate::record::{ACCOUNT, Account, DUPLICATE_WINDOW, Object, Scope, Scopes, StoredRecord};
use crate::store::{Select, Store};
use std::borrow::Cow;

/// The number of the last accounts of a scope among which that of an earlier attempt is looked for.
const MAX_ACCOUNTS: usize = 256;

/// The marks that all attempts at a request have.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestIdentity {
    /// The digest of the key that the client gives the request: 32 hexadecimal digits.
    pub key: Option<String>,
    /// The digest of the turn that the request begins, if its client says that it is sent again.
    pub turn: Option<String>,
}

impl RequestIdentity {
    /// The identity of a request of a scope, by the key that its client gives it, and whether it is sent
    /// again.
    pub fn new(request: &Request, scope: &Scope, key: Option<&str>, is_retry: bool) -> RequestIdentity {
        let digest = |key: &str| {
            let mut named = Object::default();
            named.set_text("request_key", key);
            turn_cache::digest(scope, &[Cow::Owned(named)])
        };
        // Later requests of a turn have its digest too.
        let begins_turn = is_retry && request.ends_with_user();
        let turn = if begins_turn { request.turn_key() } else { None };
        RequestIdentity {
            key: key.map(digest),
            turn: turn.map(|messages| turn_cache::digest(scope, &messages)),
        }
    }

    /// Whether an earlier attempt can be told from another request that is alike.
    pub fn is_known(&self) -> bool {
        self.key.is_some() || self.turn.is_some()
    }

    /// The newest account of an attempt that another trace than `except` has, at a time in milliseconds since
    /// 1970, UTC. Fails if the store cannot be read.
    pub fn look_up(
        &self,
        store: &mut dyn Store,
        scope: &Scope,
        except: Option<&str>,
        now: i64,
    ) -> Result<Option<StoredRecord>> {
        let window = i64::try_from(DUPLICATE_WINDOW.as_millis()).unwrap_or(i64::MAX);
        let of_scope = Select {
            since: Some(now.saturating_sub(window)),
            ..Select::records(vec![&ACCOUNT], Scopes::One(scope.clone()))
        };
        let is_other = |account: &StoredRecord| except != Some(account.trace_id.as_str());
        if let Some(key) = &self.key {
            let accounts = store.last_of(&of_scope, MAX_ACCOUNTS)?;
            let has_key = |account: &StoredRecord| {
                is_other(account) && Account::from_record(account).request_key.as_ref() == Some(key)
            };
            if let Some(found) = accounts.into_iter().rev().find(has_key) {
                return Ok(Some(found));
            }
        }
        let Some(turn) = &self.turn else { return Ok(None) };
        let accounts = store.last_of(&Select { key: Some(turn.clone()), ..of_scope }, MAX_ACCOUNTS)?;
        Ok(accounts.into_iter().rev().find(is_other))
    }
}
