//! Every statement that reads the graph; those that change it are in `changes.rs`. Values are always parameters. Only
//! these parts are put into the text of a statement: the conditions of a selection, the label of a kind, the number of
//! a model, which is part of a label's name, and the name of a relation.
//!
//! Messages, vectors and links have the labels, types and properties of Reservoir's graph: `MessageNode`, `EmbeddingD`
//! for vectors of D numbers, `HAS_EMBEDDING`, `RESPONDED_WITH`, `SYNAPSE`. The labels of rsv begin with `Rsv`:
//! `RsvRecord` for every record, in addition to the label of its kind; `RsvMessage` for the messages among them;
//! `RsvVectorN` for the vectors of the model with the number N, `RsvLacksN` for records without one, `RsvUnlinkedN` for
//! vectors that are not compared with others yet; `RsvDouble` for messages of Reservoir that rsv ignores,
//! since it has the same message or has forgotten it; `RsvTombstone` for tombstones; `RsvNode` for the
//! documents of a tree, which `CHILD_OF` links to those above them.

use super::record_node::{self, listed};
use crate::record::{MESSAGE, RecordKind, Scopes, TextSource};
use crate::store::select::Select;

pub(super) const LAST_NUMBER: &str = "
    OPTIONAL MATCH (store:RsvStore {one: true}) RETURN coalesce(store.n, 0) AS n";
/// The contents of the newest records.
pub(super) const NEWEST_TEXTS: &str = "
    MATCH (m:RsvRecord) WHERE m.n > 0 WITH m ORDER BY m.n DESC LIMIT $count RETURN m.content AS text";
/// The last number, and the number of records.
pub(super) const MARK: &str = "
    OPTIONAL MATCH (store:RsvStore {one: true})
    WITH coalesce(store.n, 0) AS n
    CALL () { MATCH (r:RsvRecord) RETURN count(r) AS count }
    RETURN n, count";
/// The id of the store, its last number, and the records and tombstones that have the last numbers or some others.
pub(super) const CHANGE_STATE: &str = "
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

/// Whether the message `m`, which rsv did not write, has the properties that rsv writes; null if it has no role. Its
/// time is between the years 1 and 9999.
macro_rules! regular {
    () => {
        "m.timestamp IS :: INTEGER NOT NULL AND m.timestamp >= -62135596800000 AND m.timestamp <= 253402300799999
         AND m.partition IS :: STRING NOT NULL AND m.partition <> ''
         AND m.instance IS :: STRING NOT NULL AND m.instance <> ''
         AND m.trace_id IS :: STRING NOT NULL AND m.trace_id <> ''
         AND m.role IN ['user', 'assistant', 'system', 'tool'] AND m.content IS :: STRING AND m.url IS :: STRING
         AND m.seq IS NULL AND m.extra IS NULL"
    };
}

/// Whether the message `m` is one of rsv or a regular one. Behind `OR` the server would plan each of these
/// conditions by itself, which takes it longer than the rest of a statement; `CASE` is a single one.
const READABLE: &str =
    concat!("CASE WHEN m:RsvRecord THEN true WHEN m:RsvDouble THEN false ELSE ", regular!(), " END");
/// The vector of `m` by a model, if one is requested.
macro_rules! vector_of {
    () => {
        "CASE WHEN $model IS NOT NULL THEN
           head([(m)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $model | e.embedding]) END AS vector"
    };
}

/// The record `m` as one column: the driver makes a table of the columns of each row.
macro_rules! record {
    () => {
        concat!(listed!(), " AS record")
    };
}

/// The cosine of the vector `e`, from the nearness that the server computes (0 to 1, exact to about 1e-7); and the
/// vector itself if the server cannot compare it.
macro_rules! cosine {
    ($near:literal) => {
        concat!(
            "CASE WHEN e IS NULL THEN null WHEN $flat THEN 0.0 WHEN e.near IS NULL THEN 2 * ",
            $near,
            " - 1 END, CASE WHEN e.near IS NOT NULL THEN e.embedding END"
        )
    };
}

/// The link `l` as a list.
macro_rules! link {
    () => {
        "[type(l), startNode(l).rsv_id, endNode(l).rsv_id, l.timestamp, l.score, l.model, l.extra]"
    };
}

