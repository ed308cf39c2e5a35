//! Every statement that changes the graph, and what is asked before: what is there already.

use super::batch::Kind;
use super::statements::of_model;

/// Takes the writers' lock; the first of so many numbers, and the models. The numbers of everything that is written
/// come from one node. Who writes holds it from the beginning of the
/// transaction, so that a number is seen after all smaller ones, and no two writers wait for each other twice.
macro_rules! lock {
    () => {
        "MERGE (store:RsvStore {one: true}) ON CREATE SET store.n = 0, store.version = $version
         SET store.locked = true WITH store SET store.n = store.n + $count WITH store.n - $count AS n
         OPTIONAL MATCH (m:RsvModel)
         WITH n, [model IN collect(m) | [model.name, model.n, model.dim]] AS models "
    };
}
pub(super) const LOCK: &str = concat!(lock!(), "RETURN n, models");
/// What the store says of itself, and the version of the server.
pub(super) const MARK: &str = "
    CALL dbms.components() YIELD name, versions WITH versions[0] AS server LIMIT 1
    OPTIONAL MATCH (store:RsvStore {one: true})
    RETURN server, store.version AS version, store.n AS n";

/// What must be there before anything is written; each is made once, and stays.
pub(super) const SCHEMA: [&str; 15] = [
    "DROP CONSTRAINT rsv_record IF EXISTS",
    "CREATE CONSTRAINT rsv_store IF NOT EXISTS FOR (s:RsvStore) REQUIRE s.one IS UNIQUE",
    "CREATE CONSTRAINT rsv_record_id IF NOT EXISTS FOR (r:RsvRecord) REQUIRE r.rsv_id IS UNIQUE",
    "CREATE CONSTRAINT rsv_scope IF NOT EXISTS FOR (s:RsvScope) REQUIRE (s.partition, s.instance) IS UNIQUE",
    "CREATE CONSTRAINT rsv_word IF NOT EXISTS FOR (w:RsvWord) REQUIRE (w.stem, w.scope) IS UNIQUE",
    "CREATE CONSTRAINT rsv_model IF NOT EXISTS FOR (m:RsvModel) REQUIRE m.name IS UNIQUE",
    "CREATE CONSTRAINT rsv_space IF NOT EXISTS
     FOR (s:RsvSpace) REQUIRE (s.model, s.partition, s.instance) IS UNIQUE",
    "CREATE CONSTRAINT rsv_fact IF NOT EXISTS FOR (f:RsvFact) REQUIRE f.name IS UNIQUE",
    "CREATE CONSTRAINT rsv_claim IF NOT EXISTS FOR (c:RsvClaim) REQUIRE c.job IS UNIQUE",
    "CREATE INDEX rsv_message_scope IF NOT EXISTS FOR (m:MessageNode) ON (m.partition, m.instance, m.timestamp)",
    "CREATE INDEX rsv_message_time IF NOT EXISTS FOR (m:MessageNode) ON (m.timestamp)",
    "CREATE INDEX rsv_message_trace IF NOT EXISTS FOR (m:MessageNode) ON (m.trace_id, m.timestamp)",
    "CREATE INDEX rsv_account_scope IF NOT EXISTS FOR (a:RsvAccount) ON (a.partition, a.instance, a.timestamp)",
    "CREATE INDEX rsv_account_digest IF NOT EXISTS FOR (a:RsvAccount) ON (a.digest)",
    "CREATE FULLTEXT INDEX rsv_words IF NOT EXISTS FOR (m:MessageNode) ON EACH [m.words]
     OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}",
];
/// What a store of the first two versions lacks, or has under a name that Reservoir takes for a number of its own.
pub(super) const EARLIER: [&str; 3] = [
    "MATCH (m:MessageNode:RsvRecord) WHERE m.rsv_id IS NULL AND m.embedding IS NULL SET m.embedding = []",
    "MATCH (r:RsvRecord) WHERE r.rsv_id IS NULL SET r.rsv_id = r.id REMOVE r.id",
    COUNT_WORDS,
];
const COUNT_WORDS: &str = "
    MATCH (m:RsvRecord) WHERE m.words IS NOT NULL
    WITH split(m.words, ' ') AS all
    WITH [word IN all WHERE word STARTS WITH '_' | substring(word, 1)] AS stems,
      toInteger(substring(head([word IN all WHERE word STARTS WITH '@']), 1)) AS scope
    UNWIND stems AS stem WITH stem, scope, count(*) AS messages
    MERGE (w:RsvWord {stem: stem, scope: scope}) SET w.messages = messages";
