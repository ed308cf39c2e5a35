//! The statements that read records, vectors and links.

use super::selection::for_label;
use crate::record::RecordKind;
use crate::store::neo4j::record_node::listed;

pub(in crate::store::neo4j) const LAST: &str = concat!(
    "{each} MATCH (m:{label}) {index} WHERE {scope} AND {admitted}",
    newest!(),
    "{end}",
    newest!(),
    "RETURN [",
    listed!(),
    "] AS row"
);

/// For `each_of`: the parameters of a selection are a row of `@rows`.
pub(in crate::store::neo4j) const LAST_OF_EACH: &str = concat!(
    "UNWIND @rows AS which CALL (which) {
       MATCH (m:{label}) USING INDEX m:{label}(trace_id, timestamp)
       WHERE m.trace_id = $trace_id AND m.partition = $partition AND m.instance = $instance
       AND {admitted} RETURN m ORDER BY ",
    backward!(),
    " LIMIT @count
     } RETURN which.i AS i, ",
    record!()
);

pub(in crate::store::neo4j) const COUNT: &str = "
    {each} MATCH (m:{label}) {index} WHERE {scope} AND {admitted} WITH m LIMIT $most {end}
    WITH m LIMIT $most RETURN count(m) AS count";

/// The records up to a number, so that all steps of a walk see one snapshot.
pub(in crate::store::neo4j) const RECORDS: &str = concat!(
    "{each} MATCH (m:{label}) {index} WHERE {scope} AND coalesce(m.n, 0) <= $upto AND {admitted} {end}
     WITH m ORDER BY {forward}",
    forward!(),
    " RETURN ",
    record!(),
    ", ",
    vector_of!()
);

/// The ids and times of records that rsv has written or taken over.
pub(in crate::store::neo4j) const IDS: &str = "
    {each} MATCH (m:{label}) {index} WHERE {scope} AND m.rsv_id IS NOT NULL AND {admitted} {end}
    RETURN m.rsv_id AS id, m.timestamp AS timestamp";

pub(in crate::store::neo4j) const EMBEDDINGS: &str = "
    MATCH (m:RsvRecord)-[:HAS_EMBEDDING]->(e)
    WHERE m:{kinds} AND {scope} AND {admitted} AND e.n <= $upto
    WITH m, e WHERE e:RsvVector WITH m, e ORDER BY m.rsv_id, e.model
    RETURN m.rsv_id AS of, e.model AS model, e.embedding AS vector, e.extra AS extra";

/// The links between the records of a selection. The other end is judged once it is reached: a plan that was
/// made for few records would look for both ends by their labels, and then for a link between any two.
pub(in crate::store::neo4j) const LINKS: &str = concat!(
    "MATCH (m:RsvRecord)-[l]->(o)
     WHERE NOT l:CHILD_OF AND m:{kinds} AND {scope} AND coalesce(l.n, 0) <= $upto AND {admitted}
     WITH m, l, o WHERE o:RsvRecord AND {the other}
     WITH l, m.rsv_id AS from, type(l) AS rel, o.rsv_id AS to ORDER BY from, rel, to RETURN ",
    listed_link!(),
    " AS link"
);

/// Narrows `RECORDS`, `EMBEDDINGS` or `LINKS` to what changed after the number `$after`, and what rsv did not
/// write.
pub(in crate::store::neo4j) fn changed(statement: &str) -> String {
    statement
        .replace(
            "coalesce(m.n, 0) <= $upto",
            "coalesce(m.n, 0) <= $upto AND coalesce(m.changed, m.n, $after + 1) > $after",
        )
        .replace("e.n <= $upto", "e.n <= $upto AND e.n > $after")
        .replace(
            "coalesce(l.n, 0) <= $upto",
            "coalesce(l.n, 0) <= $upto AND coalesce(l.n, $after + 1) > $after",
        )
}
/// A document that lies below an address.
pub(in crate::store::neo4j) const BELOW: &str = "
    MATCH (m:{label}) WHERE m.key STARTS WITH $below AND m.timestamp IS NOT NULL AND m.partition = $partition
    RETURN m.rsv_id AS id LIMIT 1";

/// The id and the scope of records.
macro_rules! identities {
    () => {
        " RETURN r.rsv_id AS id, r.partition AS partition, r.instance AS instance"
    };
}

pub(in crate::store::neo4j) const BY_ID: &str =
    concat!("UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id})", identities!());

/// By ranges of the numbers of their digests.
pub(in crate::store::neo4j) const BY_DIGEST: &str = concat!(
    "UNWIND $rows AS row MATCH (r:RsvRecord) WHERE r.digest >= row.first AND r.digest <= row.last",
    identities!()
);

