//! The statements that search, by words and by vectors, and that compare vectors.

use super::selection::{for_scopes, kind_position};
use crate::record::{RecordKind, Scopes, TextSource};
use crate::store::neo4j::record_node::listed;

pub(in crate::store::neo4j) const MODELS: &str = "
    MATCH (m:RsvModel) RETURN m.n AS n, m.name AS name, m.dim AS dim, m.vectors AS vectors ORDER BY name";
/// The vector indexes, and the dimension of each.
pub(in crate::store::neo4j) const VECTOR_INDEXES: &str = "
    SHOW VECTOR INDEXES YIELD name, options RETURN name, options.indexConfig.`vector.dimensions` AS dim";
pub(in crate::store::neo4j) const MODEL: &str = "MATCH (m:RsvModel {name: $name}) RETURN m.n AS n";

/// The sizes and numbers of some collections, and the prefix of a full-text query that restricts it to them:
/// it is empty if no restriction is needed, or if they are too many. Always one row.
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
pub(in crate::store::neo4j) const CORPUS: &str =
    concat!(corpus!(), "RETURN unadopted, documents, words, prefix");

/// The same; the number of records that hold words of some stems; the number that each full-text query finds;
/// and the records that the full-text indexes rank first. With the prefix, the collection of each record need
/// not be read.
pub(in crate::store::neo4j) const DOCUMENT_FREQUENCIES: &str = concat!(
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
pub(in crate::store::neo4j) const FULLTEXT: &str = "
    UNWIND $indexes AS name
    CALL db.index.fulltext.queryNodes(name, $question, {limit: $most}) YIELD node AS m WHERE {scope}
    RETURN {document} AS row";
/// The columns that ranking by words needs: few, since most records are not among the best.
const DOCUMENT: &str = "[m.rsv_id, m.n, m.timestamp, m.content, null]";
/// The same for a kind whose indexed text is composed of several members.
const COMPOSED_DOCUMENT: &str = concat!("[m.rsv_id, m.n, m.timestamp, null, ", listed!(), "]");

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
pub(in crate::store::neo4j) const VECTOR_COUNT: &str =
    concat!(vector_count!(), "RETURN model, dim, all, here");
pub(in crate::store::neo4j) const LINK_STATES: &str = "
    MATCH (m:RsvVectorCount) WHERE m.model = $model AND {scope} AND m.vectors > 0
    RETURN m.kind AS kind, m.partition AS partition, m.instance AS instance, m.threshold AS threshold,
      m.degree AS degree, m.foreign AS foreign, m.vectors AS vectors";
/// Compares all vectors of a selection. A vector that the server cannot compare has a constant nearness.
pub(in crate::store::neo4j) const NEAREST_OF_ALL: &str = concat!(
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
/// Fetches the nearest vectors of the whole model, and keeps those of the selection: as many as contain the
/// wanted number if the selection's collections are spread evenly over the model. The index is not queried,
/// and `asked` is null, if the collections have few vectors, or fewer than `$more` times the number to fetch:
/// comparing those one by one is faster. Returns one row if the model exists. The index ranks by numbers of 8
/// bits. For a verified result, `most` is the greatest nearness (0 to 1) of a vector that it did not return:
/// that of the last one that it returned, plus twice the greatest error that was found.
pub(in crate::store::neo4j) const NEAREST_BY_INDEX: &str = concat!(
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
pub(in crate::store::neo4j) const UNEMBEDDED: &str = newest_of_all!(
    "CALL () { MATCH (model:RsvModel {name: $name, n: {model}}) RETURN count(model) > 0 AS known }",
    "(m:RsvLacks{model}) USING SCAN m:RsvLacks{model} WHERE m:{kinds} AND {scope}"
);
/// All records with a text to embed, for a model that is not known.
pub(in crate::store::neo4j) const EMBEDDABLE: &str =
    newest_of_all!("WITH false AS known", "(m:{kinds}) WHERE {scope} AND m:RsvRecord AND m.blank IS NULL");

/// The number of vectors of each collection that are not compared with others yet.
pub(in crate::store::neo4j) const COUNT_UNLINKED: &str = "
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
pub(in crate::store::neo4j) const UNLINKED: &str = unlinked!("m.n");
pub(in crate::store::neo4j) const NEWEST_UNLINKED: &str = unlinked!("m.n DESC");
pub(in crate::store::neo4j) const VECTORS_OF_COLLECTIONS: &str = "
    MATCH (m:{label}) WHERE m.partition = $partition AND m.instance IN $instances
    MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model})
    RETURN [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, e:RsvUnlinked{model}] AS vector";
/// The vectors of the same collections that the index finds near each of some vectors; and the nearness (0 to
/// 1) of the last one that it returned.
pub(in crate::store::neo4j) const NEAR_EACH: &str = "
    UNWIND $rows AS row
    CALL (row) {
      CALL db.index.vector.queryNodes('rsv_vector_{model}', $near, row.vector) YIELD node AS e, score
      OPTIONAL MATCH (m:{label} {partition: $partition})-[:HAS_EMBEDDING]->(e) WHERE m.instance IN $instances
      RETURN min(score) AS least, collect(CASE WHEN m IS NOT NULL THEN
        [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, e:RsvUnlinked{model}] END) AS near
    } RETURN row.i AS i, least, near";

/// The name of a kind's full-text index.
pub(in crate::store::neo4j) fn fulltext_index(kind: &RecordKind) -> String {
    format!("rsv_words_{}", kind.name)
}

/// Puts the columns that rank a record of some kinds in place of `{document}`.
pub(in crate::store::neo4j) fn for_words(statement: &str, kinds: &[&RecordKind], scopes: &Scopes) -> String {
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