/// Latest first, earliest first.
macro_rules! backward {
    () => {
        "m.timestamp DESC, coalesce(m.seq, 0) DESC, m.rsv_id DESC"
    };
}
macro_rules! forward {
    () => {
        "m.timestamp, coalesce(m.seq, 0), m.rsv_id"
    };
}

/// The last records of a selection: the last of each kind, and of these the last.
macro_rules! newest {
    () => {
        concat!(" WITH m ORDER BY {backward}", backward!(), " LIMIT $count ")
    };
}
pub(super) const LAST: &str = concat!(
    "{each} MATCH (m:{label}) {index} WHERE {scope} AND {admitted}",
    newest!(),
    "{end}",
    newest!(),
    "RETURN [",
    listed!(),
    "] AS row"
);

/// For `each_of`: the parameters of a selection are a row of `@rows`.
pub(super) const LAST_OF_EACH: &str = concat!(
    "UNWIND @rows AS which CALL (which) {
       MATCH (m:{label}) USING INDEX m:{label}(trace_id, timestamp)
       WHERE m.trace_id = $trace_id AND m.partition = $partition AND m.instance = $instance
       AND {admitted} RETURN m ORDER BY ",
    backward!(),
    " LIMIT @count
     } RETURN which.i AS i, ",
    record!()
);

pub(super) const COUNT: &str = "
    {each} MATCH (m:{label}) {index} WHERE {scope} AND {admitted} WITH m LIMIT $most {end}
    WITH m LIMIT $most RETURN count(m) AS count";

/// The records up to a number, so that all steps of a walk see one snapshot.
pub(super) const RECORDS: &str = concat!(
    "{each} MATCH (m:{label}) {index} WHERE {scope} AND coalesce(m.n, 0) <= $upto AND {admitted} {end}
     WITH m ORDER BY {forward}",
    forward!(),
    " RETURN ",
    record!(),
    ", ",
    vector_of!()
);

/// The ids and times of records that rsv has written or taken over.
pub(super) const IDS: &str = "
    {each} MATCH (m:{label}) {index} WHERE {scope} AND m.rsv_id IS NOT NULL AND {admitted} {end}
    RETURN m.rsv_id AS id, m.timestamp AS timestamp";

pub(super) const EMBEDDINGS: &str = "
    MATCH (m:RsvRecord)-[:HAS_EMBEDDING]->(e)
    WHERE m:{kinds} AND {scope} AND {admitted} AND e.n <= $upto
    WITH m, e WHERE e:RsvVector WITH m, e ORDER BY m.rsv_id, e.model
    RETURN m.rsv_id AS of, e.model AS model, e.embedding AS vector, e.extra AS extra";

/// The links between the records of a selection. The other end is judged once it is reached: a plan that was made for few
/// records would look for both ends by their labels, and then for a link between any two.
pub(super) const LINKS: &str = concat!(
    "MATCH (m:RsvRecord)-[l]->(o)
     WHERE NOT l:CHILD_OF AND m:{kinds} AND {scope} AND coalesce(l.n, 0) <= $upto AND {admitted}
     WITH m, l, o WHERE o:RsvRecord AND {the other}
     WITH l, m.rsv_id AS from, type(l) AS rel, o.rsv_id AS to ORDER BY from, rel, to RETURN ",
    link!(),
    " AS link"
);

