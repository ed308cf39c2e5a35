//! Vectors in messages, as Reservoir's documents have them: the property `embedding` of a message is its vector of the
//! model by which the store is searched, and the index `messageEmbeddings` finds messages by it. It is a second copy of
//! each vector, so a graph has them only once it was taken over (`rsv-link --adopt`).
//!
//! The node of the store names the model. From then on whoever writes a vector of it writes it into its message too;
//! the earlier messages get theirs in the order of their numbers, some in each transaction.

use super::changes::{self, message_vectors as statements};
use super::error::{DbError, DbResult};
use super::graph::Neo4j;
use super::lock::lock;
use super::server::Transaction;
use super::statements::for_model;
use super::values::Params;
use crate::store::api::MODEL_FACT;

/// The number of records whose messages get their vectors in one transaction.
const BATCH: i64 = 1000;

/// The time that making the index may take, in seconds.
const INDEXING_TIMEOUT: i64 = 300;

impl Neo4j {
    /// Has messages hold vectors from now on.
    pub(super) fn begin_message_vectors(&self) -> DbResult<()> {
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            transaction.run(statements::TURN_ON, Params::new())
        })?;
        self.update_message_vectors()
    }

    /// Has messages hold the vectors of the model by which the store is searched, if they hold any. After an
    /// interruption, the next call goes on.
    pub(super) fn update_message_vectors(&self) -> DbResult<()> {
        let params = Params::new().with("fact", MODEL_FACT);
        let Some(state) = self.server.row(statements::STATE, params)? else { return Ok(()) };
        let (held, model): (i64, i64) = (state.get("held")?, state.get("model")?);
        if let Some(dim) = state.get("dim")? {
            self.index_messages(dim)?;
        }
        if held != model {
            self.server.write(|transaction| {
                lock(transaction, 0)?;
                transaction.run(statements::BEGIN, Params::new().with("model", model))
            })?;
        } else if !state.get::<bool>("is_unfinished")? {
            return Ok(());
        }
        while self.server.write(fill_next)? {}
        Ok(())
    }

    /// Errors if another vector index has the property, which can have only one.
    pub(super) fn check_message_index(&self) -> DbResult<()> {
        let rows = self.server.rows(statements::INDEXES, Params::new())?;
        let names: Vec<String> = rows.iter().map(|row| row.get("name")).collect::<DbResult<_>>()?;
        match names.into_iter().find(|name| name != statements::NAME) {
            None => Ok(()),
            Some(name) => Err(DbError::Invalid(format!(
                "the vector index {name} has the property that {} needs; to remove it: DROP INDEX `{name}`",
                statements::NAME
            ))),
        }
    }

    /// Makes the index of messages for vectors of a dimension, in place of one for others; one that a user made of the
    /// property stays. It exists before the vectors, since to build it from them costs far more.
    fn index_messages(&self, dim: i64) -> DbResult<()> {
        for row in self.server.rows(statements::INDEXES, Params::new())? {
            if row.get::<String>("name")? != statements::NAME
                || row.get::<bool>("is_of_messages")? && row.get::<i64>("dim")? == dim
            {
                return Ok(());
            }
            self.server.run(statements::DROP_INDEX, Params::new())?;
        }
        self.server.make(statements::MAKE_INDEX, Params::new().with("dim", dim))?;
        self.server.run(changes::AWAIT_INDEXES, Params::new().with("seconds", INDEXING_TIMEOUT))
    }
}

/// Gives the next messages their vectors; returns whether there may be more.
fn fill_next(transaction: &mut Transaction) -> DbResult<bool> {
    lock(transaction, 0)?;
    let Some(waiting) = transaction.row(statements::WAITING, Params::new())? else { return Ok(false) };
    let params = Params::new().with("after", waiting.get::<i64>("after")?).with("count", BATCH);
    let filled = transaction.row(&for_model(statements::FILL, waiting.get("model")?), params)?;
    match filled.map_or(Ok(None), |row| row.get::<Option<i64>>("last"))? {
        Some(last) => transaction.run(statements::NOTE, Params::new().with("after", last)).map(|()| true),
        None => transaction.run(statements::END, Params::new()).map(|()| false),
    }
}
