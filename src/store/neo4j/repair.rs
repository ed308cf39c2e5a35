//! Makes anew all that follows from the records of the graph: the words in the index, the counts of collections, words,
//! models and vectors, the marks of what waits for a vector or for its links, the relationships of trees, and the sums.

use super::error::DbResult;
use super::fulltext;
use super::graph::Neo4j;
use super::lock::lock;
use super::selection::select_params;
use super::server::Transaction;
use super::statements::{self, for_model, selected};
use super::values::Params;
use super::write::run_over;
use super::{schema, tallies};
use crate::record::{RecordKind, Scopes, StoredRecord, kinds};
use crate::store::select::Select;
use crate::store::terms;

/// The number of records whose words are set by one statement.
const BATCH: usize = 1000;

const COLLECTION_NUMBERS: &str = "
    MATCH (c:RsvCollection {kind: $kind}) RETURN c.partition AS partition, c.instance AS instance, c.n AS n";
const WORDS_OF: &str = "
    UNWIND $ids AS id MATCH (r:RsvRecord {rsv_id: id}) RETURN r.rsv_id AS id, r.words AS words, r.length AS length";
const SET_WORDS: &str = "
    UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.id})
    SET r.words = row.words, r.length = row.length, r.key = row.key, r.blank = row.blank";
/// Corrects the counts of the collections of a kind; returns how many were wrong.
const COUNT_RECORDS: &str = "
    MATCH (c:RsvCollection {kind: $kind})
    CALL (c) {
      OPTIONAL MATCH (m:{label}:RsvRecord) WHERE m.partition = c.partition AND m.instance = c.instance
      RETURN count(m) AS documents, coalesce(sum(m.length), 0) AS words
    }
    WITH c, documents, words WHERE c.documents <> documents OR c.words <> words
    SET c.documents = documents, c.words = words RETURN count(c) AS count";
/// Corrects the counts of the words of a kind; returns how many were wrong.
const COUNT_WORDS: &str = "
    MATCH (m:{label}:RsvRecord) WHERE m.words IS NOT NULL WITH split(m.words, ' ') AS all
    WITH all, toInteger(substring(head(all), 1)) AS collection
    UNWIND [word IN all WHERE word STARTS WITH '_'] AS word
    WITH collection, substring(word, 1) AS stem, count(*) AS count
    MERGE (w:RsvWord {stem: stem, collection: collection}) ON CREATE SET w.documents = 0
    SET w.kind = $kind, w.counted = count
    WITH w, count WHERE w.documents <> count SET w.documents = count RETURN count(w) AS count";
const DELETE_OTHER_WORDS: &str =
    "MATCH (w:RsvWord) WHERE w.counted IS NULL DELETE w RETURN count(w) AS count";
const END_COUNT: &str = "MATCH (w:RsvWord) REMOVE w.counted";
const COUNT_VECTORS: &str = "
    MATCH (m:RsvModel) WITH m, COUNT { (e:RsvVector WHERE e.model = m.name) } AS vectors
    WHERE m.vectors <> vectors SET m.vectors = vectors RETURN count(m) AS count";
const COUNT_COLLECTION_VECTORS: &str = "
    MATCH (m:RsvModel) CALL (m) {
      MATCH (e:RsvVector {model: m.name})
      WITH e.kind AS kind, e.partition AS partition, e.instance AS instance, count(e) AS vectors
      MERGE (s:RsvVectorCount {model: m.n, kind: kind, partition: partition, instance: instance})
      ON CREATE SET s.foreign = true, s.vectors = 0
      WITH s, vectors WHERE s.vectors <> vectors SET s.vectors = vectors RETURN count(s) AS wrong
    }
    RETURN sum(wrong) AS count";
const CLEAR_COLLECTION_VECTORS: &str = "
    MATCH (s:RsvVectorCount) MATCH (m:RsvModel {n: s.model})
    WHERE s.vectors <> 0 AND NOT EXISTS { (e:RsvVector {model: m.name}) WHERE e.kind = s.kind
      AND e.partition = s.partition AND e.instance = s.instance }
    SET s.vectors = 0 RETURN count(s) AS count";
/// The marks of the records without a vector of a model, and of the vectors to compare.
const MARK_UNEMBEDDED: [&str; 2] = [
    "MATCH (r:RsvLacks{model}) WHERE r.blank IS NOT NULL OR EXISTS {
       (r)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $name } REMOVE r:RsvLacks{model} RETURN count(r) AS count",
    "MATCH (r:RsvRecord) WHERE NOT r:RsvLacks{model} AND r.blank IS NULL AND NOT EXISTS {
       (r)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $name } SET r:RsvLacks{model} RETURN count(r) AS count",
];
const MARK_UNLINKED: &str = "MATCH (e:RsvVector{model}) SET e:RsvUnlinked{model}";
const LINK_TREES: &str = "
    MATCH (child:RsvNode) WHERE child.parent IS NOT NULL
    MATCH (parent:RsvRecord {rsv_id: child.parent}) WHERE NOT EXISTS { (child)-[:CHILD_OF]->(parent) }
    CREATE (child)-[:CHILD_OF]->(parent) RETURN count(child) AS count";

