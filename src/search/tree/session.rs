//! The words of a session that a question is asked in.

use crate::error::Result;
use crate::record::{Address, DOCUMENT, Scope, Scopes};
use crate::store::{Below, Select, Store};

/// The number of last messages whose words count.
const MESSAGES: usize = 10;

/// The words of a session: its last messages, newest first, and the overview of its last archive; empty if it has
/// neither.
pub fn session_context(store: &mut dyn Store, partition: &str, session: &str) -> Result<String> {
    let scopes = Scopes::One(Scope { partition: partition.to_owned(), instance: session.to_owned() });
    let messages = store.last_of(&Select::messages(scopes.clone()), MESSAGES)?;
    let mut texts: Vec<String> = messages.into_iter().rev().map(|message| message.text).collect();
    let history = Address::home(partition)?.join("sessions")?.join(session)?.join("history")?;
    let below = Some(Below::new(&history, Some(1)));
    let archive = store.last_of(&Select { below, ..Select::records(vec![&DOCUMENT], scopes) }, 1)?;
    texts.extend(archive.iter().map(|archive| archive.member_text("overview")));
    texts.retain(|text| !text.trim().is_empty());
    Ok(texts.join("\n"))
}
