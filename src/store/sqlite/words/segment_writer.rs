//! Writes a new segment.

use super::postings::{DocBlock, Postings};
use super::segment::{BLOCK_DOCS, ROW_NUMBERS};
use crate::store::sqlite::connection::PAGE_PAYLOAD;
use crate::store::sqlite::record_row::DocMeta;
use crate::text::fold::FOLDING;
use rusqlite::{Connection, ToSql, params, params_from_iter};

/// The bytes of words and posting lists that are written at once. Each time, SQLite saves and then seeks
/// again the positions of all statements that read posting lists, which a merge does.
const WRITE_BYTES: usize = 1 << 20;

/// The number of posting lists that one statement inserts: it continues from the place of the last one, where
/// a new statement would search the tree again.
const INSERTED_ROWS: usize = 32;

/// Writes a segment, word by word in order.
pub(crate) struct SegmentWriter<'a> {
    connection: &'a Connection,
    segment: i64,
    /// The words with their posting lists that are to be written, and their number of bytes.
    pending: Vec<(Box<[u8]>, Postings)>,
    pending_bytes: usize,
    /// The rows. Each begins and ends with a newline, so that every word has one before and after it.
    words: Vec<Vec<u8>>,
}

impl<'a> SegmentWriter<'a> {
    /// Begins a segment of some documents in the order of their numbers, none of them removed.
    pub(crate) fn begin(
        connection: &'a Connection,
        collection: i64,
        docs: &[DocMeta],
    ) -> rusqlite::Result<SegmentWriter<'a>> {
        let length: i64 = docs.iter().map(|doc| i64::from(doc.length)).sum();
        let sql =
            "INSERT INTO segment (collection, slots, docs, length, folding) VALUES (?1, ?2, ?2, ?3, ?4)";
        let values = [collection, docs.len() as i64, length, FOLDING];
        let segment = connection.prepare_cached(sql)?.insert(values)?;
        let blocks = docs.chunks(BLOCK_DOCS).map(DocBlock::pack);
        insert_rows(connection, "INSERT INTO segment_docs (n, docs) VALUES (?, ?)", segment, blocks)?;
        Ok(SegmentWriter { connection, segment, pending: Vec::new(), pending_bytes: 0, words: Vec::new() })
    }

    /// Adds a word, which must come after those before it. Fails if the file cannot be written.
    pub(crate) fn add(&mut self, word: Box<[u8]>, postings: Postings) -> rusqlite::Result<()> {
        if self.words.last().is_none_or(|row| row.len() + word.len() >= PAGE_PAYLOAD) {
            self.words.push(vec![b'\n']);
        }
        if let Some(row) = self.words.last_mut() {
            row.extend_from_slice(&word);
            row.push(b'\n');
        }
        self.pending_bytes += word.len() + postings.bytes().len();
        self.pending.push((word, postings));
        if self.pending_bytes < WRITE_BYTES { Ok(()) } else { self.write_pending() }
    }

    fn write_pending(&mut self) -> rusqlite::Result<()> {
        let insert = |rows: &[(Box<[u8]>, Postings)]| {
            let sql = format!(
                "INSERT INTO posting (segment, word, docs) VALUES {}",
                vec!["(?, ?, ?)"; rows.len()].join(", ")
            );
            let values = rows
                .iter()
                .flat_map(|(word, postings)| -> [&dyn ToSql; 3] { [&self.segment, word, postings] });
            self.connection.prepare_cached(&sql)?.execute(params_from_iter(values)).map(drop)
        };
        let (groups, rest) = self.pending.as_chunks::<INSERTED_ROWS>();
        groups.iter().try_for_each(|rows| insert(rows))?;
        rest.iter().try_for_each(|row| insert(std::slice::from_ref(row)))?;
        self.pending.clear();
        self.pending_bytes = 0;
        Ok(())
    }

    /// Writes the words themselves, so that their pages are adjacent in the file.
    pub(crate) fn end(mut self) -> rusqlite::Result<()> {
        self.write_pending()?;
        let sql = "INSERT INTO segment_words (n, words) VALUES (?, ?)";
        insert_rows(self.connection, sql, self.segment, self.words)
    }
}

/// Inserts the rows of a segment, numbered from its first.
fn insert_rows(
    connection: &Connection,
    sql: &str,
    segment: i64,
    rows: impl IntoIterator<Item = Vec<u8>>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    for (n, row) in (segment * ROW_NUMBERS..).zip(rows) {
        statement.execute(params![n, row])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::schema;
    use crate::store::sqlite::words::segment::Segment;

    #[test]
    fn every_record_is_located_in_its_own_slot_and_no_other_in_any() {
        for slots in [1, 2, BLOCK_DOCS, BLOCK_DOCS + 1, 2 * BLOCK_DOCS + 7] {
            let mut connection = Connection::open_in_memory().unwrap();
            let transaction = connection.transaction().unwrap();
            schema::create(&transaction).unwrap();
            let sql = "INSERT INTO collection (n, kind, partition, instance) VALUES (1, 'message', 'p', 'i')";
            transaction.execute(sql, []).unwrap();
            let doc = |slot| DocMeta { n: 5 + 3 * slot as i64, timestamp: 7, length: 9, role: 1 };
            let docs: Vec<DocMeta> = (0..slots).map(doc).collect();
            SegmentWriter::begin(&transaction, 1, &docs).unwrap().end().unwrap();
            let segment = Segment::list(&transaction, 1).unwrap().remove(0);
            let expected: Vec<_> = (0..).zip(docs).collect();
            let all: Vec<i64> = (0..3 * slots as i64 + 10).collect();
            assert_eq!(segment.locate(&transaction, &all).unwrap(), expected, "{slots}");
            for (slot, doc) in expected.into_iter().step_by(101) {
                assert_eq!(segment.locate(&transaction, &[doc.n]).unwrap(), [(slot, doc)], "{slots}");
                assert_eq!(segment.locate(&transaction, &[doc.n + 1]).unwrap(), [], "{slots}");
            }
        }
    }
}
