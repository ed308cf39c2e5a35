//! The word index of a collection: a few segments, and the newest, unindexed records, which are in no segment
//! yet. A search reads these themselves, so that storing one record costs the index nothing.
//!
//! Many small collections would be read whole, so their unindexed records are indexed together, in the
//! segments of pools: a collection is in the pool of its kind and partition, and that in the pool of its kind
//! in the store. A search in one collection reads its own segments and all its unindexed records; one in a
//! partition, or in the store, reads the segments of the pools too, and only what these lack of the unindexed
//! records. A record that is in a segment of its collection does not count in those of the pools; one in a
//! segment of its partition's does not in those of the store's.
//!
//! Invariants, without which a search finds a record twice or not at all: numbers of records only grow; the
//! slots of a segment, and the segments of a level, are in their order; every record up to `indexed_up_to` of
//! a level has its postings in a segment there or below; `unindexed` is the number of records above that
//! count nowhere below. All of this changes in the transaction that writes the records.

use super::postings::Postings;
use super::segment::Segment;
use super::segment_change::ChangedWords;
use super::segment_draft::{Draft, DraftDoc};
use super::segment_writer::SegmentWriter;
use super::unindexed::{Unindexed, unindexed, visit_between};
use crate::record::Scopes;
use crate::store::sqlite::collections::CollectionRow;
use crate::store::sqlite::record_row::DocMeta;
use crate::text::fold::fold_as;
use crate::text::terms;
use rusqlite::{Connection, Rows};
use std::collections::BTreeMap;

/// The number of unindexed records of a collection or a pool that become a segment. Every search reads fewer
/// whole.
pub(crate) const MAX_UNINDEXED: i64 = 200;
/// The number of segments of a collection or a pool, except large ones, at which some are merged.
const MAX_SEGMENTS: usize = 6;
/// The number of slots from which on a segment is not merged: that would block a writer for seconds.
const LARGE_SEGMENT: usize = 250_000;

/// A collection or a pool in the index.
#[derive(Clone, Copy)]
struct Level {
    n: i64,
    /// The number of the last record when its last segment was made.
    indexed_up_to: i64,
    unindexed: i64,
    pool: Option<i64>,
}

impl Level {
    /// A collection or a pool, and the pools that it lies in.
    fn with_pools(connection: &Connection, n: i64) -> rusqlite::Result<Vec<Level>> {
        let sql = "SELECT n, indexed_up_to, unindexed, pool FROM collection WHERE n = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let (mut levels, mut next) = (Vec::new(), Some(n));
        while let Some(n) = next {
            let level = statement.query_row([n], |row| {
                Ok(Level {
                    n: row.get(0)?,
                    indexed_up_to: row.get(1)?,
                    unindexed: row.get(2)?,
                    pool: row.get(3)?,
                })
            })?;
            next = level.pool;
            levels.push(level);
        }
        Ok(levels)
    }

    fn subtract(&self, connection: &Connection, count: usize) -> rusqlite::Result<()> {
        let sql = "UPDATE collection SET unindexed = unindexed - ? WHERE n = ?";
        if count > 0 {
            connection.prepare_cached(sql)?.execute([count as i64, self.n])?;
        }
        Ok(())
    }
}

