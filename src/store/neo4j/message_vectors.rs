//! Vectors in messages, as Reservoir's documents have them: the property `embedding` of a message is its
//! vector of the model by which the store is searched, and the index `messageEmbeddings` finds messages by
//! it. It is a second copy of each vector, so a graph has them only once it was taken over (`rsv-link
//! --adopt`).
//!
//! The node of the store names the model. From then on whoever writes a vector of it writes it into its
//! message too; the earlier messages get theirs in the order of their numbers, some in each transaction.

use super::changes::{self, message_vectors as statements};
use super::error::{DbError, DbResult};
use super::graph::Neo4j;
use super::lock::lock;
use super::server::Transaction;
use super::statements::for_model;
use super::values::{Params, Row};
use crate::store::api::MODEL_FACT;

/// The number of records whose messages get their vectors in one transaction.
const BATCH: i64 = 1000;

/// The time that making the index may take, in seconds.
const INDEXING_TIMEOUT: i64 = 300;

impl Neo4j {
    /// Has messages hold vectors from now on. The store keeps to the model that it is searched by: else a
    /// batch of vectors of another could change which the messages hold. Fails if the server does.
    pub(super) fn begin_message_vectors(&self) -> DbResult<()> {
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            transaction.run(statements::CHOOSE, Params::new().with("fact", MODEL_FACT))?;
            transaction.run(statements::TURN_ON, Params::new())
        })?;
        self.update_message_vectors()
    }

    /// Has messages hold the vectors of the model by which the store is searched, if they hold any. After an
    /// interruption, the next call continues. Fails if the server does.
    pub(super) fn update_message_vectors(&self) -> DbResult<()> {
        // Another process may choose another model before this one has the lock: then nothing is changed, and
        // that choice is read.
        let is_unfinished = loop {
            let params = Params::new().with("fact", MODEL_FACT);
            let Some(state) = self.server.row(statements::STATE, params)? else { return Ok(()) };
            let (held, model): (i64, i64) = (state.get("held")?, state.get("model")?);
            if let Some(dim) = state.get("dim")? {
                self.index_messages(dim)?;
            }
            if held == model {
                break state.get::<bool>("is_unfinished")?;
            }
            self.server.write(|transaction| {
                lock(transaction, 0)?;
                transaction.run(statements::BEGIN, Params::new().with("held", held).with("model", model))
            })?;
        };
        if is_unfinished {
            while self.server.write(fill_next)? {}
        }
        Ok(())
    }

    /// Errors if another index has the name of the index of messages, or another vector index their property,
    /// which can have only one.
    pub(super) fn check_message_index(&self) -> DbResult<()> {
        let taken = |name: &str, what: &str| {
            Err(DbError::Invalid(format!(
                "the index {name} has the {what} that {} needs; to remove it: DROP INDEX `{name}`",
                statements::NAME
            )))
        };
        for index in self.message_indexes()? {
            match index {
                MessageIndex { is_of_messages: false, .. } => return taken(statements::NAME, "name"),
                MessageIndex { name, .. } if name != statements::NAME => return taken(&name, "property"),
                MessageIndex { .. } => {}
            }
        }
        Ok(())
    }

    /// Makes the index of messages for vectors of a dimension, in place of one for others; one that a user
    /// made of the name, the property, or vectors of any dimension stays. It exists before the vectors, since
    /// to build it from them costs far more.
    fn index_messages(&self, dim: i64) -> DbResult<()> {
        for MessageIndex { name, is_of_messages, dim: own } in self.message_indexes()? {
            if name != statements::NAME || !is_of_messages || own.is_none_or(|own| own == dim) {
                return Ok(());
            }
            self.server.run(statements::DROP_INDEX, Params::new())?;
        }
        self.server.make(statements::MAKE_INDEX, Params::new().with("dim", dim))?;
        self.server.run(changes::AWAIT_INDEXES, Params::new().with("seconds", INDEXING_TIMEOUT))
    }

    fn message_indexes(&self) -> DbResult<Vec<MessageIndex>> {
        let rows = self.server.rows(statements::INDEXES, Params::new())?;
        let index = |row: &Row| {
            Ok(MessageIndex {
                name: row.get("name")?,
                is_of_messages: row.get("is_of_messages")?,
                dim: row.get("dim")?,
            })
        };
        rows.iter().map(index).collect()
    }
}

/// An index that has the name of the index of messages, or their property.
struct MessageIndex {
    name: String,
    is_of_messages: bool,
    /// The dimension of its vectors; none if they may have any.
    dim: Option<i64>,
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
