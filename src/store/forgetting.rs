//! The rules for forgotten records in every store: which tombstones hold, and which records they match.

use super::identity::WriteOutcome;
use super::imports::Import;
use super::rename::former_forms;
use crate::record::{
    RecordDigests, RecordKind, StoredRecord, Tombstone, TombstoneState, identity_digest, kind_named, kinds,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The treatment of forgotten records in a write.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Forgotten {
    /// They are kept out.
    KeepOut,
    /// They are stored again; their tombstones become `returned`, dated `at` (milliseconds since 1970, UTC)
    /// or later.
    Return { at: i64 },
}

/// The rules of a write.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WriteRules<'a> {
    /// The treatment of forgotten records.
    pub forgotten: Forgotten,
    pub source: WriteSource,
    /// The import that brings the records, if it can be undone.
    pub import: Option<&'a Import>,
}

/// The origin of written records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WriteSource {
    /// It is new: a version follows the stored one, regardless of its time, and a record is refused that
    /// takes the place of records which are missing, or replaced already.
    Local,
    /// Another store has it: of two versions the later one holds, then the one with the greater digest.
    #[default]
    Import,
}

impl WriteRules<'static> {
    /// Forgotten records are kept out.
    pub const KEEP_OUT: WriteRules<'static> =
        WriteRules { forgotten: Forgotten::KeepOut, source: WriteSource::Import, import: None };
    /// The same for what is new.
    pub const NEW: WriteRules<'static> =
        WriteRules { forgotten: Forgotten::KeepOut, source: WriteSource::Local, import: None };
}

/// The tombstones that removed records get.
pub(super) struct NewTombstones<'a> {
    pub(super) state: TombstoneState,
    /// Their time, or that of an earlier tombstone if that is not before it (milliseconds since 1970, UTC).
    pub(super) at: i64,
    /// The ids of the messages of which these are copies, by their own.
    pub(super) duplicates: Option<&'a BTreeMap<&'a str, &'a str>>,
}

impl NewTombstones<'_> {
    /// Those of a record, of which `before` is the stored one.
    pub(super) fn of(
        &self,
        record: &StoredRecord,
        before: Option<&Tombstone>,
    ) -> impl Iterator<Item = Tombstone> {
        let original = self.duplicates.and_then(|duplicates| duplicates.get(record.id.as_str()));
        let tombstones = Tombstone::for_removal(record, self.state, self.at, before);
        tombstones.map(move |one| match original {
            Some(original) if one.state == TombstoneState::Removed => one.of_duplicate(original),
            _ => one,
        })
    }
}

/// The tombstones of a store, or those of them that a decision may ask for.
pub(super) trait TombstoneLookup {
    type Error;

    /// The tombstone of a digest.
    fn of(&self, digest: &str) -> Result<Option<Tombstone>, Self::Error>;

    /// The tombstones that name a record by one of its digests.
    fn naming(&self, digests: &RecordDigests) -> Result<Vec<Tombstone>, Self::Error>;

    /// The former names of a partition.
    fn former_names(&self, partition: &str) -> Result<Vec<String>, Self::Error>;
}

/// The tombstones that keep a record out. Fails if the lookup does.
pub(super) fn blocking<T: TombstoneLookup + ?Sized>(
    record: &StoredRecord,
    tombstones: &T,
) -> Result<Vec<Tombstone>, T::Error> {
    let digests = record.digests();
    let mut named = tombstones.naming(&digests)?;
    named.retain(|one| one.keeps_out_record(record, &digests));
    let partition = &record.scope.partition;
    for (name, form) in former_forms(record, &tombstones.former_names(partition)?) {
        let digests = form.digests();
        for one in tombstones.naming(&digests)? {
            let is_new = named.iter().all(|other| other.of != one.of);
            if is_new && one.came_from(partition, name) && one.keeps_out_record(record, &digests) {
                named.push(one);
            }
        }
    }
    Ok(named)
}

/// The tombstone of the id of a record, in its partition or under a former name of it; of several, the
/// latest.
pub(super) fn tombstone_of_id<T: TombstoneLookup + ?Sized>(
    record: &StoredRecord,
    tombstones: &T,
) -> Result<Option<Tombstone>, T::Error> {
    let of = |record: &StoredRecord| tombstones.of(&identity_digest(record.kind.name, &record.id));
    let mut latest = of(record)?;
    let partition = &record.scope.partition;
    for (name, form) in former_forms(record, &tombstones.former_names(partition)?) {
        if let Some(former) = of(&form)?.filter(|one| one.came_from(partition, name))
            && latest.as_ref().is_none_or(|latest| former.supersedes(latest))
        {
            latest = Some(former);
        }
    }
    Ok(latest)
}

