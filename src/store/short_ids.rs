//! Short ids of records, as git has them of commits: the first letters of the digests of their ids, as few as
//! no other record has.

use super::api::{Among, Store};
use super::error::{Result, StoreFault};
use super::select::Select;
use crate::error::Error;
use crate::record::{
    MIN_SHOWN_LETTERS, Scopes, StoredRecord, digest_numbers, excerpt, id_digest, kinds, time,
};
use std::collections::{BTreeMap, BTreeSet};

/// The number of candidates that an error names, and the characters of each that it shows.
const MAX_CANDIDATES: usize = 8;
const MAX_WORDS_CHARS: usize = 40;

/// The short id of each of some records, by its id. Fails if the store cannot be read.
pub fn short_ids<'a>(
    store: &mut dyn Store,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeMap<String, String>> {
    let mut own: Vec<(&str, String)> = ids.into_iter().map(|id| (id, id_digest(id))).collect();
    own.sort_unstable_by(|a, b| a.1.cmp(&b.1));
    own.dedup();
    let begins: BTreeSet<&str> = own.iter().map(|(_, digest)| &digest[..MIN_SHOWN_LETTERS]).collect();
    let ranges: Vec<_> = begins.into_iter().filter_map(digest_numbers).collect();
    let named = store.identify(Among::Digests(&ranges))?;
    let mut all: Vec<String> = named.iter().map(|(id, _)| id_digest(id)).collect();
    all.extend(own.iter().map(|(_, digest)| digest.clone()));
    all.sort_unstable();
    all.dedup();
    let short = |digest: &String| {
        let at = all.binary_search(digest).unwrap_or_else(|at| at);
        let neighbours = [at.checked_sub(1).and_then(|before| all.get(before)), all.get(at + 1)];
        let shared = neighbours.into_iter().flatten().map(|other| common_letters(digest, other)).max();
        digest[..MIN_SHOWN_LETTERS.max(shared.unwrap_or(0) + 1).min(digest.len())].to_owned()
    };
    Ok(own.iter().map(|(id, digest)| ((*id).to_owned(), short(digest))).collect())
}

/// The number of letters with which both of two texts begin.
fn common_letters(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// The id that a person gave, in full: itself, if a record has it or none of these scopes begins so, else
/// that of the only record of these scopes whose digest begins with these letters. Errors if there are
/// several, and names them.
pub fn full_id(store: &mut dyn Store, given: &str, scopes: &Scopes) -> crate::error::Result<String> {
    let letters = given.to_ascii_lowercase();
    let Some(numbers) = digest_numbers(&letters) else { return Ok(given.to_owned()) };
    if store.scope_of(given)?.is_some() {
        return Ok(given.to_owned());
    }
    let named = store.identify(Among::Digests(&[numbers]))?;
    let ids: Vec<&str> =
        named.iter().map(|(id, _)| id.as_str()).filter(|id| id_digest(id).starts_with(&letters)).collect();
    if ids.is_empty() {
        return Ok(given.to_owned());
    }
    let mut records = store.get(&ids, &Select::records(kinds(), scopes.clone()))?;
    match &records[..] {
        [] => Ok(given.to_owned()),
        [_] => Ok(records.remove(0).id),
        _ => Err(ambiguous(store, given, records)?),
    }
}

/// The same of several. Fails as `full_id` does.
pub fn full_ids(
    store: &mut dyn Store,
    given: &[String],
    scopes: &Scopes,
) -> crate::error::Result<Vec<String>> {
    given.iter().map(|id| full_id(store, id, scopes)).collect()
}

fn ambiguous(store: &mut dyn Store, given: &str, mut records: Vec<StoredRecord>) -> Result<Error> {
    let (id, count) = (given.to_owned(), records.len());
    records.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    let more = records.len().saturating_sub(MAX_CANDIDATES);
    records.truncate(MAX_CANDIDATES);
    let short = short_ids(store, records.iter().map(|record| record.id.as_str()))?;
    let mut named: Vec<String> = records.iter().map(|record| candidate(record, &short)).collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    Ok(StoreFault::AmbiguousId { id, count, candidates: named.join("; ") }.into())
}

/// `5744a1c of 2026-11-21T07:03:00.000Z, “Where are the first words…”`.
fn candidate(record: &StoredRecord, short: &BTreeMap<String, String>) -> String {
    let words = record.shown_text().split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, id) = (excerpt(&words, MAX_WORDS_CHARS), short.get(&record.id).unwrap_or(&record.id));
    format!("{id} of {}, “{shown}”", time::rfc3339(record.timestamp))
}
