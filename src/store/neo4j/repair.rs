//! Rebuilds all that follows from the records of the graph: the words in the index, the counts of
//! collections, words, models and vectors, the marks of unembedded and unlinked records, the relationships of
//! trees, and the sums.

use super::error::DbResult;
use super::fulltext::IndexedText;
use super::graph::Neo4j;
use super::lock::lock;
use super::record_node;
use super::selection::select_params;
use super::server::Transaction;
use super::statements::{self, for_model, selected};
use super::values::Params;
use super::write::run_over;
use super::{
    changes::{message_vectors, reindex, repair as changes},
    schema, tallies,
};
use crate::record::{RecordKind, Scopes, StoredRecord, digest_number, kinds};
use crate::store::select::Select;

/// The number of records whose words are set by one statement.
const BATCH: usize = 1000;

impl Neo4j {
    /// Rebuilds the sums; returns in words what was wrong. Fails if the server does.
    pub(super) fn repair_tallies(&self) -> DbResult<Vec<String>> {
        let differed = self.server.write(tallies::rebuild)?;
        Ok(if differed { vec!["the counts of signals differed".to_owned()] } else { Vec::new() })
    }

    /// Repairs the graph; returns in words what was wrong and what was done. Fails if the server does.
    pub(super) fn repair_all(&mut self) -> DbResult<Vec<String>> {
        let mut done = Vec::new();
        schema::make_all(&self.server)?;
        done.push("missing constraints and indexes were made".to_owned());
        let records = self.server.write(|transaction| {
            lock(transaction, 0)?;
            transaction.run(reindex::END, Params::new())?;
            kinds().into_iter().map(|kind| mend_words(transaction, kind)).sum::<DbResult<u64>>()
        })?;
        self.is_outdated = false;
        let counts = self.server.write(|transaction| {
            lock(transaction, 0)?;
            transaction.run(message_vectors::BEGIN_AGAIN, Params::new())?;
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
        let sums = if differed { "differed, and were rebuilt" } else { "were right" };
        done.push(format!("the counts of signals {sums}"));
        Ok(done)
    }
}

/// Corrects what the records of a kind have for the indexes; returns the number of records that were wrong.
fn mend_words(transaction: &mut Transaction, kind: &'static RecordKind) -> DbResult<u64> {
    let numbers = transaction.rows(changes::COLLECTION_NUMBERS, Params::new().with("kind", kind.name))?;
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
        let mut existing = std::collections::HashMap::new();
        for row in transaction.rows(changes::WORDS_OF, ids)? {
            let words: Option<String> = row.get("words")?;
            let (length, digest) = (row.get::<Option<i64>>("length")?, row.get::<Option<i64>>("digest")?);
            existing.insert(row.get::<String>("id")?, (words, length, digest));
        }
        let mut rows = Vec::new();
        for record in batch {
            // A message that rsv did not write has no words, and a collection without a node none of its
            // records.
            let (Some(collection), Some(found)) = (collections.get(&record.scope), existing.get(&record.id))
            else {
                continue;
            };
            let indexed = record.indexed_text().map(|text| IndexedText::of(*collection, &text));
            let (words, length) = indexed.map(|indexed| (indexed.words, indexed.length)).unzip();
            let digest = Some(digest_number(&record.id));
            if (words.as_ref(), length, digest) != (found.0.as_ref(), found.1, found.2) {
                wrong += 1;
                rows.push(
                    Params::new()
                        .with("id", record.id.as_str())
                        .with("words", words)
                        .with("length", length)
                        .with("derived", record_node::derived(record)),
                );
            }
        }
        run_over(transaction, changes::SET_WORDS, rows)?;
    }
    Ok(wrong)
}

/// Corrects all counts, marks and relationships; returns how many were wrong.
fn count_all(transaction: &mut Transaction) -> DbResult<u64> {
    let mut wrong = 0;
    for kind in kinds() {
        for statement in [changes::COUNT_RECORDS, changes::COUNT_WORDS] {
            let params = Params::new().with("kind", kind.name);
            wrong += count(transaction, &statement.replace("{label}", kind.label), params)?;
        }
    }
    wrong += count(transaction, changes::DELETE_OTHER_WORDS, Params::new())?;
    transaction.run(changes::END_COUNT, Params::new())?;
    for statement in [
        changes::COUNT_VECTORS,
        changes::COUNT_COLLECTION_VECTORS,
        changes::CLEAR_COLLECTION_VECTORS,
        changes::LINK_TREES,
    ] {
        wrong += count(transaction, statement, Params::new())?;
    }
    for model in transaction.rows(statements::MODELS, Params::new())? {
        let (n, name): (i64, String) = (model.get("n")?, model.get("name")?);
        for statement in changes::MARK_UNEMBEDDED {
            wrong += count(transaction, &for_model(statement, n), Params::new().with("name", name.as_str()))?;
        }
        transaction.run(&for_model(changes::MARK_UNLINKED, n), Params::new())?;
    }
    Ok(wrong)
}

fn count(transaction: &mut Transaction, statement: &str, params: Params) -> DbResult<u64> {
    transaction.row(statement, params)?.map_or(Ok(0), |row| row.count("count"))
}
