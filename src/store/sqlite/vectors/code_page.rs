//! The vector index: the 4-bit code of every record's vector, in code pages of one collection, or pool, and
//! model. Each fills a page of the file, and pages are scanned whole. The newest codes of a collection are
//! pending, a row each, until they fill a page, so that storing one costs little; meanwhile the pool has a
//! copy of them (`code_pool.rs`). Each code has metadata for selections, so that a search compares only
//! admitted records.

use super::checksum::Checksum;
use super::code_scope::{CodePart, CodeScope};
use crate::store::sqlite::collections::CollectionRow;
use crate::store::sqlite::connection::PAGE_PAYLOAD;
use crate::store::sqlite::filter::role_bit;
use crate::store::sqlite::record_row::{RecordRow, numbers};
use crate::vector::{Quantized, width};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use std::collections::BTreeSet;

/// The number of pages that are written together, so that they are adjacent in the file and mapped together.
const PAGES_AT_ONCE: u32 = 8;

/// The number of pending codes that are compared at once.
const PENDING_AT_ONCE: usize = 256;

/// The metadata of a code.
#[derive(Clone, Copy)]
pub(crate) struct CodeMeta {
    /// The number of the record.
    pub(crate) n: i64,
    pub(crate) timestamp: i64,
    /// The scale of the code.
    pub(crate) scale: f32,
    /// The `role_bit` of the role.
    pub(crate) role: u8,
}

/// The length of a `CodeMeta` in bytes: its fields in order, little-endian.
const META_BYTES: usize = 8 + 8 + 4 + 1;

impl CodeMeta {
    fn bytes(&self) -> Vec<u8> {
        let (n, timestamp, scale) =
            (self.n.to_le_bytes(), self.timestamp.to_le_bytes(), self.scale.to_le_bytes());
        [&n[..], &timestamp, &scale, &[self.role]].concat()
    }

    fn parse(bytes: &[u8]) -> Option<CodeMeta> {
        let (n, bytes) = bytes.split_first_chunk()?;
        let (timestamp, bytes) = bytes.split_first_chunk()?;
        let (scale, bytes) = bytes.split_first_chunk()?;
        Some(CodeMeta {
            n: i64::from_le_bytes(*n),
            timestamp: i64::from_le_bytes(*timestamp),
            scale: f32::from_le_bytes(*scale),
            role: *bytes.first()?,
        })
    }
}

/// Decodes the metadata of a page.
fn metas_of(bytes: &[u8]) -> impl Iterator<Item = CodeMeta> {
    bytes.chunks_exact(META_BYTES).filter_map(CodeMeta::parse)
}

/// The part of the index for a model and a collection or a pool, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexKey {
    pub(crate) model: i64,
    pub(crate) collection: i64,
}

/// Adds the code of a record's vector of any length, or replaces a pending one. It is pending until `pack`.
pub(crate) fn add(
    connection: &Connection,
    model: i64,
    record: &RecordRow,
    vector: &[f32],
) -> rusqlite::Result<()> {
    let Quantized { scale, codes } = Quantized::new(vector);
    let meta = CodeMeta { n: record.n, timestamp: record.timestamp, scale, role: role_bit(record.role) };
    let sql = "INSERT OR REPLACE INTO pending_code (model, collection, record, metas, codes) VALUES (?, ?, ?, ?, ?)";
    let row = params![model, record.collection.n, record.n, meta.bytes(), codes];
    connection.prepare_cached(sql)?.execute(row).map(drop)
}