/// Narrows `RECORDS`, `EMBEDDINGS` or `LINKS` to what changed after the number `$after`, and what rsv did not write.
pub(super) fn changed(statement: &str) -> String {
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
pub(super) const TOMBSTONES: &str = concat!(
    "MATCH (m:RsvTombstone)
     WHERE m.timestamp >= $since AND m.timestamp <= $until AND coalesce(m.n, 0) > $after AND {scope}
     WITH m ORDER BY m.timestamp, m.of RETURN ",
    tombstone!()
);
/// The tombstones of records with these digests: of their kind and id, and of their words, as written and
/// normalized.
pub(super) const TOMBSTONES_BY_DIGEST: &str = concat!(
    "CALL () {
       UNWIND $of AS digest MATCH (m:RsvTombstone {of: digest}) RETURN m
       UNION UNWIND $also AS digest MATCH (m:RsvTombstone {also: digest}) RETURN m
       UNION UNWIND $folded AS digest MATCH (m:RsvTombstone {folded: digest}) RETURN m
     } RETURN ",
    tombstone!()
);
/// The tombstones of messages with these fingerprints, each with its fingerprint; and the former names of partitions.
pub(super) const TOMBSTONES_BY_FINGERPRINT: &str = concat!(
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
pub(super) const TOMBSTONES_OF_PARTITION: &str =
    concat!("MATCH (m:RsvTombstone) WHERE m.partition = $partition RETURN ", tombstone!());
/// The numbers of the collections of a partition.
pub(super) const COLLECTIONS: &str = "
    MATCH (c:RsvCollection) WHERE c.partition = $partition
    RETURN c.kind AS kind, c.partition AS partition, c.instance AS instance, c.n AS n, c.documents AS documents";
/// The number of messages of a partition that rsv has neither written nor taken over.
pub(super) const UNADOPTED_OF_PARTITION: &str = "
    MATCH (m:MessageNode) WHERE m.partition = $partition AND NOT m:RsvRecord|RsvDouble RETURN count(m) AS count";
/// A document that lies below an address.
pub(super) const BELOW: &str = "
    MATCH (m:{label}) WHERE m.key STARTS WITH $below AND m.timestamp IS NOT NULL AND m.partition = $partition
    RETURN m.rsv_id AS id LIMIT 1";
/// Those of some digests that are of forgotten records.
pub(super) const FORGOTTEN: &str = "
    UNWIND $digests AS digest MATCH (m:RsvTombstone {of: digest}) WHERE m.state = 'forgotten' RETURN m.of AS of";
pub(super) const ALL_FORGOTTEN: &str = "
    MATCH (m:RsvTombstone) WHERE m.state = 'forgotten' RETURN m.of AS of";

/// The id and the scope of records.
macro_rules! identities {
    () => {
        " RETURN r.rsv_id AS id, r.partition AS partition, r.instance AS instance"
    };
}

pub(super) const BY_ID: &str = concat!("UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id})", identities!());

/// By ranges of the numbers of their digests.
pub(super) const BY_DIGEST: &str = concat!(
    "UNWIND $rows AS row MATCH (r:RsvRecord) WHERE r.digest >= row.first AND r.digest <= row.last",
    identities!()
);

/// By ranges of their numbers, unless another change replaced them.
pub(super) const BY_NUMBER: &str = concat!(
    "UNWIND $rows AS row MATCH (r:RsvRecord) WHERE r.n >= row.first AND r.n <= row.last
     AND (r.changed IS NULL OR any(own IN $changes WHERE r.changed >= own.first AND r.changed <= own.last))",
    identities!()
);

pub(super) const SCOPES: &str = "
    MATCH (c:RsvCollection) WITH c.partition AS partition, c.instance AS instance, sum(c.documents) AS records,
      sum(CASE WHEN c.kind = $messages THEN c.documents ELSE 0 END) AS messages WHERE records > 0
    RETURN partition, instance, messages";

/// The number of messages that rsv has neither written nor taken over; the server keeps the counts of labels.
macro_rules! unadopted {
    () => {
        "CALL () { MATCH (m:MessageNode) RETURN count(m) AS all_messages }
         CALL () { MATCH (m:RsvMessage) RETURN count(m) AS own_messages }
         CALL () { MATCH (d:RsvDouble) RETURN count(d) AS doubles }
         WITH all_messages - own_messages - doubles AS unadopted "
    };
}
pub(super) const UNADOPTED: &str = concat!(unadopted!(), "RETURN unadopted");

pub(super) const SCOPES_OF_UNADOPTED: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND ",
    regular!(),
    " RETURN m.partition AS partition, m.instance AS instance, count(m) AS messages"
);

/// The message `m`, which rsv did not write, as texts: a property may be of any type.
macro_rules! unadopted_message {
    () => {
        "[elementId(m), toStringOrNull(m.trace_id), toStringOrNull(m.partition), toStringOrNull(m.instance),
          toStringOrNull(m.role), toStringOrNull(m.content), toStringOrNull(m.timestamp), toStringOrNull(m.url)]
          AS message"
    };
}
/// The condition of messages that rsv neither wrote nor took over, and that are not regular.
macro_rules! irregular {
    () => {
        concat!("NOT m:RsvRecord|RsvDouble AND NOT coalesce(", regular!(), ", false)")
    };
}
pub(super) const HAS_IRREGULAR: &str = concat!(
    unadopted!(),
    "CALL (unadopted) {
       WITH unadopted WHERE unadopted > 0 MATCH (m:MessageNode) WHERE ",
    irregular!(),
    " RETURN m LIMIT 1
     } RETURN count(m) > 0 AS irregular"
);
pub(super) const IRREGULAR_MESSAGES: &str =
    concat!("MATCH (m:MessageNode) WHERE {scope} AND ", irregular!(), " RETURN ", unadopted_message!());

