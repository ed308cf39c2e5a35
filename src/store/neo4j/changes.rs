//! Every statement that changes the graph, and those that read the existing records first.

pub(super) mod message_vectors;
pub(super) mod reindex;
pub(super) mod repair;

use super::record_node::{INDEXES, PropertyIndex, listed};
use super::statements::{for_label, for_model, fulltext_index, kind_position};
use crate::record::{MESSAGE, RecordKind, check_relation};

/// Takes the writers' lock, reserves `$count` numbers, and returns the first of them and the models. All numbers come
/// from one node, which a writer locks from the beginning of its transaction. So a number becomes visible after all
/// smaller ones, and two writers never deadlock. In a graph of a later version, the number is that version below 0.
macro_rules! lock {
    () => {
        "MERGE (store:RsvStore {one: true}) ON CREATE SET store.n = 0, store.version = $version
         SET store.locked = true, store.id = coalesce(store.id, randomUUID()) WITH store SET store.n = store.n + $count
         WITH CASE WHEN store.version > $version THEN -store.version ELSE store.n - $count END AS n
         OPTIONAL MATCH (m:RsvModel)
         WITH n, [model IN collect(m) | [model.name, model.n, model.dim]] AS models "
    };
}
pub(super) const LOCK: &str = concat!(lock!(), "RETURN n, models");
/// The version of the store, and that of the server.
pub(super) const STORE: &str = "
    CALL dbms.components() YIELD name, versions WITH versions[0] AS server LIMIT 1
    OPTIONAL MATCH (store:RsvStore {one: true})
    RETURN server, store.version AS version, coalesce(store.kinds, []) AS kinds,
      store.reindex_after IS NOT NULL AS is_outdated";

/// The constraints and indexes that must exist before anything is written; each is made once.
pub(super) const SCHEMA: [&str; 19] = [
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
pub(super) const IDS_AFTER: &str = "
    MATCH (r:RsvRecord) WHERE r.rsv_id > $after RETURN r.rsv_id AS id ORDER BY id LIMIT $count";
/// Has records found by the digests of their ids.
pub(super) const SET_DIGESTS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id}) SET r.digest = row.digest";

/// The number of steps, the first ones, after which records have no digests yet. The server has no function for them.
pub(super) const WITHOUT_DIGESTS: usize = 1;

/// The version of the schema of rsv 0.1.0, the first that was released. Graphs of earlier ones are refused.
pub(super) const OLDEST: i64 = 6;

/// The statements of each step from the schema of a release to the next, append-only: the first is that from `OLDEST`.
/// The last of them change nothing: from version 10 on messages may hold vectors, which an earlier release would not
/// keep up to date; from version 11 on there may be actions, a kind that earlier releases do not know, and from version
/// 12 on an audit.
pub(super) const MIGRATIONS: &[&[&str]] = &[&[M007_FOLDED], &[], &[reindex::BEGIN], &[], &[], &[]];

/// The version of the schema; each store records its own.
pub(super) const VERSION: i64 = OLDEST + MIGRATIONS.len() as i64;

