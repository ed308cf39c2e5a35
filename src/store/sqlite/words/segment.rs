//! A segment of the word index (as in Lucene): some thousands of records of one collection, with their
//! numbers, lengths and metadata for selections; all their words in one sequence, so that a part of a word is
//! found at the speed of memory; and for each word a posting list with the documents that hold it and its
//! frequencies. It is read in place in the mapped file: a row of words or of documents fits into a page.
//!
//! A document has a slot in its segment, counted from 0 in the order of the records' numbers. A removed
//! document leaves only its slot, which is listed in `removed_slot`: no posting list names it any more. A
//! document that its collection has indexed itself since is listed there too, but its postings stay until the
//! next merge (`word_index.rs`).

use super::postings::{DocBlock, Postings};
use crate::record::{Scopes, quote};
use crate::store::select::Select;
use crate::store::sqlite::collections::{self, POOLS, scope_condition};
use crate::store::sqlite::record_row::DocMeta;
use crate::text::fold::FOLDING;
use memchr::memmem::Finder;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use std::ops::Range;

/// The number of documents in a block, of about eight bytes each.
pub(super) const BLOCK_DOCS: usize = 2000;
/// The rows of segment n in `segment_words` and `segment_docs` are numbered from n times this number.
pub(super) const ROW_NUMBERS: i64 = 1 << 20;

/// A segment.
pub(crate) struct Segment {
    pub(crate) n: i64,
    /// The number of its slots.
    pub(crate) slots: usize,
    /// The number of documents in them.
    pub(crate) docs: usize,
    /// The length of all documents together, in words.
    pub(crate) length: i64,
    /// The version of the folding of its words, and the number of its first slots whose words are of the next
    /// one already (`refold.rs`).
    pub(crate) folding: i64,
    pub(crate) refolded: usize,
    /// A bit for each slot whose postings do not count; empty if all do.
    retired: Vec<u64>,
}

/// The columns that `Segment::read` reads.
const COLUMNS: &str = "segment.n, slots, docs, length, folding, refolded";

impl Segment {
    fn read(row: &rusqlite::Row) -> rusqlite::Result<Segment> {
        let count =
            |column| row.get::<_, i64>(column).map(|count| usize::try_from(count).unwrap_or_default());
        Ok(Segment {
            n: row.get(0)?,
            slots: count(1)?,
            docs: count(2)?,
            length: row.get(3)?,
            folding: row.get(4)?,
            refolded: count(5)?,
            retired: Vec::new(),
        })
    }

    /// The first segment from a number on whose words are of an earlier folding, with its collection or pool.
    pub(crate) fn outdated(connection: &Connection, from: i64) -> rusqlite::Result<Option<(Segment, i64)>> {
        let sql = format!(
            "SELECT {COLUMNS}, collection FROM segment WHERE n >= ? AND folding < ? ORDER BY n LIMIT 1"
        );
        let read = |row: &rusqlite::Row| Ok((Segment::read(row)?, row.get(6)?));
        connection.prepare_cached(&sql)?.query_row([from, FOLDING], read).optional()
    }

    /// The number of slots from a segment on whose words are of an earlier folding.
    pub(crate) fn outdated_slots(connection: &Connection, from: i64) -> rusqlite::Result<u64> {
        let sql = "SELECT ifnull(sum(slots - refolded), 0) FROM segment WHERE n >= ? AND folding < ?";
        let slots: i64 = connection.prepare_cached(sql)?.query_row([from, FOLDING], |row| row.get(0))?;
        Ok(slots.unsigned_abs())
    }

    /// Whether all its words are of the present folding.
    pub(crate) fn is_current(&self) -> bool {
        self.folding >= FOLDING
    }

    /// The version of the folding of the words of a slot.
    pub(crate) fn folding_of(&self, slot: u64) -> i64 {
        self.folding + i64::from(slot < self.refolded as u64)
    }

