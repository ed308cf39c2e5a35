//! Removes records as a person asks for it: they are printed, many only after a yes, and the reasons why
//! others stay.

use super::error::ForgetError;
use super::{Skipped, derived, erase, expired, import_named, in_scopes, left_alone, same_words};
use super::{select, skip_reason, visit, with_records_about};
use crate::cli::{Io, Layout, Outcome};
use crate::config::Settings;
use crate::error::Result;
use crate::record::{Record, Scopes, TombstoneState, VectorFormat, kinds};
use crate::redact::Redactor;
use crate::store::{self, OpenMode, Removal, Select, Store};
use crate::text::{counted, counted_verb};
use crate::view::{self, Heads};
use std::collections::BTreeSet;
use std::path::Path;

/// The most records that are removed without a yes.
const MAX_UNCONFIRMED: usize = 100;

/// The number of ids that a note lists.
const LISTED: usize = 10;

/// How records are removed.
#[derive(Clone, Copy)]
pub struct ForgetOptions {
    /// Whether the records derived from them go too.
    pub derived: bool,
    /// Whether they are only printed.
    pub dry_run: bool,
    /// Whether nobody is asked.
    pub yes: bool,
}

/// Removes records of a store, and keeps them out from then on.
pub struct Forgetter<'a> {
    pub store: Box<dyn Store>,
    settings: &'a Settings,
    options: ForgetOptions,
    pub io: &'a mut Io,
}

