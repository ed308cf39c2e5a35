//! The statements about the store: its numbers, sums, facts, audit and tombstones, and the messages that rsv
//! did not write.

pub(in crate::store::neo4j) const LAST_NUMBER: &str = "
    OPTIONAL MATCH (store:RsvStore {one: true}) RETURN coalesce(store.n, 0) AS n";
/// The contents of the newest records.
pub(in crate::store::neo4j) const NEWEST_TEXTS: &str = "
    MATCH (m:RsvRecord) WHERE m.n > 0 WITH m ORDER BY m.n DESC LIMIT $count RETURN m.content AS text";
/// The last number, and the number of records.
pub(in crate::store::neo4j) const MARK: &str = "
    OPTIONAL MATCH (store:RsvStore {one: true})
    WITH coalesce(store.n, 0) AS n
    CALL () { MATCH (r:RsvRecord) RETURN count(r) AS count }
    RETURN n, count";
/// The id of the store, its last number, and the records and tombstones that have the last numbers or some
/// others.
pub(in crate::store::neo4j) const CHANGE_STATE: &str = "
    OPTIONAL MATCH (store:RsvStore {one: true})
    WITH coalesce(store.id, '') AS id, coalesce(store.n, 0) AS n
    CALL () {
      MATCH (r:RsvRecord) WHERE r.n > 0 WITH r ORDER BY r.n DESC LIMIT $count RETURN collect([r.n, r.rsv_id]) AS last
    }
    CALL () { UNWIND $records AS n MATCH (r:RsvRecord {n: n}) RETURN collect([r.n, r.rsv_id]) AS records }
    CALL () {
      MATCH (t:RsvTombstone) WHERE t.n > 0 WITH t ORDER BY t.n DESC LIMIT $count
      RETURN collect([t.n, t.of]) AS last_tombstones
    }
    CALL () { UNWIND $tombstones AS n MATCH (t:RsvTombstone {n: n}) RETURN collect([t.n, t.of]) AS tombstones }
    RETURN id, n, last + records AS records, last_tombstones + tombstones AS tombstones";

/// The tombstone `m` as a list.
macro_rules! listed_tombstone {
    () => {
        "[m.of, m.also, m.what, m.partition, m.instance, m.state, m.timestamp, m.extra]"
    };
}
macro_rules! tombstone {
    () => {
        concat!(listed_tombstone!(), " AS tombstone")
    };
}
/// The tombstones of scopes and times, with numbers after one.
pub(in crate::store::neo4j) const TOMBSTONES: &str = concat!(
    "MATCH (m:RsvTombstone)
     WHERE m.timestamp >= $since AND m.timestamp <= $until AND coalesce(m.n, 0) > $after AND {scope}
     WITH m ORDER BY m.timestamp, m.of RETURN ",
    tombstone!()
);
/// The tombstones of records with these digests: of their kind and id, and of their words, as written and
/// normalized.
pub(in crate::store::neo4j) const TOMBSTONES_BY_DIGEST: &str = concat!(
    "CALL () {
       UNWIND $of AS digest MATCH (m:RsvTombstone {of: digest}) RETURN m
       UNION UNWIND $also AS digest MATCH (m:RsvTombstone {also: digest}) RETURN m
       UNION UNWIND $folded AS digest MATCH (m:RsvTombstone {folded: digest}) RETURN m
     } RETURN ",
    tombstone!()
);
/// The tombstones of messages with these fingerprints, each with its fingerprint; and the former names of
/// partitions.
pub(in crate::store::neo4j) const TOMBSTONES_BY_FINGERPRINT: &str = concat!(
    "CALL () {
       MATCH (f:RsvFact) WHERE f.name STARTS WITH 'former names of ' RETURN collect([f.name, f.value]) AS former
     }
     CALL () {
       UNWIND $fingerprints AS fingerprint MATCH (m:RsvTombstone {fingerprint: fingerprint})
       RETURN collect([fingerprint, ",
    listed_tombstone!(),
    "]) AS found
     } RETURN former, found"
);
/// The tombstones of a partition.
pub(in crate::store::neo4j) const TOMBSTONES_OF_PARTITION: &str =
    concat!("MATCH (m:RsvTombstone) WHERE m.partition = $partition RETURN ", tombstone!());
/// The numbers of the collections of a partition.
pub(in crate::store::neo4j) const COLLECTIONS: &str = "
    MATCH (c:RsvCollection) WHERE c.partition = $partition
    RETURN c.kind AS kind, c.partition AS partition, c.instance AS instance, c.n AS n, c.documents AS documents";
/// Those of some digests that are of forgotten records.
pub(in crate::store::neo4j) const FORGOTTEN: &str = "
    UNWIND $digests AS digest MATCH (m:RsvTombstone {of: digest}) WHERE m.state = 'forgotten' RETURN m.of AS of";
pub(in crate::store::neo4j) const ALL_FORGOTTEN: &str = "
    MATCH (m:RsvTombstone) WHERE m.state = 'forgotten' RETURN m.of AS of";

pub(in crate::store::neo4j) const SCOPES: &str = "
    MATCH (c:RsvCollection) WITH c.partition AS partition, c.instance AS instance, sum(c.documents) AS records,
      sum(CASE WHEN c.kind = $messages THEN c.documents ELSE 0 END) AS messages WHERE records > 0
    RETURN partition, instance, messages";

/// Sums.
pub(in crate::store::neo4j) const TALLIES: &str = "
    UNWIND $wanted AS subject MATCH (t:RsvTally {subject: subject})
    RETURN t.subject AS subject, t.counter AS counter, t.amount AS amount";
pub(in crate::store::neo4j) const ALL_TALLIES: &str = "
    MATCH (t:RsvTally) RETURN t.subject AS subject, t.counter AS counter, t.amount AS amount";

/// The rows of the audit, by time.
pub(in crate::store::neo4j) const AUDIT_ROWS: &str = "
    MATCH (a:RsvAudit) WHERE a.timestamp >= $since AND a.timestamp <= $until
    AND ($token IS NULL OR a.token = $token) AND ($partition IS NULL OR a.partition = $partition)
    AND ($action IS NULL OR a.action = $action)
    RETURN a.id AS id, a.timestamp AS timestamp, a.token AS token, a.address AS address, a.action AS action,
      a.route AS route, a.partition AS partition, a.instance AS instance, a.status AS status, a.trace_id AS trace_id,
      a.count AS count, a.records AS records ORDER BY timestamp, id";
pub(in crate::store::neo4j) const FACTS: &str = "
    MATCH (f:RsvFact) WHERE f.name STARTS WITH $prefix RETURN f.name AS name, f.value AS value ORDER BY name";
/// The number of each record, and that of its last change in place.
pub(in crate::store::neo4j) const NUMBERS: &str = "
    UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id}) RETURN r.n AS n, r.changed AS changed";