/// Packs pending codes into pages, oldest records first, as long as they fill a run of pages. Returns their
/// records.
pub(crate) fn pack(connection: &Connection, key: IndexKey) -> rusqlite::Result<BTreeSet<i64>> {
    let IndexKey { model, collection } = key;
    let sql = "SELECT count(*), dim FROM pending_code JOIN model ON model.n = model
               WHERE model = ? AND collection = ?";
    let count = |row: &rusqlite::Row| Ok((row.get(0)?, row.get::<_, Option<u32>>(1)?));
    let (pending, dim): (u32, _) = connection.prepare_cached(sql)?.query_row([model, collection], count)?;
    let per_page = PAGE_PAYLOAD / (META_BYTES + width(dim.unwrap_or_default() as usize));
    let per_page = u32::try_from(per_page).unwrap_or_default().max(1);
    let runs = pending / (PAGES_AT_ONCE * per_page);
    if runs == 0 {
        return Ok(BTreeSet::new());
    }
    let mut last = i64::MIN;
    for _ in 0..runs * PAGES_AT_ONCE {
        last = pack_page(connection, key, last, per_page)?;
    }
    // They are deleted last: else the new pages would be written to the freed pages of the file, wherever
    // these are.
    let sql = "DELETE FROM pending_code WHERE model = ? AND collection = ? AND record <= ? RETURNING record";
    connection.prepare_cached(sql)?.query_map([model, collection, last], |row| row.get(0))?.collect()
}

/// Packs `count` pending codes after a record into a page. Returns its last record.
fn pack_page(connection: &Connection, key: IndexKey, last: i64, count: u32) -> rusqlite::Result<i64> {
    let (mut metas, mut codes) = (Vec::new(), Vec::new());
    let sql = "SELECT metas, codes FROM pending_code WHERE model = ? AND collection = ? AND record > ?
               ORDER BY record LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![key.model, key.collection, last, count])?;
    while let Some(row) = rows.next()? {
        metas.extend_from_slice(row.get_ref(0)?.as_blob()?);
        codes.extend_from_slice(row.get_ref(1)?.as_blob()?);
    }
    let (low, high) = range(&metas);
    let sql = "INSERT INTO code_page (model, collection, low, high, metas, codes) VALUES (?, ?, ?, ?, ?, ?)";
    let row = params![key.model, key.collection, low, high, metas, codes];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(high)
}

/// Removes the codes that a collection or a pool has of some records. The caller subtracts them from its
/// checksum.
pub(crate) fn remove(
    connection: &Connection,
    key: IndexKey,
    records: &BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
    let IndexKey { model, collection } = key;
    let sql = "DELETE FROM pending_code WHERE model = ? AND collection = ? AND record = ?";
    for n in records {
        connection.prepare_cached(sql)?.execute([model, collection, *n])?;
    }
    let sql = "SELECT n FROM code_page WHERE model = ? AND collection = ? AND low <= ? AND high >= ?";
    let pages: Vec<i64> = connection
        .prepare_cached(sql)?
        .query_map([model, collection, *last, *first], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for page in pages {
        take_out(connection, page, records)?;
    }
    Ok(())
}

/// Removes records from a page, if it holds any of them; deletes an empty page.
fn take_out(connection: &Connection, page: i64, records: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let sql = "SELECT metas, codes FROM code_page WHERE n = ?";
    let (mut metas, mut codes) = (Vec::new(), Vec::new());
    let changed = connection.prepare_cached(sql)?.query_row([page], |row| {
        let before = row.get_ref(0)?.as_blob()?;
        let goes: Vec<bool> = metas_of(before).map(|meta| records.contains(&meta.n)).collect();
        if !goes.contains(&true) {
            return Ok(false);
        }
        let block = row.get_ref(1)?.as_blob()?;
        let width = (block.len() / goes.len()).max(1);
        for ((meta, code), goes) in before.chunks_exact(META_BYTES).zip(block.chunks_exact(width)).zip(goes) {
            if !goes {
                metas.extend_from_slice(meta);
                codes.extend_from_slice(code);
            }
        }
        Ok(true)
    })?;
    if !changed {
        return Ok(());
    }
    begin_generation(connection)?;
    if metas.is_empty() {
        return connection.prepare_cached("DELETE FROM code_page WHERE n = ?")?.execute([page]).map(drop);
    }
    let (low, high) = range(&metas);
    let sql = "UPDATE code_page SET low = ?, high = ?, metas = ?, codes = ? WHERE n = ?";
    connection.prepare_cached(sql)?.execute(params![low, high, metas, codes, page]).map(drop)
}

/// The lowest and the highest record number.
fn range(metas: &[u8]) -> (i64, i64) {
    metas_of(metas).fold((i64::MAX, i64::MIN), |(low, high), meta| (low.min(meta.n), high.max(meta.n)))
}

/// Codes that are read at once.
pub(crate) struct CodeBlock<'a> {
    /// The metadata of each code.
    pub(crate) metas: &'a [CodeMeta],
    /// The codes, one vector after the other.
    pub(crate) codes: &'a [u8],
}

