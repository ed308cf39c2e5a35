//! The rows of single b-tree pages, read without the tree above them.
//!
//! The formats are those of <https://www.sqlite.org/fileformat2.html>. Nothing is assumed of the bytes: data
//! that do not fit the format are `None`.

use super::raw_pages::{HEADER_BYTES, RawPages, u16_at, u32_at};
use rusqlite::types::Value;
use std::collections::HashSet;

/// The types of b-tree pages, by their first byte.
const INDEX_INTERIOR: u8 = 2;
const TABLE_INTERIOR: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

/// A page of a b-tree.
pub(crate) struct TreePage<'a> {
    bytes: &'a [u8],
    kind: u8,
    /// The offsets of its cells; `None` stands for an offset that cannot be.
    cells: Vec<Option<usize>>,
}

/// A row of a table or an index.
pub(crate) struct RawRow {
    /// The row number; `None` in an index and in a table without row numbers.
    pub(crate) number: Option<i64>,
    pub(crate) values: Vec<Value>,
    /// Whether a page in which its bytes continue has only zeros.
    pub(crate) has_blank_page: bool,
}

/// The part of a row's bytes that is in its page, and the page in which they continue.
struct Payload<'a> {
    length: usize,
    local: &'a [u8],
    next: u32,
}

impl TreePage<'_> {
    /// Reads the head of a page; `None` if it is no page of a b-tree.
    pub(crate) fn parse<'a>(number: u32, page: &'a [u8], usable: usize) -> Option<TreePage<'a>> {
        let bytes = page.get(..usable)?;
        let head = if number == 1 { HEADER_BYTES } else { 0 };
        let kind = *bytes.get(head)?;
        let head_bytes = match kind {
            INDEX_INTERIOR | TABLE_INTERIOR => 12,
            INDEX_LEAF | TABLE_LEAF => 8,
            _ => return None,
        };
        let pointers = head + head_bytes;
        let cells_from = pointers + 2 * u16_at(bytes, head + 3)?;
        if cells_from > usable {
            return None;
        }
        let offset = |at: usize| u16_at(bytes, at).filter(|at| (cells_from..usable).contains(at));
        let cells = (pointers..cells_from).step_by(2).map(offset).collect();
        Some(TreePage { bytes, kind, cells })
    }

    /// Whether its rows are those of a table with row numbers.
    pub(crate) fn is_table(&self) -> bool {
        [TABLE_INTERIOR, TABLE_LEAF].contains(&self.kind)
    }

    /// The rows of the page, each `None` if unreadable. The pages in which they continue are added to
    /// `continued`.
    pub(crate) fn rows<'a>(
        &'a self,
        pages: &'a RawPages,
        continued: &'a mut HashSet<u32>,
    ) -> impl Iterator<Item = Option<RawRow>> + 'a {
        // The inner pages of a table have row numbers alone.
        let cells = if self.kind == TABLE_INTERIOR { &[] } else { &self.cells[..] };
        cells.iter().map(move |at| self.row((*at)?, pages, continued))
    }

    fn row(&self, at: usize, pages: &RawPages, continued: &mut HashSet<u32>) -> Option<RawRow> {
        let mut rest = self.bytes.get(at..)?;
        if self.kind == INDEX_INTERIOR {
            rest = rest.get(4..)?;
        }
        let length = usize::try_from(varint(&mut rest)?).ok()?;
        let number = if self.is_table() { Some(varint(&mut rest)? as i64) } else { None };
        let payload = self.payload(length, rest)?;
        let mut has_blank_page = false;
        let bytes = match payload.next {
            0 => payload.local.to_vec(),
            _ => read_on(&payload, pages, continued, &mut has_blank_page)?,
        };
        Some(RawRow { number, values: values(&bytes)?, has_blank_page })
    }

    /// The payload of a length that begins with `rest`.
    fn payload<'a>(&self, length: usize, rest: &'a [u8]) -> Option<Payload<'a>> {
        let usable = self.bytes.len();
        let most = if self.is_table() { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if length <= most {
            return Some(Payload { length, local: rest.get(..length)?, next: 0 });
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (usable - 4);
        let local = if fitting <= most { fitting } else { least };
        let next = u32_at(rest, local)?;
        (next != 0).then_some(Payload { length, local: &rest[..local], next })
    }
}

/// Reads the whole of a payload that continues in other pages.
fn read_on(
    payload: &Payload,
    pages: &RawPages,
    continued: &mut HashSet<u32>,
    has_blank_page: &mut bool,
) -> Option<Vec<u8>> {
    let mut bytes = payload.local.to_vec();
    let (mut next, mut page, mut chain) = (payload.next, Vec::new(), HashSet::new());
    while bytes.len() < payload.length {
        if next == 0 || next > pages.last || !chain.insert(next) || !pages.read(next, &mut page) {
            return None;
        }
        continued.insert(next);
        let data = page.get(4..pages.usable)?;
        bytes.extend_from_slice(&data[..data.len().min(payload.length - bytes.len())]);
        *has_blank_page |= page.iter().all(|byte| *byte == 0);
        next = u32_at(&page, 0)?;
    }
    // The last page names no other.
    (next == 0).then_some(bytes)
}

/// Takes a number of 1 to 9 bytes from the front.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..9 {
        let byte = u64::from(*bytes.get(at)?);
        let is_last = at == 8 || byte < 0x80;
        value = if at == 8 { value << 8 | byte } else { value << 7 | byte & 0x7f };
        if is_last {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

/// The values of a row: their types, then their bytes. The whole payload must be used.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut rest = payload;
    let header_bytes = usize::try_from(varint(&mut rest)?).ok()?;
    let mut types = payload.get(payload.len() - rest.len()..header_bytes)?;
    let mut body = payload.get(header_bytes..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        values.push(value(varint(&mut types)?, &mut body)?);
    }
    body.is_empty().then_some(values)
}

/// Takes a value of a type from the front.
fn value(kind: u64, body: &mut &[u8]) -> Option<Value> {
    let length = match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        _ => (kind - 12) / 2,
    };
    let (bytes, rest) = body.split_at_checked(usize::try_from(length).ok()?)?;
    *body = rest;
    Some(match kind {
        0 => Value::Null,
        7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        1..=6 => {
            let sign = if bytes[0] < 0x80 { 0 } else { -1 };
            Value::Integer(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
        }
        _ if kind.is_multiple_of(2) => Value::Blob(bytes.to_vec()),
        _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
    })
}