/// Why a graph of another version is not used.
pub(super) fn other_version(version: i64) -> String {
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
pub(super) const SET_VERSION: &str = "
    MATCH (store:RsvStore {one: true}) SET store.version = $version
    SET store.kinds = coalesce(store.kinds, []) + [kind IN $kinds WHERE NOT kind IN coalesce(store.kinds, [])]";
pub(super) const AWAIT_INDEXES: &str = "CALL db.awaitIndexes($seconds)";

pub(super) const SET_FACT: &str = "MERGE (f:RsvFact {name: $name}) SET f.value = $value";
pub(super) const DELETE_FACT: &str = "MATCH (f:RsvFact {name: $name}) DELETE f";
/// Adds rows to the audit, once each.
pub(super) const ADD_AUDIT_ROWS: &str = "
    UNWIND $rows AS row MERGE (a:RsvAudit {id: row.id}) ON CREATE SET a = row";
/// Removes the oldest rows of the audit before a time, no more than `$most`.
pub(super) const EXPIRE_AUDIT_ROWS: &str = "
    MATCH (a:RsvAudit) WHERE a.timestamp < $before WITH a ORDER BY a.timestamp LIMIT $most DELETE a";
/// Holds a job as long as the transaction lasts.
pub(super) const CLAIM: &str = "MERGE (c:RsvClaim {job: $job}) SET c.taken = true";

/// The existing records of a batch, and whether tombstones exist, as one row; read under the lock, after `n`
/// is known.
macro_rules! existing {
    () => {
        "CALL (n) {
           UNWIND $ids AS row MATCH (r:RsvRecord {rsv_id: row.id})
           RETURN collect([r.rsv_id, {kind}, r.partition, r.instance, r.timestamp, r.role,
             CASE WHEN row.compare THEN r.content END, CASE WHEN row.compare{versioned} THEN r.extra END]) AS records
         }
         CALL (n) { {twins} }
         CALL (n) {
           UNWIND $collections AS row
           MATCH (c:RsvCollection {kind: row.kind, partition: row.partition, instance: row.instance})
           RETURN collect([c.kind, c.partition, c.instance, c.n]) AS collections
         }
         CALL (n) {
           UNWIND $vectors AS row
           MATCH (r:RsvRecord {rsv_id: row.of})-[:HAS_EMBEDDING]->(e:RsvVector {model: row.model})
           RETURN collect([row.of, row.model, e.embedding]) AS vectors
         }
         CALL (n) {
           UNWIND $links AS row
           MATCH (a:RsvRecord {rsv_id: row.from})-[l]->(b:RsvRecord {rsv_id: row.to}) WHERE type(l) = row.rel
           RETURN collect(DISTINCT [row.from, row.rel, row.to]) AS links
         }
         CALL (n) {
           UNWIND $ends AS row MATCH (r:RsvRecord {rsv_id: row.id})-[l]-(:RsvRecord) WHERE type(l) = row.rel
           RETURN collect(DISTINCT [row.rel, startNode(l).rsv_id, endNode(l).rsv_id]) AS pairs
         }
         CALL (n) { MATCH (t:RsvTombstone) RETURN count(t) > 0 AS tombstones }
         CALL (n) {
           MATCH (f:RsvFact) WHERE f.name STARTS WITH 'former names of ' RETURN collect([f.name, f.value]) AS former
         }
         RETURN records, twins, collections, vectors, links, pairs, tombstones, former"
    };
}
const EXISTING: &str = concat!("WITH 0 AS n ", existing!());
const LOCK_AND_EXISTING: &str = concat!(lock!(), existing!(), ", n, models");
/// The nodes that may be the same as a record of a kind with a natural key: they have the same time, scope, trace and
/// role. Nodes with more links come first.
const TWINS: &str = concat!(
    "UNWIND $twins{at} AS row
    MATCH (m:{label}) USING INDEX m:{label}({index}) WHERE {trace} m.timestamp = row.timestamp
    AND m.partition = row.partition AND m.instance = row.instance
    AND (row.role IS NULL OR m.role = row.role) AND NOT m:RsvDouble
    OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: row.model})
    WITH row, m, e ORDER BY COUNT { (m)--() } DESC
    RETURN row.i AS i, elementId(m) AS element, ",
    listed!("{at}"),
    " AS record, e.embedding AS vector "
);

const COLLECT_TWINS: &str = "
    CALL () { {each} } RETURN collect([i, element, record, vector]) AS twins";

/// Reads the existing records; takes the lock if `with_lock`, else it must be held. Records of the kinds in `keyed` may
/// exist under another id.
pub(super) fn existing(with_lock: bool, kinds: &[&RecordKind], keyed: &[&RecordKind]) -> String {
    let of_kind = |(at, kind): (usize, &&RecordKind)| {
        let (index, trace) = if kind.traced {
            ("trace_id, timestamp", "m.trace_id = row.trace_id AND")
        } else {
            ("partition, instance, timestamp", "")
        };
        TWINS
            .replace("{at}", &at.to_string())
            .replace("{label}", kind.label)
            .replace("{index}", index)
            .replace("{trace}", trace)
    };
    let each: Vec<String> = keyed.iter().enumerate().map(of_kind).collect();
    let twins = match &each[..] {
        [] => "RETURN [] AS twins".to_owned(),
        each => COLLECT_TWINS.replace("{each}", &each.join(" UNION ALL ")),
    };
    let statement = if with_lock { LOCK_AND_EXISTING } else { EXISTING };
    // The members of a record with versions name its version, which a vector of it must name.
    let statement = statement.replace("{versioned}", &or_versioned(kinds));
    statement.replace("{kind}", &kind_position("r", kinds)).replace("{twins}", &twins)
}