/// Counts the new records of a batch, by collection; where there are enough of them, they become a segment.
/// `draft` has the words of the batch, or nothing. Fails if the file cannot be written.
pub(crate) fn grow(
    connection: &Connection,
    added: impl IntoIterator<Item = (CollectionRow, i64)>,
    mut draft: Draft,
) -> rusqlite::Result<()> {
    let newest = "SELECT ifnull(max(n), 0) FROM record";
    let newest: i64 = connection.prepare_cached(newest)?.query_row([], |row| row.get(0))?;
    let added = added.into_iter().filter(|(collection, _)| collection.kind.indexed.is_some());
    let mut added: BTreeMap<i64, (CollectionRow, i64)> =
        added.map(|(collection, count)| (collection.n, (collection, count))).collect();
    let mut full = Vec::new();
    // `RETURNING` would cost each collection more than both statements.
    let mut counts = connection.prepare_cached("SELECT unindexed, pool FROM collection WHERE n = ?")?;
    let mut set_counts =
        connection.prepare_cached("UPDATE collection SET unindexed = ?, newest = ? WHERE n = ?")?;
    // Level by level, so that `full` names collections before their pools: their segments take from these.
    for depth in 0.. {
        let mut pools: BTreeMap<i64, (CollectionRow, i64)> = BTreeMap::new();
        for (collection, count) in added.into_values() {
            let counted = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get(1)?));
            let (unindexed, pool) = counts.query_row([collection.n], counted)?;
            let unindexed = unindexed + count;
            set_counts.execute([unindexed, newest, collection.n])?;
            if unindexed >= MAX_UNINDEXED {
                full.push((collection, depth));
            }
            if let Some(n) = pool {
                pools.entry(n).or_insert((CollectionRow { n, ..collection }, 0)).1 += count;
            }
        }
        if pools.is_empty() {
            break;
        }
        added = pools;
    }
    // The draft has the words of the batch: only records before it are read again.
    let first = draft.first().unwrap_or(i64::MAX);
    for (collection, depth) in full {
        index(connection, collection, depth, &mut draft, first)?;
    }
    Ok(())
}

/// Makes a segment of the unindexed records of a collection (`depth` 0), or of the pool of a partition (1) or
/// of the store (2). Collections and pools come before the pools that they lie in: their records do not fill
/// these.
fn index(
    connection: &Connection,
    collection: CollectionRow,
    depth: usize,
    draft: &mut Draft,
    first: i64,
) -> rusqlite::Result<()> {
    let levels = Level::with_pools(connection, collection.n)?;
    let Some((level, pools)) = levels.split_first() else { return Ok(()) };
    // A segment below may have taken records from this pool since it was found full.
    if level.unindexed < MAX_UNINDEXED {
        return Ok(());
    }
    let unindexed = match depth {
        0 => vec![Unindexed { collection, after: level.indexed_up_to }],
        1 => {
            let sql = "SELECT partition FROM collection WHERE n = ?";
            let partition = connection.prepare_cached(sql)?.query_row([level.n], |row| row.get(0))?;
            unindexed(connection, &[collection.kind], &Scopes::Partition(partition))?
        }
        _ => unindexed(connection, &[collection.kind], &Scopes::All)?,
    };
    for unindexed_part in &unindexed {
        visit_between(connection, unindexed_part, first, |doc, folded| {
            draft.add(unindexed_part.collection.n, doc, &folded)
        })?;
    }
    let draft = &*draft;
    let of_part = |Unindexed { collection, after }: &Unindexed| {
        let after = *after;
        draft.docs(collection.n).iter().filter(move |doc| doc.meta.n > after)
    };
    let mut docs: Vec<&DraftDoc> = unindexed.iter().flat_map(of_part).collect();
    // Slots are in the order of numbers: `Segment::locate` searches them by bisection.
    docs.sort_unstable_by_key(|doc| doc.meta.n);
    leave(connection, pools, &docs.iter().map(|doc| doc.meta.n).collect::<Vec<_>>())?;
    draft.write(connection, level.n, &docs)?;
    // Up to the last record of the store: the next one of any collection gets a greater number.
    let sql = "UPDATE collection SET unindexed = 0, indexed_up_to = (SELECT max(n) FROM record) WHERE n = ?";
    connection.prepare_cached(sql)?.execute([level.n])?;
    tidy(connection, level.n)
}

