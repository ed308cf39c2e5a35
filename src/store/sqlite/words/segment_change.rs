//! Changes a segment in place: removes documents and segments, and brings words to another folding.

use super::postings::{DocBlock, Postings};
use super::segment::{BLOCK_DOCS, ROW_NUMBERS, Segment, WORDS};
use crate::store::sqlite::connection::PAGE_PAYLOAD;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// How often each of some documents holds a word from now on, by words and slots; 0 for one that does not.
pub(crate) type ChangedWords = BTreeMap<Vec<u8>, BTreeMap<u64, u64>>;

/// The words that the rows of words lack, and those that no posting list has any more.
#[derive(Default)]
pub(crate) struct WordBalance {
    added: BTreeSet<Vec<u8>>,
    removed: FxHashSet<Vec<u8>>,
}

impl WordBalance {
    /// Notes that a word was added, or else removed; both together are nothing.
    fn note(&mut self, word: Vec<u8>, is_new: bool) {
        if is_new {
            if !self.removed.remove(&word) {
                self.added.insert(word);
            }
        } else if !self.added.remove(&word) {
            self.removed.insert(word);
        }
    }
}

impl Segment {
    /// Removes the segment. Fails if the file cannot be written.
    pub(crate) fn delete(&self, connection: &Connection) -> rusqlite::Result<()> {
        for table in ["segment_words", "segment_docs"] {
            let sql = format!("DELETE FROM {table} WHERE n >= ? AND n < ?");
            connection.prepare_cached(&sql)?.execute(self.row_numbers())?;
        }
        for table in ["posting", "removed_slot"] {
            let sql = format!("DELETE FROM {table} WHERE segment = ?");
            connection.prepare_cached(&sql)?.execute([self.n])?;
        }
        connection.prepare_cached("DELETE FROM segment WHERE n = ?")?.execute([self.n]).map(drop)
    }

    /// Takes documents out of the statistics: slots with the lengths of the documents, in words. Their
    /// postings stay. Returns whether documents are left; an empty segment is deleted.
    pub(crate) fn retire(
        &self,
        connection: &Connection,
        slots: &BTreeMap<u64, i64>,
    ) -> rusqlite::Result<bool> {
        let (mut count, mut words) = (0, 0);
        for (slot, length) in slots {
            let sql = "INSERT OR IGNORE INTO removed_slot (segment, slot) VALUES (?, ?)";
            if connection.prepare_cached(sql)?.execute([self.n, *slot as i64])? == 1 {
                count += 1;
                words += length;
            }
        }
        let sql = "UPDATE segment SET docs = docs - ?, length = length - ? WHERE n = ? RETURNING docs";
        let left: i64 =
            connection.prepare_cached(sql)?.query_row([count, words, self.n], |row| row.get(0))?;
        if left <= 0 {
            self.delete(connection)?;
        }
        Ok(left > 0)
    }

    /// Removes documents: `slots` with the lengths of the documents, and their words.
    pub(crate) fn remove(
        &self,
        connection: &Connection,
        slots: &BTreeMap<u64, i64>,
        words: ChangedWords,
    ) -> rusqlite::Result<()> {
        if !self.retire(connection, slots)? {
            return Ok(());
        }
        let mut balance = WordBalance::default();
        self.change_postings(connection, words, &mut balance)?;
        self.change_words(connection, &balance)
    }

    /// Changes the posting lists of words. The rows of words stay as they are: those that no document held
    /// before, and those that none holds any more, are noted in `balance`.
    pub(crate) fn change_postings(
        &self,
        connection: &Connection,
        words: ChangedWords,
        balance: &mut WordBalance,
    ) -> rusqlite::Result<()> {
        for (word, changes) in words {
            let changed = self.posting_list(connection, &word, |bytes| changed_postings(bytes, &changes))?;
            let is_new = changed.is_none();
            let changed = changed.unwrap_or_else(|| changed_postings(&[], &changes));
            let sql = match (is_new, changed.bytes().is_empty()) {
                (true, true) => continue,
                (false, true) => "DELETE FROM posting WHERE ?1 IS NOT NULL AND segment = ?2 AND word = ?3",
                (true, false) => "INSERT INTO posting (docs, segment, word) VALUES (?1, ?2, ?3)",
                (false, false) => "UPDATE posting SET docs = ?1 WHERE segment = ?2 AND word = ?3",
            };
            connection.prepare_cached(sql)?.execute(params![changed, self.n, word])?;
            if is_new || changed.bytes().is_empty() {
                balance.note(word, is_new);
            }
        }
        Ok(())
    }

