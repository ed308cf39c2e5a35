//! The rules of every store for versions of a record: which one holds, how it is dated, and which vectors are
//! of it.

use super::forgetting::WriteSource;
use crate::record::{Embedding, StoredRecord, Tombstone};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A version as it is written: one that is new is dated after the stored one and after a tombstone of it.
pub(super) fn dated<'a>(
    record: &'a StoredRecord,
    existing: Option<&StoredRecord>,
    tombstone: Option<&Tombstone>,
    source: WriteSource,
) -> Cow<'a, StoredRecord> {
    let before = [existing.map(|existing| existing.timestamp), tombstone.map(|one| one.timestamp)];
    match before.into_iter().flatten().max() {
        Some(before)
            if source == WriteSource::Local
                && record.kind.versions.is_some()
                && record.timestamp <= before =>
        {
            Cow::Owned(StoredRecord { timestamp: before + 1, ..record.clone() })
        }
        _ => Cow::Borrowed(record),
    }
}

/// Whether a version takes the place of the stored one.
pub(super) fn takes_place(record: &StoredRecord, existing: &StoredRecord, source: WriteSource) -> bool {
    let Some(versions) = record.kind.versions else { return false };
    let version = |record: &StoredRecord| (record.version(), record.source());
    match source {
        WriteSource::Local => {
            let order = |record: &StoredRecord| record.members.get(versions.order).map(str::to_owned);
            let differs = version(record) != version(existing) || order(record) != order(existing);
            differs && !(versions.gives_way)(record, existing)
        }
        WriteSource::Import => {
            let order = record
                .timestamp
                .cmp(&existing.timestamp)
                .then_with(|| version(record).cmp(&version(existing)));
            // Ties are broken by the lines, so that stores agree.
            let line = |record: &StoredRecord| {
                let mut line = Vec::new();
                StoredRecord { vector: None, ..record.clone() }.write(&mut line);
                line
            };
            order.then_with(|| line(record).cmp(&line(existing))) == Ordering::Greater
        }
    }
}

/// The stored version as one of another place, dated as the new one that names that place. The new one's
/// texts do not take the place of the stored ones.
pub(super) fn moved(record: &StoredRecord, old: &StoredRecord, source: WriteSource) -> Option<StoredRecord> {
    let versions = record.kind.versions.filter(|_| source == WriteSource::Local)?;
    let moved = (versions.moved)(record, old)?;
    let vector = record.vector.clone().filter(|_| record.version() == old.version());
    Some(StoredRecord { timestamp: record.timestamp, vector, ..moved })
}

/// A vector of a stored record as it is written: of a kind with versions, it names its version. `None` if it
/// is of another version.
pub(super) fn vector_of_version<'a>(
    embedding: &'a Embedding,
    record: &StoredRecord,
) -> Option<Cow<'a, Embedding>> {
    let (Some(versions), Some(version)) = (record.kind.versions, record.version()) else {
        return Some(Cow::Borrowed(embedding));
    };
    match embedding.extra.text(versions.version) {
        Ok(Some(named)) => (named == version).then_some(Cow::Borrowed(embedding)),
        _ => {
            let mut embedding = embedding.clone();
            embedding.extra.set_text(versions.version, &version);
            Some(Cow::Owned(embedding))
        }
    }
}
