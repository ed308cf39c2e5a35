//! Copies of one action that several ways brought: one of them stays, in the turn whose messages stay.
//!
//! The actions of a turn go along with its messages where these give way to copies. Of a turn without
//! messages, which have given way before, an action is a copy of another one if both have the same partition
//! and call, in different instances, and one of them was imported. An id that a provider drew is enough for
//! that. Others, such as `call_1`, come again in every conversation: then the purpose must be the same, at
//! nearly one time.

use crate::error::Result;
use crate::record::{ACTION, Record, Scopes, StoredRecord};
use crate::store::{Select, Store, Walk, WriteOutcome, WriteRules};
use std::collections::{BTreeMap, HashMap};

/// The beginnings of the ids that providers draw, and the least number of drawn letters and digits after
/// them.
const DRAWN: [&str; 4] = ["toolu_", "call_", "fc_", "tooluse_"];
const MIN_DRAWN: usize = 16;

/// The time, in milliseconds, within which ways date one call: a proxy has that of the request with its
/// result.
const NEAR: u64 = 10 * 60 * 1000;

/// The number of actions that are looked up at once.
const AT_ONCE: usize = 500;

/// The most copies that one call can have.
const MOST: usize = 16;

/// The id of the action that stays in the place of each copy, by the id of the copy, for the new ones of a
/// batch that was written. `of_messages` has the same of messages that give way to copies: the actions of
/// their turns go along.
pub(super) fn find(
    store: &mut dyn Store,
    records: &[Record],
    written: &[WriteOutcome],
    of_messages: &BTreeMap<&str, &str>,
) -> Result<BTreeMap<String, String>> {
    let mut originals = moved(store, of_messages)?;
    let mut staying = Vec::new();
    let new = records.iter().zip(written).filter(|(_, written)| **written == WriteOutcome::New);
    let new: Vec<&StoredRecord> =
        new.filter_map(|(record, _)| record.stored()).filter(|record| record.kind == &ACTION).collect();
    for some in new.chunks(AT_ONCE) {
        let of_call = |action: &&StoredRecord| Select {
            key: action.lookup_key(),
            ..Select::records(vec![&ACTION], Scopes::Partition(action.scope.partition.clone()))
        };
        let found = store.last(&some.iter().map(of_call).collect::<Vec<_>>(), MOST)?;
        for (action, same) in some.iter().zip(found) {
            for other in same.iter().filter(|other| is_copy(action, other)) {
                let (copy, original) =
                    if rank(action) > rank(other) { (*action, other) } else { (other, *action) };
                let is_left = [copy, original].iter().all(|one| !originals.contains_key(&one.id));
                if is_left && has_no_message(store, copy)? {
                    originals.insert(copy.id.clone(), original.id.clone());
                    staying.push(Record::Stored(original.clone()));
                }
            }
        }
    }
    // An import that is undone leaves what came in another way too.
    store.write(&staying, WriteRules::KEEP_OUT)?;
    Ok(originals)
}

/// Whether two actions may be one.
fn is_copy(action: &StoredRecord, other: &StoredRecord) -> bool {
    let is_near = || action.timestamp.abs_diff(other.timestamp) <= NEAR;
    action.scope.instance != other.scope.instance
        && action.is_imported_action() != other.is_imported_action()
        && (is_drawn(action) || is_near() && action.purpose() == other.purpose())
}

/// Whether a provider drew the id of its call.
fn is_drawn(action: &StoredRecord) -> bool {
    let call = action.lookup_key().unwrap_or_default();
    let drawn = DRAWN.iter().find_map(|begin| call.strip_prefix(begin));
    drawn.is_some_and(|rest| rest.len() >= MIN_DRAWN && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Whether the turn of an action has no message.
fn has_no_message(store: &mut dyn Store, action: &StoredRecord) -> Result<bool> {
    let messages = Select {
        trace_id: Some(action.trace_id.clone()),
        ..Select::messages(Scopes::One(action.scope.clone()))
    };
    Ok(store.count(&messages, 1)? == 0)
}

/// Orders copies as those of messages: one of an instance that is named for itself comes first.
fn rank(action: &StoredRecord) -> (bool, &str, &str) {
    (action.scope.is_of_partition_alone(), &action.scope.instance, &action.id)
}

/// Writes the actions of turns whose messages give way into the turns of the messages that stay. Returns the
/// ids of these actions by those of the former.
fn moved(store: &mut dyn Store, of_messages: &BTreeMap<&str, &str>) -> Result<BTreeMap<String, String>> {
    if of_messages.is_empty() || store.count(&Select::records(vec![&ACTION], Scopes::All), 1)? == 0 {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<&str> = of_messages.iter().flat_map(|(copy, original)| [*copy, *original]).collect();
    let mut messages = HashMap::new();
    for some in ids.chunks(AT_ONCE) {
        let found = store.get(some, &Select::messages(Scopes::All))?;
        messages.extend(found.into_iter().map(|one| (one.id.clone(), (one.scope, one.trace_id))));
    }
    let turn_of = |id: &str| messages.get(id);
    let turns: BTreeMap<_, _> =
        of_messages.iter().filter_map(|(copy, original)| turn_of(copy).zip(turn_of(original))).collect();
    let (mut former, mut written) = (Vec::new(), Vec::new());
    for ((scope, trace_id), (new_scope, new_trace_id)) in turns {
        let of_turn = Select {
            trace_id: Some(trace_id.clone()),
            ..Select::records(vec![&ACTION], Scopes::One(scope.clone()))
        };
        store.walk(&Walk::records(of_turn), &mut |record| {
            if let Record::Stored(action) = record {
                let (scope, trace_id) = (new_scope.clone(), new_trace_id.clone());
                let mut moved = StoredRecord { id: String::new(), scope, trace_id, ..action.clone() };
                (ACTION.complete)(&mut moved)?;
                former.push(action.id);
                written.push(moved);
            }
            Ok(())
        })?;
    }
    let ids = written.iter().map(|action| action.id.clone());
    let moved = former.into_iter().zip(ids).collect();
    store.write(&written.into_iter().map(Record::Stored).collect::<Vec<_>>(), WriteRules::KEEP_OUT)?;
    Ok(moved)
}
