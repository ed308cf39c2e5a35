//! The vector index: the four-bit code of every message's vector, in chunks of one scope and model that fill a page
//! each and are read from end to end. The newest of a scope are loose, a row each, until they make a chunk, so that
//! storing one costs little. Beside each code stands what a selection asks for, so that a search looks only
//! at what it may find.

use super::super::cosine::{Coded, width};
use super::embedding::{Place, numbers};
use super::select::bit;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use std::collections::BTreeSet;

/// So many chunks are written at once: then their pages stand side by side, and are mapped together.
const RUN: u32 = 8;

/// What stands beside a code.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The number of the record.
    pub(super) n: i64,
    pub(super) timestamp: i64,
    /// The size of the code's steps.
    pub(super) step: f32,
    /// The `bit` of the role.
    pub(super) role: u8,
}

/// The length of a head in bytes: its members one after the other, little-endian.
const HEAD: usize = 8 + 8 + 4 + 1;

impl Head {
    fn bytes(&self) -> Vec<u8> {
        let (n, timestamp, step) =
            (self.n.to_le_bytes(), self.timestamp.to_le_bytes(), self.step.to_le_bytes());
        [&n[..], &timestamp, &step, &[self.role]].concat()
    }

    fn of(bytes: &[u8]) -> Option<Head> {
        let (n, bytes) = bytes.split_first_chunk()?;
        let (timestamp, bytes) = bytes.split_first_chunk()?;
        let (step, bytes) = bytes.split_first_chunk()?;
        Some(Head {
            n: i64::from_le_bytes(*n),
            timestamp: i64::from_le_bytes(*timestamp),
            step: f32::from_le_bytes(*step),
            role: *bytes.first()?,
        })
    }
}

/// Adds the vector of a message, in the place of one that is loose. It is loose until `pack`.
pub(super) fn add(
    connection: &Connection,
    model: i64,
    place: &Place,
    vector: &[f32],
) -> rusqlite::Result<()> {
    let Some(role) = place.role else { return Ok(()) };
    let Coded { step, codes } = Coded::of(vector);
    let head = Head { n: place.n, timestamp: place.timestamp, step, role: bit(role) };
    let sql = "INSERT OR REPLACE INTO loose (model, scope, record, heads, codes) VALUES (?, ?, ?, ?, ?)";
    let row = params![model, place.scope, place.n, head.bytes(), codes];
    connection.prepare_cached(sql)?.execute(row).map(drop)
}

/// Makes chunks of what is loose, oldest records first, as long as there is enough of it for a run of them.
pub(super) fn pack(connection: &Connection, model: i64, scope: i64) -> rusqlite::Result<()> {
    let sql = "SELECT count(*), dim FROM loose JOIN model ON model.n = model WHERE model = ? AND scope = ?";
    let count = |row: &rusqlite::Row| Ok((row.get(0)?, row.get::<_, Option<u32>>(1)?));
    let (loose, dim): (u32, _) = connection.prepare_cached(sql)?.query_row([model, scope], count)?;
    let chunk = super::ROOM / (HEAD + width(dim.unwrap_or_default() as usize));
    let chunk = u32::try_from(chunk).unwrap_or_default().max(1);
    let runs = loose / (RUN * chunk);
    let mut last = i64::MIN;
    for _ in 0..runs * RUN {
        last = pack_one(connection, (model, scope), last, chunk)?;
    }
    // Only now: a chunk would be written to the pages that become free, wherever they lie.
    let sql = "DELETE FROM loose WHERE model = ? AND scope = ? AND record <= ?";
    connection.prepare_cached(sql)?.execute([model, scope, last]).map(drop)
}

/// Makes a chunk of so many that are loose, after a record. Gives its last record.
fn pack_one(
    connection: &Connection,
    (model, scope): (i64, i64),
    last: i64,
    count: u32,
) -> rusqlite::Result<i64> {
    let (mut heads, mut codes) = (Vec::new(), Vec::new());
    let sql = "SELECT heads, codes FROM loose WHERE model = ? AND scope = ? AND record > ?
               ORDER BY record LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![model, scope, last, count])?;
    while let Some(row) = rows.next()? {
        heads.extend_from_slice(row.get_ref(0)?.as_blob()?);
        codes.extend_from_slice(row.get_ref(1)?.as_blob()?);
    }
    let (low, high) = range(&heads);
    let sql = "INSERT INTO chunk (model, scope, low, high, heads, codes) VALUES (?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![model, scope, low, high, heads, codes])?;
    Ok(high)
}