/// The versions that are replaced or removed, with the values that were counted for each.
const OLD_VERSIONS: &str = "
    UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id}) WITH DISTINCT r
    OPTIONAL MATCH (r)-[:HAS_EMBEDDING]->(e:RsvVector) WITH r, collect(e.model) AS models
    RETURN [{kind}, r.rsv_id, r.n, r.partition, r.instance, r.words, r.length, models, elementId(r)] AS row";

pub(super) fn old_versions(kinds: &[&RecordKind]) -> String {
    OLD_VERSIONS.replace("{kind}", &kind_position("r", kinds))
}

/// Adds collections.
pub(super) const ADD_COLLECTIONS: &str = "
    UNWIND $rows AS row MERGE (c:RsvCollection {kind: row.kind, partition: row.partition, instance: row.instance})
    ON CREATE SET c.n = row.n, c.documents = 0, c.words = 0
    SET c.documents = c.documents + row.documents, c.words = c.words + row.words";
/// The number of records of a collection that hold a word of a stem.
pub(super) const ADD_WORDS: &str = "
    UNWIND $rows AS row UNWIND row.stems AS each
    MERGE (w:RsvWord {stem: each[0], collection: row.collection}) ON CREATE SET w.documents = 0, w.kind = row.kind
    SET w.documents = w.documents + each[1]";
/// As `ADD_WORDS`, with negative numbers: a stem that no record holds any more is marked.
pub(super) const SUBTRACT_WORDS: &str = "
    UNWIND $rows AS row UNWIND row.stems AS each
    MATCH (w:RsvWord {stem: each[0], collection: row.collection}) SET w.documents = w.documents + each[1]
    WITH w WHERE w.documents <= 0 SET w:RsvUnused";
/// Deletes marked stems.
pub(super) const DELETE_UNUSED_WORDS: &str = "UNWIND $rows AS row MATCH (w:RsvUnused) DELETE w";
pub(super) const ADD_RECORDS: &str = "
    UNWIND $rows AS row CREATE (m{labels}) SET m = row";
/// Gives messages that rsv did not write the properties that it expects.
pub(super) const REGULARIZE: &str = "
    UNWIND $rows AS row MATCH (m) WHERE elementId(m) = row.element SET m += row.properties";
pub(super) const ADOPT: &str = "
    UNWIND $rows AS row MATCH (m) WHERE elementId(m) = row.element
    SET m{labels} SET m += row.properties";
/// Takes one more number for all rows of a statement, while the writers' lock is held: nodes that change in
/// place keep their own numbers.
macro_rules! numbered_rows {
    () => {
        "MATCH (store:RsvStore {one: true}) SET store.n = store.n + 1 WITH store.n AS n UNWIND $rows AS row "
    };
}
/// Replaces the content of nodes, which keep their ids, numbers and links.
const REPLACE_RECORDS: &str = concat!(
    numbered_rows!(),
    "MATCH (m:RsvRecord {rsv_id: row.rsv_id}) {reset} SET m{labels} SET m = row SET m.changed = n"
);
/// Moves records to another name of their partition: they keep their nodes, numbers, vectors and links, and these are
/// changes too. The links of a record that gets another id are passed on again.
pub(super) const MOVE_RECORDS: &str = "
    UNWIND $rows AS row MATCH (m:RsvRecord {rsv_id: row.id}) SET m += row.properties SET m.changed = row.n
    WITH m, row
    CALL (m, row) {
      MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector)
      SET e.partition = row.partition, e.instance = row.instance, e.n = row.n
    }
    CALL (m, row) {
      MATCH (m)-[l]-(:RsvRecord) WHERE row.id <> m.rsv_id AND NOT l:CHILD_OF SET l.n = row.n
    }";
/// A synapse leads from the lesser id to the greater, which may be other ones now.
pub(super) const TURN_SYNAPSES: &str = "
    MATCH (a:RsvNode {partition: $partition})-[l:SYNAPSE]->(b:RsvRecord) WHERE a.rsv_id > b.rsv_id
    CREATE (b)-[turned:SYNAPSE]->(a) SET turned = properties(l) DELETE l";
