//! Every statement that changes the graph, and those that read the existing records first.

pub(super) mod message_vectors;
pub(super) mod reindex;
pub(super) mod repair;
mod schema;
mod vectors;

pub(super) use schema::*;
pub(super) use vectors::*;

use super::record_node::listed;
use super::statements::kind_position;
use crate::record::{MESSAGE, RecordKind, check_relation};

/// Takes the writers' lock, reserves `$count` numbers, and returns the first of them and the models. All
/// numbers come from one node, which a writer locks from the beginning of its transaction. So a number
/// becomes visible after all smaller ones, and two writers never deadlock. In a graph of a later version, the
/// number is that version below 0.
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
/// The nodes that may be the same as a record of a kind with a natural key: they have the same time, scope,
/// trace and role. Nodes with more links come first.
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

/// Reads the existing records; takes the lock if `with_lock`, else it must be held. Records of the kinds in
/// `keyed` may exist under another id.
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
/// Moves records to another name of their partition: they keep their nodes, numbers, vectors and links, and
/// these are changes too. The links of a record that gets another id are passed on again.
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
/// Finds its records without an index: in a transaction that has removed N nodes, each use of an index takes
/// time that grows with N.
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
/// One statement for each relation: if the type is a parameter, the server (5.26.0) caches the first value
/// that it gets.
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

/// Puts a relation in place of `{rel}`; `None` if links of it are not stored, as it may be no name.
fn for_relation(statement: &str, rel: &str) -> Option<String> {
    check_relation(rel).is_ok().then(|| statement.replace("{rel}", rel))
}

/// The statement that writes links of a relation.
pub(super) fn add_links(rel: &str) -> Option<String> {
    for_relation(ADD_LINKS, rel)
}

/// Puts the labels of a kind's records in place of `{labels}`; `missing_models` are the models of which they
/// lack a vector.
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
