//! Reads the existing records of a batch while the writers' lock is held.

use super::batch::{Batch, natural_key};
use super::batch_changes::OldVersion;
use super::changes;
use super::error::{DbError, DbResult};
use super::lock::{lock_params, locked};
use super::record_node::{self, ListedRecord};
use super::rows::ends;
use super::selection::{collection_params, number, scope_params};
use super::server::Transaction;
use super::statements::{self, for_label};
use super::tombstones::Tombstones;
use super::values::{Params, Row, narrow, or_null};
use crate::record::{Link, Record, RecordKind, Scope, StoredRecord, URI, kind_named, kinds};
use crate::store::forgetting::Forgotten;
use crate::store::identity::is_one_to_one;
use crate::store::rename::FormerNames;
use crate::store::write_plan::Twin;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The number of rows in one statement.
pub(super) const ROWS: usize = 500;

/// The number of numbers that a record of a batch needs, without the links that follow from it: one each for
/// itself, its vector, a new collection and a new model.
const NUMBERS: usize = 4;

/// Takes the writers' lock, and reads all records that a batch names; `forgotten` says what happens to
/// records that were forgotten. Fails if the server does.
pub(super) fn read(transaction: &mut Transaction, batch: &[Record], forgotten: Forgotten) -> DbResult<Batch> {
    let mut existing = Batch::default();
    let may_return = matches!(forgotten, Forgotten::Return { .. });
    let links = batch.iter().filter_map(Record::stored).map(|record| record.replaced_ids().len());
    let (kinds, count) = (kinds(), NUMBERS * batch.len() + links.sum::<usize>());
    for (at, some) in batch.chunks(ROWS).enumerate() {
        let requested = Wanted::new(some, may_return);
        let statement = changes::existing(at == 0, &kinds, &requested.keyed);
        let params = if at == 0 { lock_params(count) } else { Params::new() };
        let row = transaction.row(&statement, requested.with(params))?.ok_or_else(no_row)?;
        if at == 0 {
            (existing.next, existing.models) = locked(&row)?;
        }
        take_in(&mut existing, &row, &requested, &kinds)?;
        existing.has_tombstones = row.get("tombstones")?;
        existing.tombstones.former = FormerNames::parse(row.get::<Vec<(String, String)>>("former")?);
    }
    if existing.has_tombstones {
        for some in batch.chunks(ROWS) {
            let is_there = |id: &str| existing.records.contains_key(id);
            let former = &existing.tombstones.former;
            let tombstones = Tombstones::of_batch(transaction, some, former, is_there)?;
            existing.tombstones.extend(tombstones);
            let directories = existing.tombstones.directories(some);
            existing.empty_directories.extend(empty(transaction, &directories)?);
        }
    }
    let may_go = |record: &&StoredRecord| {
        is_replaceable(record, may_return) && existing.records.contains_key(&record.id)
    };
    let replaced: Vec<&str> =
        batch.iter().filter_map(Record::stored).filter(may_go).map(|record| record.id.as_str()).collect();
    read_old_versions(transaction, &mut existing, &replaced)?;
    Ok(existing)
}

/// Whether a record may take the place of a stored one that has its id.
pub(super) fn is_replaceable(record: &StoredRecord, may_return: bool) -> bool {
    record.kind.versions.is_some() || may_return && !record.kind.part_lists.is_empty()
}

/// The directories without descendants.
fn empty(transaction: &mut Transaction, directories: &[&StoredRecord]) -> DbResult<Vec<StoredRecord>> {
    let mut empty = Vec::new();
    for directory in directories {
        let params = scope_params(&directory.scope).with("below", format!("{}/", directory.member_text(URI)));
        let statement = for_label(statements::BELOW, directory.kind);
        if transaction.row(&statement, params)?.is_none() {
            empty.push((*directory).clone());
        }
    }
    Ok(empty)
}

/// Reads the values that were counted for records that may be replaced.
pub(super) fn read_old_versions(
    transaction: &mut Transaction,
    existing: &mut Batch,
    ids: &[&str],
) -> DbResult<()> {
    let kinds = kinds();
    let statement = changes::old_versions(&kinds);
    for ids in ids.chunks(ROWS) {
        for row in transaction.rows(&statement, Params::new().with_texts("ids", ids.iter().copied()))? {
            let (kind, id, n, partition, instance, indexed, length, models, element): Counted =
                row.get("row")?;
            // Records of a kind that this process does not know stay as they are.
            let Some(kind) = kind.and_then(|kind| kinds.get(kind).copied()) else { continue };
            let (scope, length) = (Scope { partition, instance }, length.unwrap_or_default());
            existing.old_versions.insert(id, OldVersion { n, kind, scope, indexed, length, models, element });
        }
    }
    Ok(())
}