/// Has the rules of synapses follow their collections.
pub(super) const MOVE_RULES: &str = "
    MATCH (old:RsvVectorCount {partition: $from}) WHERE old.threshold IS NOT NULL
    MATCH (new:RsvVectorCount {partition: $to}) WHERE new.model = old.model AND new.kind = old.kind
      AND new.instance = CASE old.instance WHEN $from THEN $to ELSE old.instance END
    SET new.threshold = old.threshold, new.degree = old.degree, new.foreign = old.foreign
    SET old.threshold = null, old.degree = null, old.foreign = true";
/// Finds its records without an index: in a transaction that has removed N nodes, each use of an index takes time that
/// grows with N.
pub(super) const REMOVE_RECORDS: &str = "
    UNWIND $rows AS row MATCH (r) WHERE elementId(r) = row.element OPTIONAL MATCH (r)-[:HAS_EMBEDDING]->(e)
    WITH r, collect(e) AS vectors FOREACH (e IN vectors | DETACH DELETE e) DETACH DELETE r";
/// Removes the nodes that say the same as messages which are forgotten, and that rsv did not write.
pub(super) const REMOVE_DOUBLES: &str = "
    UNWIND $rows AS row MATCH (r:RsvMessage&RsvRecord {rsv_id: row.id})
    MATCH (m:MessageNode) USING INDEX m:MessageNode(trace_id, timestamp)
    WHERE m.trace_id = r.trace_id AND m.timestamp = r.timestamp AND m.partition = r.partition
    AND m.instance = r.instance AND m.role = r.role AND m.content = r.content AND NOT m:RsvRecord
    OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e)
    WITH m, collect(e) AS vectors FOREACH (e IN vectors | DETACH DELETE e) DETACH DELETE m";
/// Replaces the members of records that have no property of their own.
pub(super) const SET_MEMBERS: &str = concat!(
    numbered_rows!(),
    "MATCH (r:RsvRecord {rsv_id: row.id})
     SET r.extra = row.extra, r.timestamp = row.timestamp, r.changed = n SET r += row.derived"
);
/// Adds to sums; those that come to 0 are deleted.
pub(super) const ADD_TALLIES: &str = "
    UNWIND $rows AS row MERGE (t:RsvTally {subject: row.subject, counter: row.counter})
    ON CREATE SET t.amount = 0 SET t.amount = t.amount + row.amount
    WITH t WHERE t.amount = 0 DELETE t";
pub(super) const DELETE_TALLIES: &str = "MATCH (t:RsvTally) DELETE t";
pub(super) const PUT_TOMBSTONES: &str =
    concat!(numbered_rows!(), "MERGE (t:RsvTombstone {of: row.of}) SET t = row SET t.n = n");
/// Hides nodes that rsv did not write: their words were forgotten.
pub(super) const HIDE: &str = "
    UNWIND $rows AS row MATCH (m) WHERE elementId(m) = row.element SET m:RsvDouble";
/// A Reservoir that imported its own export holds every message twice. One of each two is taken over.
pub(super) const MARK_DOUBLES: &str = "
    MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND EXISTS {
      (o:MessageNode&RsvRecord) WHERE o.trace_id = m.trace_id AND o.timestamp = m.timestamp AND o.partition = m.partition
      AND o.instance = m.instance AND o.role = m.role AND o.content = m.content
    } SET m:RsvDouble RETURN count(m) AS count";
/// Numbers of 32 bits are read faster than the 64-bit numbers of a list.
const ADD_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})
    CREATE (r)-[:HAS_EMBEDDING]->(e:RsvVector{labels}) SET e = row.properties {late}
    WITH r, e, row CALL db.create.setNodeVectorProperty(e, 'embedding', row.vector){held}";
/// Messages hold the vectors of this model (`neo4j/message_vectors.rs`).
const HELD_BY_MESSAGE: &str = "
    WITH r, row MATCH (:RsvStore {one: true, message_model: {model}})
    CALL db.create.setNodeVectorProperty(r, 'embedding', row.vector)";
const REMOVE_UNEMBEDDED_LABEL: &str = "REMOVE r:RsvLacks{model}";
/// A message that Reservoir wrote has an embedding node of Reservoir's already: Reservoir would count a second one as
/// that of another message.
const LABEL_FOR_RESERVOIR: &str = "
    FOREACH (_ IN CASE WHEN EXISTS { (r)-[:HAS_EMBEDDING]->(own) WHERE NOT own:RsvVector } THEN [] ELSE [1] END |
      SET e:Embedding{dim})";