/// The records before a position and those after it. The index returns them in the order of time, and no more than are
/// wanted. A position is an id, a timestamp, a seq, and the place of its scope in `$scopes`.
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
pub(super) const AROUND: &str = concat!(around!(), "RETURN [i, before, ", listed!(), ", null, null] AS row");
pub(super) const AROUND_MEASURED: &str = concat!(
    "OPTIONAL MATCH (model:RsvModel {name: $model, dim: size($vector)}) ",
    around!(),
    "OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name}) RETURN [i, before, ",
    listed!(),
    ", ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);

pub(super) const RECORDS_BY_ID: &str = concat!(
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
pub(super) fn records_about(kind: &RecordKind) -> String {
    for_label(RECORDS_ABOUT, kind).replace("{kind}", "0")
}

/// Sums.
pub(super) const TALLIES: &str = "
    UNWIND $wanted AS subject MATCH (t:RsvTally {subject: subject})
    RETURN t.subject AS subject, t.counter AS counter, t.amount AS amount";
pub(super) const ALL_TALLIES: &str = "
    MATCH (t:RsvTally) RETURN t.subject AS subject, t.counter AS counter, t.amount AS amount";

/// The same, with the cosine of each.
pub(super) const RECORDS_MEASURED: &str = concat!(
    "OPTIONAL MATCH (model:RsvModel {name: $model, dim: size($vector)}) UNWIND $wanted AS id
     MATCH (m:RsvRecord {rsv_id: id}) USING INDEX m:RsvRecord(rsv_id) WHERE m:{kinds} AND {scope} AND {admitted}
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name}) RETURN [",
    listed!(),
    ", ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);

pub(super) const LINKS_BY_ID: &str = concat!(
    "UNWIND $wanted AS id MATCH (r:RsvRecord {rsv_id: id})-[l]-(:RsvRecord)
     WHERE NOT l:CHILD_OF AND ($rel IS NULL OR type(l) = $rel)
     WITH DISTINCT l RETURN ",
    link!(),
    " AS row"
);

/// The rows of the audit, by time.
pub(super) const AUDIT_ROWS: &str = "
    MATCH (a:RsvAudit) WHERE a.timestamp >= $since AND a.timestamp <= $until
    AND ($token IS NULL OR a.token = $token) AND ($partition IS NULL OR a.partition = $partition)
    AND ($action IS NULL OR a.action = $action)
    RETURN a.id AS id, a.timestamp AS timestamp, a.token AS token, a.address AS address, a.action AS action,
      a.route AS route, a.partition AS partition, a.instance AS instance, a.status AS status, a.trace_id AS trace_id,
      a.count AS count, a.records AS records ORDER BY timestamp, id";
pub(super) const FACTS: &str = "
    MATCH (f:RsvFact) WHERE f.name STARTS WITH $prefix RETURN f.name AS name, f.value AS value ORDER BY name";
/// The number of each record, and that of its last change in place.
pub(super) const NUMBERS: &str = "
    UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id}) RETURN r.n AS n, r.changed AS changed";
pub(super) const FACT: &str = "MATCH (f:RsvFact {name: $name}) RETURN f.value AS value";

pub(super) const MODELS: &str = "
    MATCH (m:RsvModel) RETURN m.n AS n, m.name AS name, m.dim AS dim, m.vectors AS vectors ORDER BY name";
/// The vector indexes, and the dimension of each.
pub(super) const VECTOR_INDEXES: &str = "
    SHOW VECTOR INDEXES YIELD name, options RETURN name, options.indexConfig.`vector.dimensions` AS dim";
pub(super) const MODEL: &str = "MATCH (m:RsvModel {name: $name}) RETURN m.n AS n";

