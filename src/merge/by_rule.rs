//! Consolidation by rule: the most confident member's words, and the additions of the others.

use super::cluster::{Cluster, ConsolidationType, MAX_CONTENT_CHARS, Words};
use super::sentences::{SentenceMerger, key};
use crate::record::Object;

/// The line of the memory that takes the place of a cluster's members; `now` is its time in milliseconds
/// since 1970, UTC. Every sentence of it is a member's.
pub fn by_rule(cluster: &Cluster, now: i64) -> Object {
    let members = cluster.by_confidence();
    let mut merger = SentenceMerger::default();
    for member in &members {
        merger.add(&member.text, MAX_CONTENT_CHARS);
    }
    let mut content = merger.finish();
    if content.is_empty() {
        content = members[0].text.chars().take(MAX_CONTENT_CHARS).collect();
    }
    let how = if one_says_all(cluster) { ConsolidationType::Deduplicated } else { ConsolidationType::Merged };
    let words = Words {
        title: members[0].member_text("title"),
        description: members[0].member_text("description"),
        content,
        tags: cluster.tags(),
        attribution: cluster.attribution(),
    };
    cluster.consolidated(&words, how, now)
}

/// Whether the words of one member contain those of every other.
fn one_says_all(cluster: &Cluster) -> bool {
    let keys: Vec<String> = cluster.members.iter().map(|member| format!(" {} ", key(&member.text))).collect();
    let longest = keys.iter().max_by_key(|key| key.len());
    longest.is_some_and(|longest| keys.iter().all(|key| longest.contains(key.as_str())))
}