/// One statement for each relation: if the type is a parameter, the server (5.26.0) caches the first value that it
/// gets.
const ADD_LINKS: &str = "
    UNWIND $rows AS row MATCH (a:RsvRecord {rsv_id: row.from}) MATCH (b:RsvRecord {rsv_id: row.to})
    CREATE (a)-[l:{rel}]->(b) SET l = row.properties";
/// Links the new records of a tree to those above them, and those below to them.
pub(super) const LINK_TO_PARENT: &str = "
    UNWIND $rows AS row MATCH (child:RsvRecord {rsv_id: row.id}) MATCH (parent:RsvRecord {rsv_id: row.parent})
    MERGE (child)-[:CHILD_OF]->(parent)";
pub(super) const LINK_CHILDREN: &str = "
    UNWIND $rows AS row MATCH (parent:RsvRecord {rsv_id: row.id})
    MATCH (child:RsvNode {parent: row.id}) MERGE (child)-[:CHILD_OF]->(parent)";
/// Removes a link; returns the scope of the record from which it led.
const REMOVE_LINK: &str = "
    MATCH (a:RsvRecord {rsv_id: $from})-[l:{rel}]->(:RsvRecord {rsv_id: $to}) WITH a, collect(l) AS links
    FOREACH (l IN links | DELETE l) RETURN a.partition AS partition, a.instance AS instance";
pub(super) const ADD_MODELS: &str = "
    UNWIND $rows AS row MERGE (m:RsvModel {name: row.name}) ON CREATE SET m.n = row.n, m.dim = row.dim, m.vectors = 0
    SET m.vectors = m.vectors + row.vectors";
/// Deletes models without vectors, and every trace of them.
pub(super) const DELETE_EMPTY_MODELS: &str = "
    UNWIND $names AS name MATCH (m:RsvModel {name: name}) WHERE m.vectors <= 0
    WITH m, m.n AS n DELETE m RETURN n";
pub(super) const ADD_VECTOR_COUNTS: &str = "
    UNWIND $rows AS row
    MERGE (s:RsvVectorCount {model: row.model, kind: row.kind, partition: row.partition, instance: row.instance})
    ON CREATE SET s.vectors = 0, s.foreign = true SET s.vectors = s.vectors + row.vectors";
/// Every record with a text to embed lacks a vector of a new model.
pub(super) const BEGIN_UNEMBEDDED: &str = "
    MATCH (m:RsvRecord) WHERE m.blank IS NULL SET m:RsvLacks{model}";
/// Notes that synapses were imported.
pub(super) const NOTE_FOREIGN: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})
    WITH DISTINCT r.partition AS partition, r.instance AS instance
    MATCH (s:RsvVectorCount {partition: partition, instance: instance}) SET s.foreign = true";

/// The vector index of a model, quantized to 8 bits. The server (5.26) keeps vectors that it has indexed since it
/// started in buffers of a kilobyte, and each vector that spans two of them costs an exception. With 32-bit numbers
/// every vector does, and a thousand turns made a query five times as slow.
pub(super) const MAKE_VECTOR_INDEX: &str = "
    CREATE VECTOR INDEX rsv_vector_{model} IF NOT EXISTS FOR (e:RsvVector{model}) ON (e.embedding)
    OPTIONS {indexConfig: {`vector.dimensions`: $dim, `vector.similarity_function`: 'cosine',
      `vector.quantization.enabled`: true}}";
pub(super) const DROP_VECTOR_INDEX: &str = "DROP INDEX rsv_vector_{model} IF EXISTS";
/// The name of a model's vector index.
pub(super) fn vector_index(n: i64) -> String {
    for_model("rsv_vector_{model}", n)
}

/// The kinds, scopes and times of records, and the members that name their versions.
const PLACES: &str = "
    UNWIND $wanted AS id MATCH (r:RsvRecord {rsv_id: id})
    RETURN r.rsv_id AS id, {kind} AS kind, r.partition AS partition, r.instance AS instance,
      r.timestamp AS timestamp, CASE WHEN false{versioned} THEN r.extra END AS extra";

