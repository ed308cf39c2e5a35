//! The codes that a search reads: those of some collections, or of whole partitions, whose pools have the
//! pending codes of all their collections (`code_pool.rs`).

use crate::store::select::Select;
use crate::store::sqlite::collections::{self, Part, Within};
use crate::store::sqlite::facts;
use crate::store::sqlite::schema::CODE_POOLS;
use rusqlite::Connection;

/// The number from which on the pending codes of collections are in their pools; in a file without the fact
/// none are.
pub(crate) fn pooled_from(connection: &Connection) -> rusqlite::Result<i64> {
    let from = facts::get(connection, CODE_POOLS)?;
    Ok(from.and_then(|from| from.parse().ok()).unwrap_or(i64::MAX))
}

/// Sets that number.
pub(crate) fn set_pooled_from(connection: &Connection, from: i64) -> rusqlite::Result<()> {
    facts::set(connection, CODE_POOLS, Some(&from.to_string()))
}

/// Collections, and where their pending codes are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CodeScope {
    collections: Within,
    /// The pools that have exactly these collections, if their pending codes are read there.
    pools: Option<Within>,
}

/// A part of a scope. All its pages are read, and the pending codes and checksums of its collections below a
/// number.
pub(crate) struct CodePart<'a> {
    pub(crate) part: Part<'a>,
    pub(crate) pending_below: i64,
}

impl CodeScope {
    /// Collections, with their own pending codes.
    pub(crate) fn of(collections: Within) -> CodeScope {
        CodeScope { collections, pools: None }
    }

    /// Collections that are all those of some pools.
    pub(crate) fn pooled(collections: Within, pools: Within) -> CodeScope {
        CodeScope { collections, pools: Some(pools) }
    }

    /// The collections of a selection. Of many in pools only those with pages of a model are listed.
    pub(crate) fn resolve(connection: &Connection, model: i64, which: &Select) -> rusqlite::Result<Self> {
        let pools = Within::pools(connection, which)?;
        let listed =
            pools.is_none() || pooled_from(connection)? > 0 || !collections::are_many(connection, which)?;
        let collections =
            if listed { Within::resolve(connection, which)? } else { paged(connection, model, which)? };
        Ok(CodeScope { collections, pools })
    }

    /// The parts that are read, none of which has a code of another.
    pub(crate) fn parts(&self, connection: &Connection) -> rusqlite::Result<Vec<CodePart<'_>>> {
        let pending_below = if self.pools.is_some() { pooled_from(connection)? } else { i64::MAX };
        let collections = self.collections.parts().into_iter().map(|part| CodePart { part, pending_below });
        let pools = self.pools.iter().flat_map(Within::parts);
        let pools = pools.map(|part| CodePart { part, pending_below: i64::MAX });
        Ok(collections.chain(pools).collect())
    }
}

/// The collections of a selection that have pages of a model. The index is searched once for each that has
/// some in the store, so that small collections, which may be many, cost nothing.
fn paged(connection: &Connection, model: i64, which: &Select) -> rusqlite::Result<Within> {
    let sql = "SELECT min(collection) FROM code_page WHERE model = ? AND collection > ?";
    let mut next = connection.prepare_cached(sql)?;
    let (mut numbers, mut last) = (Vec::new(), 0);
    while let Some(n) = next.query_row([model, last], |row| row.get(0))? {
        numbers.push(n);
        last = n;
    }
    collections::among(connection, which, &numbers).map(|rows| Within::rows(&rows))
}