/// The number of vectors that the index of a model must hold for some collections.
pub(crate) struct Expected {
    /// The length of a code, in bytes.
    pub(crate) width: usize,
    pub(crate) checksum: Checksum,
}

impl Expected {
    /// The number of bytes of their codes.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.checksum.vectors).unwrap_or_default().saturating_mul(self.width)
    }
}

/// Reads the expected content of a model's index for some collections. Fails if the file cannot be read.
pub(crate) fn expected(connection: &Connection, model: i64, scope: &CodeScope) -> rusqlite::Result<Expected> {
    let sql = "SELECT ifnull(dim, 0) FROM model WHERE n = ?";
    let dim: Option<u32> = connection.prepare_cached(sql)?.query_row([model], |row| row.get(0)).optional()?;
    let mut checksum = Checksum::default();
    for CodePart { part, pending_below } in scope.parts(connection)? {
        if pending_below == 0 {
            continue;
        }
        let sql = format!(
            "SELECT ifnull(sum(vectors), 0), ifnull(sum(sum), 0) FROM index_checksum \
             WHERE model = ? AND {} AND +collection < ?",
            part.condition("collection")
        );
        let values: [Value; 3] = [model.into(), part.value(), pending_below.into()];
        let read = |row: &rusqlite::Row| Ok(Checksum { vectors: row.get(0)?, sum: row.get(1)? });
        checksum.merge(&connection.prepare_cached(&sql)?.query_row(params_from_iter(values), read)?);
    }
    Ok(Expected { width: width(dim.unwrap_or_default() as usize), checksum })
}

/// Visits the codes of a model in some collections. Returns whether the index was valid; if not, the visited
/// codes must not be trusted. Fails if the file cannot be read.
pub(crate) fn visit(
    connection: &Connection,
    model: i64,
    scope: &CodeScope,
    visit: &mut impl FnMut(&CodeBlock),
) -> rusqlite::Result<bool> {
    let (expected, mut found) = (expected(connection, model, scope)?, Checksum::default());
    let pages = Pages { model, scope, width: expected.width, after: None };
    let whole = pages.visit(connection, &mut |_, block| {
        for meta in block.metas {
            found.add(meta.n);
        }
        visit(block);
    })?;
    Ok(whole && found == expected.checksum)
}

/// The pages to visit.
pub(crate) struct Pages<'a> {
    pub(crate) model: i64,
    pub(crate) scope: &'a CodeScope,
    /// The length of a code, in bytes.
    pub(crate) width: usize,
    /// Only those after this one.
    pub(crate) after: Option<i64>,
}

