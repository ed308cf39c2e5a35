//! The last records of a selection, and their number.

use super::collections::Within;
use super::filter::{Source, is_selective};
use super::record_cache::RecordCache;
use super::record_columns::{COLUMNS, record};
use crate::record::StoredRecord;
use crate::store::select::Select;
use rusqlite::{Connection, params_from_iter};

/// The last `count` records of a source and some collections, oldest first; all of them if it is
/// `usize::MAX`.
pub(super) fn last(
    connection: &Connection,
    source: &Source,
    within: &Within,
    count: usize,
) -> rusqlite::Result<Vec<StoredRecord>> {
    let Source { tables, time, .. } = source;
    let limit = i64::try_from(count).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    // Each collection's index yields its own last records; the last of all are among them.
    for filter in source.by_collection(within, count == usize::MAX) {
        let sql = format!(
            "SELECT {COLUMNS} FROM {tables} WHERE 1{} \
             ORDER BY {time} DESC, record.seq DESC, record.id DESC LIMIT {limit}",
            filter.sql
        );
        let mut statement = connection.prepare_cached(&sql)?;
        for one in statement.query_map(params_from_iter(filter.values), record)? {
            found.push(one?);
        }
    }
    found.sort_by_cached_key(StoredRecord::position);
    Ok(found.split_off(found.len().saturating_sub(count)))
}

/// The number of records that `last_kept` looks at, for each that is wanted.
const MAX_LOOKED_AT: usize = 8;

/// The last `count` records of a selection in one collection, oldest first, of which only those are read that
/// are not kept. `None` if another index may find them sooner. Fails if the file cannot be read.
pub(super) fn last_kept(
    connection: &Connection,
    kept: &RecordCache,
    which: &Select,
    within: &Within,
    count: usize,
) -> rusqlite::Result<Option<Vec<StoredRecord>>> {
    let Within::Listed(numbers) = within else { return Ok(None) };
    let ([collection], false) = (&numbers[..], is_selective(which)) else { return Ok(None) };
    let sql = "SELECT n, timestamp, seq FROM record INDEXED BY record_collection WHERE collection = ? \
               ORDER BY timestamp DESC, seq DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([collection])?;
    let (mut found, mut last, mut looked_at) = (Vec::new(), None, 0);
    while let Some(row) = rows.next()? {
        let time: (i64, u32) = (row.get(1)?, row.get(2)?);
        if found.len() >= count && last != Some(time) {
            break;
        }
        looked_at += 1;
        if looked_at > count.saturating_mul(MAX_LOOKED_AT) {
            return Ok(None);
        }
        let Some(known) = kept.read(connection, row.get(0)?)? else { continue };
        if which.admits(&known.record) {
            found.push(known.record.clone());
            last = Some(time);
        }
    }
    found.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    let newest = &found[found.len().saturating_sub(count)..];
    Ok(Some(newest.iter().map(|record| StoredRecord::clone(record)).collect()))
}

/// Counts the records of a source in some collections, each collection up to `most`.
pub(super) fn count(
    connection: &Connection,
    source: &Source,
    within: &Within,
    most: Option<usize>,
) -> rusqlite::Result<u64> {
    let mut total = 0;
    for filter in source.by_collection(within, source.is_whole()) {
        let (tables, conditions) = (source.counted, filter.sql);
        let sql = match most {
            Some(most) => {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                format!("SELECT count(*) FROM (SELECT 1 FROM {tables} WHERE 1{conditions} LIMIT {most})")
            }
            None => format!("SELECT count(*) FROM {tables} WHERE 1{conditions}"),
        };
        let mut statement = connection.prepare_cached(&sql)?;
        total += statement.query_row(params_from_iter(filter.values), |row| row.get::<_, i64>(0))?;
    }
    Ok(total.unsigned_abs())
}
