//! Summaries of scopes. The size of a text is read, not the text.

use super::collections::Within;
use super::filter::{Filter, is_selective};
use crate::record::{Scope, ScopeSummary};
use crate::store::select::Select;
use rusqlite::{Connection, Row, params_from_iter};
use std::collections::BTreeMap;

/// Summarizes the records of a selection by scope; in the order of their names.
pub(super) fn summarize(connection: &Connection, which: &Select) -> rusqlite::Result<Vec<ScopeSummary>> {
    let snapshot = connection.unchecked_transaction()?;
    let mut filter = Filter::new(which);
    filter.within("record", &Within::resolve(connection, which)?);
    // This index has the records by collection, so that none is sorted.
    let index = if is_selective(which) { "" } else { "INDEXED BY record_number" };
    let sql = format!(
        "SELECT partition, instance, messages, first, last, bytes FROM (
           SELECT record.collection, count(*) AS messages, min(record.timestamp) AS first,
                  max(record.timestamp) AS last, sum(octet_length(record.text)) AS bytes
           FROM record {index} WHERE 1{} GROUP BY record.collection
         ) AS part JOIN collection ON collection.n = part.collection",
        filter.sql
    );
    let mut summaries: BTreeMap<Scope, ScopeSummary> = BTreeMap::new();
    let mut statement = connection.prepare_cached(&sql)?;
    for part in statement.query_map(params_from_iter(filter.values), summary)? {
        let part = part?;
        match summaries.get_mut(&part.scope) {
            Some(summary) => summary.unite(&part),
            None => drop(summaries.insert(part.scope.clone(), part)),
        }
    }
    snapshot.finish()?;
    Ok(summaries.into_values().collect())
}

fn summary(row: &Row) -> rusqlite::Result<ScopeSummary> {
    let size = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(ScopeSummary {
        scope: Scope { partition: row.get(0)?, instance: row.get(1)? },
        messages: size(2)?,
        first: row.get(3)?,
        last: row.get(4)?,
        bytes: size(5)?,
    })
}