/// The sizes and numbers of some collections, and the prefix of a full-text query that restricts it to them: it is
/// empty if no restriction is needed, or if they are too many. Always one row.
macro_rules! corpus {
    () => {
        concat!(
            unadopted!(),
            "OPTIONAL MATCH (m:RsvCollection) WHERE m.kind IN $kinds AND {scope}
             WITH unadopted, sum(m.documents) AS documents, sum(m.words) AS words, collect(m.n) AS numbers
             WITH *, CASE WHEN $everywhere OR size(numbers) > $named THEN '' WHEN numbers = [] THEN '+@none +'
               ELSE '+(' + reduce(names = '', n IN numbers | names + ' @' + n) + ')^0 +' END AS prefix "
        )
    };
}
pub(super) const CORPUS: &str = concat!(corpus!(), "RETURN unadopted, documents, words, prefix");

/// The same; the number of records that hold words of some stems; the number that each full-text query finds; and the
/// records that the full-text indexes rank first. With the prefix, the collection of each record need not be read.
pub(super) const DOCUMENT_FREQUENCIES: &str = concat!(
    corpus!(),
    "CALL (numbers) {
       UNWIND range(0, size($stems) - 1) AS i
       OPTIONAL MATCH (w:RsvWord) WHERE w.stem = $stems[i] AND {the word's collection}
       WITH i, sum(w.documents) AS doc_freq ORDER BY i RETURN collect(doc_freq) AS counted
     }
     CALL (prefix) {
       UNWIND range(0, size($patterns) - 1) AS i
       CALL (i, prefix) {
         UNWIND $indexes AS name
         CALL db.index.fulltext.queryNodes(name, prefix + $patterns[i]) YIELD node AS m
         WHERE prefix <> '' OR {scope} RETURN count(m) AS doc_freq
       } WITH i, doc_freq ORDER BY i RETURN collect(doc_freq) AS looked_up
     }
     CALL (prefix) {
       UNWIND $indexes AS name
       CALL db.index.fulltext.queryNodes(name, prefix + $likely, {limit: $most}) YIELD node AS m
       WHERE prefix <> '' OR {scope} RETURN collect({document}) AS likely
     } RETURN unadopted, documents, words, prefix, counted + looked_up AS doc_freqs, likely"
);
pub(super) const FULLTEXT: &str = "
    UNWIND $indexes AS name
    CALL db.index.fulltext.queryNodes(name, $question, {limit: $most}) YIELD node AS m WHERE {scope}
    RETURN {document} AS row";
/// The columns that ranking by words needs: few, since most records are not among the best.
const DOCUMENT: &str = "[m.rsv_id, m.n, m.timestamp, m.content, null]";
/// The same for a kind whose indexed text is composed of several members.
const COMPOSED_DOCUMENT: &str = concat!("[m.rsv_id, m.n, m.timestamp, null, ", listed!(), "]");

/// The messages that are not in the index, since rsv did not write them.
pub(super) const UNADOPTED_MESSAGES: &str = concat!(
    "MATCH (m:MessageNode) WHERE {scope} AND NOT m:RsvRecord|RsvDouble RETURN ",
    unadopted_message!()
);
/// The same, a batch that follows a node, with the vectors that they may have, and whether they are regular.
pub(super) const MESSAGES_TO_ADOPT: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND elementId(m) > $after
     WITH m ORDER BY elementId(m) LIMIT $count
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e)
     WITH m, head(collect(e.embedding)) AS vector
     RETURN coalesce(vector, m.embedding) AS vector, coalesce(",
    regular!(),
    ", false) AS regular, ",
    unadopted_message!()
);

/// The number of vectors of a model in total, and in some collections.
macro_rules! vector_count {
    () => {
        "MATCH (model:RsvModel {name: $name})
         CALL (model) {
           MATCH (m:RsvVectorCount) WHERE m.model = model.n AND m.kind IN $kinds AND {scope}
           RETURN coalesce(sum(m.vectors), 0) AS here
         } WITH model.n AS model, model.dim AS dim, model.vectors AS all, here "
    };
}
pub(super) const VECTOR_COUNT: &str = concat!(vector_count!(), "RETURN model, dim, all, here");
pub(super) const LINK_STATES: &str = "
    MATCH (m:RsvVectorCount) WHERE m.model = $model AND {scope} AND m.vectors > 0
    RETURN m.kind AS kind, m.partition AS partition, m.instance AS instance, m.threshold AS threshold,
      m.degree AS degree, m.foreign AS foreign, m.vectors AS vectors";