pub(super) fn places(kinds: &[&RecordKind]) -> String {
    PLACES.replace("{versioned}", &or_versioned(kinds)).replace("{kind}", &kind_position("r", kinds))
}

/// The condition that a record is of a kind with versions, after another condition.
fn or_versioned(kinds: &[&RecordKind]) -> String {
    let versioned = kinds.iter().filter(|kind| kind.versions.is_some());
    versioned.map(|kind| format!(" OR r:{}", kind.label)).collect()
}

/// Removes vectors and the synapses that were derived from them.
pub(super) const REMOVE_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})-[:HAS_EMBEDDING]->(e:RsvVector {model: row.model})
    CALL (r, row) { MATCH (r)-[l:SYNAPSE {model: row.model}]-() DELETE l }
    DETACH DELETE e RETURN row.of AS of, row.model AS model";
/// Removes all vectors of records, those of Reservoir too.
pub(super) const REMOVE_ALL_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e)
    CALL (r, e) { MATCH (r)-[l:SYNAPSE]-() WHERE l.model = e.model DELETE l }
    DETACH DELETE e";
pub(super) const DELETE_VECTORS: &str = "MATCH (e:RsvVector {model: $name}) DETACH DELETE e";
pub(super) const DELETE_UNEMBEDDED: &str = "MATCH (m:RsvLacks{model}) REMOVE m:RsvLacks{model}";
pub(super) const DELETE_VECTOR_COUNTS: &str = "MATCH (s:RsvVectorCount {model: $model}) DELETE s";
pub(super) const DELETE_MODEL: &str = "MATCH (m:RsvModel {name: $name}) DELETE m";
pub(super) const DELETE_SYNAPSES: &str = "MATCH (:RsvRecord)-[l:SYNAPSE {model: $name}]->() DELETE l";

pub(super) const MARK_LINKED: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e:RsvUnlinked{model} {n: row.version})
    REMOVE e:RsvUnlinked{model} RETURN count(e) AS count";
pub(super) const CUT_SYNAPSES: &str = "
    UNWIND $rows AS row MATCH (:RsvRecord {rsv_id: row.from})-[l:SYNAPSE]->(:RsvRecord {rsv_id: row.to}) DELETE l";
/// A record that has got another vector meanwhile is compared later, when its own turn comes.
pub(super) const ADD_SYNAPSES: &str = "
    UNWIND $rows AS row MATCH (near:RsvRecord {rsv_id: row.near})
    WHERE NOT EXISTS { (near)-[:HAS_EMBEDDING]->(:RsvUnlinked{model}) }
    MATCH (a:RsvRecord {rsv_id: row.from}) MATCH (b:RsvRecord {rsv_id: row.to})
    MERGE (a)-[l:SYNAPSE]->(b) ON CREATE SET l = row.properties";
pub(super) const BEGIN_RULES: &str = "
    UNWIND $rows AS row MATCH (:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e:RsvVector{model})
    WITH DISTINCT e.kind AS kind, e.partition AS partition, e.instance AS instance
    MATCH (s:RsvVectorCount {model: $model, kind: kind, partition: partition, instance: instance})
    WHERE s.threshold IS NULL SET s.threshold = $threshold, s.degree = $degree, s.foreign = true";
pub(super) const SET_RULE: &str = "
    MATCH (s:RsvVectorCount {model: $model, kind: $kind, partition: $partition, instance: $instance})
    SET s.threshold = $threshold, s.degree = $degree, s.foreign = false";
/// Removes synapses between a record of the collection and any other.
pub(super) const PRUNE: &str = "
    MATCH (r:{label}) WHERE r.partition = $partition AND r.instance = $instance
    MATCH (r)-[l:SYNAPSE]-(:RsvRecord)
    WHERE $rebuild OR l.model IS NULL OR l.model <> $name OR l.score IS NULL OR l.score < $threshold
    WITH DISTINCT l DELETE l RETURN count(l) AS count";
pub(super) const BEGIN_UNLINKED: &str = "
    MATCH (m:{label}) WHERE m.partition = $partition AND m.instance = $instance
    MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model}) SET e:RsvUnlinked{model}";

