//! The statements that make the schema and bring that of an earlier release to the present version.

use super::reindex;
use crate::record::RecordKind;
use crate::store::neo4j::record_node::{INDEXES, PropertyIndex};
use crate::store::neo4j::statements::{for_label, fulltext_index};

/// The version of the store, and that of the server.
pub(in crate::store::neo4j) const STORE: &str = "
    CALL dbms.components() YIELD name, versions WITH versions[0] AS server LIMIT 1
    OPTIONAL MATCH (store:RsvStore {one: true})
    RETURN server, store.version AS version, coalesce(store.kinds, []) AS kinds,
      store.reindex_after IS NOT NULL AS is_outdated";

/// The constraints and indexes that must exist before anything is written; each is made once.
pub(in crate::store::neo4j) const SCHEMA: [&str; 19] = [
    "CREATE CONSTRAINT rsv_store IF NOT EXISTS FOR (s:RsvStore) REQUIRE s.one IS UNIQUE",
    "CREATE CONSTRAINT rsv_record_id IF NOT EXISTS FOR (r:RsvRecord) REQUIRE r.rsv_id IS UNIQUE",
    "CREATE CONSTRAINT rsv_collection IF NOT EXISTS
     FOR (c:RsvCollection) REQUIRE (c.kind, c.partition, c.instance) IS UNIQUE",
    "CREATE CONSTRAINT rsv_collection_word IF NOT EXISTS FOR (w:RsvWord) REQUIRE (w.stem, w.collection) IS UNIQUE",
    "CREATE CONSTRAINT rsv_model IF NOT EXISTS FOR (m:RsvModel) REQUIRE m.name IS UNIQUE",
    "CREATE CONSTRAINT rsv_vector_count IF NOT EXISTS
     FOR (s:RsvVectorCount) REQUIRE (s.model, s.kind, s.partition, s.instance) IS UNIQUE",
    "CREATE CONSTRAINT rsv_fact IF NOT EXISTS FOR (f:RsvFact) REQUIRE f.name IS UNIQUE",
    "CREATE CONSTRAINT rsv_claim IF NOT EXISTS FOR (c:RsvClaim) REQUIRE c.job IS UNIQUE",
    "CREATE CONSTRAINT rsv_tombstone IF NOT EXISTS FOR (t:RsvTombstone) REQUIRE t.of IS UNIQUE",
    "CREATE CONSTRAINT rsv_tally IF NOT EXISTS FOR (t:RsvTally) REQUIRE (t.subject, t.counter) IS UNIQUE",
    "CREATE INDEX rsv_tombstone_also IF NOT EXISTS FOR (t:RsvTombstone) ON (t.also)",
    "CREATE INDEX rsv_tombstone_folded IF NOT EXISTS FOR (t:RsvTombstone) ON (t.folded)",
    "CREATE INDEX rsv_tombstone_fingerprint IF NOT EXISTS FOR (t:RsvTombstone) ON (t.fingerprint)",
    "CREATE INDEX rsv_tombstone_time IF NOT EXISTS FOR (t:RsvTombstone) ON (t.timestamp)",
    "CREATE INDEX rsv_tombstone_number IF NOT EXISTS FOR (t:RsvTombstone) ON (t.n)",
    "CREATE INDEX rsv_record_digest IF NOT EXISTS FOR (r:RsvRecord) ON (r.digest)",
    "CREATE INDEX rsv_record_number IF NOT EXISTS FOR (r:RsvRecord) ON (r.n)",
    "CREATE CONSTRAINT rsv_audit IF NOT EXISTS FOR (a:RsvAudit) REQUIRE a.id IS UNIQUE",
    "CREATE INDEX rsv_audit_time IF NOT EXISTS FOR (a:RsvAudit) ON (a.timestamp)",
];

/// Tombstones are found by their records' words in any form. A release before kept the digest with the other
/// members.
const M007_FOLDED: &str = r#"
    MATCH (t:RsvTombstone) WHERE t.extra CONTAINS '"folded":"'
    SET t.folded = split(split(t.extra, '"folded":"')[1], '"')[0]"#;