pub(in crate::store::neo4j) const FACT: &str = "MATCH (f:RsvFact {name: $name}) RETURN f.value AS value";

/// The number of messages of a partition that rsv has neither written nor taken over.
pub(in crate::store::neo4j) const UNADOPTED_OF_PARTITION: &str = "
    MATCH (m:MessageNode) WHERE m.partition = $partition AND NOT m:RsvRecord|RsvDouble RETURN count(m) AS count";
pub(in crate::store::neo4j) const UNADOPTED: &str = concat!(unadopted!(), "RETURN unadopted");

pub(in crate::store::neo4j) const SCOPES_OF_UNADOPTED: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND ",
    regular!(),
    " RETURN m.partition AS partition, m.instance AS instance, count(m) AS messages"
);
/// The condition of messages that rsv neither wrote nor took over, and that are not regular.
macro_rules! irregular {
    () => {
        concat!("NOT m:RsvRecord|RsvDouble AND NOT coalesce(", regular!(), ", false)")
    };
}
pub(in crate::store::neo4j) const HAS_IRREGULAR: &str = concat!(
    unadopted!(),
    "CALL (unadopted) {
       WITH unadopted WHERE unadopted > 0 MATCH (m:MessageNode) WHERE ",
    irregular!(),
    " RETURN m LIMIT 1
     } RETURN count(m) > 0 AS irregular"
);
pub(in crate::store::neo4j) const IRREGULAR_MESSAGES: &str =
    concat!("MATCH (m:MessageNode) WHERE {scope} AND ", irregular!(), " RETURN ", unadopted_message!());

/// The messages that are not in the index, since rsv did not write them.
pub(in crate::store::neo4j) const UNADOPTED_MESSAGES: &str = concat!(
    "MATCH (m:MessageNode) WHERE {scope} AND NOT m:RsvRecord|RsvDouble RETURN ",
    unadopted_message!()
);
/// The same, a batch that follows a node, with the vectors that they may have, and whether they are regular.
pub(in crate::store::neo4j) const MESSAGES_TO_ADOPT: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND elementId(m) > $after
     WITH m ORDER BY elementId(m) LIMIT $count
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e)
     WITH m, head(collect(e.embedding)) AS vector
     RETURN coalesce(vector, m.embedding) AS vector, coalesce(",
    regular!(),
    ", false) AS regular, ",
    unadopted_message!()
);