/// The ids of some records and of the records about them; those that add to sums are subtracted from these.
pub(super) fn read_about(
    transaction: &mut Transaction,
    existing: &mut Batch,
    ids: &[&str],
) -> DbResult<Vec<String>> {
    let mut all: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let about: Vec<_> = kinds().into_iter().filter(|kind| kind.subject.is_some()).collect();
    let mut seen = BTreeSet::new();
    for kind in about {
        for ids in ids.chunks(ROWS) {
            let params = Params::new().with_texts("wanted", ids.iter().copied());
            transaction.each(&statements::records_about(kind), params, &mut |row| {
                let (listed,) = row.get("row")?;
                let record = record_node::record(listed, &[kind])?;
                if seen.insert(record.id.clone()) {
                    existing.new.tally(&record, -1);
                    all.push(record.id);
                }
                Ok(())
            })?;
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// The values that were counted for a record: the position of its kind, id, n, partition, instance, words,
/// length, models, element id.
type Counted = (Option<usize>, String, i64, String, String, Option<String>, Option<i64>, Vec<String>, String);

/// An existing record: id, the position of its kind, partition, instance, timestamp, role; and, if it is to
/// be compared, content and extra.
type Existing = (String, Option<usize>, String, String, i64, Option<String>, Option<String>, Option<String>);

/// A node that may be the same as a record of the batch: the position of that record, the node's element id,
/// the node, and its vector.
type ListedTwin = (usize, String, ListedRecord, Option<Vec<f64>>);

/// Adds the values of a row.
fn take_in(existing: &mut Batch, row: &Row, wanted: &Wanted, kinds: &[&'static RecordKind]) -> DbResult<()> {
    for (id, kind, partition, instance, timestamp, role, content, extra) in
        row.get::<Vec<Existing>>("records")?
    {
        let compare = content.is_some();
        let listed = kind.map(|kind| {
            let id = Some(id.clone());
            (kind, id, None, partition, instance, role, content, Some(timestamp), None, extra, None)
        });
        let record = listed.map(|listed| record_node::record(listed, kinds)).transpose()?;
        // Records that the batch itself has added are more recent.
        if compare || !existing.records.contains_key(&id) {
            existing.records.insert(id, record);
        }
    }
    for (i, element, listed, vector) in row.get::<Vec<ListedTwin>>("twins")? {
        let id = listed.1.clone();
        let twin = record_node::record(listed, &wanted.keyed)?;
        let requested = wanted.twins.get(i).and_then(|(_, requested)| requested.vector.as_ref());
        if let (Some(id), Some(numbers), Some(requested)) = (&id, vector, requested) {
            existing.vectors.insert((id.clone(), requested.model.clone()), narrow(numbers));
        }
        if let Some(key) = natural_key(&twin) {
            existing.twins.entry(key).or_insert(id.map_or(Twin::Unadopted(element), Twin::Record));
        }
    }
    for (kind, partition, instance, n) in row.get::<Vec<(String, String, String, i64)>>("collections")? {
        if let Some(kind) = kind_named(&kind) {
            existing.collections.insert((kind.name, Scope { partition, instance }), n);
        }
    }
    for (of, model, numbers) in row.get::<Vec<(String, String, Vec<f64>)>>("vectors")? {
        existing.vectors.insert((of, model), narrow(numbers));
    }
    existing.links.extend(row.get::<Vec<(String, String, String)>>("links")?);
    for (rel, from, to) in row.get::<Vec<(String, String, String)>>("pairs")? {
        existing.sources.insert((rel.clone(), from));
        existing.targets.insert((rel, to));
    }
    Ok(())
}

/// The ids and keys to read for some records: their own, and those of the records that they name.
#[derive(Default)]
struct Wanted<'a> {
    /// Ids, and whether their records are to be compared.
    ids: BTreeMap<Cow<'a, str>, bool>,
    /// The kinds whose records may exist under another id, or without one.
    keyed: Vec<&'static RecordKind>,
    /// The records of these kinds, each with the position of its kind.
    twins: Vec<(usize, &'a StoredRecord)>,
    collections: BTreeSet<(&'static str, &'a Scope)>,
    /// Vectors, by the id of their record and their model.
    vectors: Vec<(&'a str, &'a str)>,
    links: Vec<&'a Link>,
    /// The ends of links of a relation, if all its links there are to be read, regardless of the other ends.
    ends: BTreeSet<(Cow<'a, str>, &'a str)>,
}

impl<'a> Wanted<'a> {
    /// The names in a batch; with `parts`, records that have parts are to be compared too.
    fn new(batch: &'a [Record], parts: bool) -> Wanted<'a> {
        let mut requested = Wanted::default();
        for record in batch {
            match record {
                Record::Stored(record) => requested.add(record, parts),
                Record::Embedding(vector) => {
                    requested.ids.entry(vector.of.as_str().into()).or_default();
                    requested.vectors.push((&vector.of, &vector.model));
                }
                Record::Link(link) => {
                    for end in [&link.from, &link.to] {
                        requested.ids.entry(end.as_str().into()).or_default();
                        if is_one_to_one(&link.rel) {
                            requested.ends.insert((end.as_str().into(), &link.rel));
                        }
                    }
                    requested.links.push(link);
                }
                Record::Tombstone(_) => {}
            }
        }
        requested
    }

    fn add(&mut self, record: &'a StoredRecord, parts: bool) {
        let has_key = record.kind.natural_key.is_some();
        let is_compared = record.kind.fixed_parts.is_some()
            || record.kind.versions.is_some()
            || record.kind.merge.is_some()
            || record.kind.subject.is_some()
            || parts && !record.kind.part_lists.is_empty();
        *self.ids.entry(record.id.as_str().into()).or_default() |= is_compared;
        if let Some(subject) = record.subject_id() {
            self.ids.entry(subject.into()).or_default();
        }
        for replaced in record.replaced_ids() {
            let rel = record.kind.replaces.map_or("", |replaces| replaces.rel);
            self.ends.insert((replaced.clone().into(), rel));
            self.ids.entry(replaced.into()).or_default();
        }
        self.collections.insert((record.kind.name, &record.scope));
        let vector = record.vector.iter().map(|vector| (record.id.as_str(), vector.model.as_str()));
        self.vectors.extend(vector);
        if has_key {
            let at = self.keyed.iter().position(|kind| *kind == record.kind).unwrap_or_else(|| {
                self.keyed.push(record.kind);
                self.keyed.len() - 1
            });
            self.twins.push((at, record));
        }
    }

    fn with(&self, mut params: Params) -> Params {
        let id = |(id, compare): (&Cow<str>, &bool)| {
            Params::new().with("id", id.as_ref()).with("compare", *compare)
        };
        let twin = |(i, (_, record)): (usize, &(usize, &StoredRecord))| {
            scope_params(&record.scope)
                .with("i", number(i))
                .with("trace_id", record.trace_id.as_str())
                .with("timestamp", record.timestamp)
                .with("role", or_null(record.role.map(|role| role.name())))
                .with("model", or_null(record.vector.as_ref().map(|vector| vector.model.as_str())))
        };
        for at in 0..self.keyed.len() {
            let of_kind = self.twins.iter().enumerate().filter(|(_, (of, _))| *of == at);
            params = params.with_rows(&format!("twins{at}"), of_kind.map(twin));
        }
        let vector = |(of, model): &(&str, &str)| Params::new().with("of", *of).with("model", *model);
        let link = |link: &&Link| ends(&link.from, &link.to).with("rel", link.rel.as_str());
        let end = |(id, rel): &(Cow<str>, &str)| Params::new().with("id", id.as_ref()).with("rel", *rel);
        let collections = self.collections.iter().map(|(kind, scope)| collection_params(kind, scope));
        params
            .with_rows("ids", self.ids.iter().map(id))
            .with_rows("collections", collections)
            .with_rows("vectors", self.vectors.iter().map(vector))
            .with_rows("links", self.links.iter().map(link))
            .with_rows("ends", self.ends.iter().map(end))
    }
}

/// The error of a statement that always returns a row.
pub(super) fn no_row() -> DbError {
    DbError::Unexpected("a row was asked for, and none came".to_owned())
}