/// Takes the codes of records out of the index, which has them.
pub(super) fn remove(
    connection: &Connection,
    model: i64,
    scope: i64,
    records: &BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
    let mut gone = Count::default();
    let sql = "DELETE FROM loose WHERE model = ? AND scope = ? AND record = ?";
    for n in records {
        connection.prepare_cached(sql)?.execute([model, scope, *n])?;
        gone.add(*n);
    }
    count(connection, model, scope, &Count { vectors: -gone.vectors, sum: -gone.sum })?;
    let sql = "SELECT n FROM chunk WHERE model = ? AND scope = ? AND low <= ? AND high >= ?";
    let chunks: Vec<i64> = connection
        .prepare_cached(sql)?
        .query_map([model, scope, *last, *first], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    chunks.into_iter().try_for_each(|chunk| take_out(connection, chunk, records))
}

/// Writes a chunk without some records, if it holds any of them; without the last it is none.
fn take_out(connection: &Connection, chunk: i64, records: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let sql = "SELECT heads, codes FROM chunk WHERE n = ?";
    let (mut heads, mut codes) = (Vec::new(), Vec::new());
    let changed = connection.prepare_cached(sql)?.query_row([chunk], |row| {
        let before = row.get_ref(0)?.as_blob()?;
        let goes: Vec<bool> = each(before).map(|head| records.contains(&head.n)).collect();
        if !goes.contains(&true) {
            return Ok(false);
        }
        let block = row.get_ref(1)?.as_blob()?;
        let width = (block.len() / goes.len()).max(1);
        for ((head, code), goes) in before.chunks_exact(HEAD).zip(block.chunks_exact(width)).zip(goes) {
            if !goes {
                heads.extend_from_slice(head);
                codes.extend_from_slice(code);
            }
        }
        Ok(true)
    })?;
    if !changed {
        return Ok(());
    }
    begin_generation(connection)?;
    if heads.is_empty() {
        return connection.prepare_cached("DELETE FROM chunk WHERE n = ?")?.execute([chunk]).map(drop);
    }
    let (low, high) = range(&heads);
    let sql = "UPDATE chunk SET low = ?, high = ?, heads = ?, codes = ? WHERE n = ?";
    connection.prepare_cached(sql)?.execute(params![low, high, heads, codes, chunk]).map(drop)
}

/// The lowest and the highest record number.
fn range(heads: &[u8]) -> (i64, i64) {
    each(heads).fold((i64::MAX, i64::MIN), |(low, high), head| (low.min(head.n), high.max(head.n)))
}

fn each(heads: &[u8]) -> impl Iterator<Item = Head> {
    heads.chunks_exact(HEAD).filter_map(Head::of)
}

/// Codes that are read at once.
pub(super) struct Block<'a> {
    /// What stands beside each code.
    pub(super) heads: &'a [Head],
    /// The codes, one vector after the other.
    pub(super) codes: &'a [u8],
}

/// What the index of a model must hold of some scopes.
pub(super) struct Space {
    /// Of a code, in bytes.
    pub(super) width: usize,
    pub(super) count: Count,
}

impl Space {
    /// How many bytes of codes that is.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.count.vectors).unwrap_or_default().saturating_mul(self.width)
    }
}

/// What there must be of a model in some scopes, or in all.
pub(super) fn space(connection: &Connection, model: i64, scopes: Option<&[i64]>) -> rusqlite::Result<Space> {
    let sql = "SELECT ifnull(dim, 0) FROM model WHERE n = ?";
    let dim: Option<u32> = connection.prepare_cached(sql)?.query_row([model], |row| row.get(0)).optional()?;
    let mut space = Space { width: width(dim.unwrap_or_default() as usize), count: Count::default() };
    for scope in each_of(scopes) {
        let sql = format!(
            "SELECT ifnull(sum(vectors), 0), ifnull(sum(sum), 0) FROM space WHERE model = ? {}",
            if scope.is_some() { "AND scope = ?" } else { "" }
        );
        let values = params_from_iter([model].into_iter().chain(scope));
        let count = |row: &rusqlite::Row| Ok(Count { vectors: row.get(0)?, sum: row.get(1)? });
        space.count.merge(&connection.prepare_cached(&sql)?.query_row(values, count)?);
    }
    Ok(space)
}

/// Each scope, or one `None` for all.
fn each_of(scopes: Option<&[i64]>) -> Vec<Option<i64>> {
    scopes.map_or(vec![None], |scopes| scopes.iter().map(|scope| Some(*scope)).collect())
}