impl Neo4j {
    /// Repairs the graph; returns in words what was wrong and what was done.
    pub(super) fn repair_all(&self) -> DbResult<Vec<String>> {
        let mut done = Vec::new();
        schema::make_all(&self.server)?;
        done.push("missing constraints and indexes were made".to_owned());
        let records = self.server.write(|transaction| {
            lock(transaction, 0)?;
            kinds().into_iter().map(|kind| mend_words(transaction, kind)).sum::<DbResult<u64>>()
        })?;
        let counts = self.server.write(|transaction| {
            lock(transaction, 0)?;
            count_all(transaction)
        })?;
        for (number, what) in
            [(records, "records had wrong words in the index"), (counts, "counts and marks were wrong")]
        {
            if number > 0 {
                done.push(format!("{number} {what}, which were corrected"));
            }
        }
        self.index_models()?;
        let differed = self.server.write(tallies::rebuild)?;
        done.push(
            if differed {
                "the counts of signals differed, and were made anew"
            } else {
                "the counts of signals were right"
            }
            .to_owned(),
        );
        Ok(done)
    }
}

/// Corrects what the records of a kind have for the indexes; returns the number of records that were wrong.
fn mend_words(transaction: &mut Transaction, kind: &'static RecordKind) -> DbResult<u64> {
    let numbers = transaction.rows(COLLECTION_NUMBERS, Params::new().with("kind", kind.name))?;
    let mut collections = std::collections::HashMap::new();
    for row in numbers {
        collections.insert(row.scope()?, row.get::<i64>("n")?);
    }
    let which = Select::records(vec![kind], Scopes::All);
    let params = select_params(&which).with("upto", i64::MAX).with("model", None::<String>);
    let mut records: Vec<StoredRecord> = Vec::new();
    transaction.each(&selected(statements::RECORDS, &which), params, &mut |row| {
        records.push(row.record(&which.kinds)?);
        Ok(())
    })?;
    let mut wrong = 0;
    for batch in records.chunks(BATCH) {
        let ids = Params::new().with_texts("ids", batch.iter().map(|record| record.id.as_str()));
        let mut there = std::collections::HashMap::new();
        for row in transaction.rows(WORDS_OF, ids)? {
            let words: Option<String> = row.get("words")?;
            there.insert(row.get::<String>("id")?, (words, row.get::<Option<i64>>("length")?));
        }
        let mut rows = Vec::new();
        for record in batch {
            // A message that rsv did not write has no words, and a collection without a node none of its records.
            let (Some(collection), Some(found)) = (collections.get(&record.scope), there.get(&record.id))
            else {
                continue;
            };
            let wanted = record.indexed_text().map(|text| {
                let folded = terms::fold(&text);
                let words: Vec<&str> = terms::words(&folded).collect();
                (fulltext::indexed(*collection, &fulltext::stems(&words), &words), words.len())
            });
            let (words, length) =
                wanted.map_or((None, None), |(words, length)| (Some(words), i64::try_from(length).ok()));
            if (words.as_ref(), length) != (found.0.as_ref(), found.1) {
                wrong += 1;
                rows.push(
                    Params::new()
                        .with("id", record.id.as_str())
                        .with("words", words)
                        .with("length", length)
                        .with("key", record.lookup_key())
                        .with("blank", record.embedded_text().is_none().then_some(true)),
                );
            }
        }
        run_over(transaction, SET_WORDS, rows)?;
    }
    Ok(wrong)
}

/// Corrects all counts, marks and relationships; returns how many were wrong.
fn count_all(transaction: &mut Transaction) -> DbResult<u64> {
    let mut wrong = 0;
    for kind in kinds() {
        for statement in [COUNT_RECORDS, COUNT_WORDS] {
            let params = Params::new().with("kind", kind.name);
            wrong += count(transaction, &statement.replace("{label}", kind.label), params)?;
        }
    }
    wrong += count(transaction, DELETE_OTHER_WORDS, Params::new())?;
    transaction.run(END_COUNT, Params::new())?;
    for statement in [COUNT_VECTORS, COUNT_COLLECTION_VECTORS, CLEAR_COLLECTION_VECTORS, LINK_TREES] {
        wrong += count(transaction, statement, Params::new())?;
    }
    for model in transaction.rows(statements::MODELS, Params::new())? {
        let (n, name): (i64, String) = (model.get("n")?, model.get("name")?);
        for statement in MARK_UNEMBEDDED {
            wrong += count(transaction, &for_model(statement, n), Params::new().with("name", name.as_str()))?;
        }
        transaction.run(&for_model(MARK_UNLINKED, n), Params::new())?;
    }
    Ok(wrong)
}

fn count(transaction: &mut Transaction, statement: &str, params: Params) -> DbResult<u64> {
    transaction.row(statement, params)?.map_or(Ok(0), |row| row.count("count"))
}
