//! The rules of recall: which messages are recalled always, and which never.

use crate::error::Result;
use crate::record::{Clock, Draft, DraftDefaults, RECALL, RecallRule, Record, Scopes, StoredRecord, id};
use crate::store::{Select, Store, WriteOutcome, WriteRules};
use std::collections::{HashMap, HashSet};

/// The rules about the messages of some scopes, of which the newest about a message holds.
#[derive(Clone, Default, Debug)]
pub struct RecallRules {
    rules: HashMap<String, RecallRule>,
    /// The ids of those that are recalled always, the one with the newest rule first.
    always: Vec<String>,
}

impl RecallRules {
    /// Reads the rules about the messages of some scopes. Fails if the store cannot be read.
    pub fn read(store: &mut dyn Store, scopes: &Scopes) -> Result<RecallRules> {
        let all = store.last_of(&Select::records(vec![&RECALL], scopes.clone()), usize::MAX)?;
        let mut read = RecallRules::default();
        for record in all.iter().rev() {
            let (Some(of), rule) = (record.subject_id(), RecallRule::of(record)) else { continue };
            if read.rules.contains_key(&of) {
                continue;
            }
            if rule == RecallRule::Always {
                read.always.push(of.clone());
            }
            read.rules.insert(of, rule);
        }
        Ok(read)
    }

    /// The rule about the message of an id.
    pub fn of(&self, id: &str) -> RecallRule {
        self.rules.get(id).copied().unwrap_or_default()
    }

    /// Whether the message of an id is never recalled.
    pub fn is_never(&self, id: &str) -> bool {
        self.of(id) == RecallRule::Never
    }

    /// The ids of the messages that are recalled always, the one with the newest rule first.
    pub fn always(&self) -> &[String] {
        &self.always
    }

    /// The ids of the messages that are never recalled, in no order.
    pub fn never(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().filter(|(_, rule)| **rule == RecallRule::Never).map(|(id, _)| id)
    }
}

/// Stores a rule about some messages, in one transaction; returns the messages of the ids, `None` for an id
/// that is no message's within the scopes. A rule that holds already is not stored again.
pub fn store_rule(
    store: &mut dyn Store,
    ids: &[String],
    rule: RecallRule,
    scopes: &Scopes,
    clock: &Clock,
) -> Result<Vec<Option<StoredRecord>>> {
    let distinct: Vec<&str> = ids.iter().map(String::as_str).collect::<HashSet<_>>().into_iter().collect();
    let messages = store.get(&distinct, &Select::messages(scopes.clone()))?;
    let of_message = |message: &StoredRecord| Select {
        key: Some(message.id.clone()),
        ..Select::records(vec![&RECALL], Scopes::All)
    };
    let before = store.last(&messages.iter().map(of_message).collect::<Vec<_>>(), 1)?;
    let mut batch = Vec::new();
    for (message, before) in messages.iter().zip(&before) {
        let before = before.last();
        if before.map(RecallRule::of).unwrap_or_default() != rule {
            batch.push(Record::Stored(new_rule(message, rule, before, clock)?));
        }
    }
    let written = store.write(&batch, WriteRules::KEEP_OUT)?;
    let mut messages: HashMap<String, StoredRecord> =
        messages.into_iter().map(|message| (message.id.clone(), message)).collect();
    for (record, written) in batch.iter().zip(written) {
        // A message that was forgotten meanwhile takes its rule with it.
        if let (Record::Stored(record), WriteOutcome::Refused(_) | WriteOutcome::KeptOut) = (record, written)
        {
            record.subject_id().map(|of| messages.remove(&of));
        }
    }
    Ok(ids.iter().map(|id| messages.get(id).cloned()).collect())
}

/// A rule about a message that follows the one before, whatever the clock says.
fn new_rule(
    message: &StoredRecord,
    rule: RecallRule,
    before: Option<&StoredRecord>,
    clock: &Clock,
) -> Result<StoredRecord> {
    let now = before.map_or(clock.now(), |before| clock.now().max(before.timestamp + 1));
    let tag = format!("{} {} {now} {}", RECALL.name, rule.name(), message.id);
    let fill = DraftDefaults {
        partition: Some(message.scope.partition.clone()),
        instance: Some(message.scope.instance.clone()),
        trace_id: String::new(),
        timestamp: now,
        seq: 0,
    };
    Draft { id: Some(id::fresh(clock, &tag)?), ..Draft::recall_rule(&message.id, rule, now) }.complete(&fill)
}