/// The statements that make the indexes of a kind.
pub(super) fn indexes_of(kind: &RecordKind) -> Vec<String> {
    let of_property = |(name, property, _): &PropertyIndex| {
        PROPERTY_INDEX.replace("{index}", name).replace("{property}", property)
    };
    let mut all = vec![SCOPE_INDEX.to_owned(), TIME_INDEX.to_owned()];
    all.extend(INDEXES.iter().filter(|(.., is_of)| is_of(kind)).map(of_property));
    all.extend(kind.versions.as_ref().map(|_| PARENT_INDEX.to_owned()));
    all.extend(kind.indexed.is_some().then(|| FULLTEXT_INDEX.replace("{fulltext}", &fulltext_index(kind))));
    all.iter().map(|index| for_label(&index.replace("{name}", kind.name), kind)).collect()
}

/// Puts a relation in place of `{rel}`; `None` if links of it are not stored, as it may be no name.
fn for_relation(statement: &str, rel: &str) -> Option<String> {
    check_relation(rel).is_ok().then(|| statement.replace("{rel}", rel))
}

/// The statement that writes links of a relation.
pub(super) fn add_links(rel: &str) -> Option<String> {
    for_relation(ADD_LINKS, rel)
}

/// Puts the labels of a kind's records in place of `{labels}`; `missing_models` are the models of which they lack a
/// vector.
pub(super) fn for_labels(statement: &str, kind: &RecordKind, missing_models: &[i64]) -> String {
    let own = match kind.versions {
        _ if *kind == MESSAGE => ":RsvMessage",
        // The nodes of a tree.
        Some(_) => ":RsvNode",
        None => "",
    };
    let labels = format!(":{}:RsvRecord{own}{}", kind.label, unembedded_labels(missing_models));
    statement.replace("{labels}", &labels)
}

/// The statement that replaces records of a kind; `models` are the numbers of all models.
pub(super) fn replace_records(kind: &RecordKind, missing_models: &[i64], models: &[i64]) -> String {
    let reset = match models {
        [] => String::new(),
        models => format!("REMOVE m{}", unembedded_labels(models)),
    };
    for_labels(REPLACE_RECORDS, kind, missing_models).replace("{reset}", &reset)
}

fn unembedded_labels(models: &[i64]) -> String {
    models.iter().map(|model| format!(":RsvLacks{model}")).collect()
}

/// The properties that decide the labels of a vector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VectorLabels {
    pub(super) model: i64,
    pub(super) dim: usize,
    /// Whether its kind is embedded: only such vectors are searched and compared.
    pub(super) searched: bool,
    /// Whether it belongs to a message, so that Reservoir may read it.
    pub(super) of_message: bool,
    /// Whether its record existed without it.
    pub(super) late: bool,
}

impl VectorLabels {
    pub(super) fn new(kind: &RecordKind, model: i64, dim: usize, late: bool) -> VectorLabels {
        VectorLabels { model, dim, searched: kind.embedded.is_some(), of_message: *kind == MESSAGE, late }
    }
}

/// The statement that writes vectors with these labels.
pub(super) fn add_vectors(labels: &VectorLabels) -> String {
    let VectorLabels { model, dim, searched, of_message, late } = *labels;
    let own = if searched { format!(":RsvVector{model}:RsvUnlinked{model}") } else { String::new() };
    let for_reservoir = if of_message && !late { format!(":Embedding{dim}") } else { String::new() };
    let mut afterwards = String::new();
    if late {
        afterwards.push_str(&for_model(REMOVE_UNEMBEDDED_LABEL, model));
    }
    if late && of_message {
        afterwards.push_str(&LABEL_FOR_RESERVOIR.replace("{dim}", &dim.to_string()));
    }
    let held = if of_message { for_model(HELD_BY_MESSAGE, model) } else { String::new() };
    let labelled = ADD_VECTORS.replace("{labels}", &(for_reservoir + &own));
    labelled.replace("{late}", &afterwards).replace("{held}", &held)
}

/// The statement that removes a link of a relation.
pub(super) fn remove_link(rel: &str) -> Option<String> {
    for_relation(REMOVE_LINK, rel)
}

/// Combines statements into one; `$rows0` are the rows of the first, and so on.
pub(super) fn together<'a>(statements: impl Iterator<Item = &'a str>) -> String {
    let with_own_rows = |(i, statement): (usize, &str)| {
        format!("CALL () {{ {} }}\n", statement.replace("$rows", &format!("$rows{i}")))
    };
    statements.enumerate().map(with_own_rows).collect()
}
