//! The statements that write vectors, the models that they are of, and the synapses that follow from them.

use crate::record::{MESSAGE, RecordKind};
use crate::store::neo4j::statements::for_model;

/// A synapse leads from the lesser id to the greater, which may be other ones now.
pub(in crate::store::neo4j) const TURN_SYNAPSES: &str = "
    MATCH (a:RsvNode {partition: $partition})-[l:SYNAPSE]->(b:RsvRecord) WHERE a.rsv_id > b.rsv_id
    CREATE (b)-[turned:SYNAPSE]->(a) SET turned = properties(l) DELETE l";
/// Has the rules of synapses follow their collections.
pub(in crate::store::neo4j) const MOVE_RULES: &str = "
    MATCH (old:RsvVectorCount {partition: $from}) WHERE old.threshold IS NOT NULL
    MATCH (new:RsvVectorCount {partition: $to}) WHERE new.model = old.model AND new.kind = old.kind
      AND new.instance = CASE old.instance WHEN $from THEN $to ELSE old.instance END
    SET new.threshold = old.threshold, new.degree = old.degree, new.foreign = old.foreign
    SET old.threshold = null, old.degree = null, old.foreign = true";
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
/// A message that Reservoir wrote has an embedding node of Reservoir's already: Reservoir would count a
/// second one as that of another message.
const LABEL_FOR_RESERVOIR: &str = "
    FOREACH (_ IN CASE WHEN EXISTS { (r)-[:HAS_EMBEDDING]->(own) WHERE NOT own:RsvVector } THEN [] ELSE [1] END |
      SET e:Embedding{dim})";
pub(in crate::store::neo4j) const ADD_MODELS: &str = "
    UNWIND $rows AS row MERGE (m:RsvModel {name: row.name}) ON CREATE SET m.n = row.n, m.dim = row.dim, m.vectors = 0
    SET m.vectors = m.vectors + row.vectors";
/// Deletes models without vectors, and every trace of them.
pub(in crate::store::neo4j) const DELETE_EMPTY_MODELS: &str = "
    UNWIND $names AS name MATCH (m:RsvModel {name: name}) WHERE m.vectors <= 0
    WITH m, m.n AS n DELETE m RETURN n";
pub(in crate::store::neo4j) const ADD_VECTOR_COUNTS: &str = "
    UNWIND $rows AS row
    MERGE (s:RsvVectorCount {model: row.model, kind: row.kind, partition: row.partition, instance: row.instance})
    ON CREATE SET s.vectors = 0, s.foreign = true SET s.vectors = s.vectors + row.vectors";
/// Every record with a text to embed lacks a vector of a new model.
pub(in crate::store::neo4j) const BEGIN_UNEMBEDDED: &str = "
    MATCH (m:RsvRecord) WHERE m.blank IS NULL SET m:RsvLacks{model}";
/// Notes that synapses were imported.
pub(in crate::store::neo4j) const NOTE_FOREIGN: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})
    WITH DISTINCT r.partition AS partition, r.instance AS instance
    MATCH (s:RsvVectorCount {partition: partition, instance: instance}) SET s.foreign = true";

/// The vector index of a model, quantized to 8 bits. The server (5.26) keeps vectors that it has indexed
/// since it started in buffers of a kilobyte, and each vector that spans two of them costs an exception. With
/// 32-bit numbers every vector does, and a thousand turns made a query five times as slow.
pub(in crate::store::neo4j) const MAKE_VECTOR_INDEX: &str = "
    CREATE VECTOR INDEX rsv_vector_{model} IF NOT EXISTS FOR (e:RsvVector{model}) ON (e.embedding)
    OPTIONS {indexConfig: {`vector.dimensions`: $dim, `vector.similarity_function`: 'cosine',
      `vector.quantization.enabled`: true}}";
pub(in crate::store::neo4j) const DROP_VECTOR_INDEX: &str = "DROP INDEX rsv_vector_{model} IF EXISTS";
/// The name of a model's vector index.
pub(in crate::store::neo4j) fn vector_index(n: i64) -> String {
    for_model("rsv_vector_{model}", n)
}

/// Removes vectors and the synapses that were derived from them.
pub(in crate::store::neo4j) const REMOVE_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})-[:HAS_EMBEDDING]->(e:RsvVector {model: row.model})
    CALL (r, row) { MATCH (r)-[l:SYNAPSE {model: row.model}]-() DELETE l }
    DETACH DELETE e RETURN row.of AS of, row.model AS model";