/// Visits the codes of a model, of some scopes or of all. Tells whether the index was as it must be: what was
/// visited is not to be trusted otherwise.
pub(super) fn visit(
    connection: &Connection,
    model: i64,
    scopes: Option<&[i64]>,
    visit: &mut impl FnMut(&Block),
) -> rusqlite::Result<bool> {
    let (space, mut found) = (space(connection, model, scopes)?, Count::default());
    let whole = visit_after(connection, (model, scopes), space.width, None, &mut |_, block| {
        block.heads.iter().for_each(|head| found.add(head.n));
        visit(block);
    })?;
    Ok(whole && found == space.count)
}

/// Visits the chunks after a certain one, if one is named, each with its number; and all that is loose. Tells whether
/// all that was met was a code.
pub(super) fn visit_after(
    connection: &Connection,
    (model, scopes): (i64, Option<&[i64]>),
    width: usize,
    after: Option<i64>,
    visit: &mut impl FnMut(Option<i64>, &Block),
) -> rusqlite::Result<bool> {
    let mut heads = Vec::new();
    for scope in each_of(scopes) {
        let of_scope = if scope.is_some() { "AND scope = ?" } else { "" };
        // Those that came last stand at the end of the table.
        let later = if after.is_some() { "NOT INDEXED WHERE n > ? AND" } else { "WHERE" };
        let sql = format!(
            "SELECT n, heads, codes FROM chunk {later} model = ? {of_scope} \
             UNION ALL SELECT NULL, heads, codes FROM loose WHERE model = ? {of_scope}"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let of_both = [Some(model), scope, Some(model), scope];
        let mut rows =
            statement.query(params_from_iter(after.into_iter().chain(of_both.into_iter().flatten())))?;
        while let Some(row) = rows.next()? {
            let (beside, codes) = (row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?);
            heads.clear();
            heads.extend(each(beside));
            if beside.len() % HEAD != 0 || codes.len() != heads.len() * width {
                return Ok(false);
            }
            visit(row.get(0)?, &Block { heads: &heads, codes });
        }
    }
    Ok(true)
}

/// The fact that counts the generations of chunks: within one they are only added, each with a higher number.
const GENERATION: &str = "chunks";

/// The present generation of chunks.
pub(super) fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT CAST(value AS INTEGER) FROM fact WHERE name = ?";
    let times = connection.prepare_cached(sql)?.query_row([GENERATION], |row| row.get(0)).optional()?;
    Ok(times.unwrap_or_default())
}

/// Notes that chunks become others or go.
pub(super) fn begin_generation(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO fact (name, value) VALUES (?, '1')
               ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1";
    connection.prepare_cached(sql)?.execute([GENERATION]).map(drop)
}

/// Makes the index of a model anew in some scopes.
pub(super) fn make(connection: &Connection, model: i64, scopes: &[i64]) -> rusqlite::Result<()> {
    begin_generation(connection)?;
    for scope in scopes {
        for table in ["chunk", "loose", "space"] {
            let sql = format!("DELETE FROM {table} WHERE model = ? AND scope = ?");
            connection.prepare_cached(&sql)?.execute([model, *scope])?;
        }
        let sql = "SELECT n, timestamp, role, vector FROM record INDEXED BY record_words
                   JOIN embedding ON embedding.record = n AND embedding.model = ?
                   WHERE kind = 'message' AND scope = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([model, *scope])?;
        let mut made = Count::default();
        while let Some(row) = rows.next()? {
            let place = Place { n: row.get(0)?, scope: *scope, timestamp: row.get(1)?, role: row.get(2)? };
            add(connection, model, &place, &numbers(row.get_ref(3)?.as_blob()?))?;
            made.add(place.n);
        }
        count(connection, model, *scope, &made)?;
        pack(connection, model, *scope)?;
    }
    Ok(())
}

/// How many vectors there are, and the sum of their records' numbers: by these an index is seen to be whole.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Count {
    vectors: i64,
    sum: i64,
}

impl Count {
    pub(super) fn add(&mut self, n: i64) {
        self.vectors += 1;
        self.sum = self.sum.wrapping_add(n);
    }

    fn merge(&mut self, other: &Count) {
        self.vectors += other.vectors;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// Notes that a scope has so many more codes.
pub(super) fn count(connection: &Connection, model: i64, scope: i64, more: &Count) -> rusqlite::Result<()> {
    let sql = "INSERT INTO space (model, scope, vectors, sum) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT DO UPDATE SET vectors = vectors + ?3, sum = sum + ?4";
    connection.prepare_cached(sql)?.execute([model, scope, more.vectors, more.sum]).map(drop)
}