pub(super) const SET_VERSION: &str = "MATCH (store:RsvStore {one: true}) SET store.version = $version";
pub(super) const AWAIT_INDEXES: &str = "CALL db.awaitIndexes($seconds)";

pub(super) const SET_FACT: &str = "MERGE (f:RsvFact {name: $name}) SET f.value = $value";
pub(super) const FORGET_FACT: &str = "MATCH (f:RsvFact {name: $name}) DELETE f";
/// Holds a job as long as the transaction lasts.
pub(super) const CLAIM: &str = "MERGE (c:RsvClaim {job: $job}) SET c.held = true";

/// What is there of what is to be written: one row of lists. It is read after `n` is known, with the lock.
macro_rules! known {
    () => {
        "CALL (n) {
           UNWIND $ids AS row MATCH (r:RsvRecord {rsv_id: row.id})
           RETURN collect([r.rsv_id, r.partition, r.instance, r.timestamp, r:MessageNode, r.role,
             CASE WHEN row.compare THEN r.content END, CASE WHEN row.compare THEN r.parts END]) AS records
         }
         CALL (n) {
           UNWIND $messages AS row
           MATCH (m:MessageNode) WHERE m.trace_id = row.trace_id AND m.timestamp = row.timestamp
           AND m.partition = row.partition AND m.instance = row.instance AND m.role = row.role
           AND NOT m:RsvDouble
           OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: row.model})
           WITH row, m, e ORDER BY COUNT { (m)--() } DESC
           RETURN collect([row.i, m.rsv_id, elementId(m), m.content, m.parts, e.embedding]) AS same
         }
         CALL (n) {
           UNWIND $scopes AS row MATCH (s:RsvScope {partition: row.partition, instance: row.instance})
           RETURN collect([s.partition, s.instance, s.n]) AS scopes
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
           UNWIND $ends AS id MATCH (r:RsvRecord {rsv_id: id})-[l:RESPONDED_WITH]-(:RsvRecord)
           RETURN collect(DISTINCT [startNode(l).rsv_id, endNode(l).rsv_id]) AS answers
         }
         RETURN records, same, scopes, vectors, links, answers"
    };
}
pub(super) const KNOWN: &str = concat!("WITH 0 AS n ", known!());
pub(super) const LOCK_AND_KNOWN: &str = concat!(lock!(), known!(), ", n, models");

/// What is new.
pub(super) const ADD_SCOPES: &str = "
    UNWIND $rows AS row MERGE (s:RsvScope {partition: row.partition, instance: row.instance})
    ON CREATE SET s.n = row.n, s.messages = 0, s.words = 0
    SET s.messages = s.messages + row.messages, s.words = s.words + row.words";
/// How many messages of a scope hold a word of a stem.
pub(super) const ADD_WORDS: &str = "
    UNWIND $rows AS row UNWIND row.stems AS each
    MERGE (w:RsvWord {stem: each[0], scope: row.scope}) ON CREATE SET w.messages = 0
    SET w.messages = w.messages + each[1]";
pub(super) const ADD_MESSAGES: &str = "
    UNWIND $rows AS row CREATE (m:MessageNode:RsvRecord{lacks}) SET m = row";
pub(super) const ADOPT: &str = "
    UNWIND $rows AS row MATCH (m) WHERE elementId(m) = row.element
    SET m:RsvRecord{lacks} SET m += row.properties";
/// Reservoir that imports what it exported holds all of it twice. Of two that are the same one is taken over.
pub(super) const MARK_DOUBLES: &str = "
    MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND EXISTS {
      (o:MessageNode&RsvRecord) WHERE o.trace_id = m.trace_id AND o.timestamp = m.timestamp AND o.partition = m.partition
      AND o.instance = m.instance AND o.role = m.role AND o.content = m.content
    } SET m:RsvDouble RETURN count(m) AS count";