/// Compares all vectors of a selection. A vector that the server cannot compare has a constant nearness.
pub(super) const NEAREST_OF_ALL: &str = concat!(
    "{each} MATCH (m:{label}) {index} WHERE {scope} AND {admitted} {end}
     MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model})
     WITH m, e, CASE WHEN $flat THEN 0.5 WHEN e.near IS NOT NULL THEN e.near
       ELSE vector.similarity.cosine(e.embedding, $vector) END AS near
     ORDER BY near DESC, m.timestamp DESC, m.rsv_id LIMIT $count RETURN [",
    listed!(),
    ", ",
    cosine!("near"),
    "] AS row"
);
/// Fetches the nearest vectors of the whole model, and keeps those of the selection: as many as contain the wanted
/// number if the selection's collections are spread evenly over the model. The index is not queried, and `asked` is
/// null, if the collections have few vectors, or fewer than `$more` times the number to fetch: comparing those one by
/// one is faster. Returns one row if the model exists. The index ranks by numbers of 8 bits. For a verified result,
/// `most` is the greatest nearness (0 to 1) of a vector that it did not return: that of the last one that it returned,
/// plus twice the greatest error that was found.
pub(super) const NEAREST_BY_INDEX: &str = concat!(
    vector_count!(),
    "WITH *, CASE WHEN here > $few THEN $wanted * (all / here) END AS near, here <= $exact AS exact
     WITH model, dim, exact, CASE WHEN dim = size($vector) AND near * $more < here THEN near END AS asked
     OPTIONAL CALL (model, exact, asked) {
       WITH model, exact, asked WHERE asked IS NOT NULL
       CALL db.index.vector.queryNodes('rsv_vector_' + model, asked, $vector) YIELD node AS e, score AS about
       WITH collect(e) AS found, min(about) + 2 * max(CASE WHEN exact AND e.near IS NULL
         THEN abs(vector.similarity.cosine(e.embedding, $vector) - about) END) AS most
       UNWIND found AS e MATCH (m:{kinds})-[:HAS_EMBEDDING]->(e) WHERE {scope} AND {admitted}
       WITH m, e, most, coalesce(e.near, vector.similarity.cosine(e.embedding, $vector)) AS score
       RETURN m, e, most, score ORDER BY score DESC, m.timestamp DESC, m.rsv_id LIMIT $count
     } RETURN model, dim, exact, asked, most, collect(CASE WHEN m IS NOT NULL THEN [",
    listed!(),
    ", ",
    cosine!("score"),
    "] END) AS rows"
);
/// The newest of some records, the number of all of them, and whether the model is known; one row.
macro_rules! newest_of_all {
    ($known:literal, $records:literal) => {
        concat!(
            $known,
            " CALL () { MATCH ",
            $records,
            " AND {admitted} RETURN count(m) AS all }
             CALL () { MATCH ",
            $records,
            " AND {admitted} WITH m ORDER BY ",
            backward!(),
            " LIMIT $count RETURN collect(",
            listed!(),
            ") AS newest }
             RETURN known, all, newest"
        )
    };
}
pub(super) const UNEMBEDDED: &str = newest_of_all!(
    "CALL () { MATCH (model:RsvModel {name: $name, n: {model}}) RETURN count(model) > 0 AS known }",
    "(m:RsvLacks{model}) USING SCAN m:RsvLacks{model} WHERE m:{kinds} AND {scope}"
);
/// All records with a text to embed, for a model that is not known.
pub(super) const EMBEDDABLE: &str =
    newest_of_all!("WITH false AS known", "(m:{kinds}) WHERE {scope} AND m:RsvRecord AND m.blank IS NULL");

/// The number of vectors of each collection that are not compared with others yet.
pub(super) const COUNT_UNLINKED: &str = "
    MATCH (e:RsvUnlinked{model})
    RETURN e.kind AS kind, e.partition AS partition, e.instance AS instance, count(e) AS unlinked";
/// The first unlinked vectors of some collections, and the last ones.
macro_rules! unlinked {
    ($order:literal) => {
        concat!(
            "MATCH (e:RsvUnlinked{model}) WHERE e.partition = $partition AND e.instance IN $instances
             MATCH (m:{label})-[:HAS_EMBEDDING]->(e) WITH m, e ORDER BY ",
            $order,
            " LIMIT $count RETURN [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, true] AS vector"
        )
    };
}
pub(super) const UNLINKED: &str = unlinked!("m.n");
pub(super) const NEWEST_UNLINKED: &str = unlinked!("m.n DESC");
pub(super) const VECTORS_OF_COLLECTIONS: &str = "
    MATCH (m:{label}) WHERE m.partition = $partition AND m.instance IN $instances
    MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model})
    RETURN [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, e:RsvUnlinked{model}] AS vector";
/// The vectors of the same collections that the index finds near each of some vectors; and the nearness (0 to 1) of the
/// last one that it returned.
pub(super) const NEAR_EACH: &str = "
    UNWIND $rows AS row
    CALL (row) {
      CALL db.index.vector.queryNodes('rsv_vector_{model}', $near, row.vector) YIELD node AS e, score
      OPTIONAL MATCH (m:{label} {partition: $partition})-[:HAS_EMBEDDING]->(e) WHERE m.instance IN $instances
      RETURN min(score) AS least, collect(CASE WHEN m IS NOT NULL THEN
        [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, e:RsvUnlinked{model}] END) AS near
    } RETURN row.i AS i, least, near";

/// The name of a kind's full-text index.
pub(super) fn fulltext_index(kind: &RecordKind) -> String {
    format!("rsv_words_{}", kind.name)
}

/// Puts the condition on scopes, whose names are `$partition` and `$instance`, in place of `{scope}`.
pub(super) fn for_scopes(statement: &str, scopes: &Scopes) -> String {
    statement.replace("{scope}", scope_condition(scopes))
}

/// Puts the columns that rank a record of some kinds in place of `{document}`.
pub(super) fn for_words(statement: &str, kinds: &[&RecordKind], scopes: &Scopes) -> String {
    let collection = match scopes {
        // A search in all collections needs no collection numbers.
        Scopes::All => "w.collection IS NOT NULL AND w.kind IN $kinds",
        _ => "w.collection IN numbers",
    };
    let composed = kinds.iter().any(|kind| matches!(kind.indexed, TextSource::Composed(_)));
    let document = if composed { COMPOSED_DOCUMENT } else { DOCUMENT };
    let statement = statement
        .replace("{document}", document)
        .replace("{kind}", &kind_position("m", kinds))
        .replace("{the word's collection}", collection);
    for_scopes(&statement, scopes)
}

fn scope_condition(scopes: &Scopes) -> &'static str {
    match scopes {
        Scopes::All => "true",
        Scopes::Matching(_) => {
            "any(pattern IN $of_partitions WHERE m.partition =~ pattern) AND NOT m.partition IN $not_partitions \
             AND m.instance IS NOT NULL"
        }
        Scopes::Partition(_) => "m.partition = $partition AND m.instance IS NOT NULL",
        Scopes::One(_) => "m.partition = $partition AND m.instance = $instance",
    }
}

