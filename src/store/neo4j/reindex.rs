//! Brings the words of records in the server's full-text index from an earlier version to the present one,
//! some records at a time, in the order of their numbers. The node of the store has the numbers between which
//! they are left; records that are written meanwhile are of the present version anyway.

use super::batch_changes::Counts;
use super::changes::{self, reindex};
use super::error::DbResult;
use super::fulltext::{IndexedText, indexed_stems};
use super::graph::Neo4j;
use super::lock::lock;
use super::server::Transaction;
use super::statements::kind_position;
use super::values::Params;
use super::write::{collection_steps, run_all};
use crate::record::kinds;
use crate::store::languages;
use crate::text::language_detection::ToldLanguages;
use std::collections::HashMap;

impl Neo4j {
    /// Brings the words of up to `count` records to the present version.
    pub(super) fn reindex(&mut self, count: usize) -> DbResult<()> {
        if self.is_outdated {
            self.is_outdated = self.server.write(|transaction| reindex_next(transaction, count))?;
        }
        Ok(())
    }

    /// The number of records with words of an earlier version.
    pub(super) fn count_outdated(&self) -> DbResult<u64> {
        if !self.is_outdated {
            return Ok(0);
        }
        self.server.row(reindex::REMAINING, Params::new())?.map_or(Ok(0), |row| row.count("count"))
    }
}

/// Returns whether there may be more.
fn reindex_next(transaction: &mut Transaction, count: usize) -> DbResult<bool> {
    lock(transaction, 0)?;
    let Some(state) = transaction.row(reindex::STATE, Params::new())? else { return Ok(false) };
    let (mut after, upto): (i64, i64) = (state.get("after")?, state.get("upto")?);
    let kinds = kinds();
    let params = Params::new().with("after", after).with("upto", upto).with("count", count as i64);
    let rows = transaction.rows(&reindex::NEXT.replace("{kind}", &kind_position("m", &kinds)), params)?;
    let (mut changed, mut counts, mut told) = (Vec::new(), Counts::default(), ToldLanguages::default());
    for row in &rows {
        after = row.get("n")?;
        // A node that cannot be read is not found either.
        let (Ok(record), Some(words)) = (row.record(&kinds), row.get::<Option<String>>("words")?) else {
            continue;
        };
        let (Some((collection, stems)), Some(text)) = (indexed_stems(&words), record.indexed_text()) else {
            continue;
        };
        told.add(&text);
        let new = IndexedText::of(collection, &text);
        if new.words == words {
            continue;
        }
        let length: Option<i64> = row.get("length")?;
        counts.collections.entry((record.kind.name, record.scope.clone())).or_default().1 +=
            new.length - length.unwrap_or_default();
        let counted = counts.words.entry((collection, record.kind.name)).or_default();
        for stem in stems {
            *counted.entry(stem.to_owned()).or_default() -= 1;
        }
        for stem in new.stems {
            *counted.entry(stem).or_default() += 1;
        }
        let row = Params::new().with("id", record.id.as_str()).with("words", new.words);
        changed.push(row.with("length", new.length));
    }
    if !changed.is_empty() {
        // The collections are there, so that they need no numbers.
        let mut steps = collection_steps(&HashMap::new(), &mut counts);
        steps.push((reindex::SET_WORDS.to_owned(), changed));
        steps.push((changes::DELETE_UNUSED_WORDS.to_owned(), vec![Params::new()]));
        run_all(transaction, steps)?;
    }
    languages::note(told, transaction, |_| Ok(Vec::new()))?;
    if rows.len() < count {
        transaction.run(reindex::END, Params::new())?;
        return Ok(false);
    }
    transaction.run(reindex::NOTE, Params::new().with("after", after)).map(|()| true)
}
