//! One record, and what is around it: its neighbours, its turn, its conversation.

use super::Viewer;
use super::error::ShowError;
use super::last::MAX_WITH_HEADS;
use crate::cli::{Layout, Outcome};
use crate::error::Result;
use crate::import::resume_command;
use crate::memory::{self, PriorRule};
use crate::record::{ACTION, MEMORY, MESSAGE, Scopes, SessionSummary, StoredRecord, kinds};
use crate::search;
use crate::store::{self, Select, Walk};
use crate::view::{self, Heads};

impl Viewer<'_> {
    /// Prints the record of some scopes that has an id, or a short id, between as many neighbours as
    /// `context` on either side; as text with a mark before it, and a memory with its row in the table.
    pub fn one(&mut self, id: &str, scopes: &Scopes, context: usize) -> Result<Outcome> {
        let mut record = self.record_of(id, scopes)?;
        let rule = PriorRule::from_settings(self.settings);
        memory::derive(&mut *self.store, [&mut record], rule)?;
        let which = Select::records(kinds(), scopes.clone());
        let around = self.store.around(&[&record], &which, context)?.pop().unwrap_or_default();
        if self.layout.is_some() && record.kind == &MEMORY {
            let evidence = memory::evidence(&mut *self.store, &[&record.id])?.remove(&record.id);
            self.io.out.write(memory::row(&record, &evidence.unwrap_or_default()).as_bytes())?;
        }
        let near = around.before.iter().chain(&around.after).map(|near| &**near);
        let heads = search::heads(&mut *self.store, near.chain([&record]), self.layout.as_ref())?;
        let mark = if context == 0 { ["", ""] } else { ["  ", "> "] };
        around.before.iter().rev().try_for_each(|near| self.marked(mark[0], near, &heads))?;
        self.marked(mark[1], &record, &heads)?;
        around.after.iter().try_for_each(|near| self.marked(mark[0], near, &heads))?;
        Ok(Outcome::Yes)
    }

    /// Prints the messages and the actions of the turn of the record of some scopes that has an id.
    pub fn turn(&mut self, id: &str, scopes: &Scopes) -> Result<Outcome> {
        let record = self.record_of(id, scopes)?;
        if !record.kind.traced {
            return Err(ShowError::Untraced { kind: record.kind.name }.into());
        }
        let which = Select {
            trace_id: Some(record.trace_id.clone()),
            ..Select::records(vec![&MESSAGE, &ACTION], Scopes::One(record.scope.clone()))
        };
        self.leave_scopes_out();
        let records = self.store.last_of(&which, usize::MAX)?;
        let heads = search::heads(&mut *self.store, &records, self.layout.as_ref())?;
        for record in &records {
            match &self.layout {
                Some(layout) if record.kind == &ACTION => {
                    self.io.out.write(view::action(record, &heads, layout).as_bytes())?;
                }
                _ => self.marked("", record, &heads)?,
            }
        }
        Ok(Outcome::Yes)
    }

    /// Prints all messages of the instance of the record that has an id, oldest first; as text with a mark
    /// before the record itself, and with the command that continues it.
    pub fn conversation(&mut self, id: &str, scopes: &Scopes) -> Result<Outcome> {
        let record = self.record_of(id, scopes)?;
        self.leave_scopes_out();
        let which = Select::messages(Scopes::One(record.scope.clone()));
        let heads = if self.store.count(&which, MAX_WITH_HEADS + 1)? <= MAX_WITH_HEADS {
            let messages = self.store.last_of(&which, MAX_WITH_HEADS)?;
            search::heads(&mut *self.store, &messages, self.layout.as_ref())?
        } else {
            Heads::default()
        };
        let mut session: Option<SessionSummary> = None;
        let Viewer { store, layout, io, .. } = self;
        store.walk(&Walk::records(which), &mut |message| {
            let Some(message) = message.stored() else { return Ok(()) };
            session.get_or_insert_with(|| SessionSummary::new(message)).add(message);
            let mark = if message.id == record.id { "> " } else { "  " };
            match layout {
                Some(layout) => io.out.write(view::led(mark, message, &heads, layout).as_bytes()),
                None => io.out.stored(message),
            }
        })?;
        let program = session.as_ref().and_then(|session| session.program.as_deref());
        let command = program.and_then(|program| resume_command(program, &record.scope.instance));
        if let (Some(layout), Some(command)) = (layout, command) {
            io.out.write(view::resume_line(&command, layout).as_bytes())?;
        }
        Ok(Outcome::Yes)
    }

    /// All that is printed is of one scope.
    fn leave_scopes_out(&mut self) {
        self.layout = self.layout.take().map(|layout| Layout { scopes: false, ..layout });
    }

    /// Prints a record as a line, or as text with a mark in front.
    fn marked(&mut self, mark: &str, record: &StoredRecord, heads: &Heads) -> Result<()> {
        match &self.layout {
            Some(layout) => self.io.out.write(view::led(mark, record, heads, layout).as_bytes()),
            None => self.io.out.stored(record),
        }
    }

    /// The record of some scopes that has an id, or a short id.
    fn record_of(&mut self, id: &str, scopes: &Scopes) -> Result<StoredRecord> {
        let id = &store::full_id(&mut *self.store, id, scopes)?;
        let found = self.store.get(&[id], &Select::records(kinds(), scopes.clone()))?.pop();
        Ok(found.ok_or_else(|| ShowError::Missing { id: id.clone() })?)
    }
}