    /// Brings the rows of words up to date.
    pub(crate) fn change_words(&self, connection: &Connection, words: &WordBalance) -> rusqlite::Result<()> {
        self.forget_words(connection, &words.removed)?;
        self.add_words(connection, &words.added)
    }

    /// Adds words to the last row of words, and to new ones.
    fn add_words(&self, connection: &Connection, new_words: &BTreeSet<Vec<u8>>) -> rusqlite::Result<()> {
        if new_words.is_empty() {
            return Ok(());
        }
        let sql = "SELECT n, words FROM segment_words WHERE n >= ? AND n < ? ORDER BY n DESC LIMIT 1";
        let last = |row: &rusqlite::Row| Ok((row.get(0)?, row.get(1)?));
        let last = connection.prepare_cached(sql)?.query_row(self.row_numbers(), last).optional()?;
        let (mut n, mut words): (i64, Vec<u8>) = last.unwrap_or((self.row_numbers()[0], vec![b'\n']));
        let sql = "INSERT OR REPLACE INTO segment_words (n, words) VALUES (?, ?)";
        let mut write = connection.prepare_cached(sql)?;
        for word in new_words {
            if words.len() + word.len() >= PAGE_PAYLOAD {
                write.execute(params![n, words])?;
                (n, words) = (n + 1, vec![b'\n']);
            }
            words.extend_from_slice(word);
            words.push(b'\n');
        }
        write.execute(params![n, words]).map(drop)
    }

    /// Changes the lengths of documents, by their slots.
    pub(crate) fn set_lengths(
        &self,
        connection: &Connection,
        lengths: &BTreeMap<usize, u32>,
    ) -> rusqlite::Result<()> {
        let blocks: BTreeSet<usize> = lengths.keys().map(|slot| slot / BLOCK_DOCS).collect();
        for block in blocks {
            let slots = block * BLOCK_DOCS..self.slots.min((block + 1) * BLOCK_DOCS);
            let mut docs = self.docs_in(connection, slots.clone())?;
            for (slot, doc) in slots.zip(&mut docs) {
                doc.length = lengths.get(&slot).copied().unwrap_or(doc.length);
            }
            let sql = "UPDATE segment_docs SET docs = ? WHERE n = ?";
            let row = self.n * ROW_NUMBERS + block as i64;
            connection.prepare_cached(sql)?.execute(params![DocBlock::pack(&docs), row])?;
        }
        Ok(())
    }

    /// Notes the version of the folding of its words, the number of its first slots that are of the next one,
    /// and by how much its length changes.
    pub(crate) fn set_folding(
        &self,
        connection: &Connection,
        folding: i64,
        refolded: usize,
        length: i64,
    ) -> rusqlite::Result<()> {
        let sql = "UPDATE segment SET folding = ?, refolded = ?, length = length + ? WHERE n = ?";
        connection.prepare_cached(sql)?.execute([folding, refolded as i64, length, self.n]).map(drop)
    }

    /// Removes words that no document holds any more from the rows of words.
    fn forget_words(
        &self,
        connection: &Connection,
        removed_words: &FxHashSet<Vec<u8>>,
    ) -> rusqlite::Result<()> {
        if removed_words.is_empty() {
            return Ok(());
        }
        let mut changed: Vec<(i64, Vec<u8>)> = Vec::new();
        let mut statement = connection.prepare_cached(WORDS)?;
        let mut rows = statement.query(self.row_numbers())?;
        while let Some(row) = rows.next()? {
            let words = row.get_ref(1)?.as_blob()?;
            let mut kept = vec![b'\n'];
            for word in words
                .split(|byte| *byte == b'\n')
                .filter(|word| !word.is_empty() && !removed_words.contains(*word))
            {
                kept.extend_from_slice(word);
                kept.push(b'\n');
            }
            if kept.len() < words.len() {
                changed.push((row.get(0)?, kept));
            }
        }
        for (n, words) in changed {
            let sql = "UPDATE segment_words SET words = ? WHERE n = ?";
            connection.prepare_cached(sql)?.execute(params![words, n])?;
        }
        Ok(())
    }
}

/// A posting list with changes.
fn changed_postings(bytes: &[u8], changes: &BTreeMap<u64, u64>) -> Postings {
    let (mut changed, mut changes) = (Postings::default(), changes.iter().peekable());
    let mut push = |slot, times| {
        if times > 0 {
            changed.push(slot, times);
        }
    };
    for (slot, times) in Postings::each(bytes) {
        while let Some((before, times)) = changes.next_if(|(changed, _)| **changed < slot) {
            push(*before, *times);
        }
        push(slot, changes.next_if(|(changed, _)| **changed == slot).map_or(times, |(_, times)| *times));
    }
    changes.for_each(|(slot, times)| push(*slot, *times));
    changed
}
