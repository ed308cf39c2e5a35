//! The operations of every store, by the methods of its traits.

use super::api::{Among, Removal, Store, Visit};
use super::error::{Result, StoreFault};
use super::forgetting::WriteRules;
use super::rename::Rename;
use super::select::{Select, Walk};
use crate::error::Error;
use crate::record::{Hit, Record, RecordKind, Scope, Scopes, StoredRecord, Tombstone, TombstoneState};
use crate::text::terms::{Occur, Term};
use std::collections::BTreeMap;

/// The greatest number of records that `visit_last` holds at once.
const MAX_HELD: usize = 1000;

impl dyn Store + '_ {
    /// The value of a fact. Fails if the store cannot be read.
    pub fn fact(&mut self, name: &str) -> Result<Option<String>> {
        let facts = self.facts(name)?;
        Ok(facts.into_iter().find_map(|(found, value)| (found == name).then_some(value)))
    }

    /// The scope of the record of any kind that has this id. Fails if the store cannot be read.
    pub fn scope_of(&mut self, id: &str) -> Result<Option<Scope>> {
        Ok(self.identify(Among::Ids(&[id]))?.pop().map(|(_, scope)| scope))
    }

    /// Removes records that are kept out from then on, as [`Records::remove`](super::Records::remove) does;
    /// their copies are forgotten with them. Fails if the store cannot be written.
    pub fn forget(&mut self, ids: &[&str], at: i64) -> Result<u64> {
        let copies = self.forgotten_copies(ids, at)?;
        let removed = self.remove(Removal::Records(ids, TombstoneState::Forgotten), at)?;
        if !copies.is_empty() {
            self.write(&copies, WriteRules::KEEP_OUT)?;
        }
        Ok(removed)
    }

    /// The tombstones that say of the copies of some messages that they are forgotten at a time.
    fn forgotten_copies(&mut self, ids: &[&str], at: i64) -> Result<Vec<Record>> {
        let mut copies = Vec::new();
        for ids in ids.chunks(MAX_HELD) {
            let messages = self.get(ids, &Select::messages(Scopes::All))?;
            let named = self.tombstones_of(&messages.iter().collect::<Vec<_>>())?;
            let is_copy = |one: &&Tombstone| {
                one.duplicate_of().is_some_and(|original| ids.contains(&original.as_str()))
            };
            copies.extend(named.iter().filter(is_copy).map(|one| Record::Tombstone(one.forgotten(at))));
        }
        Ok(copies)
    }

    /// Renames a partition; returns the number of its records. It is under way until `end_rename`: one that
    /// was interrupted continues with the next call. Errors, and changes nothing, if there is no such
    /// partition, or another has the name.
    pub fn rename_partition(&mut self, rename: &Rename) -> crate::error::Result<u64> {
        let Rename { from, to } = rename;
        for name in [from, to] {
            Scope::new(Some(name), None)?;
        }
        if from == to {
            return Err(StoreFault::SameName { name: from.clone() }.into());
        }
        if let Some(other) = self.fact(&rename.fact())?.filter(|other| other != to) {
            let rename = Rename { from: from.clone(), to: other };
            return Err(StoreFault::Renaming { rename }.into());
        }
        let cannot = |obstacle| Error::from(obstacle).at(format_args!("cannot rename the partition {from}"));
        self.rename(rename)?.map_err(cannot)
    }

    /// Notes that everything has followed the new name of a partition. Fails if the store cannot be written.
    pub fn end_rename(&mut self, rename: &Rename) -> Result<()> {
        self.set_fact(&rename.fact(), None)
    }

    /// The last `count` records of one selection, oldest first. Fails if the store cannot be read.
    pub fn last_of(&mut self, which: &Select, count: usize) -> Result<Vec<StoredRecord>> {
        Ok(self.last(std::slice::from_ref(which), count)?.pop().unwrap_or_default())
    }

    /// Visits the last `count` records of a selection, oldest first. Many are not held at once, but counted
    /// first: one that is written meanwhile may take the place of another. Fails if `visit` does.
    pub fn visit_last(&mut self, which: &Select, count: usize, visit: &mut Visit) -> Result<()> {
        if count <= MAX_HELD {
            for record in self.last_of(which, count)? {
                visit(Record::Stored(record))?;
            }
            return Ok(());
        }
        let total = self.count(which, usize::MAX)?;
        let mut places = 0..;
        self.walk(&Walk::records(which.clone()), &mut |record| match places.next() {
            Some(place) if (total.saturating_sub(count)..total).contains(&place) => visit(record),
            _ => Ok(()),
        })?;
        Ok(())
    }

    /// The lookup keys of the records of a selection, in no order. Fails if the store cannot be read.
    pub fn keys(&mut self, which: &Select) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        self.walk(&Walk { texts: false, ..Walk::records(which.clone()) }, &mut |record| {
            if let Record::Stored(record) = record {
                keys.extend(record.lookup_key());
            }
            Ok(())
        })?;
        Ok(keys)
    }

    /// The times of the last records of a kind that have these lookup keys, by key. Fails if the store does.
    pub fn last_times(&mut self, kind: &'static RecordKind, keys: &[&str]) -> Result<BTreeMap<String, i64>> {
        let of_key =
            |key: &&str| Select { key: Some((*key).to_owned()), ..Select::records(vec![kind], Scopes::All) };
        let last = self.last(&keys.iter().map(of_key).collect::<Vec<_>>(), 1)?;
        let times =
            keys.iter().zip(last).filter_map(|(key, last)| Some(((*key).to_owned(), last.last()?.timestamp)));
        Ok(times.collect())
    }

    /// The records that [`Store::visit_found`] visits. Fails if the store cannot be read.
    pub fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        self.visit_found(terms, occur, which, limit, &mut |hit| {
            hits.push(hit);
            Ok(())
        })?;
        Ok(hits)
    }
}
