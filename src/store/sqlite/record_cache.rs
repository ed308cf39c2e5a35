//! Keeps records that were read, for all connections by which one process reads a file.
//!
//! The row of a record never changes: a new version, and a record that returns, get another number, and no
//! number is used twice. So a kept record is as good as its row wherever a snapshot has its number, and needs
//! no other check. Records must be read outside of a transaction that writes: one that is rolled back gives
//! its numbers to others.

use super::filter::role_bit;
use super::record_columns;
use super::record_row::DocMeta;
use crate::record::StoredRecord;
use crate::text::Trigrams;
use crate::text::terms::{FoldedText, ScannedText};
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::mem::take;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The size of the cache of a file in bytes, roughly. It is kept as two generations: when the younger one has
/// half of this, it becomes the older one, and the former older one is dropped.
const MAX_BYTES: usize = 16 << 20;
/// The bytes that a record takes beside its texts, roughly; larger ones than the greatest are not kept.
const RECORD_BYTES: usize = 540;
const MAX_RECORD_BYTES: usize = 256 << 10;

/// Caches by device and inode of their files.
type CachesByFile = HashMap<(u64, u64), Weak<RecordCache>>;

/// The caches of this process.
static CACHES: LazyLock<Mutex<CachesByFile>> = LazyLock::new(Mutex::default);

/// The records of one file, by their numbers.
#[derive(Default)]
pub(super) struct RecordCache(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: FxHashMap<i64, Arc<CachedRecord>>,
    old: FxHashMap<i64, Arc<CachedRecord>>,
    /// The size of the younger one.
    bytes: usize,
    /// The records that a search scanned last in each collection: all have been counted in the younger one.
    scanned: FxHashMap<i64, ScannedRecords>,
}

/// Records that a search scans, in the order of their numbers. The trigrams that rule most of them out lie
/// side by side; each record itself is elsewhere in memory.
pub(super) type ScannedRecords = Arc<Vec<ScannedRecord>>;

/// A record that a search scans.
#[derive(Clone)]
pub(super) struct ScannedRecord {
    pub(super) doc: DocMeta,
    trigrams: Trigrams,
    cached: Arc<CachedRecord>,
}

impl ScannedRecord {
    fn new(n: i64, cached: Arc<CachedRecord>) -> ScannedRecord {
        let StoredRecord { timestamp, role, .. } = *cached.record;
        let text = cached.folded();
        let doc = DocMeta { n, timestamp, role: role_bit(role), length: text.length as u32 };
        ScannedRecord { doc, trigrams: Trigrams::of(&text.text), cached }
    }
}

impl ScannedText for ScannedRecord {
    fn may_hold(&self, piece: &str) -> bool {
        self.trigrams.may_hold(piece)
    }

    fn folded(&self) -> &FoldedText {
        self.cached.folded()
    }
}

/// A record, and its folded text once that was needed.
pub(super) struct CachedRecord {
    pub(super) record: Arc<StoredRecord>,
    folded: OnceLock<FoldedText>,
}

impl RecordCache {
    /// The cache of a file, which all connections of the process share as long as one of them is open.
    pub(super) fn of(file: (u64, u64)) -> Arc<RecordCache> {
        let mut caches = CACHES.lock().unwrap_or_else(PoisonError::into_inner);
        caches.retain(|_, cache| cache.strong_count() > 0);
        if let Some(cache) = caches.get(&file).and_then(Weak::upgrade) {
            return cache;
        }
        let cache = Arc::default();
        caches.insert(file, Arc::downgrade(&cache));
        cache
    }

    /// The record that has a number, which must exist in the connection's snapshot.
    pub(super) fn read(
        &self,
        connection: &Connection,
        n: i64,
    ) -> rusqlite::Result<Option<Arc<CachedRecord>>> {
        let known = self.generations().get(n);
        if known.is_some() {
            return Ok(known);
        }
        // Without the lock, which other connections need. A record never changes under its number, so that
        // two that read it read the same.
        let read = record_columns::nth(connection, n)?.map(CachedRecord::new).map(Arc::new);
        if let Some(cached) = &read {
            self.generations().insert(n, cached.clone());
        }
        Ok(read)
    }

