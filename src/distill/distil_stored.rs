//! Memories of a session of the store, which gets them.

use super::distiller::Distiller;
use super::error::DistillError;
use super::{SessionOutcome, stored_session, with_links};
use crate::cli::Io;
use crate::config::Settings;
use crate::error::Result;
use crate::ingest::{Ingest, Options};
use crate::memory::{self, PriorRule};
use crate::record::{MEMORY, Object, Scopes};
use crate::redact::Redactor;
use crate::search;
use crate::store::{self, OpenMode, Select, Store};

impl Distiller {
    /// Makes memories of a session of the store, stores them, and prints them: as text for people, as lines
    /// for programs.
    pub fn stored(
        &self,
        outcome: SessionOutcome,
        name: &str,
        settings: &Settings,
        io: &mut Io,
    ) -> Result<()> {
        let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
        let (found, conversation) = stored_session(&mut *store, &io.common.to_read(false)?, name)?;
        let task = self.facts.task.as_deref().unwrap_or(&found.title);
        if task.trim().is_empty() {
            return Err(DistillError::NoQuestion { scope: found.scope }.into());
        }
        let session = conversation.into_session(outcome, task, &self.facts.tags, Some(&found.scope.instance));
        let Some(memories) = self.memories(&session, &found.scope, io)? else { return Ok(()) };
        let options = Options {
            partition: Some(found.scope.partition.clone()),
            instance: Some(found.scope.instance.clone()),
            max_line: Some(settings.max_line()),
            redactor: Redactor::for_tool(settings)?,
            ..Options::default()
        };
        let mut ingest = Ingest::new(options, io.clock);
        for memory in memories {
            for line in with_links(&session, memory)? {
                ingest.add_object("the session", line)?;
            }
        }
        let mut ids = Vec::new();
        for stored in ingest.commit(&mut *store)? {
            match stored.line {
                Ok(line) if io.stdout_is_tty() => ids.extend(Object::parse_bytes(&line)?.text("id")?),
                Ok(line) => io.out.write(&line)?,
                Err(error) => io.fault(&error),
            }
            if let Some(note) = stored.note {
                io.note(note);
            }
        }
        show(&ids, &mut *store, settings, io)?;
        for note in ingest.forgetting_note().into_iter().chain(ingest.redaction_note()) {
            io.note(note);
        }
        Ok(())
    }
}

/// Prints memories of the store for people.
fn show(ids: &[String], store: &mut dyn Store, settings: &Settings, io: &mut Io) -> Result<()> {
    let layout = io.layout();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut memories = store.get(&ids, &Select::records(vec![&MEMORY], Scopes::All))?;
    memory::derive(store, &mut memories, PriorRule::from_settings(settings))?;
    let evidence = memory::evidence(store, &ids)?;
    let heads = search::heads(store, &memories, Some(&layout))?;
    for memory in &memories {
        let evidence = evidence.get(&memory.id).copied().unwrap_or_default();
        io.out.write(memory::entry(memory, &evidence, &heads, &layout).as_bytes())?;
    }
    Ok(())
}
