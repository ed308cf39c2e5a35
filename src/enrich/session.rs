//! The short-term memory of a session: its last messages, as turns of the request.

use super::options::Options;
use super::turn::Turn;
use crate::chat::{self, Request, fence};
use crate::error::Result;
use crate::recall_rules::RecallRules;
use crate::record::{Object, Role, Scopes, StoredRecord};
use crate::store::{Select, Store};

/// Puts the last messages of the session before the user's last message, in place of the turns that the
/// request has there. A session without messages leaves the request as it is. Messages that are never
/// recalled are left out. Fails if the store cannot be read.
pub(super) fn insert_turns(
    store: &mut dyn Store,
    request: &mut Request,
    turn: &Turn,
    options: &Options,
) -> Result<()> {
    let Some(user) = request.last_user() else { return Ok(()) };
    let mut which = Select::messages(Scopes::One(turn.scope.clone()));
    which.roles = vec![Role::User, Role::Assistant];
    // An earlier attempt at this turn is no earlier turn.
    which.except.traces.extend(turn.trace_id.clone());
    which.except.ids.extend(RecallRules::read(store, &which.scopes)?.never().cloned());
    let last = store.last_of(&which, options.recent)?;
    let begins = last.iter().position(|record| record.role == Some(Role::User));
    let Some(begins) = begins else { return Ok(()) };
    let rest = request.messages.split_off(user);
    request.messages.retain(chat::is_system);
    request.messages.extend(last[begins..].iter().map(as_turn));
    request.messages.extend(rest);
    Ok(())
}

/// A stored message as a turn of a request.
pub fn as_turn(record: &StoredRecord) -> Object {
    let mut message = Object::default();
    // Every stored message has a role.
    message.set_text("role", record.role.map_or("user", Role::name));
    message.set_text("content", &fence::escape_control_tokens(&record.text));
    message
}
