//! Finds pairs of messages that say different things of the same subject, for a person to settle.

use super::newer::Newer;
use crate::error::Result;
use crate::record::{MESSAGE, NewerStatement, Object, Role, Scopes, StoredRecord};
use crate::store::{Select, Store};

/// The last messages that are looked through: their time grows with the square of this.
const MAX_MESSAGES: usize = 2000;
/// The messages whose later statements are looked for together.
const BATCH: usize = 4;

/// Two messages that say different things of the same subject.
#[derive(Debug)]
pub struct Contradiction {
    pub older: StoredRecord,
    pub newer: StoredRecord,
    pub statement: NewerStatement,
}

impl Contradiction {
    /// The pair as a line, with the reason.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("reason", self.statement.reason);
        for (name, message) in [("older", &self.older), ("newer", &self.newer)] {
            let mut said = Object::default();
            said.set_text("id", &message.id);
            said.set("timestamp", message.timestamp.to_string());
            said.set_text("content", &message.text);
            line.set(name, said.to_json());
        }
        line
    }
}

/// The pairs among the last messages of the user in some scopes that the rule finds and nobody has settled by
/// a correction: those with the newest statement first. Fails if the store cannot be read.
pub fn contradictions(store: &mut dyn Store, scopes: &Scopes) -> Result<Vec<Contradiction>> {
    let which = Select { roles: vec![Role::User], ..Select::records(vec![&MESSAGE], scopes.clone()) };
    let messages = store.last_of(&which, MAX_MESSAGES)?;
    let mut found = Vec::new();
    for batch in messages.chunks(BATCH) {
        let batch: Vec<&StoredRecord> = batch.iter().collect();
        let newer = Newer::find_by_rule(store, &batch, &which)?;
        for older in batch {
            let statement = newer.statements(&older.id).into_iter().find(|one| !one.is_correction());
            if let (Some(statement), Some(newest)) = (statement, newer.of(&older.id).first()) {
                found.push(Contradiction { older: older.clone(), newer: (*newest).clone(), statement });
            }
        }
    }
    found.sort_by(|a, b| {
        b.newer.sort_key().cmp(&a.newer.sort_key()).then(b.older.sort_key().cmp(&a.older.sort_key()))
    });
    Ok(found)
}