/// By ranges of their numbers, unless another change replaced them.
pub(in crate::store::neo4j) const BY_NUMBER: &str = concat!(
    "UNWIND $rows AS row MATCH (r:RsvRecord) WHERE r.n >= row.first AND r.n <= row.last
     AND (r.changed IS NULL OR any(own IN $changes WHERE r.changed >= own.first AND r.changed <= own.last))",
    identities!()
);

/// The records before a position and those after it. The index returns them in the order of time, and no more
/// than are wanted. A position is an id, a timestamp, a seq, and the place of its scope in `$scopes`.
macro_rules! around {
    () => {
        concat!(
            "UNWIND range(0, size($positions) - 1) AS i
             WITH *, $positions[i][0] AS id, $positions[i][1] AS timestamp, $positions[i][2] AS seq,
               $scopes[$positions[i][3]] AS scope
             CALL (id, timestamp, seq, scope) {
               MATCH (m:{label}) USING INDEX m:{label}(partition, instance, timestamp)
               WHERE m.partition = scope[0] AND m.instance = scope[1] AND m.timestamp <= timestamp
               AND CASE WHEN m.timestamp < timestamp THEN true
                 WHEN coalesce(m.seq, 0) = seq THEN m.rsv_id < id ELSE coalesce(m.seq, 0) < seq END AND {admitted}
               WITH m ORDER BY m.partition DESC, m.instance DESC, ",
            backward!(),
            " LIMIT $reach RETURN m, true AS before
             UNION ALL
               MATCH (m:{label}) USING INDEX m:{label}(partition, instance, timestamp)
               WHERE m.partition = scope[0] AND m.instance = scope[1] AND m.timestamp >= timestamp
               AND CASE WHEN m.timestamp > timestamp THEN true
                 WHEN coalesce(m.seq, 0) = seq THEN m.rsv_id > id ELSE coalesce(m.seq, 0) > seq END AND {admitted}
               WITH m ORDER BY m.partition, m.instance, ",
            forward!(),
            " LIMIT $reach RETURN m, false AS before
             } "
        )
    };
}
pub(in crate::store::neo4j) const AROUND: &str =
    concat!(around!(), "RETURN [i, before, ", listed!(), ", null, null] AS row");
pub(in crate::store::neo4j) const AROUND_MEASURED: &str = concat!(
    "OPTIONAL MATCH (model:RsvModel {name: $model, dim: size($vector)}) ",
    around!(),
    "OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name}) RETURN [i, before, ",
    listed!(),
    ", ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);

pub(in crate::store::neo4j) const RECORDS_BY_ID: &str = concat!(
    "UNWIND $wanted AS id
     MATCH (m:RsvRecord {rsv_id: id}) USING INDEX m:RsvRecord(rsv_id) WHERE m:{kinds} AND {scope} AND {admitted}
     RETURN [",
    listed!(),
    "] AS row"
);

/// The records of a kind that are about some records, and those that have their ids.
const RECORDS_ABOUT: &str = concat!(
    "UNWIND $wanted AS id
     CALL (id) {
       MATCH (m:{label}) USING INDEX m:{label}(key, timestamp) WHERE m.key = id AND m.timestamp IS NOT NULL RETURN m
       UNION MATCH (m:RsvRecord {rsv_id: id}) WHERE m:{label} RETURN m
     }
     RETURN [",
    listed!(),
    "] AS row"
);

/// The statement that reads the records of a kind that are about some records, and those that have their ids.
pub(in crate::store::neo4j) fn records_about(kind: &RecordKind) -> String {
    for_label(RECORDS_ABOUT, kind).replace("{kind}", "0")
}

/// The same, with the cosine of each.
pub(in crate::store::neo4j) const RECORDS_MEASURED: &str = concat!(
    "OPTIONAL MATCH (model:RsvModel {name: $model, dim: size($vector)}) UNWIND $wanted AS id
     MATCH (m:RsvRecord {rsv_id: id}) USING INDEX m:RsvRecord(rsv_id) WHERE m:{kinds} AND {scope} AND {admitted}
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name}) RETURN [",
    listed!(),
    ", ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);

pub(in crate::store::neo4j) const LINKS_BY_ID: &str = concat!(
    "UNWIND $wanted AS id MATCH (r:RsvRecord {rsv_id: id})-[l]-(:RsvRecord)
     WHERE NOT l:CHILD_OF AND ($rel IS NULL OR type(l) = $rel)
     WITH DISTINCT l RETURN ",
    listed_link!(),
    " AS row"
);
