//! The word index of a collection: a few segments, and the newest, unindexed records, which are in no segment yet. A
//! search reads these themselves, so that storing one record costs the index nothing.

use super::super::terms;
use super::collections::CollectionRow;
use super::filter::role_bit;
use super::postings::{DocMeta, Postings};
use super::row::{COLUMNS, TABLES, record};
use super::segment::{Segment, SegmentWriter};
use super::segment_draft::SegmentDraft;
use crate::record::TextSource;
use rusqlite::{Connection, Rows, params};
use std::collections::{BTreeMap, BTreeSet};

/// The greatest number of unindexed records. Every search reads them whole.
pub(super) const MAX_UNINDEXED: i64 = 200;
/// The number of segments of a collection, large ones aside, at which some are merged.
const MAX_SEGMENTS: usize = 6;
/// The number of slots from which on a segment is not merged: that would block a writer for seconds.
const LARGE_SEGMENT: usize = 250_000;

/// Counts new records in a collection; enough of them become a segment. `draft` is a segment of the new ones, if one was
/// made.
pub(super) fn grow(
    connection: &Connection,
    collection: CollectionRow,
    count: i64,
    draft: Option<SegmentDraft>,
) -> rusqlite::Result<()> {
    if !collection.kind.indexed.is_some() {
        return Ok(());
    }
    let sql = "UPDATE collection SET unindexed = unindexed + ? WHERE n = ? RETURNING unindexed";
    let unindexed: i64 =
        connection.prepare_cached(sql)?.query_row([count, collection.n], |row| row.get(0))?;
    if unindexed < MAX_UNINDEXED {
        return Ok(());
    }
    let draft = match draft.filter(|draft| draft.len() as i64 == unindexed) {
        Some(whole) => whole,
        None => gather(connection, collection)?,
    };
    draft.write(connection, collection.n)?;
    let sql = "UPDATE collection SET unindexed = 0, indexed_up_to = (SELECT max(n) FROM record) WHERE n = ?";
    connection.prepare_cached(sql)?.execute([collection.n])?;
    let small = merge_candidates(connection, collection.n)?;
    if small.len() > 1 { merge(connection, collection.n, &small) } else { Ok(()) }
}

/// The segments to merge, if the collection has too many: the newest, and those before it, as long as each is no larger
/// than all after it together. So a record is rewritten only O(log n) times, and the segments stay in the order of
/// their records.
fn merge_candidates(connection: &Connection, collection: i64) -> rusqlite::Result<Vec<Segment>> {
    let mut segments = Segment::list(connection, collection)?;
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
    Ok(segments.split_off(first))
}

/// Calls `visit` with each unindexed record of a collection, without its length, and its folded text.
pub(super) fn unindexed(
    connection: &Connection,
    collection: CollectionRow,
    mut visit: impl FnMut(DocMeta, &str),
) -> rusqlite::Result<()> {
    const NEWER: &str = "record.collection = ?1
        AND record.n > (SELECT indexed_up_to FROM collection WHERE n = ?1) ORDER BY record.n";
    match collection.kind.indexed {
        TextSource::None => Ok(()),
        TextSource::Text => {
            let sql =
                format!("SELECT n, timestamp, role, text FROM record INDEXED BY record_number WHERE {NEWER}");
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([collection.n])?;
            while let Some(row) = rows.next()? {
                let doc = DocMeta {
                    n: row.get(0)?,
                    timestamp: row.get(1)?,
                    role: role_bit(row.get(2)?),
                    length: 0,
                };
                visit(doc, &terms::fold(row.get_ref(3)?.as_str()?));
            }
            Ok(())
        }
        TextSource::Composed(_) => {
            let sql = format!("SELECT {COLUMNS}, record.n FROM {TABLES} WHERE {NEWER}");
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([collection.n])?;
            while let Some(row) = rows.next()? {
                let record = record(row)?;
                let (n, timestamp, role) =
                    (row.get(super::row::AFTER)?, record.timestamp, role_bit(record.role));
                let text = record.indexed_text().unwrap_or_default();
                visit(DocMeta { n, timestamp, role, length: 0 }, &terms::fold(&text));
            }
            Ok(())
        }
    }
}

/// Reads the unindexed records of a collection.
fn gather(connection: &Connection, collection: CollectionRow) -> rusqlite::Result<SegmentDraft> {
    let mut draft = SegmentDraft::default();
    unindexed(connection, collection, |doc, folded| draft.add(doc, folded))?;
    Ok(draft)
}

/// Merges consecutive segments into one, by a merge of their sorted words. The slots of removed documents are dropped.
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
        writer.add(word, postings)?;
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
            to.push(self.after(slot), times);
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

/// Removes records, given by number and indexed text, from the index of their collection.
pub(super) fn remove(
    connection: &Connection,
    collection: CollectionRow,
    records: &[(i64, String)],
) -> rusqlite::Result<()> {
    if !collection.kind.indexed.is_some() {
        return Ok(());
    }
    let sql = "SELECT indexed_up_to FROM collection WHERE n = ?";
    let indexed_up_to: i64 = connection.prepare_cached(sql)?.query_row([collection.n], |row| row.get(0))?;
    let unindexed = records.iter().filter(|(n, _)| *n > indexed_up_to).count() as i64;
    let sql = "UPDATE collection SET unindexed = unindexed - ? WHERE n = ?";
    connection.prepare_cached(sql)?.execute(params![unindexed, collection.n])?;
    let segments = Segment::list(connection, collection.n)?;
    let mut firsts = Vec::new();
    for segment in &segments {
        firsts.push(segment.first(connection)?.unwrap_or(i64::MAX));
    }
    let mut removals: BTreeMap<usize, SegmentRemoval> = BTreeMap::new();
    for (n, text) in records.iter().filter(|(n, _)| *n <= indexed_up_to) {
        let Some(at) = firsts.partition_point(|first| first <= n).checked_sub(1) else { continue };
        if let Some(slot) = segments[at].slot_of(connection, *n)? {
            removals.entry(at).or_default().add(slot, text);
        }
    }
    for (at, SegmentRemoval { slots, length, words }) in removals {
        segments[at].remove(connection, &slots, length, &words)?;
    }
    Ok(())
}

/// The documents to remove from a segment.
#[derive(Default)]
struct SegmentRemoval {
    slots: BTreeSet<u64>,
    length: i64,
    words: BTreeMap<Vec<u8>, BTreeSet<u64>>,
}

impl SegmentRemoval {
    fn add(&mut self, slot: u64, text: &str) {
        self.slots.insert(slot);
        for word in terms::words(&terms::fold(text)) {
            self.length += 1;
            self.words.entry(word.as_bytes().to_vec()).or_default().insert(slot);
        }
    }
}