    /// The records of a collection that have these numbers, in their order, for a search that scans them.
    pub(super) fn scan(
        &self,
        connection: &Connection,
        collection: i64,
        numbers: &[i64],
    ) -> rusqlite::Result<ScannedRecords> {
        let mut scanned = self.generations().scanned.get(&collection).cloned().unwrap_or_default();
        // Most searches find the records of the one before, and the newest.
        let same = scanned.iter().zip(numbers).take_while(|(known, n)| known.doc.n == **n).count();
        if same == scanned.len() && same == numbers.len() {
            return Ok(scanned);
        }
        let mut new = Vec::with_capacity(numbers.len() - same);
        for n in &numbers[same..] {
            new.extend(self.read(connection, *n)?.map(|cached| ScannedRecord::new(*n, cached)));
        }
        let is_kept = new.iter().all(|new| new.cached.bytes() <= MAX_RECORD_BYTES);
        let mut generations = self.generations();
        let was_kept =
            generations.scanned.remove(&collection).is_some_and(|kept| Arc::ptr_eq(&kept, &scanned));
        let records = Arc::make_mut(&mut scanned);
        records.truncate(same);
        records.append(&mut new);
        if is_kept && (was_kept || same == 0) {
            generations.scanned.insert(collection, scanned.clone());
        }
        Ok(scanned)
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn get(&mut self, n: i64) -> Option<Arc<CachedRecord>> {
        if let Some(cached) = self.young.get(&n) {
            return Some(cached.clone());
        }
        let cached = self.old.remove(&n)?;
        self.insert(n, cached.clone());
        Some(cached)
    }

    fn insert(&mut self, n: i64, cached: Arc<CachedRecord>) {
        let bytes = cached.bytes();
        if bytes > MAX_RECORD_BYTES {
            return;
        }
        self.bytes += bytes;
        if self.bytes > MAX_BYTES / 2 {
            self.old = take(&mut self.young);
            self.scanned.clear();
            self.bytes = bytes;
        }
        self.young.insert(n, cached);
    }
}

impl CachedRecord {
    fn new(record: StoredRecord) -> CachedRecord {
        CachedRecord { record: Arc::new(record), folded: OnceLock::new() }
    }

    /// With the folded text, which may be made later.
    fn bytes(&self) -> usize {
        let StoredRecord { text, members, .. } = &*self.record;
        let members: usize = members.iter().map(|(name, json)| name.len() + json.len()).sum();
        RECORD_BYTES + 2 * text.len() + members
    }

    fn folded(&self) -> &FoldedText {
        self.folded.get_or_init(|| FoldedText::of(&self.record.indexed_text().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Content, Draft, DraftDefaults, Role};

    fn cached(length: usize) -> Arc<CachedRecord> {
        let draft = Draft {
            id: Some("r".to_owned()),
            ..Draft::message(Role::User, Content::Text("x".repeat(length)))
        };
        let scope = Some("p".to_owned());
        let defaults = DraftDefaults {
            partition: scope.clone(),
            instance: scope,
            trace_id: "t".to_owned(),
            timestamp: 0,
            seq: 0,
        };
        let record = draft.complete(&defaults).unwrap();
        Arc::new(CachedRecord::new(record))
    }

    #[test]
    fn what_is_used_stays_and_the_size_is_bounded() {
        let mut kept = Generations::default();
        kept.insert(0, cached(10));
        for n in 1..500 {
            kept.insert(n, cached(50_000));
            assert!(kept.get(0).is_some() && kept.get(n).is_some());
            let all = kept.young.values().chain(kept.old.values());
            assert!(all.map(|cached| cached.bytes()).sum::<usize>() <= MAX_BYTES);
        }
        assert!(kept.get(1).is_none());
        kept.insert(500, cached(MAX_RECORD_BYTES));
        assert!(kept.get(500).is_none());
    }
}
