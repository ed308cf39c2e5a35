//! The writers' lock, and the values read under it: the next numbers, and the models. Every transaction that
//! changes records takes it before it touches another node: two that touched the same in different orders
//! would deadlock.

use super::changes;
use super::error::{DbError, DbResult};
use super::selection::number;
use super::server::Transaction;
use super::values::{Params, Row};
use std::collections::BTreeMap;

/// Models by name: number and dimension.
pub(super) type Models = BTreeMap<String, (i64, usize)>;

/// Takes the writers' lock and reserves `count` numbers. Returns the first of them, and all models.
pub(super) fn lock(transaction: &mut Transaction, count: usize) -> DbResult<(i64, Models)> {
    let row = transaction.row(changes::LOCK, lock_params(count))?;
    row.map_or_else(|| Ok(Default::default()), |row| locked(&row))
}

/// The parameters for taking the writers' lock.
pub(super) fn lock_params(count: usize) -> Params {
    Params::new().with("version", changes::VERSION).with("count", number(count))
}

/// The row that is read with the writers' lock. Errors if a later release has brought the graph to its
/// version, which is in the place of the number then: this one would not keep up what it does not know.
pub(super) fn locked(row: &Row) -> DbResult<(i64, Models)> {
    let n: i64 = row.get("n")?;
    if n < 0 {
        return Err(DbError::OtherVersion(changes::other_version(-n)));
    }
    let models: Vec<(String, i64, usize)> = row.get("models")?;
    Ok((n, models.into_iter().map(|(name, n, dim)| (name, (n, dim))).collect()))
}