/// The ids of records after one, in their order, as many as `$count`.
pub(in crate::store::neo4j) const IDS_AFTER: &str = "
    MATCH (r:RsvRecord) WHERE r.rsv_id > $after RETURN r.rsv_id AS id ORDER BY id LIMIT $count";
/// Has records found by the digests of their ids.
pub(in crate::store::neo4j) const SET_DIGESTS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id}) SET r.digest = row.digest";

/// The number of steps, the first ones, after which records have no digests yet. The server has no function
/// for them.
pub(in crate::store::neo4j) const WITHOUT_DIGESTS: usize = 1;

/// The version of the schema of rsv 0.1.0, the first that was released. Graphs of earlier ones are refused.
pub(in crate::store::neo4j) const OLDEST: i64 = 6;

/// The statements of each step from the schema of a release to the next, append-only: the first is that from
/// `OLDEST`. The last of them change nothing: from version 10 on messages may hold vectors, which an earlier
/// release would not keep up to date; from version 11 on there may be actions, a kind that earlier releases
/// do not know, and from version 12 on an audit.
pub(in crate::store::neo4j) const MIGRATIONS: &[&[&str]] =
    &[&[M007_FOLDED], &[], &[reindex::BEGIN], &[], &[], &[]];

/// The version of the schema; each store records its own.
pub(in crate::store::neo4j) const VERSION: i64 = OLDEST + MIGRATIONS.len() as i64;

/// Why a graph of another version is not used.
pub(in crate::store::neo4j) fn other_version(version: i64) -> String {
    format!("is of another version of rsv ({version}; this one reads {VERSION})")
}

const SCOPE_INDEX: &str = "
    CREATE INDEX rsv_{name}_scope IF NOT EXISTS FOR (m:{label}) ON (m.partition, m.instance, m.timestamp)";
const TIME_INDEX: &str = "CREATE INDEX rsv_{name}_time IF NOT EXISTS FOR (m:{label}) ON (m.timestamp)";
const PROPERTY_INDEX: &str = "
    CREATE INDEX rsv_{name}_{index} IF NOT EXISTS FOR (m:{label}) ON (m.{property}, m.timestamp)";
const PARENT_INDEX: &str = "CREATE INDEX rsv_{name}_parent IF NOT EXISTS FOR (m:RsvNode) ON (m.parent)";
const FULLTEXT_INDEX: &str = "
    CREATE FULLTEXT INDEX {fulltext} IF NOT EXISTS FOR (m:{label}) ON EACH [m.words]
    OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}";
pub(in crate::store::neo4j) const SET_VERSION: &str = "
    MATCH (store:RsvStore {one: true}) SET store.version = $version
    SET store.kinds = coalesce(store.kinds, []) + [kind IN $kinds WHERE NOT kind IN coalesce(store.kinds, [])]";
pub(in crate::store::neo4j) const AWAIT_INDEXES: &str = "CALL db.awaitIndexes($seconds)";

/// The statements that make the indexes of a kind.
pub(in crate::store::neo4j) fn indexes_of(kind: &RecordKind) -> Vec<String> {
    let of_property = |(name, property, _): &PropertyIndex| {
        PROPERTY_INDEX.replace("{index}", name).replace("{property}", property)
    };
    let mut all = vec![SCOPE_INDEX.to_owned(), TIME_INDEX.to_owned()];
    all.extend(INDEXES.iter().filter(|(.., is_of)| is_of(kind)).map(of_property));
    all.extend(kind.versions.as_ref().map(|_| PARENT_INDEX.to_owned()));
    all.extend(kind.indexed.is_some().then(|| FULLTEXT_INDEX.replace("{fulltext}", &fulltext_index(kind))));
    all.iter().map(|index| for_label(&index.replace("{name}", kind.name), kind)).collect()
}
