//! The order of the turns of a batch within one timestamp, and the answer to each question.

use super::entry::Entry;
use crate::error::Result;
use crate::record::{ACTION, Link, Record, Role, Scopes, StoredRecord};
use crate::store::{Select, Store};
use rustc_hash::FxHashMap;

/// Gives messages that came without a seq and share a timestamp the order of their arrival, after the
/// messages that their trace has at that time, in the batch or in the store; and actions theirs, after such
/// actions.
pub(super) fn order(entries: &[Entry], records: &mut [Record], store: &mut dyn Store) -> Result<()> {
    let unordered = entries.iter().filter(|entry| !entry.ordered).flat_map(|entry| entry.records.clone());
    // The number of each trace, and the first message of each.
    let mut numbers: FxHashMap<([&str; 3], &str), usize> = FxHashMap::default();
    let (mut firsts, mut traces) = (Vec::new(), Vec::new());
    for at in unordered {
        let Some(message) = records[at].stored().filter(|one| is_in_turn(one)) else { continue };
        let number = *numbers.entry((trace_of(message), message.kind.name)).or_insert(firsts.len());
        if number == firsts.len() {
            firsts.push(message);
        }
        traces.push((at, number));
    }
    let mut latest = stored(&firsts, store)?;
    for (at, trace) in traces {
        let Record::Stored(record) = &mut records[at] else { continue };
        let last = &mut latest[trace];
        if last.0 == record.timestamp && last.1 >= record.seq {
            record.seq = last.1 + 1;
        }
        *last = (record.timestamp, record.seq);
    }
    Ok(())
}

/// The time and seq of the last stored record of each kind and trace at the time of its first one in the
/// batch, except that one.
fn stored(firsts: &[&StoredRecord], store: &mut dyn Store) -> Result<Vec<(i64, u32)>> {
    let at_its_time = |message: &&StoredRecord| {
        let time = Some(message.timestamp);
        Select { since: time, until: time, ..in_trace(message) }
    };
    let which: Vec<Select> = firsts.iter().map(at_its_time).collect();
    let lasts = firsts.iter().zip(store.last(&which, 2)?).map(|(message, there)| {
        let last = there.into_iter().rfind(|other| other.id != message.id);
        last.map_or((i64::MIN, 0), |last| (last.timestamp, last.seq))
    });
    Ok(lasts.collect())
}

/// Whether a record is a message or an action.
fn is_in_turn(record: &StoredRecord) -> bool {
    record.role.is_some() || record.kind == &ACTION
}

fn in_trace(message: &StoredRecord) -> Select {
    let trace_id = Some(message.trace_id.clone());
    Select { trace_id, ..Select::records(vec![message.kind], Scopes::One(message.scope.clone())) }
}

/// The links between the answers of a batch and their questions, in the batch or in the store: an answer
/// belongs to the turn before it in its trace, if that is a user's. Fails if the store cannot be read.
pub(super) fn links(entries: &[Entry], records: &[Record], store: &mut dyn Store) -> Result<Vec<Record>> {
    let paired = entries.iter().filter(|entry| entry.pair);
    let all: Vec<&StoredRecord> =
        paired.flat_map(|entry| entry.records.clone()).filter_map(|at| turn(&records[at])).collect();
    let mut traces: FxHashMap<[&str; 3], Vec<&StoredRecord>> = FxHashMap::default();
    for message in &all {
        traces.entry(trace_of(message)).or_default().push(message);
    }
    for turns in traces.values_mut() {
        turns.sort_by(|one, other| place(one).cmp(&place(other)));
    }
    let mut links = Vec::new();
    for answer in all.iter().filter(|message| message.role == Some(Role::Assistant)) {
        let turns = &traces[&trace_of(answer)];
        let before = turns.partition_point(|turn| place(turn) < place(answer));
        let question = match before.checked_sub(1) {
            Some(at) => {
                Some(turns[at]).filter(|turn| turn.role == Some(Role::User)).map(|turn| turn.id.clone())
            }
            None => stored_question(answer, store)?,
        };
        let link = |from: String| Link::responded_with(&from, &answer.id, answer.timestamp);
        links.extend(question.map(|from| Record::Link(link(from))));
    }
    Ok(links)
}

fn trace_of(message: &StoredRecord) -> [&str; 3] {
    [&message.scope.partition, &message.scope.instance, &message.trace_id]
}

/// Its position in the order of its store.
fn place(message: &StoredRecord) -> (i64, u32, &str) {
    (message.timestamp, message.seq, &message.id)
}

fn turn(record: &Record) -> Option<&StoredRecord> {
    record.stored().filter(|record| matches!(record.role, Some(Role::User | Role::Assistant)))
}

/// The id of the turn before an answer in the store, if it is a user's.
fn stored_question(answer: &StoredRecord, store: &mut dyn Store) -> Result<Option<String>> {
    let roles = vec![Role::User, Role::Assistant];
    let which = Select { roles, before: Some(answer.position()), ..in_trace(answer) };
    let before = store.last_of(&which, 1)?.pop();
    Ok(before.filter(|turn| turn.role == Some(Role::User)).map(|turn| turn.id))
}
