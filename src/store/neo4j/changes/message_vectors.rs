//! The statements that give messages the vectors of one model, and their index (`neo4j/message_vectors.rs`).

/// The model whose vectors the messages hold, and the one that they should: that of a fact, else that of most
/// vectors. No row if they hold none.
pub(in crate::store::neo4j) const STATE: &str = "
    MATCH (store:RsvStore {one: true}) WHERE store.message_model IS NOT NULL
    OPTIONAL MATCH (fact:RsvFact {name: $fact})
    OPTIONAL MATCH (model:RsvModel) WHERE fact IS NULL OR model.name = fact.value
    WITH store, model ORDER BY model.vectors DESC, model.name DESC LIMIT 1
    RETURN store.message_model AS held, store.message_after IS NOT NULL AS is_unfinished, coalesce(model.n, 0) AS model,
      model.dim AS dim";
/// Has the store keep to the model of most vectors, which it is searched by, unless it has chosen one.
pub(in crate::store::neo4j) const CHOOSE: &str = "
    MATCH (model:RsvModel) WHERE model.vectors > 0
    WITH model ORDER BY model.vectors DESC, model.name DESC LIMIT 1
    MERGE (fact:RsvFact {name: $fact}) ON CREATE SET fact.value = model.name";
/// Has messages hold vectors from now on, of no model yet.
pub(in crate::store::neo4j) const TURN_ON: &str = "
    MATCH (store:RsvStore {one: true}) SET store.message_model = coalesce(store.message_model, 0)";
/// Has new vectors of a model come into their messages too, and all messages wait for those that they have,
/// if they hold those of an earlier model still.
pub(in crate::store::neo4j) const BEGIN: &str = "
    MATCH (store:RsvStore {one: true}) WHERE store.message_model = $held
    SET store.message_model = $model, store.message_after = -1";
/// Has all messages wait for their vectors, if they hold any.
pub(in crate::store::neo4j) const BEGIN_AGAIN: &str = "
    MATCH (store:RsvStore {one: true}) WHERE store.message_model IS NOT NULL SET store.message_after = -1";
/// The model, and the number of the record after which messages wait.
pub(in crate::store::neo4j) const WAITING: &str = "
    MATCH (store:RsvStore {one: true}) WHERE store.message_after IS NOT NULL
    RETURN store.message_model AS model, store.message_after AS after";
/// Gives the messages among the next records their vectors. One without a vector of the model gets that which
/// Reservoir gave it, or none.
pub(in crate::store::neo4j) const FILL: &str = "
    MATCH (m:RsvRecord) WHERE m.n > $after WITH m ORDER BY m.n LIMIT $count
    OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model})
    WITH m, e.embedding AS vector, head([(m)-[:HAS_EMBEDDING]->(own) WHERE NOT own:RsvVector | own.embedding]) AS own
    FOREACH (message IN CASE WHEN m:RsvMessage THEN [m] ELSE [] END |
      SET message.embedding = coalesce(vector, own, []))
    RETURN max(m.n) AS last";
pub(in crate::store::neo4j) const NOTE: &str =
    "MATCH (store:RsvStore {one: true}) SET store.message_after = $after";
pub(in crate::store::neo4j) const END: &str = "MATCH (store:RsvStore {one: true}) REMOVE store.message_after";

/// The indexes that have the name of the index of messages, and vector indexes that have its property.
pub(in crate::store::neo4j) const INDEXES: &str = "
    SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options
    WHERE name = 'messageEmbeddings'
      OR type = 'VECTOR' AND labelsOrTypes = ['MessageNode'] AND properties = ['embedding']
    RETURN name,
      coalesce(type = 'VECTOR' AND labelsOrTypes = ['MessageNode'] AND properties = ['embedding'], false)
        AS is_of_messages,
      options.indexConfig.`vector.dimensions` AS dim";
/// The name is that of Reservoir's documents.
pub(in crate::store::neo4j) const NAME: &str = "messageEmbeddings";
pub(in crate::store::neo4j) const MAKE_INDEX: &str = "
    CREATE VECTOR INDEX messageEmbeddings IF NOT EXISTS FOR (m:MessageNode) ON (m.embedding)
    OPTIONS {indexConfig: {`vector.dimensions`: $dim, `vector.similarity_function`: 'cosine',
      `vector.quantization.enabled`: true}}";
pub(in crate::store::neo4j) const DROP_INDEX: &str = "DROP INDEX messageEmbeddings IF EXISTS";
