//! The records that a person has said something of, and the counts of what was said.

use crate::cli::{Io, Outcome};
use crate::config::Settings;
use crate::error::Result;
use crate::memory::{self, PriorRule};
use crate::record::{Object, RecallRule, StoredRecord};
use crate::search;
use crate::statement::Statement;
use crate::store::{self, OpenMode, Store};
use crate::view;

/// Stores a statement about the records of some ids, or short ids, and prints them: memories with their new
/// confidence, messages for people after their new rule. An id that is none's is reported. Errors
/// if one is empty.
pub fn state(
    statement: &Statement,
    ids: &[String],
    is_text: bool,
    settings: &Settings,
    io: &mut Io,
) -> Result<Outcome> {
    let scopes = io.common.to_cover()?;
    if ids.iter().any(|id| id.trim().is_empty()) {
        return Err(statement.no_id());
    }
    let store = &mut *store::open(&settings.store()?, OpenMode::Create)?;
    let full_ids = store::full_ids(store, ids, &scopes)?;
    let stored = statement.store(store, &full_ids, &scopes, &io.clock)?;
    for (id, _) in ids.iter().zip(&stored).filter(|(_, record)| record.is_none()) {
        io.fault(&statement.not_found(id));
    }
    let records: Vec<StoredRecord> = stored.into_iter().flatten().collect();
    match statement {
        Statement::OfMemories(_) => print_memories(store, records, is_text, settings, io),
        Statement::OfMessages(rule) => print_messages(store, &records, *rule, is_text, io),
    }
}

/// Prints memories with their new confidence.
fn print_memories(
    store: &mut dyn Store,
    mut memories: Vec<StoredRecord>,
    is_text: bool,
    settings: &Settings,
    io: &mut Io,
) -> Result<Outcome> {
    memory::derive(store, &mut memories, PriorRule::from_settings(settings))?;
    let ids: Vec<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let evidence = if is_text { memory::evidence(store, &ids)? } else { Default::default() };
    for memory in &memories {
        if is_text {
            let evidence = evidence.get(&memory.id).copied().unwrap_or_default();
            io.out.write(memory::row(memory, &evidence).as_bytes())?;
        } else {
            io.out.stored(memory)?;
        }
    }
    Ok(Outcome::Yes)
}

/// Prints messages, for people after their new rule.
fn print_messages(
    store: &mut dyn Store,
    messages: &[StoredRecord],
    rule: RecallRule,
    is_text: bool,
    io: &mut Io,
) -> Result<Outcome> {
    let layout = is_text.then(|| io.layout());
    let heads = search::heads(store, messages, layout.as_ref())?;
    for message in messages {
        match &layout {
            Some(layout) => {
                let text = view::led(&format!("{} ", rule.name()), message, &heads, layout);
                io.out.write(text.as_bytes())?;
            }
            None => io.out.stored(message)?,
        }
    }
    Ok(Outcome::Yes)
}

/// Prints an object as a line, or its members one below the other.
pub fn members(object: &Object, is_text: bool, io: &mut Io) -> Result<Outcome> {
    if is_text {
        for (name, json) in object.iter() {
            io.out.write(format!("{:<21}{}\n", name.replace('_', " "), json.trim_matches('"')).as_bytes())?;
        }
    } else {
        io.out.object(object)?;
    }
    Ok(Outcome::Yes)
}
