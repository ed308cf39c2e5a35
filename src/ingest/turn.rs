//! The records of a response line: the user's turn or the tool results, the answer and the account.

use super::completion::Completion;
use super::entry::Entry;
use crate::api::{self, KEEP_TOOLS_MEMBER, UNSTORED_MEMBER};
use crate::chat::{Rsv, fence};
use crate::error::Result;
use crate::record::{
    ACCOUNT, ACTION, Account, Content, Draft, Object, Record, Role, Scopes, StoredRecord, id,
};
use crate::store::{self, Select, Store};
use std::collections::HashSet;

/// Adds a use of each memory that the new accounts of responses name, to the entries of these.
pub(super) fn count_uses(
    entries: &mut [Entry],
    records: &mut Vec<Record>,
    completion: &mut Completion,
    store: &mut dyn Store,
) -> Result<()> {
    let shows_memories = |record: &&StoredRecord| record.kind == &ACCOUNT && record.members.has("memories");
    let accounts = |records: &[Record]| -> Vec<String> {
        records.iter().filter_map(Record::stored).filter(shows_memories).map(|one| one.id.clone()).collect()
    };
    let mut new: HashSet<String> = accounts(records).into_iter().collect();
    if completion.options.import.is_some() || new.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = new.iter().map(String::as_str).collect();
    let there = store.get(&ids, &Select::records(vec![&ACCOUNT], Scopes::All))?;
    for account in there {
        new.remove(&account.id);
    }
    let store_id = store::id(store)?;
    let mut all = std::mem::take(records).into_iter();
    for entry in entries {
        let own: Vec<Record> = all.by_ref().take(entry.records.len()).collect();
        let mut uses = Vec::new();
        // Accounts that are lines of their own were exported, and their uses with them.
        let of_response = entry.passed_on.is_some();
        for account in own.iter().filter_map(Record::stored).filter(shows_memories) {
            // The first of two that are the same counts.
            if of_response && new.remove(&account.id) {
                for part in Account::from_record(account).memories {
                    let draft = Draft::usage(&part.id, &store_id, completion.clock.now())?;
                    uses.push(Record::Stored(completion.complete(draft)?));
                }
            }
        }
        let begin = records.len();
        records.extend(own.into_iter().chain(uses));
        entry.records = begin..records.len();
    }
    Ok(())
}

/// The records of a response line. Without `rsv.user` that is the answer alone; an answer with neither words
/// nor tool calls is not stored, nor is one that cannot be read, nor anything that a program asked for
/// itself. Fails if `rsv` or a message is invalid, or if the answer is all there is and cannot be read.
pub(super) fn records(response: &Object, completion: &mut Completion) -> Result<Vec<Record>> {
    let rsv = response.get("rsv").map_or(Ok(Rsv::default()), Rsv::parse)?;
    if rsv.is_answered_here() {
        return Ok(rsv.account.map(Record::Stored).into_iter().collect());
    }
    let is_set = |member| rsv.more.get(member) == Some("true");
    if is_set(UNSTORED_MEMBER) {
        return Ok(Vec::new());
    }
    let answer = answer(response, is_set(KEEP_TOOLS_MEMBER));
    let is_alone = rsv.user.is_none() && rsv.tools.is_empty();
    let answer = if is_alone { Some(answer?) } else { answer.ok() };
    // A turn without a trace of its own still is one trace.
    let trace_id = match rsv.trace_id.clone().or_else(|| completion.options.trace_id.clone()) {
        Some(trace) => trace,
        None => id::fresh(&completion.clock, &response.to_json())?,
    };
    let options = completion.options.clone();
    let scoped = |mut message: Object| -> Result<Draft> {
        // The id follows from the rest.
        options.redact_message(&mut message);
        let mut draft = Draft::from_body(message)?;
        (draft.partition, draft.instance) = (rsv.partition.clone(), rsv.instance.clone());
        draft.trace_id = Some(trace_id.clone());
        Ok(draft)
    };
    let requested = rsv.account.as_ref().map(|account| account.timestamp);
    let requested = requested.filter(|requested| *requested < completion.clock.now());
    let mut records = Vec::new();
    for message in rsv.user.iter().chain(&rsv.tools) {
        let mut draft = scoped(message.clone())?;
        draft.timestamp = requested;
        // An answer to nothing, or to a recalled block alone, is the answer alone.
        draft.set_content(fence::strip(draft.content()));
        if draft.has_content() {
            records.push(Record::Stored(completion.complete(draft)?));
        }
    }
    for mut line in rsv.actions {
        if let Some(redactor) = &options.redactor {
            redactor.redact_line(&mut line);
        }
        let mut draft = (ACTION.read)(line).map_err(|error| error.at("rsv.actions"))?;
        (draft.partition, draft.instance) = (rsv.partition.clone(), rsv.instance.clone());
        (draft.trace_id, draft.timestamp) = (Some(trace_id.clone()), requested);
        records.push(Record::Stored(completion.complete(draft)?));
    }
    let draft = answer.map(scoped).transpose()?;
    if let Some(mut draft) = draft.filter(Draft::has_content) {
        for (name, json) in [("model", response.get("model")), ("partial", rsv.more.get("partial"))] {
            if let Some(json) = json.filter(|json| *json != "null") {
                draft.members.set(name, json);
            }
        }
        records.push(Record::Stored(completion.complete(draft)?));
    }
    records.extend(rsv.account.map(Record::Stored));
    Ok(records)
}

/// The answer as a message. Errors if it has none, or one whose content cannot be read.
fn answer(response: &Object, keep_tools: bool) -> Result<Object> {
    let mut answer = api::answer(response, keep_tools)?;
    Content::from_message(&answer)?;
    // Some providers name another role.
    answer.set_text("role", Role::Assistant.name());
    Ok(answer)
}
