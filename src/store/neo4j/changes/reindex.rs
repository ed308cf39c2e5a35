//! The statements that bring the words of records to the present version (`neo4j/reindex.rs`).

use crate::store::neo4j::record_node::listed;

/// Marks all present records for reindexing. A step of the migrations that runs this again is due to
/// every change of what `fulltext.rs` makes of a text.
pub(in crate::store::neo4j) const BEGIN: &str = "
    MATCH (store:RsvStore {one: true}) SET store.reindex_after = -1, store.reindex_upto = store.n";
/// The numbers between which records have words of an earlier version.
pub(in crate::store::neo4j) const STATE: &str = "
    MATCH (store:RsvStore {one: true}) WHERE store.reindex_after IS NOT NULL
    RETURN store.reindex_after AS after, store.reindex_upto AS upto";
pub(in crate::store::neo4j) const REMAINING: &str = "
    MATCH (store:RsvStore {one: true}) WHERE store.reindex_after IS NOT NULL
    MATCH (m:RsvRecord) WHERE m.n > store.reindex_after AND m.n <= store.reindex_upto RETURN count(m) AS count";
/// The next of these records, with their words.
pub(in crate::store::neo4j) const NEXT: &str = concat!(
    "MATCH (m:RsvRecord) WHERE m.n > $after AND m.n <= $upto WITH m ORDER BY m.n LIMIT $count
     RETURN m.n AS n, m.words AS words, m.length AS length, ",
    listed!(),
    " AS record"
);
pub(in crate::store::neo4j) const SET_WORDS: &str = "
    UNWIND $rows AS row MATCH (m:RsvRecord {rsv_id: row.id}) SET m.words = row.words, m.length = row.length";
pub(in crate::store::neo4j) const NOTE: &str =
    "MATCH (store:RsvStore {one: true}) SET store.reindex_after = $after";
pub(in crate::store::neo4j) const END: &str =
    "MATCH (store:RsvStore {one: true}) REMOVE store.reindex_after, store.reindex_upto";
