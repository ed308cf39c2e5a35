//! A session of which the store has the messages.

use super::conversation::Conversation;
use super::error::DistillError;
use crate::error::Result;
use crate::record::{Line, Object, Scopes, SessionSummary};
use crate::store::{self, Select, Store, Walk};

/// The name of the session with the last message, whatever that is called.
pub const LATEST: &str = "latest";

/// The session of some scopes that has a name, with the conversation of its messages. Fails if there is none.
pub fn stored_session(
    store: &mut dyn Store,
    scopes: &Scopes,
    name: &str,
) -> Result<(SessionSummary, Conversation)> {
    let named = |session: &SessionSummary| name == LATEST || session.scope.instance == name;
    let session = store::sessions(store, scopes)?.into_iter().rfind(named);
    let Some(session) = session else {
        let missing = if name == LATEST { "there is no session" } else { "there is no session of this name" };
        return Err(DistillError::NoSession { name: name.to_owned(), missing }.into());
    };
    let mut conversation = Conversation::new(Some(session.scope.partition.clone()));
    let which = Select::messages(Scopes::One(session.scope.clone()));
    store.walk(&Walk::records(which), &mut |message| {
        let mut line = Vec::new();
        let Some(message) = message.stored() else { return Ok(()) };
        message.write(&mut line);
        if let Line::Record(draft) = Line::parse(Object::parse_bytes(&line)?)? {
            conversation.add(&draft);
        }
        Ok(())
    })?;
    Ok((session, conversation))
}