pub(super) const ADD_ACCOUNTS: &str = "
    UNWIND $rows AS row CREATE (a:RsvAccount:RsvRecord) SET a = row";
/// As numbers of 32 bits, which are read faster than the 64 of a list.
const ADD_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})
    CREATE (r)-[:HAS_EMBEDDING]->(e:RsvVector{labels}) SET e = row.properties {late}
    WITH e, row CALL db.create.setNodeVectorProperty(e, 'embedding', row.vector)";
/// A message that Reservoir wrote has an embedding of Reservoir's, which would take a second one for another message's.
const ADD_VECTORS_LATE: &str = "REMOVE r:RsvLacks{model}
    FOREACH (_ IN CASE WHEN size(r.embedding) > 0 THEN [] ELSE [1] END | SET e:Embedding{dim})";
/// One statement for each relation: of a type that is a value the server (5.26.0) keeps the first that it was given.
pub(super) const ADD_LINKS: &str = "
    UNWIND $rows AS row MATCH (a:RsvRecord {rsv_id: row.from}) MATCH (b:RsvRecord {rsv_id: row.to})
    CREATE (a)-[l:{rel}]->(b) SET l = row.properties";
pub(super) const ADD_MODELS: &str = "
    UNWIND $rows AS row MERGE (m:RsvModel {name: row.name}) ON CREATE SET m.n = row.n, m.dim = row.dim, m.vectors = 0
    SET m.vectors = m.vectors + row.vectors";
pub(super) const ADD_SPACES: &str = "
    UNWIND $rows AS row
    MERGE (s:RsvSpace {model: row.model, partition: row.partition, instance: row.instance})
    ON CREATE SET s.vectors = 0, s.wild = true SET s.vectors = s.vectors + row.vectors";
/// Every message with words lacks a vector of a new model.
pub(super) const BEGIN_LACKING: &str = "
    MATCH (m:MessageNode:RsvRecord) WHERE m.blank IS NULL SET m:RsvLacks{model}";
/// Synapses came from elsewhere.
pub(super) const NOTE_WILD: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id}) WITH DISTINCT r.partition AS partition, r.instance AS instance
    MATCH (s:RsvSpace {partition: partition, instance: instance}) SET s.wild = true";

/// The vectors of a model, in the index as numbers of 8 bits. The server (5.26) keeps what it has indexed since it
/// started in buffers of a kilobyte, and each vector that goes across two of them costs an exception: of numbers of 32
/// bits that is every one, and a thousand turns made a question to the index take five times as long.
pub(super) const MAKE_VECTOR_INDEX: &str = "
    CREATE VECTOR INDEX rsv_vector_{model} IF NOT EXISTS FOR (e:RsvVector{model}) ON (e.embedding)
    OPTIONS {indexConfig: {`vector.dimensions`: $dim, `vector.similarity_function`: 'cosine',
      `vector.quantization.enabled`: true}}";
pub(super) const DROP_VECTOR_INDEX: &str = "DROP INDEX rsv_vector_{model} IF EXISTS";

/// Where records are.
pub(super) const PLACES: &str = "
    UNWIND $wanted AS id MATCH (r:RsvRecord {rsv_id: id})
    RETURN r.rsv_id AS id, r:MessageNode AS message, r.partition AS partition, r.instance AS instance,
      r.timestamp AS timestamp";
/// Takes vectors away with the synapses that they gave.
pub(super) const REMOVE_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})-[:HAS_EMBEDDING]->(e:RsvVector {model: row.model})
    CALL (r, row) { MATCH (r)-[l:SYNAPSE {model: row.model}]-() DELETE l }
    DETACH DELETE e RETURN row.of AS of, row.model AS model";
