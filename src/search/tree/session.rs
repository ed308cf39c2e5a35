//! The words of a session that a question is asked in.

use crate::error::Result;
use crate::record::{Address, DOCUMENT, Scope, Scopes};
use crate::store::{Below, Select, Store};

/// The number of last messages whose words count.
const MESSAGES: usize = 10;

/// The words of a session: its last messages, newest first, and the overview of its last archive; empty if it
/// has neither. Fails if the session makes no address, or the store cannot be read.
pub fn session_context(store: &mut dyn Store, partition: &str, session: &str) -> Result<String> {
    let scope = Scope { partition: partition.to_owned(), instance: session.to_owned() };
    let messages = store.last_of(&Select::messages(Scopes::One(scope)), MESSAGES)?;
    let mut texts: Vec<String> = messages.into_iter().rev().map(|message| message.text).collect();
    let history = Address::home(partition)?.join("sessions")?.join(session)?.join("history")?;
    let documents = Select::records(vec![&DOCUMENT], Scopes::Partition(partition.to_owned()));
    let archives = Select { below: Some(Below::new(&history, Some(1))), ..documents };
    let last = store.last_of(&archives, 1)?;
    texts.extend(last.iter().map(|archive| archive.member_text("overview")));
    texts.retain(|text| !text.trim().is_empty());
    Ok(texts.join("\n"))
}
