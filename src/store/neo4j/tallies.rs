//! The sums that records add to, as nodes.

use super::changes;
use super::error::DbResult;
use super::graph::Neo4j;
use super::lock::lock;
use super::rows::tally_rows;
use super::selection::select_params;
use super::server::Transaction;
use super::statements::{self, selected};
use super::values::{Params, Row};
use super::write::run_over;
use crate::record::{Scopes, kinds};
use crate::store::api::Tallies;
use crate::store::select::Select;
use std::collections::BTreeMap;

impl Neo4j {
    pub(super) fn read_tallies(&self, subjects: &[&str]) -> DbResult<Tallies> {
        let params = Params::new().with_texts("wanted", subjects.iter().copied());
        collected(self.server.rows(statements::TALLIES, params)?)
    }
}

/// Rebuilds all sums from the records; returns whether any differed.
pub(super) fn rebuild(transaction: &mut Transaction) -> DbResult<bool> {
    lock(transaction, 0)?;
    let before = collected(transaction.rows(statements::ALL_TALLIES, Params::new())?)?;
    let mut sums: BTreeMap<(String, &'static str), i64> = BTreeMap::new();
    let about: Vec<_> = kinds().into_iter().filter(|kind| kind.subject.is_some()).collect();
    let which = Select::records(about, Scopes::All);
    let params = select_params(&which).with("upto", i64::MAX).with("model", None::<String>);
    transaction.each(&selected(statements::RECORDS, &which), params, &mut |row| {
        for tally in row.record(&which.kinds)?.tallies() {
            *sums.entry((tally.subject, tally.counter)).or_default() += tally.amount;
        }
        Ok(())
    })?;
    transaction.run(changes::DELETE_TALLIES, Params::new())?;
    run_over(transaction, changes::ADD_TALLIES, tally_rows(sums))?;
    let after = collected(transaction.rows(statements::ALL_TALLIES, Params::new())?)?;
    Ok(before != after)
}

fn collected(rows: Vec<Row>) -> DbResult<Tallies> {
    let mut found = Tallies::new();
    for row in rows {
        let sums = found.entry(row.get("subject")?).or_default();
        sums.insert(row.get("counter")?, row.get("amount")?);
    }
    Ok(found)
}