impl Pages<'_> {
    /// Visits the pages, each with its number, and all pending codes, many at once. Returns whether all of
    /// them could be decoded.
    pub(crate) fn visit(
        &self,
        connection: &Connection,
        visit: &mut impl FnMut(Option<i64>, &CodeBlock),
    ) -> rusqlite::Result<bool> {
        let mut metas = Vec::new();
        let (mut pending_metas, mut pending_codes) = (Vec::new(), Vec::new());
        for part in self.scope.parts(connection)? {
            let (sql, values) = self.statement(&part);
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                let (meta_bytes, codes) = (row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?);
                metas.clear();
                metas.extend(metas_of(meta_bytes));
                if meta_bytes.len() % META_BYTES != 0 || codes.len() != metas.len() * self.width {
                    return Ok(false);
                }
                let page: Option<i64> = row.get(0)?;
                if page.is_some() {
                    visit(page, &CodeBlock { metas: &metas, codes });
                    continue;
                }
                pending_metas.append(&mut metas);
                pending_codes.extend_from_slice(codes);
                if pending_metas.len() >= PENDING_AT_ONCE {
                    visit(None, &CodeBlock { metas: &pending_metas, codes: &pending_codes });
                    pending_metas.clear();
                    pending_codes.clear();
                }
            }
        }
        if !pending_metas.is_empty() {
            visit(None, &CodeBlock { metas: &pending_metas, codes: &pending_codes });
        }
        Ok(true)
    }

    /// The statement that reads a part, and its values.
    fn statement(&self, CodePart { part, pending_below }: &CodePart) -> (String, Vec<Value>) {
        let condition = part.condition("collection");
        // The newest pages are at the end of the table.
        let later = if self.after.is_some() { "NOT INDEXED WHERE n > ? AND" } else { "WHERE" };
        let mut sql = format!("SELECT n, metas, codes FROM code_page {later} model = ? AND {condition}");
        let mut values: Vec<Value> = self.after.map(Value::from).into_iter().collect();
        values.extend([self.model.into(), part.value()]);
        if *pending_below > 0 {
            sql += &format!(
                " UNION ALL SELECT NULL, metas, codes FROM pending_code \
                 WHERE model = ? AND {condition} AND +collection < ?"
            );
            values.extend([self.model.into(), part.value(), (*pending_below).into()]);
        }
        (sql, values)
    }
}

/// The fact that counts the generations of pages: within one they are only added, each with a higher number.
const GENERATION: &str = "code_pages";

/// The present generation of pages.
pub(crate) fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT CAST(value AS INTEGER) FROM fact WHERE name = ?";
    let count = connection.prepare_cached(sql)?.query_row([GENERATION], |row| row.get(0)).optional()?;
    Ok(count.unwrap_or_default())
}

/// Begins a new generation: pages are about to change or be deleted.
pub(crate) fn begin_generation(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO fact (name, value) VALUES (?, '1')
               ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1";
    connection.prepare_cached(sql)?.execute([GENERATION]).map(drop)
}

/// Removes the index of a model in a collection or a pool.
pub(crate) fn clear(connection: &Connection, key: IndexKey) -> rusqlite::Result<()> {
    begin_generation(connection)?;
    for table in ["code_page", "pending_code", "index_checksum"] {
        let sql = format!("DELETE FROM {table} WHERE model = ? AND collection = ?");
        connection.prepare_cached(&sql)?.execute([key.model, key.collection])?;
    }
    Ok(())
}

/// Rebuilds the index of a model in a collection, but not its pool. Fails if the file cannot be written.
pub(crate) fn rebuild(
    connection: &Connection,
    model: i64,
    collection: CollectionRow,
) -> rusqlite::Result<()> {
    let key = IndexKey { model, collection: collection.n };
    clear(connection, key)?;
    if !collection.kind.embedded.is_some() {
        return Ok(());
    }
    let sql = "SELECT n, timestamp, role, vector FROM record INDEXED BY record_number
               JOIN embedding ON embedding.record = n AND embedding.model = ? WHERE collection = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([model, collection.n])?;
    let mut made = Checksum::default();
    while let Some(row) = rows.next()? {
        let record = RecordRow { n: row.get(0)?, collection, timestamp: row.get(1)?, role: row.get(2)? };
        add(connection, model, &record, &numbers(row.get_ref(3)?.as_blob()?))?;
        made.add(record.n);
    }
    add_to_checksum(connection, key, &made)?;
    pack(connection, key).map(drop)
}

/// Adds to the checksum of a collection or a pool.
pub(crate) fn add_to_checksum(
    connection: &Connection,
    key: IndexKey,
    more: &Checksum,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO index_checksum (model, collection, vectors, sum) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT DO UPDATE SET vectors = vectors + ?3, sum = sum + ?4";
    connection.prepare_cached(sql)?.execute([key.model, key.collection, more.vectors, more.sum]).map(drop)
}