/// Removes all vectors of records, those of Reservoir too.
pub(in crate::store::neo4j) const REMOVE_ALL_VECTORS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e)
    CALL (r, e) { MATCH (r)-[l:SYNAPSE]-() WHERE l.model = e.model DELETE l }
    DETACH DELETE e";
pub(in crate::store::neo4j) const DELETE_VECTORS: &str = "MATCH (e:RsvVector {model: $name}) DETACH DELETE e";
pub(in crate::store::neo4j) const DELETE_UNEMBEDDED: &str =
    "MATCH (m:RsvLacks{model}) REMOVE m:RsvLacks{model}";
pub(in crate::store::neo4j) const DELETE_VECTOR_COUNTS: &str =
    "MATCH (s:RsvVectorCount {model: $model}) DELETE s";
pub(in crate::store::neo4j) const DELETE_MODEL: &str = "MATCH (m:RsvModel {name: $name}) DELETE m";
pub(in crate::store::neo4j) const DELETE_SYNAPSES: &str =
    "MATCH (:RsvRecord)-[l:SYNAPSE {model: $name}]->() DELETE l";

pub(in crate::store::neo4j) const MARK_LINKED: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e:RsvUnlinked{model} {n: row.version})
    REMOVE e:RsvUnlinked{model} RETURN count(e) AS count";
pub(in crate::store::neo4j) const CUT_SYNAPSES: &str = "
    UNWIND $rows AS row MATCH (:RsvRecord {rsv_id: row.from})-[l:SYNAPSE]->(:RsvRecord {rsv_id: row.to}) DELETE l";
/// A record that has got another vector meanwhile is compared later, when its own turn comes.
pub(in crate::store::neo4j) const ADD_SYNAPSES: &str = "
    UNWIND $rows AS row MATCH (near:RsvRecord {rsv_id: row.near})
    WHERE NOT EXISTS { (near)-[:HAS_EMBEDDING]->(:RsvUnlinked{model}) }
    MATCH (a:RsvRecord {rsv_id: row.from}) MATCH (b:RsvRecord {rsv_id: row.to})
    MERGE (a)-[l:SYNAPSE]->(b) ON CREATE SET l = row.properties";
pub(in crate::store::neo4j) const BEGIN_RULES: &str = "
    UNWIND $rows AS row MATCH (:RsvRecord {rsv_id: row.id})-[:HAS_EMBEDDING]->(e:RsvVector{model})
    WITH DISTINCT e.kind AS kind, e.partition AS partition, e.instance AS instance
    MATCH (s:RsvVectorCount {model: $model, kind: kind, partition: partition, instance: instance})
    WHERE s.threshold IS NULL SET s.threshold = $threshold, s.degree = $degree, s.foreign = true";
pub(in crate::store::neo4j) const SET_RULE: &str = "
    MATCH (s:RsvVectorCount {model: $model, kind: $kind, partition: $partition, instance: $instance})
    SET s.threshold = $threshold, s.degree = $degree, s.foreign = false";
/// Removes synapses between a record of the collection and any other.
pub(in crate::store::neo4j) const PRUNE: &str = "
    MATCH (r:{label}) WHERE r.partition = $partition AND r.instance = $instance
    MATCH (r)-[l:SYNAPSE]-(:RsvRecord)
    WHERE $rebuild OR l.model IS NULL OR l.model <> $name OR l.score IS NULL OR l.score < $threshold
    WITH DISTINCT l DELETE l RETURN count(l) AS count";
pub(in crate::store::neo4j) const BEGIN_UNLINKED: &str = "
    MATCH (m:{label}) WHERE m.partition = $partition AND m.instance = $instance
    MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model}) SET e:RsvUnlinked{model}";

/// The properties that decide the labels of a vector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store::neo4j) struct VectorLabels {
    pub(in crate::store::neo4j) model: i64,
    pub(in crate::store::neo4j) dim: usize,
    /// Whether its kind is embedded: only such vectors are searched and compared.
    pub(in crate::store::neo4j) searched: bool,
    /// Whether it belongs to a message, so that Reservoir may read it.
    pub(in crate::store::neo4j) of_message: bool,
    /// Whether its record existed without it.
    pub(in crate::store::neo4j) late: bool,
}

impl VectorLabels {
    pub(in crate::store::neo4j) fn new(kind: &RecordKind, model: i64, dim: usize, late: bool) -> Self {
        VectorLabels { model, dim, searched: kind.embedded.is_some(), of_message: *kind == MESSAGE, late }
    }
}

/// The statement that writes vectors with these labels.
pub(in crate::store::neo4j) fn add_vectors(labels: &VectorLabels) -> String {
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
