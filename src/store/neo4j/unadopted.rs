//! Messages that another program wrote and rsv has not taken over. The statements for all records read those
//! with the properties that rsv itself writes. The others, such as those whose time is a text, are irregular,
//! and are read here.

use super::changes;
use super::error::DbResult;
use super::graph::Neo4j;
use super::selection::{number, scopes_params};
use super::server::Server;
use super::statements::{self, for_scopes};
use super::values::{ListedUnadopted, Params, Row, unadopted};
use crate::error::Error;
use crate::record::{MESSAGE, Record, Scopes, StoredRecord, Vector, reservoir_model};
use crate::store::select::Select;
use neo4rs::BoltType;

/// The number of messages that are taken over at a time.
const BATCH: usize = 500;

/// The messages that follow each other in the graph, some of which can be read.
pub(super) struct UnadoptedBatch {
    pub(super) messages: Vec<Record>,
    /// The last of them, if there are any.
    pub(super) last: Option<String>,
}

/// Whether there are irregular messages.
pub(super) fn has_irregular(server: &Server) -> DbResult<bool> {
    let row = server.row(statements::HAS_IRREGULAR, Params::new())?;
    row.map_or(Ok(false), |row| row.get("irregular"))
}

impl Neo4j {
    /// The irregular messages of a selection that can be read, in their order. Fails if the server does.
    pub(super) fn irregular(&self, which: &Select) -> DbResult<Vec<StoredRecord>> {
        if !self.has_irregular || !which.kinds.contains(&&MESSAGE) || which.key.is_some() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        self.each_irregular(&which.scopes, &mut |message| {
            let is_selected =
                |message: &StoredRecord| which.scopes.contains(&message.scope) && which.admits(message);
            found.extend(message.ok().filter(is_selected)); // `unreadable_messages` reports the others.
        })?;
        found.sort_by_cached_key(StoredRecord::position);
        Ok(found)
    }

    /// Why irregular messages cannot be read: the first `most` reasons, and the number of such messages.
    pub(super) fn unreadable_messages(&self, most: usize) -> DbResult<(Vec<Error>, usize)> {
        let (mut errors, mut count) = (Vec::new(), 0);
        if self.has_irregular {
            self.each_irregular(&Scopes::All, &mut |message| {
                if let Err(error) = message {
                    count += 1;
                    errors.extend(Some(error).filter(|_| count <= most));
                }
            })?;
        }
        Ok((errors, count))
    }

    fn each_irregular(
        &self,
        scopes: &Scopes,
        visit: &mut dyn FnMut(std::result::Result<StoredRecord, Error>),
    ) -> DbResult<()> {
        let statement = for_scopes(statements::IRREGULAR_MESSAGES, scopes);
        self.server.each(&statement, scopes_params(scopes), &mut |row| {
            visit(unadopted(row.get("message")?));
            Ok(())
        })
    }

    /// Adds the irregular messages of a selection to the last `count` of the others.
    pub(super) fn with_irregular(
        &self,
        which: &Select,
        count: usize,
        mut found: Vec<StoredRecord>,
    ) -> DbResult<Vec<StoredRecord>> {
        let irregular = self.irregular(which)?;
        if !irregular.is_empty() {
            found.extend(irregular);
            found.sort_by_cached_key(StoredRecord::position);
            found.drain(..found.len().saturating_sub(count));
        }
        Ok(found)
    }

    /// The next messages to take over after a node. Irregular ones get the properties that rsv expects first;
    /// those that cannot be read are left out.
    pub(super) fn read_to_adopt(&self, after: &str) -> DbResult<UnadoptedBatch> {
        let params = Params::new().with("after", after).with("count", number(BATCH));
        let rows = self.server.rows(statements::MESSAGES_TO_ADOPT, params)?;
        let (mut messages, mut regularized) = (Vec::new(), Vec::new());
        for row in &rows {
            let Ok(mut message) = unadopted(row.get("message")?) else { continue };
            if !row.get::<bool>("regular")? {
                regularized.push(regular_row(row, &message)?);
            }
            // A vector in another form is embedded again.
            if let Ok(Some(_)) = row.get::<Option<Vec<f64>>>("vector") {
                let numbers = row.vector("vector")?;
                let model = reservoir_model(numbers.len()).ok();
                message.vector = model.map(|model| Vector { model: model.to_owned(), numbers });
            }
            messages.push(Record::Stored(message));
        }
        if !regularized.is_empty() {
            let params = Params::new().with_rows("rows", regularized);
            self.server.write(|transaction| transaction.run(changes::REGULARIZE, params.clone()))?;
        }
        let last = rows.last().map(element).transpose()?;
        Ok(UnadoptedBatch { messages, last })
    }
}

/// The node of a row.
fn element(row: &Row) -> DbResult<String> {
    let (element, ..) = row.get::<ListedUnadopted>("message")?;
    Ok(element)
}

/// The properties of a message as rsv expects them, as a row to write.
fn regular_row(row: &Row, message: &StoredRecord) -> DbResult<Params> {
    let properties = Params::new()
        .with("trace_id", message.trace_id.as_str())
        .with("partition", message.scope.partition.as_str())
        .with("instance", message.scope.instance.as_str())
        .with("role", message.role.map(|role| role.name()).unwrap_or_default())
        .with("content", message.text.as_str())
        .with("timestamp", message.timestamp);
    Ok(Params::new().with("element", element(row)?).with("properties", BoltType::Map(properties.into())))
}