impl<'a> Forgetter<'a> {
    /// Opens the store; of a dry run only to read.
    pub fn open(settings: &'a Settings, options: ForgetOptions, io: &'a mut Io) -> Result<Forgetter<'a>> {
        let place = settings.store()?;
        let is_there = place.path().is_none_or(Path::exists);
        let store = if options.dry_run || !is_there {
            store::open_to_read(settings, io)?
        } else {
            store::open(&place, OpenMode::Create)?
        };
        Ok(Forgetter { store, settings, options, io })
    }

    /// Removes some records of a selection, and those that go with them; `everything` says that they are all
    /// of its scopes. No if there are none.
    pub fn forget(&mut self, mut ids: BTreeSet<String>, which: &Select, everything: bool) -> Result<Outcome> {
        self.add_same_words(&mut ids)?;
        if self.add_derived(&mut ids, which)? {
            self.add_same_words(&mut ids)?;
        }
        if ids.is_empty() {
            return Ok(Outcome::No);
        }
        ids.extend(left_alone(&mut *self.store, &ids)?);
        self.confirm(ids.len(), everything.then_some(&which.scopes))?;
        self.print(&ids, which)?;
        if !self.options.dry_run {
            self.remove(&ids, TombstoneState::Forgotten)?;
            erase(&mut *self.store)?;
            if self.settings.store()?.path().is_none() {
                let remaining = select(&mut *self.store, which)?;
                self.report_foreign(remaining.intersection(&ids).count());
            }
        }
        Ok(Outcome::Yes)
    }

    /// Removes the records of a selection that are older than their partition keeps them. No if there are
    /// none.
    pub fn expire(&mut self, which: Select) -> Result<Outcome> {
        let mut ids = BTreeSet::new();
        for expired in expired(&mut *self.store, self.settings, &which, self.io.clock.now())? {
            ids.extend(select(&mut *self.store, &expired)?);
        }
        let which = Select { only: Some(ids.iter().cloned().collect()), ..which };
        self.forget(ids, &which, false)
    }

    /// Undoes the import of an id. If it is interrupted, the same command continues. No if nothing is left of
    /// it.
    pub fn undo(&mut self, id: &str) -> Result<Outcome> {
        let all = store::imports(&mut *self.store)?;
        let import = import_named(&all, id)?;
        let records = store::records_of(&mut *self.store, import, &all)?;
        for (by, count) in &records.shared {
            let records = counted_verb(*count as u64, "record", ["stays", "stay"]);
            self.io.note(match by {
                Some(by) => format!("{records}, which the import {by} brought too"),
                None => format!("{records}, which came in otherwise too, as by a proxy or a hook"),
            });
        }
        let mut ids = with_records_about(&mut *self.store, records.ids)?;
        ids.extend(left_alone(&mut *self.store, &ids)?);
        let which = Select::records(kinds(), Scopes::All);
        self.add_derived(&mut ids, &which)?;
        if !ids.is_empty() {
            self.confirm(ids.len(), None)?;
            self.print(&ids, &which)?;
        }
        if !self.options.dry_run {
            // Those that are forgotten would take along all others that say the same.
            self.remove(&ids, TombstoneState::Removed)?;
            store::set_undone(&mut *self.store, import, self.io.clock.now())?;
            erase(&mut *self.store)?;
        }
        Ok(Outcome::of(!ids.is_empty()))
    }

    /// Adds the ids of the records that were made from some, if they are to go, or says which stay; returns
    /// whether it has added any.
    fn add_derived(&mut self, ids: &mut BTreeSet<String>, which: &Select) -> Result<bool> {
        let derived = derived(&mut *self.store, ids)?;
        if derived.is_empty() {
            return Ok(false);
        }
        if !self.options.derived {
            let verbs =
                ["made from it stays, --derived removes it", "made from it stay, --derived removes them"];
            let others = counted_verb(derived.len() as u64, "record", verbs);
            self.io.note(format_args!("{others}: {}", list(&derived)));
            return Ok(false);
        }
        let selected = in_scopes(&mut *self.store, &derived, &which.scopes)?;
        for id in derived.difference(&selected) {
            self.report_skipped(id, "", which)?;
        }
        ids.extend(selected);
        Ok(true)
    }

    /// Adds the records that say the same in another form.
    fn add_same_words(&mut self, ids: &mut BTreeSet<String>) -> Result<()> {
        let others = same_words(&mut *self.store, ids)?;
        if !others.is_empty() {
            let verbs =
                ["says the same in another form, and goes too", "say the same in another form, and go too"];
            let count = counted_verb(others.len() as u64, "record", verbs);
            self.io.note(format_args!("{count}: {}", list(&others)));
            ids.extend(others);
        }
        Ok(())
    }

    /// Reports why a record that was named at `place` is not in a selection, and stays.
    pub fn report_skipped(&mut self, id: &str, place: &str, which: &Select) -> Result<()> {
        match skip_reason(&mut *self.store, id, which)? {
            Skipped::Unknown => self.io.note(format_args!("{place}the store has no record {id}")),
            Skipped::OtherScope(scope) => {
                let flags = format!("-p {} -i {}", scope.partition, scope.instance);
                let id = format!("{place}{id}");
                self.io.fault(&ForgetError::OtherScope { id, scope, flags }.into());
            }
            Skipped::Unmet => {
                self.io.detail(format_args!("{place}{id} does not meet the conditions, and stays"))
            }
        }
        Ok(())
    }

    /// Asks at the terminal about many records, or about all of the scopes of `whole`, which it names. Errors
    /// unless the answer is yes; without a terminal, if there are many.
    fn confirm(&self, count: usize, whole: Option<&Scopes>) -> Result<()> {
        let is_harmless = whole.is_none() && count <= MAX_UNCONFIRMED;
        if self.options.dry_run || self.options.yes || is_harmless {
            return Ok(());
        }
        let records = counted(count as u64, "record");
        let of = match whole {
            None => String::new(),
            Some(Scopes::All) => " of the whole store".to_owned(),
            Some(Scopes::Matching(_)) => " of these partitions".to_owned(),
            Some(Scopes::Partition(partition)) => format!(" of the partition {partition}"),
            Some(Scopes::One(scope)) => format!(" of {scope}"),
        };
        match self.io.confirm(&format!("Remove {records}{of}?"))? {
            Some(true) => Ok(()),
            Some(false) => Err(ForgetError::Refused.into()),
            None if count <= MAX_UNCONFIRMED => Ok(()),
            None => Err(ForgetError::Unconfirmed { records }.into()),
        }
    }

    /// Prints the records to remove: as text for people, in whose terminal no secret is to stay, or as lines
    /// that rsv-import reads.
    fn print(&mut self, ids: &BTreeSet<String>, which: &Select) -> Result<()> {
        let Forgetter { store, settings, io, .. } = self;
        let scopes = which.scopes == Scopes::All;
        let redactor = io.stdout_is_tty().then(|| Redactor::of_patterns(settings)).transpose()?;
        let for_people = redactor.map(|redactor| (Layout { scopes, ..io.layout() }, redactor));
        let mut heads = Heads::default();
        if for_people.is_some() {
            heads.short_ids = store::short_ids(&mut **store, ids.iter().map(String::as_str))?;
        }
        let out = &mut io.out;
        visit(&mut **store, ids, &mut |record| match (&for_people, record) {
            (Some((layout, redactor)), Record::Stored(record)) => {
                let shown = redactor.without_secrets(&record).map_or(record, |(redacted, _)| redacted);
                out.write(view::record(&shown, &heads, layout).as_bytes())
            }
            (Some(_), _) => Ok(()),
            (None, record) => out.with(|out| record.write_line(VectorFormat::Numbers, out)),
        })?;
        io.out.flush()
    }

    /// Removes the printed records.
    fn remove(&mut self, ids: &BTreeSet<String>, state: TombstoneState) -> Result<()> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let now = self.io.clock.now();
        let removed = match state {
            TombstoneState::Forgotten => self.store.forget(&ids, now)?,
            _ => self.store.remove(Removal::Records(&ids, state), now)?,
        };
        let summary = format!("{} removed", counted(removed, "record"));
        if self.io.stdout_is_tty() {
            self.io.note(summary)
        } else {
            self.io.detail(summary)
        }
        Ok(())
    }

    /// Reports the records that a server still has: messages of Reservoir have no id of rsv's.
    fn report_foreign(&mut self, count: usize) {
        if count > 0 {
            let messages = counted_verb(count as u64, "message", ["of Reservoir stays", "of Reservoir stay"]);
            self.io.fault(&ForgetError::Foreign { messages }.into());
        }
    }
}

/// The first of some ids.
fn list(ids: &BTreeSet<String>) -> String {
    let mut listed: Vec<&str> = ids.iter().take(LISTED).map(String::as_str).collect();
    if ids.len() > LISTED {
        listed.push("…");
    }
    listed.join(", ")
}