/// Takes records, in the order of their numbers, out of the statistics of pools, because a segment below has
/// them.
fn leave(connection: &Connection, pools: &[Level], mut records: &[i64]) -> rusqlite::Result<()> {
    for pool in pools {
        let (indexed, unindexed) = records.split_at(records.partition_point(|n| *n <= pool.indexed_up_to));
        for (segment, docs) in locate(connection, pool.n, indexed)? {
            let lengths = docs.values().map(|(slot, doc)| (*slot, i64::from(doc.length)));
            segment.retire(connection, &lengths.collect())?;
        }
        if !indexed.is_empty() {
            tidy(connection, pool.n)?;
        }
        pool.subtract(connection, unindexed.len())?;
        records = unindexed;
    }
    Ok(())
}

/// The slots and the metadata of documents, by their numbers.
type Located = BTreeMap<i64, (u64, DocMeta)>;

/// The segments of a collection or a pool that have some records.
fn locate(
    connection: &Connection,
    collection: i64,
    records: &[i64],
) -> rusqlite::Result<Vec<(Segment, Located)>> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let (segments, mut firsts) = (Segment::list(connection, collection)?, Vec::new());
    for segment in &segments {
        firsts.push(segment.first(connection)?.unwrap_or(i64::MAX));
    }
    let mut found = Vec::new();
    let place = |first: i64| records.partition_point(|n| *n < first);
    for (at, segment) in segments.into_iter().enumerate() {
        let end = firsts.get(at + 1).map_or(records.len(), |next| place(*next));
        let located = segment.locate(connection, &records[place(firsts[at]).min(end)..end])?;
        if !located.is_empty() {
            found.push((segment, located.into_iter().map(|(slot, doc)| (doc.n, (slot, doc))).collect()));
        }
    }
    Ok(found)
}

/// Merges segments of a collection or a pool, if there are too many or one has many slots without a document.
fn tidy(connection: &Connection, collection: i64) -> rusqlite::Result<()> {
    let segments = merge_candidates(connection, collection)?;
    if segments.is_empty() { Ok(()) } else { merge(connection, collection, &segments) }
}

/// The segments to merge. If more than half of the slots of one have no document, it and those after it; if
/// there are too many, the newest, and those before it, as long as each is no larger than all after it
/// together. So a record is rewritten only O(log n) times, and the segments stay in the order of their
/// records. Those up to the last one with words of an earlier folding stay as they are.
fn merge_candidates(connection: &Connection, collection: i64) -> rusqlite::Result<Vec<Segment>> {
    let mut segments = Segment::list(connection, collection)?;
    // Words of different foldings cannot be merged.
    if let Some(last) = segments.iter().rposition(|segment| !segment.is_current()) {
        segments.drain(..=last);
    }
    if let Some(first) = segments.iter().position(|segment| segment.docs < segment.slots / 2) {
        return Ok(segments.split_off(first));
    }
    segments.retain(|segment| segment.slots < LARGE_SEGMENT);
    if segments.len() <= MAX_SEGMENTS {
        return Ok(Vec::new());
    }
    let mut together = 0;
    let mut first = segments.len();
    for segment in segments.iter().rev() {
        if together > 0 && segment.slots > together {
            break;
        }
        together += segment.slots;
        first -= 1;
    }
    let newest = segments.split_off(first);
    Ok(if newest.len() > 1 { newest } else { Vec::new() })
}

