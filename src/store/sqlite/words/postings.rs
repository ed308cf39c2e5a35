//! The encodings of the word index: posting lists as varints of differences, read sequentially, and document
//! metadata in blocks of fixed width, with random access.

use crate::record::Role;
use crate::store::sqlite::record_row::DocMeta;
use integer_encoding::VarInt;
use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;

/// The bits of a row of a block that hold the role.
const ROLE_BITS: u32 = 2;
const ROLE_MASK: u64 = (1 << ROLE_BITS) - 1;
const _: () = assert!(Role::ALL.len() <= 1 << ROLE_BITS, "ROLE_BITS is too small for the number of roles");

/// The length of a document and, in the lowest `ROLE_BITS` bits, its role.
fn rest(doc: &DocMeta) -> u64 {
    u64::from(doc.length) << ROLE_BITS | u64::from(doc.role.trailing_zeros()) & ROLE_MASK
}

/// The metadata of consecutive documents: the least number and the least time, and the differences of each
/// document from these, in as few bytes as the greatest needs (frame of reference: Goldstein, Ramakrishnan
/// and Shaft, "Compressing relations and indexes", 1998).
pub(crate) struct DocBlock<'a> {
    n: i64,
    timestamp: i64,
    columns: [Column; 3],
    /// The bytes of one document.
    width: usize,
    rows: &'a [u8],
}

/// The position and width of a number in a row.
#[derive(Clone, Copy)]
struct Column {
    offset: usize,
    mask: u64,
}

/// Bytes after the last row, so that every number can be read as eight bytes.
const PADDING: [u8; 8] = [0; 8];

impl<'a> DocBlock<'a> {
    /// The bytes of a block: number and time, 8 bytes each; the widths of the three columns, a byte each; the
    /// rows; all little-endian.
    pub(crate) fn pack(docs: &[DocMeta]) -> Vec<u8> {
        let n = docs.iter().map(|doc| doc.n).min().unwrap_or_default();
        let timestamp = docs.iter().map(|doc| doc.timestamp).min().unwrap_or_default();
        let row = |doc: &DocMeta| [doc.n.abs_diff(n), doc.timestamp.abs_diff(timestamp), rest(doc)];
        let mut widths = [0; 3];
        for doc in docs {
            for (width, number) in widths.iter_mut().zip(row(doc)) {
                *width = (u64::BITS - number.leading_zeros()).div_ceil(8).max(*width);
            }
        }
        let mut bytes = [n.to_le_bytes(), timestamp.to_le_bytes()].concat();
        bytes.extend(widths.map(|width| width as u8));
        for doc in docs {
            for (width, number) in widths.iter().zip(row(doc)) {
                bytes.extend_from_slice(&number.to_le_bytes()[..*width as usize]);
            }
        }
        bytes.extend(PADDING);
        bytes
    }

    /// Decodes a block; `None` for any other bytes.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<DocBlock<'a>> {
        let (n, bytes) = bytes.split_first_chunk()?;
        let (timestamp, bytes) = bytes.split_first_chunk()?;
        let (widths, rows) = bytes.split_first_chunk::<3>()?;
        let mut width = 0;
        let columns = widths.map(|bytes| {
            let column = Column {
                offset: width,
                mask: u64::MAX.checked_shr(64 - u32::from(bytes.min(8)) * 8).unwrap_or(0),
            };
            width += usize::from(bytes);
            column
        });
        Some(DocBlock {
            n: i64::from_le_bytes(*n),
            timestamp: i64::from_le_bytes(*timestamp),
            columns,
            width,
            rows,
        })
    }

    /// One of its documents, counted from 0.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<DocMeta> {
        let row = self.rows.get(at * self.width..)?;
        let number = |column: Column| {
            let bytes = row.get(column.offset..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes) & column.mask)
        };
        let [n, timestamp, rest] = self.columns;
        let rest = number(rest)?;
        Some(DocMeta {
            n: self.n.wrapping_add_unsigned(number(n)?),
            timestamp: self.timestamp.wrapping_add_unsigned(number(timestamp)?),
            length: (rest >> ROLE_BITS) as u32,
            role: 1 << (rest & ROLE_MASK),
        })
    }
}

/// The posting list of a word: the slots of the documents that hold it, and its frequency in each.
#[derive(Default)]
pub(crate) struct Postings {
    bytes: Vec<u8>,
    /// One more than the slot of the last written document.
    next: u64,
}

impl Postings {
    /// An empty list with room for this many documents.
    pub(crate) fn with_capacity(docs: usize) -> Postings {
        const TYPICAL_BYTES: usize = 2;
        Postings { bytes: Vec::with_capacity(docs * TYPICAL_BYTES), next: 0 }
    }

    /// Appends a document, whose slot is greater than all before it, with the word's frequency.
    pub(crate) fn push(&mut self, at: u64, times: u64) {
        put(&mut self.bytes, at - self.next);
        put(&mut self.bytes, times);
        self.next = at + 1;
    }

