//! The presentation of a hit: a level of detail, a reason in words, and the linked addresses.

use super::passage::set_passage;
use crate::error::Result;
use crate::record::{Address, DOCUMENT, Hit, PASSAGE, Scopes, StoredRecord, URI, kinds, quote};
use crate::store::{Select, Store};
use crate::text::{Languages, Phrasing};
use crate::tree;
use std::collections::{BTreeSet, HashMap};

/// The greatest number of linked addresses of a hit.
const MAX_RELATIONS: usize = 5;

/// Leaves hits the texts of a level of detail, as `at_level` does.
pub fn set_level(hits: &mut [Hit], level: Option<u8>, for_people: bool) {
    for hit in hits {
        hit.record = at_level(hit.record.clone(), level, for_people);
    }
}

/// A document with the texts of a level of detail: 0 the abstract, 1 the overview and the passage too, 2 all.
/// Without a level, as 1, and the content if there is neither. For people, only the most detailed of these
/// texts.
fn at_level(record: StoredRecord, level: Option<u8>, for_people: bool) -> StoredRecord {
    if record.kind != &DOCUMENT {
        return record;
    }
    let has = |member: &str| !record.member_text(member).is_empty();
    let is_whole = level == Some(2) || level.is_none() && !has("abstract") && !has("overview");
    let level = if is_whole { 2 } else { level.unwrap_or(1) };
    let mut record = tree::at_level(record, level);
    if level != 1 {
        record.members.take(PASSAGE);
    }
    if for_people && !record.text.is_empty() {
        record.members.retain(|member| !matches!(member, "abstract" | "overview"));
    }
    record
}

/// Says in words why a record is a hit: `words and meaning (keyword 7.31, cosine 0.62), in a directory that
/// matches`.
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

/// Adds to each hit of some questions the members known only in the tree: its address, its passage, its
/// `match_reason`, and as `relations` up to five addresses that it is linked with. Fails if the store does.
pub fn describe(store: &mut dyn Store, questions: &[String], hits: &mut [Hit]) -> Result<()> {
    let mut related = related(store, hits)?;
    let questions = questions.join(" ");
    let phrasing = Phrasing::of(&questions, Languages::of_question(&questions, store.languages()?));
    for hit in hits {
        set_passage(&mut hit.record, &phrasing);
        let reason = match_reason(hit);
        let related = related.remove(&hit.record.id).unwrap_or_default();
        let related: Vec<String> =
            related.iter().take(MAX_RELATIONS).map(|uri| quote(uri.as_str())).collect();
        if let Some(address) = hit.record.tree_address() {
            hit.record.members.set_text(URI, address.as_str());
        }
        hit.record.members.set_text("match_reason", &reason);
        hit.record.members.set("relations", format!("[{}]", related.join(",")));
    }
    Ok(())
}

/// The addresses that hits are linked with, by the id of the hit.
fn related(store: &mut dyn Store, hits: &[Hit]) -> Result<HashMap<String, BTreeSet<Address>>> {
    let ids: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
    let mut ends: BTreeSet<(String, String)> = BTreeSet::new();
    for link in store.links(&ids, None)? {
        ends.insert((link.from.clone(), link.to.clone()));
        ends.insert((link.to, link.from));
    }
    let mut related: HashMap<String, BTreeSet<Address>> = HashMap::new();
    let Some(hit) = hits.first().filter(|_| !ends.is_empty()) else { return Ok(related) };
    let others: Vec<&str> = ends.iter().map(|(_, other)| other.as_str()).collect();
    let which = Select::records(kinds(), Scopes::Partition(hit.record.scope.partition.clone()));
    let records = store.get(&others, &which)?;
    let addresses: HashMap<&str, Address> =
        records.iter().filter_map(|record| Some((record.id.as_str(), record.tree_address()?))).collect();
    for (one, other) in &ends {
        if let Some(address) = addresses.get(other.as_str()) {
            related.entry(one.clone()).or_default().insert(address.clone());
        }
    }
    Ok(related)
}