/// The position of a node's kind among some kinds; null if it is none of them.
pub(super) fn kind_position(node: &str, kinds: &[&RecordKind]) -> String {
    if let [_] = kinds {
        return "0".to_owned();
    }
    let when = |(at, kind): (usize, &&RecordKind)| format!(" WHEN {node}:{} THEN {at}", kind.label);
    format!("CASE WHEN false THEN 0{} END", kinds.iter().enumerate().map(when).collect::<String>())
}

/// The label expression that matches any of some kinds.
fn any_label(kinds: &[&RecordKind]) -> String {
    match kinds {
        [] => NO_LABEL.to_owned(),
        kinds => kinds.iter().map(|kind| kind.label).collect::<Vec<_>>().join("|"),
    }
}

/// A label that no node has.
const NO_LABEL: &str = "RsvNothing";

/// Fills in a statement about the records of a selection. `{scope}` is the condition on scopes or trace, `{admitted}`
/// the other conditions, `{the other}` all conditions on the other end of a link, `{kinds}` the kinds, and `{kind}` the
/// position of a record's kind. The part from `{each}` to `{end}` is repeated for each kind and yields `m`: `{label}`
/// is the kind's label, `{index}` the columns of the index in the order of time, and `{forward}` and `{backward}` the
/// beginning of that order.
pub(super) fn selected(statement: &str, which: &Select) -> String {
    let kinds = distinct(&which.kinds);
    let statement = match statement.split_once("{each}").and_then(|(before, rest)| {
        let (of_one, after) = rest.split_once("{end}")?;
        Some((before, of_one, after))
    }) {
        None => statement.to_owned(),
        Some((before, of_one, after)) => match kinds[..] {
            [] => format!("{before} MATCH (m:{NO_LABEL}) {after}"),
            [kind] => format!("{before}{}{after}", for_kind(of_one, kind, which)),
            _ => {
                let each: Vec<String> =
                    kinds.iter().map(|kind| for_kind(of_one, kind, which) + " RETURN m ").collect();
                format!("{before} CALL () {{ {} }} {after}", each.join("UNION ALL"))
            }
        },
    };
    let statement = statement.replace("{kinds}", &any_label(&kinds));
    conditions(&statement.replace("{kind}", &kind_position("m", &which.kinds)), which)
}

