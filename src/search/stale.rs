//! Finds the memories that were made of messages which later ones supersede.

use super::newer::Newer;
use crate::error::Result;
use crate::record::{EXTRACTED_FROM, MEMORY, MESSAGE, NewerStatement, StoredRecord};
use crate::store::{Select, Store};
use crate::text::{beginning, topic_words};
use rustc_hash::{FxHashMap, FxHashSet};

/// The messages for which the rule looks together: of more, it has too few words of each.
const TOGETHER: usize = 8;

/// The share of a memory's words that are in one of the messages it was made of, from which on it says what
/// that says.
const SAYS_THE_SAME: f64 = 0.5;

/// The statements that supersede the messages of which some memories were made, by the id of the memory; of a
/// memory made of several, only if it has half of its words from the one that is superseded. Of the
/// selection, only its scopes and the time up to which it goes count. `by_rule` says whether the rule looks
/// for more than corrections.
pub fn stale(
    store: &mut dyn Store,
    memories: &[&StoredRecord],
    which: &Select,
    by_rule: bool,
) -> Result<FxHashMap<String, Vec<NewerStatement>>> {
    let mut found: FxHashMap<String, Vec<NewerStatement>> = FxHashMap::default();
    let memories: FxHashMap<&str, &StoredRecord> = memories
        .iter()
        .filter(|record| record.kind == &MEMORY)
        .map(|memory| (memory.id.as_str(), *memory))
        .collect();
    let ids: Vec<&str> = memories.keys().copied().collect();
    if ids.is_empty() {
        return Ok(found);
    }
    let mut links = store.links(&ids, Some(EXTRACTED_FROM))?;
    links.retain(|link| memories.contains_key(link.from.as_str()));
    let sources: FxHashSet<&str> = links.iter().map(|link| link.to.as_str()).collect();
    if sources.is_empty() {
        return Ok(found);
    }
    let sources: Vec<&str> = sources.into_iter().collect();
    let of_messages = Select { until: which.until, ..Select::records(vec![&MESSAGE], which.scopes.clone()) };
    let messages = store.get(&sources, &of_messages)?;
    let read: Vec<&StoredRecord> = messages.iter().collect();
    let mut newer = Newer::find(store, &sources, which)?;
    for some in read.chunks(TOGETHER).filter(|_| by_rule) {
        newer.add_by_rule(store, some, which)?;
    }
    let texts: FxHashMap<&str, &str> =
        messages.iter().map(|message| (message.id.as_str(), message.text.as_str())).collect();
    for link in &links {
        let statements = newer.statements(&link.to);
        let is_only = links.iter().filter(|other| other.from == link.from).count() == 1;
        let (Some(memory), Some(source)) = (memories.get(link.from.as_str()), texts.get(link.to.as_str()))
        else {
            continue;
        };
        if !statements.is_empty() && (is_only || says_the_same(&memory.text, source)) {
            let of_memory = found.entry(link.from.clone()).or_default();
            of_memory
                .extend(statements.into_iter().filter(|new| !of_memory.contains(new)).collect::<Vec<_>>());
        }
    }
    Ok(found)
}

/// Whether a memory has its words from a message.
fn says_the_same(memory: &str, message: &str) -> bool {
    let words = |text: &str| -> FxHashSet<String> {
        topic_words(beginning(text)).into_iter().map(|word| word.key).collect()
    };
    let (memory, message) = (words(memory), words(message));
    memory.intersection(&message).count() as f64 >= SAYS_THE_SAME * memory.len().max(1) as f64
}