pub(super) const FORGET_VECTORS: &str = "MATCH (e:RsvVector {model: $name}) DETACH DELETE e";
pub(super) const FORGET_LACKING: &str = "MATCH (m:RsvLacks{model}) REMOVE m:RsvLacks{model}";
pub(super) const FORGET_SPACES: &str = "MATCH (s:RsvSpace {model: $model}) DELETE s";
pub(super) const FORGET_MODEL: &str = "MATCH (m:RsvModel {name: $name}) DELETE m";
pub(super) const FORGET_SYNAPSES: &str = "MATCH (:RsvRecord)-[l:SYNAPSE {model: $name}]->() DELETE l";

pub(super) const COMPARED: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e:RsvWaiting{model} {n: row.mark})
    REMOVE e:RsvWaiting{model} RETURN count(e) AS count";
pub(super) const CUT_SYNAPSES: &str = "
    UNWIND $rows AS row MATCH (:RsvRecord {rsv_id: row.from})-[l:SYNAPSE]->(:RsvRecord {rsv_id: row.to}) DELETE l";
/// One that has got another vector meanwhile is compared with the others when its turn comes.
pub(super) const ADD_SYNAPSES: &str = "
    UNWIND $rows AS row MATCH (near:RsvRecord {rsv_id: row.near})
    WHERE NOT EXISTS { (near)-[:HAS_EMBEDDING]->(:RsvWaiting{model}) }
    MATCH (a:RsvRecord {rsv_id: row.from}) MATCH (b:RsvRecord {rsv_id: row.to})
    MERGE (a)-[l:SYNAPSE]->(b) ON CREATE SET l = row.properties";
pub(super) const BEGIN_RULE: &str = "
    MATCH (s:RsvSpace {model: $model, partition: $partition, instance: $instance}) WHERE s.threshold IS NULL
    SET s.threshold = $threshold, s.degree = $degree, s.wild = true";
pub(super) const SET_RULE: &str = "
    MATCH (s:RsvSpace {model: $model, partition: $partition, instance: $instance})
    SET s.threshold = $threshold, s.degree = $degree, s.wild = false";
pub(super) const PRUNE: &str = "
    MATCH (r:MessageNode|RsvAccount) WHERE r.partition = $partition AND r.instance = $instance
    MATCH (r)-[l:SYNAPSE]->(:RsvRecord)
    WHERE $anew OR l.model IS NULL OR l.model <> $name OR l.score IS NULL OR l.score < $threshold
    DELETE l RETURN count(l) AS count";
pub(super) const BEGIN_WAITING: &str = "
    MATCH (m:MessageNode) WHERE m.partition = $partition AND m.instance = $instance
    MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model}) SET e:RsvWaiting{model}";

/// A statement about a relation, which stands in it as `{rel}`; `None` if that is no name in capitals.
pub(super) fn of_relation(statement: &str, rel: &str) -> Option<String> {
    let plain = !rel.is_empty() && rel.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    plain.then(|| statement.replace("{rel}", rel))
}

/// A statement that writes messages which lack vectors of some models: their labels stand in it as `{lacks}`.
pub(super) fn of_lacking(statement: &str, models: &[i64]) -> String {
    let labels: String = models.iter().map(|model| format!(":RsvLacks{model}")).collect();
    statement.replace("{lacks}", &labels)
}

/// The statement that writes vectors of a kind.
pub(super) fn of_vectors(kind: &Kind) -> String {
    let Kind { model, dim, of_message, late } = kind;
    let own = if *of_message { format!(":RsvVector{model}:RsvWaiting{model}") } else { String::new() };
    let (labels, late) = match late {
        true => (own, of_model(ADD_VECTORS_LATE, *model).replace("{dim}", &dim.to_string())),
        false => (format!(":Embedding{dim}{own}"), String::new()),
    };
    ADD_VECTORS.replace("{labels}", &labels).replace("{late}", &late)
}

/// Several statements as one; the rows of the first stand in it as `$rows0`, and so on.
pub(super) fn together<'a>(statements: impl Iterator<Item = &'a str>) -> String {
    let apart = |(i, statement): (usize, &str)| {
        format!("CALL () {{ {} }}\n", statement.replace("$rows", &format!("$rows{i}")))
    };
    statements.enumerate().map(apart).collect()
}
