//! The last records of a selection.

use super::Viewer;
use crate::chat::fence;
use crate::cli::Outcome;
use crate::error::Result;
use crate::memory::{self, PriorRule, State};
use crate::recall_rules::RecallRules;
use crate::record::{MEMORY, Record, StoredRecord, VectorFormat, newer_json};
use crate::search;
use crate::store::Select;
use crate::view::{self, Heads, ReservoirLines};

/// The most records that are printed with their short ids: more are not held at once.
pub(super) const MAX_WITH_HEADS: usize = 1000;

/// The number of the last records that are printed if none is given.
pub const DEFAULT_COUNT: usize = 10;

/// Which of the last records of a selection are printed.
pub struct Last {
    pub which: Select,
    pub count: usize,
    /// The number of records after them.
    pub offset: usize,
    /// The state of memories.
    pub state: State,
}

impl Viewer<'_> {
    /// Prints the last records of a selection, oldest first; as Reservoir does if `is_reservoir`.
    pub fn last(&mut self, last: &Last, is_reservoir: bool) -> Result<Outcome> {
        let Last { which, count, offset, .. } = last;
        let records = if *offset > 0 || which.kinds.contains(&&MEMORY) {
            self.with_state(last)?
        } else if self.layout.is_some() && *count <= MAX_WITH_HEADS {
            self.store.last_of(which, *count)?
        } else {
            return self.stream(last, is_reservoir);
        };
        if records.is_empty() && *count > 0 {
            return self.explain_nothing(which);
        }
        self.records(&records).map(|()| Outcome::Yes)
    }

    /// Prints them without holding them.
    fn stream(&mut self, last: &Last, is_reservoir: bool) -> Result<Outcome> {
        let lines = ReservoirLines { to_terminal: self.io.stdout_is_tty() };
        let mut is_empty = true;
        let (layout, out) = (&self.layout, &mut self.io.out);
        self.store.visit_last(&last.which, last.count, &mut |record| {
            is_empty = false;
            match (&record, layout) {
                (Record::Stored(record), _) if is_reservoir => out.write(lines.message(record).as_bytes()),
                (Record::Stored(record), Some(layout)) => {
                    out.write(view::record(record, &Heads::default(), layout).as_bytes())
                }
                _ => out.with(|out| record.write_line(VectorFormat::Numbers, out)),
            }
        })?;
        if is_empty && last.count > 0 { self.explain_nothing(&last.which) } else { Ok(Outcome::Yes) }
    }

    /// Prints the last accounts: for people, each with its question and the records that it names.
    pub fn accounts(&mut self, last: &Last) -> Result<Outcome> {
        if self.layout.is_none() {
            return self.last(last, false);
        }
        let accounts = self.with_state(last)?;
        if accounts.is_empty() && last.count > 0 {
            return self.explain_nothing(&last.which);
        }
        accounts.iter().try_for_each(|account| self.record(account)).map(|()| Outcome::Yes)
    }

    /// Prints the last records in a fence for a model, without those that are never recalled.
    pub fn block(&mut self, mut last: Last) -> Result<Outcome> {
        let rules = RecallRules::read(&mut *self.store, &last.which.scopes)?;
        last.which.except.ids.extend(rules.never().cloned());
        let records = self.with_state(&last)?;
        let block = fence::block(fence::DEFAULT_NOTE, &records.iter().collect::<Vec<_>>());
        self.io.out.write(block.as_bytes()).map(|()| Outcome::Yes)
    }

    /// Prints the last memories that were made of messages which later ones supersede, with these. No if
    /// there are none.
    pub fn stale(&mut self, last: &Last) -> Result<Outcome> {
        let all = Last { which: last.which.clone(), count: usize::MAX, offset: 0, ..*last };
        let mut memories = self.with_state(&all)?;
        let by_rule = self.settings.text("search.newer").as_deref() != Some("off");
        let read: Vec<&StoredRecord> = memories.iter().collect();
        let newer = search::stale(&mut *self.store, &read, &last.which, by_rule)?;
        memories.retain(|memory| newer.contains_key(&memory.id));
        memories.truncate(memories.len().saturating_sub(last.offset));
        let mut stale = memories.split_off(memories.len().saturating_sub(last.count));
        for memory in &mut stale {
            memory.members.set("newer", newer_json(&newer[&memory.id]));
        }
        for memory in stale.chunks(1) {
            self.records(memory)?;
            if self.layout.is_some() {
                self.io.out.write(view::newer(&newer[&memory[0].id]).as_bytes())?;
            }
        }
        Ok(Outcome::of(!newer.is_empty()))
    }

    fn with_state(&mut self, last: &Last) -> Result<Vec<StoredRecord>> {
        let Last { which, count, offset, state } = last;
        let rule = PriorRule::from_settings(self.settings);
        memory::last(&mut *self.store, which, *state, *count, *offset, rule)
    }

    /// Tells a person what is near, where there is nothing to print.
    pub(super) fn explain_nothing(&mut self, which: &Select) -> Result<Outcome> {
        if self.io.stdout_is_tty() {
            let everywhere = self.io.command_for_all_scopes(None);
            for note in search::nothing_found(&mut *self.store, which, None, &everywhere)? {
                self.io.note(note);
            }
        }
        Ok(Outcome::Yes)
    }
}