    /// The segments of a collection or a pool, in the order of their documents.
    pub(crate) fn list(connection: &Connection, collection: i64) -> rusqlite::Result<Vec<Segment>> {
        let sql = format!("SELECT {COLUMNS} FROM segment WHERE collection = ? ORDER BY n");
        connection.prepare_cached(&sql)?.query_map([collection], Segment::read)?.collect()
    }

    /// The segments that a search in a selection reads. One with words of two foldings is two of them, each
    /// with the slots of one. Fails if the file cannot be read.
    pub(crate) fn of_selection(connection: &Connection, which: &Select) -> rusqlite::Result<Vec<Segment>> {
        let mut segments = Vec::new();
        let (condition, names) = scope_condition(&which.scopes);
        let levels: &[&str] = match which.scopes {
            Scopes::One(_) => {
                for collection in collections::list(connection, which)? {
                    for segment in Segment::list(connection, collection.n)? {
                        segment.push_parts(&mut segments);
                    }
                }
                return Ok(segments);
            }
            Scopes::Partition(_) | Scopes::Matching(_) => &["", POOLS[1]],
            Scopes::All => &["", POOLS[1], POOLS[0]],
        };
        let kinds = which.kinds.iter().flat_map(|kind| levels.iter().map(|end| [kind.name, end].concat()));
        let kinds: Vec<String> = kinds.map(|name| quote(&name)).collect();
        let sql = format!(
            "SELECT {COLUMNS}, kind FROM segment \
             CROSS JOIN collection ON collection.n = segment.collection \
             WHERE {condition} AND kind IN (SELECT value FROM json_each(?)) ORDER BY segment.n"
        );
        let values = names.into_iter().map(|name| Value::from(name.into_owned()));
        let values = values.chain([Value::from(format!("[{}]", kinds.join(",")))]);
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let mut segment = Segment::read(row)?;
            if segment.docs < segment.slots && POOLS.iter().any(|end| is_pool(row, end)) {
                let retired = segment.removed_slots(connection)?;
                segment.pass_over(retired.into_iter().filter_map(|slot| slot.try_into().ok()));
            }
            segment.push_parts(&mut segments);
        }
        Ok(segments)
    }

    /// Adds the segment to those that a search reads, in a part for each folding; the first has the
    /// statistics.
    fn push_parts(mut self, parts: &mut Vec<Segment>) {
        if self.refolded > 0 {
            let (refolded, slots) = (self.refolded, self.slots);
            let mut rest = Segment { docs: 0, length: 0, retired: self.retired.clone(), ..self };
            rest.pass_over(0..refolded);
            parts.push(rest);
            self.pass_over(refolded..slots);
            self.folding += 1;
        }
        parts.push(self);
    }

    /// Has the postings of some slots not count.
    fn pass_over(&mut self, slots: impl Iterator<Item = usize>) {
        self.retired.resize(self.slots.div_ceil(64), 0);
        for slot in slots {
            if let Some(bits) = self.retired.get_mut(slot / 64) {
                *bits |= 1 << (slot % 64);
            }
        }
    }

    /// Whether the postings of a slot count.
    fn counts(&self, slot: usize) -> bool {
        self.retired.get(slot / 64).is_none_or(|bits| bits & 1 << (slot % 64) == 0)
    }

    /// The range of its row numbers: the first, and the one after the last.
    pub(super) fn row_numbers(&self) -> [i64; 2] {
        [self.n * ROW_NUMBERS, (self.n + 1) * ROW_NUMBERS]
    }

    /// The words that contain a piece, each once; at most `most` + 1 of them.
    pub(crate) fn words_with(
        &self,
        connection: &Connection,
        piece: &str,
        most: usize,
    ) -> rusqlite::Result<Vec<Box<[u8]>>> {
        let finder = Finder::new(piece);
        let mut found: Vec<Box<[u8]>> = Vec::new();
        let mut statement = connection.prepare_cached(WORDS)?;
        let mut rows = statement.query(self.row_numbers())?;
        while let Some(row) = rows.next()? {
            let words = row.get_ref(1)?.as_blob()?;
            let mut end = 0;
            for at in finder.find_iter(words) {
                if at < end {
                    continue;
                }
                if found.len() > most {
                    return Ok(found);
                }
                let begin = memchr::memrchr(b'\n', &words[..at]).map_or(0, |before| before + 1);
                end = at + memchr::memchr(b'\n', &words[at..]).unwrap_or(words.len() - at);
                found.push(words[begin..end].into());
            }
        }
        Ok(found)
    }

    /// The words that begin with a piece; at most `most` + 1 of them. Fails if the file cannot be read.
    pub(crate) fn words_from(
        &self,
        connection: &Connection,
        piece: &str,
        most: usize,
    ) -> rusqlite::Result<Vec<Box<[u8]>>> {
        // Every byte of a word is less.
        let end = [piece.as_bytes(), &[u8::MAX]].concat();
        let sql =
            "SELECT word FROM posting WHERE segment = ? AND word >= ? AND word < ? ORDER BY word LIMIT ?";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![self.n, piece.as_bytes(), end, most as i64 + 1], |row| {
            Ok(row.get_ref(0)?.as_blob()?.into())
        })?;
        rows.collect()
    }

    /// The number of documents that hold a word. Fails if the file cannot be read.
    pub(crate) fn doc_freq(&self, connection: &Connection, word: &[u8]) -> rusqlite::Result<usize> {
        if self.retired.is_empty() {
            return self.posting_list(connection, word, Postings::doc_freq).map(Option::unwrap_or_default);
        }
        let mut count = 0;
        self.postings(connection, word, |_, _| count += 1)?;
        Ok(count)
    }

    /// Calls `visit` with the slot of each document that holds a word, and the frequency.
    pub(crate) fn postings(
        &self,
        connection: &Connection,
        word: &[u8],
        mut visit: impl FnMut(usize, u64),
    ) -> rusqlite::Result<()> {
        let all = |bytes: &[u8]| {
            for (slot, times) in Postings::each(bytes) {
                if let Some(slot) = usize::try_from(slot).ok().filter(|slot| *slot < self.slots)
                    && self.counts(slot)
                {
                    visit(slot, times);
                }
            }
        };
        self.posting_list(connection, word, all).map(drop)
    }

    /// Reads the posting list of a word, if there is one.
    pub(super) fn posting_list<T>(
        &self,
        connection: &Connection,
        word: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> rusqlite::Result<Option<T>> {
        let mut statement =
            connection.prepare_cached("SELECT docs FROM posting WHERE segment = ? AND word = ?")?;
        let mut rows = statement.query(params![self.n, word])?;
        rows.next()?.map(|row| Ok(read(row.get_ref(0)?.as_blob()?))).transpose()
    }

    /// Calls `visit` with the documents in some slots; `slots` gives these in order, each with a number.
    pub(crate) fn docs(
        &self,
        connection: &Connection,
        slots: &[(u32, f32)],
        mut visit: impl FnMut(u32, f32, DocMeta),
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(DOCS)?;
        let block = |slot: u32| slot as usize / BLOCK_DOCS;
        for slots in slots.chunk_by(|a, b| block(a.0) == block(b.0)) {
            let mut rows = statement.query([self.n * ROW_NUMBERS + block(slots[0].0) as i64])?;
            let Some(row) = rows.next()? else { continue };
            let Some(block) = DocBlock::parse(row.get_ref(0)?.as_blob()?) else { continue };
            for (slot, number) in slots {
                if let Some(doc) = block.get(*slot as usize % BLOCK_DOCS) {
                    visit(*slot, *number, doc);
                }
            }
        }
        Ok(())
    }

    /// The documents of all slots, including removed ones.
    pub(crate) fn all_docs(&self, connection: &Connection) -> rusqlite::Result<Vec<DocMeta>> {
        self.docs_in(connection, 0..self.slots)
    }

    /// The documents of some slots, including removed ones.
    pub(crate) fn docs_in(
        &self,
        connection: &Connection,
        slots: Range<usize>,
    ) -> rusqlite::Result<Vec<DocMeta>> {
        let slots: Vec<_> = slots.map(|slot| (slot as u32, 0.0)).collect();
        let mut docs = Vec::new();
        self.docs(connection, &slots, |_, _, doc| docs.push(doc))?;
        Ok(docs)
    }

    /// The number of the record in the first slot.
    pub(crate) fn first(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        Ok(self.doc_in(connection, 0)?.map(|doc| doc.n))
    }

    /// The slots and the metadata of those of some records that the segment has; these are in the order of
    /// their numbers, as slots are.
    pub(crate) fn locate(
        &self,
        connection: &Connection,
        mut records: &[i64],
    ) -> rusqlite::Result<Vec<(u64, DocMeta)>> {
        let mut statement = connection.prepare_cached(DOCS)?;
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(n) = records.first() {
            // The last block that begins at or before it.
            let mut after = self.slots.div_ceil(BLOCK_DOCS);
            while after - at > 1 {
                let middle = (at + after) / 2;
                let first = self.doc_in(connection, middle * BLOCK_DOCS)?;
                if first.is_some_and(|first| first.n <= *n) { at = middle } else { after = middle }
            }
            let mut rows = statement.query([self.n * ROW_NUMBERS + at as i64])?;
            let Some(row) = rows.next()? else { break };
            let Some(block) = DocBlock::parse(row.get_ref(0)?.as_blob()?) else { break };
            // Behind the last document a block may seem to have more.
            let count = self.slots.saturating_sub(at * BLOCK_DOCS).min(BLOCK_DOCS);
            let docs: Vec<DocMeta> = (0..count).map_while(|place| block.get(place)).collect();
            let last = docs.last().map_or(*n, |doc| doc.n.max(*n));
            let (here, later) = records.split_at(records.partition_point(|n| *n <= last));
            for n in here {
                if let Ok(place) = docs.binary_search_by_key(n, |doc| doc.n) {
                    found.push(((at * BLOCK_DOCS + place) as u64, docs[place]));
                }
            }
            records = later;
        }
        Ok(found)
    }

    fn doc_in(&self, connection: &Connection, slot: usize) -> rusqlite::Result<Option<DocMeta>> {
        let row = self.n * ROW_NUMBERS + (slot / BLOCK_DOCS) as i64;
        let found = connection.prepare_cached(DOCS)?.query_row([row], |row| {
            Ok(DocBlock::parse(row.get_ref(0)?.as_blob()?).and_then(|block| block.get(slot % BLOCK_DOCS)))
        });
        Ok(found.optional()?.flatten())
    }

    /// The slots whose documents were removed, in order.
    pub(crate) fn removed_slots(&self, connection: &Connection) -> rusqlite::Result<Vec<u64>> {
        let sql = "SELECT slot FROM removed_slot WHERE segment = ? ORDER BY slot";
        let slot = |row: &rusqlite::Row| Ok(row.get::<_, i64>(0)?.unsigned_abs());
        connection.prepare_cached(sql)?.query_map([self.n], slot)?.collect()
    }
}

/// Whether a row is of a pool, by the end of the name of its kind.
fn is_pool(row: &rusqlite::Row, end: &str) -> bool {
    row.get_ref(6).is_ok_and(|kind| kind.as_str().is_ok_and(|kind| kind.ends_with(end)))
}

/// The rows of words, and those of documents, of a segment.
pub(super) const WORDS: &str = "SELECT n, words FROM segment_words WHERE n >= ? AND n < ? ORDER BY n";
const DOCS: &str = "SELECT docs FROM segment_docs WHERE n = ?";
