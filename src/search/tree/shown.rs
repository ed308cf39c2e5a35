//! What is shown of a hit: a level of detail, a reason in words, and the addresses that it is linked with.

use crate::error::Result;
use crate::record::{Hit, MEMORY, Object, Scopes, StoredRecord, URI, quote};
use crate::store::{Select, Store};
use crate::tree;
use std::collections::{BTreeSet, HashMap};

/// The greatest number of linked addresses of a hit.
const MAX_RELATIONS: usize = 5;

/// A record with the texts of a level of detail: 0 the abstract, 1 the overview too, 2 all. Without a level, the overview
/// too, and the content if there is neither.
pub fn at_level(record: StoredRecord, level: Option<u8>) -> StoredRecord {
    if record.kind == &MEMORY {
        return record;
    }
    let has_summary = ["abstract", "overview"].iter().any(|member| !record.member_text(member).is_empty());
    match level {
        Some(level) => tree::at_level(record, level),
        None if has_summary => tree::at_level(record, 1),
        None => record,
    }
}

/// Says in words why a record is a hit: `words and meaning (keyword 7.31, cosine 0.62), in a directory that matches`.
pub fn match_reason(hit: &Hit) -> String {
    let part =
        |name: &str| hit.parts.iter().find(|(own, part)| own == name && *part > 0.0).map(|(_, part)| *part);
    let by_words = hit.why.keyword.filter(|score| *score > 0.0);
    let by_meaning = hit.why.similarity.filter(|_| by_words.is_none() || part("similarity").is_some());
    let mut reason = match (by_words, by_meaning) {
        (Some(words), Some(cosine)) => format!("words and meaning (keyword {words:.2}, cosine {cosine:.2})"),
        (Some(words), None) => format!("words (keyword {words:.2})"),
        (None, Some(cosine)) => format!("meaning (cosine {cosine:.2})"),
        (None, None) => "words of the session".to_owned(),
    };
    if part("directory").is_some() {
        reason.push_str(", in a directory that matches");
    }
    if part("context").is_some() && (by_words.is_some() || by_meaning.is_some()) {
        reason.push_str(", and words of the session");
    }
    reason
}

/// Adds to each hit what is only known in the tree: its address, its `match_reason`, and as `relations` up to five
/// addresses that it is linked with.
pub fn with_relations(store: &mut dyn Store, hits: &mut [Hit]) -> Result<()> {
    let ids: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
    let mut linked: HashMap<String, BTreeSet<String>> = HashMap::new();
    for link in store.links(&ids, None)? {
        for (one, other) in [(&link.from, &link.to), (&link.to, &link.from)] {
            if ids.contains(&one.as_str()) {
                linked.entry(one.clone()).or_default().insert(other.clone());
            }
        }
    }
    let others: BTreeSet<&str> = linked.values().flatten().map(String::as_str).collect();
    let others: Vec<&str> = others.into_iter().collect();
    let mut addresses = HashMap::new();
    if !others.is_empty() {
        let partitions: BTreeSet<&str> = hits.iter().map(|hit| hit.record.scope.partition.as_str()).collect();
        for partition in partitions {
            let which = Select::records(crate::record::kinds(), Scopes::Partition(partition.to_owned()));
            for record in store.get(&others, &which)? {
                if let Some(address) = record.tree_address() {
                    addresses.insert(record.id, address);
                }
            }
        }
    }
    for hit in hits {
        let reason = match_reason(hit);
        let related = linked.remove(&hit.record.id).unwrap_or_default();
        let related: BTreeSet<&str> =
            related.iter().filter_map(|id| addresses.get(id)).map(|address| address.as_str()).collect();
        let related: Vec<String> = related.into_iter().take(MAX_RELATIONS).map(quote).collect();
        if let Some(address) = hit.record.tree_address() {
            hit.record.members.set_text(URI, address.as_str());
        }
        describe(&mut hit.record.members, &reason, &related);
    }
    Ok(())
}

fn describe(members: &mut Object, reason: &str, related: &[String]) {
    members.set_text("match_reason", reason);
    members.set("relations", format!("[{}]", related.join(",")));
}