/// Each kind once.
fn distinct(kinds: &[&'static RecordKind]) -> Vec<&'static RecordKind> {
    let is_first = |(at, kind): &(usize, &&'static RecordKind)| !kinds[..*at].contains(kind);
    kinds.iter().enumerate().filter(is_first).map(|(_, kind)| *kind).collect()
}

/// As `selected`, for one kind of the selection.
pub(super) fn selected_of_kind(statement: &str, kind: &RecordKind, which: &Select) -> String {
    let statement = for_kind(statement, kind, which).replace("{kind}", "0");
    conditions(&statement, which)
}

/// Fills in the part of a statement that is about one kind.
fn for_kind(statement: &str, kind: &RecordKind, which: &Select) -> String {
    let index = match (record_node::indexed_property(kind, which), &which.scopes) {
        (Some(property), _) => &format!("{property}, timestamp"),
        (None, Scopes::All | Scopes::Matching(_)) => "timestamp",
        (None, Scopes::Partition(_) | Scopes::One(_)) => "partition, instance, timestamp",
    };
    let statement = statement
        .replace("{index}", &format!("USING INDEX m:{{label}}({index})"))
        .replace("{admitted}", &admitted(std::slice::from_ref(which), &[kind]));
    for_label(&statement, kind)
}

/// Puts the label of a kind in place of `{label}`.
pub(super) fn for_label(statement: &str, kind: &RecordKind) -> String {
    statement.replace("{label}", kind.label)
}

fn conditions(statement: &str, which: &Select) -> String {
    let (scopes, trace) = (&which.scopes, which.trace_id.is_some());
    let condition = scope_condition(scopes);
    let own = if trace { format!("m.trace_id = $trace_id AND {condition}") } else { condition.to_owned() };
    let first: &[&str] = match (record_node::equal_property(which), scopes) {
        (Some(property), _) => &[property],
        (None, Scopes::All | Scopes::Matching(_) | Scopes::Partition(_)) => &[],
        (None, Scopes::One(_)) => &["partition", "instance"],
    };
    let order = |way: &str| first.iter().map(|name| format!("m.{name}{way}, ")).collect::<String>();
    let admitted = admitted(std::slice::from_ref(which), &which.kinds);
    let of_other = format!("m:{} AND {condition} AND {admitted}", any_label(&which.kinds));
    statement
        .replace("{the other}", &of_other.replace("m.", "o.").replace("m:", "o:"))
        .replace("{scope}", &own)
        .replace("{admitted}", &admitted)
        .replace("{forward}", &order(""))
        .replace("{backward}", &order(" DESC"))
}

/// The conditions except kinds and scopes that occur in any of some selections of records of some kinds.
fn admitted(which: &[Select], kinds: &[&RecordKind]) -> String {
    let readable = if kinds.contains(&&MESSAGE) { READABLE } else { "m:RsvRecord" };
    let mut conditions = record_node::conditions(which);
    conditions.insert(1, readable);
    conditions.join(" AND ")
}

/// Collects the rows of a statement, which are lists, into one: the server takes longer to send a row (16 µs) than to
/// read most rows.
pub(super) fn in_one(statement: &str) -> String {
    match statement.rsplit_once("RETURN [") {
        Some((before, row)) => {
            format!("{before}RETURN collect([{}) AS rows", row.trim_end().trim_end_matches(" AS row"))
        }
        None => statement.to_owned(),
    }
}

/// Fills in a statement about several selections of records of one kind, each with its own parameters.
pub(super) fn each_of(statement: &str, kind: &RecordKind, which: &[Select]) -> String {
    let statement = for_label(statement, kind).replace("{kind}", "0");
    statement.replace("{admitted}", &admitted(which, &[kind])).replace('$', "which.").replace('@', "$")
}

/// Puts the number of a model in place of `{model}`.
pub(super) fn for_model(statement: &str, n: i64) -> String {
    statement.replace("{model}", &n.to_string())
}
