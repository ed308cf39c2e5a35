//! Works out which records are removed: those of some ids, and those that a batch's tombstones are of.

use super::batch::Batch;
use super::changes;
use super::error::DbResult;
use super::existing::{ROWS, read_about, read_old_versions};
use super::lock::lock;
use super::record_node;
use super::rows::ends;
use super::selection::select_params;
use super::server::Transaction;
use super::statements::{self, selected};
use super::tombstones::{Contents, Tombstones};
use crate::record::{
    Link, Record, RecordKind, SYNAPSE, Scope, Scopes, StoredRecord, Tombstone, identity_digest, kinds,
};
use crate::store::forgetting::{NewTombstones, Received, Targets};
use crate::store::rename::note_former;
use crate::store::select::Select;
use std::collections::BTreeSet;

/// Removes records, whose number it returns too; they get tombstones. Fails if the server does.
pub(super) fn of_ids(
    transaction: &mut Transaction,
    ids: &[&str],
    new: &NewTombstones,
) -> DbResult<(u64, Batch)> {
    let mut existing = Batch::default();
    (existing.next, existing.models) = lock(transaction, 0)?;
    let all = read_about(transaction, &mut existing, ids)?;
    let ids: &[&str] = &all.iter().map(String::as_str).collect::<Vec<_>>();
    read_old_versions(transaction, &mut existing, ids)?;
    for ids in ids.chunks(ROWS) {
        add_tombstones(transaction, &mut existing, ids, new)?;
    }
    let removed = ids.iter().filter(|id| existing.remove(id)).count();
    Ok((removed as u64, existing))
}

/// Adds the tombstones of records that go.
fn add_tombstones(
    transaction: &mut Transaction,
    existing: &mut Batch,
    ids: &[&str],
    new: &NewTombstones,
) -> DbResult<()> {
    let which = Select::records(kinds(), Scopes::All);
    let params = select_params(&which).with_texts("wanted", ids.iter().copied());
    let mut records = Vec::new();
    transaction.each(&selected(statements::RECORDS_BY_ID, &which), params, &mut |row| {
        let (listed,) = row.get("row")?;
        records.push(record_node::record(listed, &which.kinds)?);
        Ok(())
    })?;
    let digest = |record: &StoredRecord| identity_digest(record.kind.name, &record.id);
    let before = Tombstones::read(transaction, &records.iter().map(digest).collect(), &Contents::default())?;
    for record in &records {
        for tombstone in new.of(record, before.get(&digest(record))) {
            existing.new.put_tombstone(&tombstone);
        }
    }
    existing.new.forgotten.extend(ids.iter().map(|id| (*id).to_owned()));
    Ok(())
}

/// Adds the tombstones of a batch that are newer than the stored ones, and removes their records. Takes the
/// writers' lock. Fails if the server does.
pub(super) fn of_tombstones(transaction: &mut Transaction, batch: &[Record]) -> DbResult<(Received, Batch)> {
    let mut existing = Batch::default();
    (existing.next, existing.models) = lock(transaction, 0)?;
    let mut stored = Tombstones::default();
    let batched: Vec<&Tombstone> = batch.iter().filter_map(Record::tombstone).collect();
    for some in batched.chunks(ROWS) {
        let of_records = some.iter().map(|one| one.of.clone()).collect();
        let existing = Tombstones::read(transaction, &of_records, &Contents::default())?;
        let all = of_records.iter().filter_map(|of| existing.get(of)).chain(some.iter().copied());
        let of_words = all.filter_map(Tombstone::words_digest).collect();
        stored.extend(Tombstones::read(transaction, &of_words, &Contents::default())?);
        stored.extend(existing);
    }
    let mut received = Received::compare(batched.into_iter(), |of| DbResult::Ok(stored.get(of).cloned()))?;
    let mut removed = Vec::new();
    for (kind, first, targets) in Targets::by_collection(&received.newer) {
        removed.extend(matches(transaction, kind, &first.scope, &targets)?);
    }
    note_former(&received.newer, transaction)?;
    for link in forgotten_links(transaction, &received)? {
        if let Some(statement) = changes::remove_link(&link.rel) {
            transaction.run(&statement, ends(&link.from, &link.to))?;
            received.count_removed(&link.digest());
        }
    }
    let ids: Vec<&str> = removed.iter().map(|(id, _)| id.as_str()).collect();
    let all = read_about(transaction, &mut existing, &ids)?;
    let ids: Vec<&str> = all.iter().map(String::as_str).collect();
    read_old_versions(transaction, &mut existing, &ids)?;
    for (id, of) in &removed {
        if existing.remove(id) {
            received.count_removed(of);
        }
    }
    for id in &all {
        existing.remove(id);
    }
    for one in &received.newer {
        existing.new.put_tombstone(one);
    }
    existing.new.forgotten.extend(removed.into_iter().map(|(id, _)| id));
    Ok((received, existing))
}

/// The links that new tombstones are of.
fn forgotten_links(transaction: &mut Transaction, received: &Received) -> DbResult<Vec<Link>> {
    let digests: BTreeSet<&str> =
        received.newer.iter().filter(|one| one.is_of_link()).map(|one| one.of.as_str()).collect();
    let mut found = Vec::new();
    if digests.is_empty() {
        return Ok(found);
    }
    let which = Select::records(kinds(), Scopes::All);
    let params = select_params(&which).with("upto", i64::MAX);
    transaction.each(&selected(statements::LINKS, &which), params, &mut |row| {
        let link = row.link()?;
        if link.rel != SYNAPSE && digests.contains(link.digest().as_str()) {
            found.push(link);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The ids of the records that tombstones are of, each with the digest of its tombstone. Reads a collection
/// whole, as the server cannot compute a digest.
fn matches(
    transaction: &mut Transaction,
    kind: &'static RecordKind,
    scope: &Scope,
    targets: &Targets,
) -> DbResult<Vec<(String, String)>> {
    let which = Select::records(vec![kind], Scopes::One(scope.clone()));
    let mut found = Vec::new();
    if targets.need_content(kind) {
        let params = select_params(&which).with("upto", i64::MAX).with("model", None::<String>);
        transaction.each(&selected(statements::RECORDS, &which), params, &mut |row| {
            let record = row.record(&which.kinds)?;
            let of = targets.of_record(&record).map(|tombstone| tombstone.of.clone());
            found.extend(of.map(|of| (record.id, of)));
            Ok(())
        })?;
        return Ok(found);
    }
    transaction.each(&selected(statements::IDS, &which), select_params(&which), &mut |row| {
        let id: String = row.get("id")?;
        let tombstone = targets.of_id(kind, &id, row.get("timestamp")?);
        let of = tombstone.map(|tombstone| tombstone.of.clone());
        found.extend(of.map(|of| (id, of)));
        Ok(())
    })?;
    Ok(found)
}