    /// Appends another posting list, whose slots are counted from `first`. Only the first difference changes;
    /// a list that is torn is read as far as it goes.
    pub(crate) fn append(&mut self, bytes: &[u8], first: u64) {
        let mut rest = bytes;
        let (Some(slot), Some(times)) = (take(&mut rest), take(&mut rest)) else { return };
        self.push(first + slot, times);
        let (begin, mut end) = (bytes.len() - rest.len(), bytes.len() - rest.len());
        while let (Some(step), Some(_)) = (take(&mut rest), take(&mut rest)) {
            let Some(next) = step.checked_add(1).and_then(|step| self.next.checked_add(step)) else { break };
            self.next = next;
            end = bytes.len() - rest.len();
        }
        self.bytes.extend_from_slice(&bytes[begin..end]);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of documents in a posting list. Each is two varints, whose last bytes have a highest bit of
    /// 0.
    pub(crate) fn doc_freq(bytes: &[u8]) -> usize {
        bytes.iter().filter(|byte| **byte < 0x80).count() / 2
    }

    /// Decodes a posting list: each document's slot, and the frequency of the word in it.
    pub(crate) fn each(mut bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> {
        let mut next = 0_u64;
        std::iter::from_fn(move || {
            let (step, times) = (take(&mut bytes)?, take(&mut bytes)?);
            let at = next.checked_add(step)?;
            next = at.checked_add(1)?;
            Some((at, times))
        })
    }
}

impl ToSql for Postings {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.bytes.to_sql()
    }
}

/// Appends a number as LEB128: seven bits a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, number: u64) {
    if number < 0x80 {
        return bytes.push(number as u8);
    }
    let start = bytes.len();
    bytes.resize(start + number.required_space(), 0);
    number.encode_var(&mut bytes[start..]);
}

/// Reads a number from the front; `None` at the end.
#[inline]
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (number, length) = u64::decode_var(bytes)?;
    *bytes = &bytes[length..];
    Some(number)
}

/// Reads bytes as either encoding, whatever they are: the body of a target in `fuzz`.
pub fn fuzz_postings(bytes: &[u8]) {
    if let Some(block) = DocBlock::parse(bytes) {
        let docs: Vec<DocMeta> = (0..bytes.len()).map_while(|at| block.get(at)).collect();
        let packed = DocBlock::pack(&docs);
        let read =
            DocBlock::parse(&packed).map(|block| (0..docs.len()).filter_map(|at| block.get(at)).collect());
        assert_eq!(read, Some(docs));
    }
    let _ = Postings::each(bytes).count();
    Postings::default().append(bytes, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_block_gives_back_every_place(
            docs in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<u32>(), 0..Role::ALL.len() as u8), 0..40)
        ) {
            let docs: Vec<DocMeta> = docs
                .into_iter()
                .map(|(n, timestamp, length, role)| DocMeta { n, timestamp, length, role: 1 << role })
                .collect();
            let bytes = DocBlock::pack(&docs);
            let block = DocBlock::parse(&bytes).unwrap();
            let read: Vec<DocMeta> = (0..docs.len()).filter_map(|at| block.get(at)).collect();
            prop_assert_eq!(read, docs);
        }

        #[test]
        fn postings_give_back_every_message(steps in proptest::collection::vec((0..1_000_000_u64, 1..9_u64), 0..40)) {
            let mut expected = Vec::new();
            let (mut postings, mut next) = (Postings::default(), 0);
            for (step, times) in steps {
                postings.push(next + step, times);
                expected.push((next + step, times));
                next += step + 1;
            }
            prop_assert_eq!(Postings::doc_freq(postings.bytes()), expected.len());
            prop_assert_eq!(Postings::each(postings.bytes()).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn an_appended_list_continues_in_the_slots_after(
            steps in proptest::collection::vec((0..1_000_000_u64, 1..900_u64), 1..40), cut in 0..40_usize
        ) {
            let (mut whole, mut before, mut after) =
                (Postings::default(), Postings::default(), Postings::default());
            let (mut next, mut first) = (0, 0);
            for (at, (step, times)) in steps.iter().enumerate() {
                let slot = next + step;
                whole.push(slot, *times);
                if at < cut {
                    before.push(slot, *times);
                    first = slot + 1;
                } else {
                    after.push(slot - first, *times);
                }
                next = slot + 1;
            }
            before.append(after.bytes(), first);
            prop_assert_eq!(before.bytes(), whole.bytes());
            before.push(next + 7, 1);
            whole.push(next + 7, 1);
            prop_assert_eq!(before.bytes(), whole.bytes());
        }

        #[test]
        fn torn_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..99), at in any::<u16>()) {
            DocBlock::parse(&bytes).and_then(|block| block.get(at.into()));
            Postings::each(&bytes).for_each(drop);
            Postings::default().append(&bytes, 0);
        }
    }
}
