//! The statements that correct data derived from the records.

pub(in crate::store::neo4j) const COLLECTION_NUMBERS: &str = "
    MATCH (c:RsvCollection {kind: $kind}) RETURN c.partition AS partition, c.instance AS instance, c.n AS n";
pub(in crate::store::neo4j) const WORDS_OF: &str = "
    UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id}) RETURN r.rsv_id AS id, r.words AS words, r.length AS length,
      r.digest AS digest";
pub(in crate::store::neo4j) const SET_WORDS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})
    SET r.words = row.words, r.length = row.length SET r += row.derived";
/// Corrects the counts of the collections of a kind; returns how many were wrong.
pub(in crate::store::neo4j) const COUNT_RECORDS: &str = "
    MATCH (c:RsvCollection {kind: $kind})
    CALL (c) {
      OPTIONAL MATCH (m:{label}:RsvRecord) WHERE m.partition = c.partition AND m.instance = c.instance
      RETURN count(m) AS documents, coalesce(sum(m.length), 0) AS words
    }
    WITH c, documents, words WHERE c.documents <> documents OR c.words <> words
    SET c.documents = documents, c.words = words RETURN count(c) AS count";
/// Corrects the counts of the words of a kind; returns how many were wrong.
pub(in crate::store::neo4j) const COUNT_WORDS: &str = "
    MATCH (m:{label}:RsvRecord) WHERE m.words IS NOT NULL WITH split(m.words, ' ') AS parts
    WITH parts, toInteger(substring(head(parts), 1)) AS collection
    UNWIND [word IN parts WHERE word STARTS WITH '_' AND NOT substring(word, 1) CONTAINS '_'] AS word
    WITH collection, substring(word, 1) AS stem, count(*) AS count
    MERGE (w:RsvWord {stem: stem, collection: collection}) ON CREATE SET w.documents = 0
    SET w.kind = $kind, w.counted = count
    WITH w, count WHERE w.documents <> count SET w.documents = count RETURN count(w) AS count";
pub(in crate::store::neo4j) const DELETE_OTHER_WORDS: &str =
    "MATCH (w:RsvWord) WHERE w.counted IS NULL DELETE w RETURN count(w) AS count";
pub(in crate::store::neo4j) const END_COUNT: &str = "MATCH (w:RsvWord) REMOVE w.counted";
pub(in crate::store::neo4j) const COUNT_VECTORS: &str = "
    MATCH (m:RsvModel) WITH m, COUNT { (e:RsvVector WHERE e.model = m.name) } AS vectors
    WHERE m.vectors <> vectors SET m.vectors = vectors RETURN count(m) AS count";
pub(in crate::store::neo4j) const COUNT_COLLECTION_VECTORS: &str = "
    MATCH (m:RsvModel) CALL (m) {
      MATCH (e:RsvVector {model: m.name})
      WITH e.kind AS kind, e.partition AS partition, e.instance AS instance, count(e) AS vectors
      MERGE (s:RsvVectorCount {model: m.n, kind: kind, partition: partition, instance: instance})
      ON CREATE SET s.foreign = true, s.vectors = 0
      WITH s, vectors WHERE s.vectors <> vectors SET s.vectors = vectors RETURN count(s) AS wrong
    }
    RETURN sum(wrong) AS count";
pub(in crate::store::neo4j) const CLEAR_COLLECTION_VECTORS: &str = "
    MATCH (s:RsvVectorCount) MATCH (m:RsvModel {n: s.model})
    WHERE s.vectors <> 0 AND NOT EXISTS { (e:RsvVector {model: m.name}) WHERE e.kind = s.kind
      AND e.partition = s.partition AND e.instance = s.instance }
    SET s.vectors = 0 RETURN count(s) AS count";
/// The marks of the records without a vector of a model, and of the vectors to compare.
pub(in crate::store::neo4j) const MARK_UNEMBEDDED: [&str; 2] = [
    "MATCH (r:RsvLacks{model}) WHERE r.blank IS NOT NULL OR EXISTS {
       (r)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $name } REMOVE r:RsvLacks{model} RETURN count(r) AS count",
    "MATCH (r:RsvRecord) WHERE NOT r:RsvLacks{model} AND r.blank IS NULL AND NOT EXISTS {
       (r)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $name } SET r:RsvLacks{model} RETURN count(r) AS count",
];
pub(in crate::store::neo4j) const MARK_UNLINKED: &str = "MATCH (e:RsvVector{model}) SET e:RsvUnlinked{model}";
pub(in crate::store::neo4j) const LINK_TREES: &str = "
    MATCH (child:RsvNode) WHERE child.parent IS NOT NULL
    MATCH (parent:RsvRecord {rsv_id: child.parent}) WHERE NOT EXISTS { (child)-[:CHILD_OF]->(parent) }
    CREATE (child)-[:CHILD_OF]->(parent) RETURN count(child) AS count";