/// Whether a record of this id, of any kind, was forgotten or is a copy of another. Fails if the lookup does.
pub(super) fn is_forgotten<T: TombstoneLookup + ?Sized>(id: &str, tombstones: &T) -> Result<bool, T::Error> {
    for kind in kinds() {
        let existing = tombstones.of(&identity_digest(kind.name, id))?;
        if existing.is_some_and(|existing| {
            existing.state == TombstoneState::Forgotten || existing.duplicate_of().is_some()
        }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// New tombstones of one kind and scope, by the digests of the records to remove.
#[derive(Default)]
pub(super) struct Targets<'a> {
    by_identity: HashMap<&'a str, &'a Tombstone>,
    /// By the words of their records, as written and normalized.
    by_content: HashMap<String, &'a Tombstone>,
    /// The former names of their partition.
    former: Vec<String>,
}

impl<'a> Targets<'a> {
    /// Groups the tombstones that keep records out by kind and scope. Unknown kinds have no records.
    pub(super) fn by_collection(
        tombstones: &'a [Tombstone],
    ) -> Vec<(&'static RecordKind, &'a Tombstone, Targets<'a>)> {
        let mut found: Vec<(&'static RecordKind, &'a Tombstone, Targets<'a>)> = Vec::new();
        let mut positions = HashMap::new();
        for tombstone in tombstones {
            let Some(kind) = kind_named(&tombstone.what).filter(|_| tombstone.keeps_out(i64::MIN, None))
            else {
                continue;
            };
            let at = *positions.entry((kind.name, &tombstone.scope)).or_insert_with(|| {
                found.push((kind, tombstone, Targets::default()));
                found.len() - 1
            });
            let targets = &mut found[at].2;
            targets.by_identity.insert(&tombstone.of, tombstone);
            for digest in tombstone.also.clone().into_iter().chain(tombstone.folded()) {
                targets.by_content.insert(digest, tombstone);
            }
            let former = tombstone.former_partitions().into_iter();
            let new: Vec<String> = former.filter(|name| !targets.former.contains(name)).collect();
            targets.former.extend(new);
        }
        found
    }

    /// Whether the content of a record of a kind matters, beyond its id and time.
    pub(super) fn need_content(&self, kind: &RecordKind) -> bool {
        !self.by_content.is_empty() || !self.former.is_empty() || kind.versions.is_some()
    }

    /// The tombstone that keeps out the record of an id and a time.
    pub(super) fn of_id(&self, kind: &RecordKind, id: &str, time: i64) -> Option<&'a Tombstone> {
        let tombstone = self.by_identity.get(identity_digest(kind.name, id).as_str()).copied()?;
        tombstone.keeps_out(time, None).then_some(tombstone)
    }

    /// The tombstone that keeps a record out, by its id or by what it says.
    pub(super) fn of_record(&self, record: &StoredRecord) -> Option<&'a Tombstone> {
        self.of_digests(record, &record.digests(), |_| true).or_else(|| {
            former_forms(record, &self.former).find_map(|(name, form)| {
                let came_from = |one: &Tombstone| one.came_from(&record.scope.partition, name);
                self.of_digests(record, &form.digests(), came_from)
            })
        })
    }

    fn of_digests(
        &self,
        record: &StoredRecord,
        digests: &RecordDigests,
        counts: impl Fn(&Tombstone) -> bool,
    ) -> Option<&'a Tombstone> {
        let by_id = self.by_identity.get(digests.identity.as_str()).into_iter();
        let mut named = by_id.chain(digests.iter().filter_map(|digest| self.by_content.get(digest))).copied();
        named.find(|tombstone| counts(tombstone) && tombstone.keeps_out_record(record, digests))
    }
}

/// The tombstones of a batch: those that hold from now on, and the outcome of each.
#[derive(Clone, Default)]
pub(super) struct Received {
    /// The newest of each record that replaces the stored one, and those that keep out the words of others;
    /// by digest.
    pub(super) newer: Vec<Tombstone>,
    /// By digest.
    written: HashMap<String, WriteOutcome>,
}

impl Received {
    /// Compares the tombstones of a batch with those that `existing` finds by digest. Fails if that does.
    pub(super) fn compare<'a, E>(
        batch: impl Iterator<Item = &'a Tombstone>,
        mut existing: impl FnMut(&str) -> Result<Option<Tombstone>, E>,
    ) -> Result<Received, E> {
        let mut by_record: BTreeMap<&str, Vec<Tombstone>> = BTreeMap::new();
        for one in batch {
            by_record.entry(&one.of).or_default().push(one.clone());
        }
        let (mut newer, mut written) = (BTreeMap::new(), HashMap::new());
        for (of, received) in by_record {
            let stored = existing(of)?;
            let mut all: Vec<Tombstone> = stored.clone().into_iter().chain(received).collect();
            all.sort_by_cached_key(|one| Reverse(one.rank()));
            let Some((newest, older)) = all.split_first() else { continue };
            let is_newer = stored.as_ref().is_none_or(|existing| newest.supersedes(existing));
            let outcome = if is_newer { WriteOutcome::New } else { WriteOutcome::Same(of.to_owned()) };
            written.insert(of.to_owned(), outcome);
            if is_newer {
                newer.insert(of.to_owned(), newest.clone());
            }
            for words in older.iter().filter_map(|one| one.of_other_words(newest)) {
                if existing(&words.of)?.is_none_or(|existing| words.supersedes(&existing)) {
                    newer.insert(words.of.clone(), words);
                }
            }
        }
        Ok(Received { newer: newer.into_values().collect(), written })
    }

    /// Counts a record that is removed because of the tombstone of this digest.
    pub(super) fn count_removed(&mut self, of: &str) {
        if let Some(written) = self.written.get_mut(of) {
            *written = match written {
                WriteOutcome::Removed(count) => WriteOutcome::Removed(*count + 1),
                _ => WriteOutcome::Removed(1),
            };
        }
    }

    /// The outcome of a tombstone of the batch.
    pub(super) fn outcome(&self, tombstone: &Tombstone) -> WriteOutcome {
        let written = self.written.get(&tombstone.of);
        written.cloned().unwrap_or_else(|| WriteOutcome::Same(tombstone.of.clone()))
    }
}
