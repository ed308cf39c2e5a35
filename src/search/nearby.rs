//! Suggestions where nothing was found: messages in other scopes, scopes with a similar name.

use crate::error::Result;
use crate::record::{Scope, Scopes};
use crate::store::{Select, Store};
use crate::text::{Occur, Term, counted};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The greatest number of hits in other scopes that are counted.
const MAX_COUNTED: usize = 10_000;

/// The greatest number of other partitions that are named.
const MAX_NAMED: usize = 5;

/// The sentences for a person for whom nothing was found in a selection. With `terms`, of a search by words,
/// only messages that contain them count. `everywhere` is the command that finds those of other scopes.
pub fn nothing_found(
    store: &mut dyn Store,
    which: &Select,
    terms: Option<&[Term]>,
    everywhere: &str,
) -> Result<Vec<String>> {
    let all = store.scopes(None)?;
    // Records of any kind count: a partition may have nothing but documents.
    let there = |scopes: &Scopes| all.iter().any(|(scope, _)| scopes.contains(scope));
    if all.is_empty() {
        return Ok(vec!["the store is empty; to store something: rsv-ingest \"some text\"".to_owned()]);
    }
    let place = match &which.scopes {
        Scopes::All => return Ok(vec!["nothing in any scope".to_owned()]),
        Scopes::Matching(_) => "these partitions".to_owned(),
        Scopes::Partition(partition) => partition.clone(),
        Scopes::One(scope) => scope.to_string(),
    };
    let mut first = format!("nothing in {place}");
    let elsewhere = elsewhere(store, which, terms)?;
    let count: u64 = elsewhere.values().sum();
    if count > 0 {
        let more = if count >= MAX_COUNTED as u64 { " or more" } else { "" };
        let scopes = match elsewhere.len() {
            1 => "1 other scope".to_owned(),
            scopes => format!("{scopes} other scopes"),
        };
        first += &format!("; {count}{more} in {scopes}: {everywhere}");
    }
    let names: Vec<&Scope> = all.iter().map(|(scope, _)| scope).collect();
    let near = if there(&which.scopes) { None } else { nearest(&which.scopes, &names) };
    Ok(std::iter::once(first).chain(near).collect())
}

/// Says in which partitions somebody who named none would find something, and how much; of the most first.
/// With `terms`, only messages that contain them count. Fails if the store cannot be read.
pub(super) fn other_partitions(
    store: &mut dyn Store,
    which: &Select,
    terms: Option<&[Term]>,
) -> Result<Option<String>> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (scope, count) in elsewhere(store, which, terms)? {
        *counts.entry(scope.partition).or_default() += count;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let Some((first, _)) = counts.first() else { return Ok(None) };
    let noun = if terms.is_some() { "hit" } else { "message" };
    let named = counts
        .iter()
        .take(MAX_NAMED)
        .map(|(partition, count)| format!("{} in {partition}", counted(*count, noun)));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if counts.len() > MAX_NAMED {
        let more = counted((counts.len() - MAX_NAMED) as u64, "more partition");
        text += &format!(", and some in {more}");
    }
    // No shell can be given a zero byte, which is all that cannot be quoted.
    let quoted = shlex::try_quote(first).unwrap_or_default();
    Ok(Some(format!("{text}; to search there: -p {quoted}")))
}

/// The numbers of the messages that meet the conditions in other scopes.
fn elsewhere(store: &mut dyn Store, which: &Select, terms: Option<&[Term]>) -> Result<BTreeMap<Scope, u64>> {
    let everywhere = Select { scopes: Scopes::All, ..which.clone() };
    let mut found = BTreeMap::new();
    if let Some(terms) = terms {
        store.visit_found(terms, Occur::All, &everywhere, MAX_COUNTED, &mut |hit| {
            *found.entry(hit.record.scope).or_default() += 1;
            Ok(())
        })?;
    } else if *which == Select::messages(which.scopes.clone()) {
        found.extend(store.scopes(None)?.into_iter().filter(|(_, messages)| *messages > 0));
    } else {
        let summaries = store.summarize(&everywhere)?;
        found.extend(summaries.into_iter().map(|summary| (summary.scope, summary.messages)));
    }
    found.retain(|scope, _| !which.scopes.contains(scope));
    Ok(found)
}

/// Names the partition or the instance that resembles the one without messages most.
fn nearest(scopes: &Scopes, names: &[&Scope]) -> Option<String> {
    let (partition, instance) = match scopes {
        Scopes::All | Scopes::Matching(_) => return None,
        Scopes::Partition(partition) => (partition, None),
        Scopes::One(scope) => (&scope.partition, Some(&scope.instance)),
    };
    let is_partition = names.iter().any(|scope| scope.partition == *partition);
    let Some(instance) = instance.filter(|_| is_partition) else {
        let near = similar(partition, names.iter().map(|scope| &scope.partition))?;
        return Some(format!("there is no partition {partition}; did you mean -p {near}?"));
    };
    let instances = names.iter().filter(|scope| scope.partition == *partition).map(|scope| &scope.instance);
    let near = similar(instance, instances)?;
    Some(format!("there is no instance {instance} in {partition}; did you mean -i {near}?"))
}

/// The name that differs from another by the fewest letters, if these are few.
fn similar<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let lower = name.to_lowercase();
    let (edits, near) =
        names.map(|near| (strsim::damerau_levenshtein(&lower, &near.to_lowercase()), near)).min()?;
    (edits <= 1 + name.chars().count() / 4).then_some(near)
}

/// Whether a question is several words, of which a message need not contain all to answer it.
pub(super) fn is_in_words(question: &str) -> bool {
    !question.contains('"') && question.split_whitespace().nth(1).is_some()
}

/// A hint how to find messages with only some of the words.
pub(super) fn by_meaning_too(has_model: bool) -> String {
    let first = "a message must contain all of these words; to search by meaning too,";
    if has_model {
        format!("{first} try --hybrid")
    } else {
        format!("{first} run: rsv-embed --fetch, and try --hybrid")
    }
}