/// Merges consecutive segments into one, by a merge of their sorted words. The slots of removed documents are
/// dropped, and the postings that they still have.
fn merge(connection: &Connection, collection: i64, segments: &[Segment]) -> rusqlite::Result<()> {
    let mut docs = Vec::new();
    let mut slots = Vec::new();
    for segment in segments {
        let removed = segment.removed_slots(connection)?;
        let first = docs.len() as u64;
        let all = (0..).zip(segment.all_docs(connection)?);
        docs.extend(all.filter(|(slot, _)| removed.binary_search(slot).is_err()).map(|(_, doc)| doc));
        slots.push(Slots { first, removed });
    }
    let sql = "SELECT word, docs FROM posting WHERE segment = ? ORDER BY word";
    let mut statements =
        segments.iter().map(|_| connection.prepare_cached(sql)).collect::<Result<Vec<_>, _>>()?;
    let mut streams = Vec::new();
    for ((statement, segment), slots) in statements.iter_mut().zip(segments).zip(slots) {
        streams.push(Stream::begin(statement.query([segment.n])?, slots)?);
    }
    let mut writer = SegmentWriter::begin(connection, collection, &docs)?;
    while let Some(word) = streams.iter().filter_map(|stream| stream.word.as_ref()).min().cloned() {
        let mut postings = Postings::default();
        for stream in streams.iter_mut().filter(|stream| stream.word.as_ref() == Some(&word)) {
            stream.slots.append(&stream.docs, &mut postings);
            stream.advance()?;
        }
        if !postings.bytes().is_empty() {
            writer.add(word, postings)?;
        }
    }
    writer.end()?;
    for segment in segments {
        segment.delete(connection)?;
    }
    Ok(())
}

/// Maps the slots of a segment to those of the merged one.
struct Slots {
    first: u64,
    removed: Vec<u64>,
}

impl Slots {
    /// Appends a posting list of the segment to that of the merged one.
    fn append(&self, docs: &[u8], to: &mut Postings) {
        if self.removed.is_empty() {
            return to.append(docs, self.first);
        }
        for (slot, times) in Postings::each(docs) {
            if self.removed.binary_search(&slot).is_err() {
                to.push(self.after(slot), times);
            }
        }
    }

    /// The new slot of a document.
    fn after(&self, slot: u64) -> u64 {
        self.first + slot - self.removed.partition_point(|removed| *removed < slot) as u64
    }
}

/// The words of a segment in order.
struct Stream<'a> {
    rows: Rows<'a>,
    slots: Slots,
    word: Option<Box<[u8]>>,
    docs: Vec<u8>,
}

impl<'a> Stream<'a> {
    fn begin(rows: Rows<'a>, slots: Slots) -> rusqlite::Result<Stream<'a>> {
        let mut stream = Stream { rows, slots, word: None, docs: Vec::new() };
        stream.advance()?;
        Ok(stream)
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.word = None;
        if let Some(row) = self.rows.next()? {
            self.word = Some(row.get_ref(0)?.as_blob()?.into());
            self.docs.clear();
            self.docs.extend_from_slice(row.get_ref(1)?.as_blob()?);
        }
        Ok(())
    }
}

/// Removes records, given by number and indexed text, from the index of their collection, and from those of
/// the pools that it lies in, which may still have their words. Fails if the file cannot be written.
pub(crate) fn remove(
    connection: &Connection,
    collection: CollectionRow,
    records: &[(i64, String)],
) -> rusqlite::Result<()> {
    if !collection.kind.indexed.is_some() {
        return Ok(());
    }
    let texts: BTreeMap<i64, &str> = records.iter().map(|(n, text)| (*n, text.as_str())).collect();
    let numbers: Vec<i64> = texts.keys().copied().collect();
    let mut unindexed = &numbers[..];
    for level in Level::with_pools(connection, collection.n)? {
        let is_indexed = |n: &i64| *n <= level.indexed_up_to;
        unindexed = &unindexed[unindexed.partition_point(is_indexed)..];
        level.subtract(connection, unindexed.len())?;
        for (segment, docs) in locate(connection, level.n, &numbers[..numbers.partition_point(is_indexed)])? {
            let mut words = ChangedWords::new();
            for (n, (slot, _)) in &docs {
                // As the segment has them: by another folding, postings of a removed record would stay.
                for word in terms::words(&fold_as(segment.folding_of(*slot), texts[n])) {
                    words.entry(word.as_bytes().to_vec()).or_default().insert(*slot, 0);
                }
            }
            let lengths = docs.values().map(|(slot, doc)| (*slot, i64::from(doc.length)));
            segment.remove(connection, &lengths.collect(), words)?;
        }
    }
    Ok(())
}
