//! Finds what supersedes records: the newest statements that correct them, along links from a correction to what it
//! corrects; and of messages of the user that nothing corrects, later ones that a rule (`rule.rs`) finds.

mod rule;

use crate::error::Result;
use crate::record::{CORRECTS, MESSAGE, NewerStatement, Role, StoredRecord};
use crate::store::{Select, Store};
use crate::text::{Clause, Languages, Occur, Term, statements, topic_words};
use rustc_hash::{FxHashMap, FxHashSet};

/// The greatest number of corrections that follow each other.
const MAX_CHAIN: usize = 64;

/// The greatest number of messages for which the rule looks, and of later messages that it reads beside them.
const MAX_OLDER: usize = 40;
const MAX_LATER: usize = 40;
/// The words by which later messages are looked up: of one message, and of all.
const WORDS_OF_ONE: usize = 8;
const MAX_WORDS: usize = 24;

/// The newer statements of records.
#[derive(Default, Debug)]
pub struct Newer {
    /// The ids of the corrections of a record, by its id.
    corrections: FxHashMap<String, Vec<String>>,
    /// The id of the message that the rule has found for a record, and the reason, by the id of the record.
    by_rule: FxHashMap<String, (String, &'static str)>,
    records: FxHashMap<String, StoredRecord>,
}

impl Newer {
    /// Finds what supersedes records of some ids. Of the selection, only its scopes and the time up to which it goes
    /// count: what is beyond supersedes nothing.
    pub fn find(store: &mut dyn Store, ids: &[&str], which: &Select) -> Result<Newer> {
        let admitted = Select { until: which.until, ..Select::records(vec![&MESSAGE], which.scopes.clone()) };
        let mut newer = Newer::default();
        let mut asked: FxHashSet<String> = FxHashSet::default();
        let mut next: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        for _ in 0..MAX_CHAIN {
            next.retain(|id| asked.insert(id.clone()));
            if next.is_empty() {
                break;
            }
            let of: Vec<&str> = next.iter().map(String::as_str).collect();
            let mut links = store.links(&of, Some(CORRECTS))?;
            links.retain(|link| of.contains(&link.to.as_str()));
            if links.is_empty() {
                break;
            }
            let from: Vec<&str> = links.iter().map(|link| link.from.as_str()).collect();
            let found = store.get(&from, &admitted)?;
            newer.records.extend(found.into_iter().map(|record| (record.id.clone(), record)));
            links.retain(|link| newer.records.contains_key(&link.from));
            next = links.iter().map(|link| link.from.clone()).collect();
            for link in links {
                newer.corrections.entry(link.to).or_default().push(link.from);
            }
        }
        Ok(newer)
    }

    /// The same, and what the rule finds for the first of the user's messages among some records. It reads these
    /// themselves, and the later ones that a search for their words finds.
    pub fn find_by_rule(store: &mut dyn Store, records: &[&StoredRecord], which: &Select) -> Result<Newer> {
        let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
        let mut newer = Newer::find(store, &ids, which)?;
        let is_of_user = |record: &&&StoredRecord| record.kind == &MESSAGE && record.role == Some(Role::User);
        let older: Vec<&StoredRecord> = records.iter().filter(is_of_user).take(MAX_OLDER).copied().collect();
        let Some(since) = older.iter().map(|record| record.timestamp).min() else { return Ok(newer) };
        let mut pool: Vec<StoredRecord> = older.iter().map(|record| (*record).clone()).collect();
        let terms = terms(&older, store.languages()?);
        if !terms.is_empty() {
            let later = Select {
                roles: vec![Role::User],
                since: Some(since),
                until: which.until,
                ..Select::records(vec![&MESSAGE], which.scopes.clone())
            };
            let found = store.find(&terms, Occur::Any, &later, MAX_LATER)?;
            pool.extend(
                found.into_iter().map(|hit| hit.record).filter(|record| !ids.contains(&record.id.as_str())),
            );
        }
        let until = which.until.unwrap_or(i64::MAX);
        pool.retain(|record| record.timestamp <= until);
        for (older, newest, reason) in pairs(&pool) {
            if newer.corrections.contains_key(&older.id) {
                continue;
            }
            newer.records.entry(newest.id.clone()).or_insert_with(|| newest.clone());
            newer.by_rule.insert(older.id.clone(), (newest.id.clone(), reason));
        }
        Ok(newer)
    }

    /// The statements that supersede the record of an id and that nothing supersedes, newest first.
    pub fn of(&self, id: &str) -> Vec<&StoredRecord> {
        let corrections = |id: &str| self.corrections.get(id).map(Vec::as_slice).unwrap_or_default();
        let (mut seen, mut ends) = (FxHashSet::from_iter([id]), Vec::new());
        let mut next: Vec<&String> = corrections(id).iter().collect();
        while let Some(id) = next.pop() {
            if !seen.insert(id) {
                continue;
            }
            match corrections(id) {
                [] => ends.extend(self.records.get(id)),
                further => next.extend(further),
            }
        }
        ends.sort_by(|a, b| b.sort_key().cmp(&a.sort_key()));
        if ends.is_empty() {
            ends.extend(self.by_rule.get(id).and_then(|(newest, _)| self.records.get(newest)));
        }
        ends
    }

    /// The same, as members of a hit.
    pub fn statements(&self, id: &str) -> Vec<NewerStatement> {
        let by_rule = self.by_rule.get(id);
        let statement = |record: &StoredRecord| match by_rule {
            Some((_, reason)) if !self.corrections.contains_key(id) => {
                NewerStatement { id: record.id.clone(), reason }
            }
            _ => NewerStatement::corrected(&record.id),
        };
        self.of(id).into_iter().map(statement).collect()
    }
}

/// The terms of the words that some messages are about: the first of each.
fn terms(messages: &[&StoredRecord], languages: Languages) -> Vec<Term> {
    let mut words: Vec<String> = Vec::new();
    for message in messages {
        let mut of_one = topic_words(&message.text).into_iter().map(|word| word.word);
        for _ in 0..WORDS_OF_ONE {
            words.extend(of_one.find(|word| !words.contains(word)));
        }
    }
    words.truncate(MAX_WORDS);
    Term::content(&words.join(" "), languages)
}

/// The messages of a pool that later ones of it supersede, each with the newest of these and the reason.
pub(super) fn pairs(pool: &[StoredRecord]) -> Vec<(&StoredRecord, &StoredRecord, &'static str)> {
    let mut read: Vec<(&StoredRecord, Vec<Clause>)> =
        pool.iter().map(|record| (record, statements(&record.text))).collect();
    read.sort_by(|(a, _), (b, _)| a.sort_key().cmp(&b.sort_key()));
    let weight = rule::weights(read.iter().map(|(_, clauses)| clauses.as_slice()));
    let mut found = Vec::new();
    for (at, (older, stated)) in read.iter().enumerate() {
        let later = read[at + 1..].iter().rev().filter(|(newer, _)| newer.timestamp > older.timestamp);
        let newest = later
            .filter(|(newer, _)| newer.text != older.text)
            .find_map(|(newer, said)| Some((*newer, rule::superseded(stated, said, &weight)?)));
        found.extend(newest.map(|(newer, reason)| (*older, newer, reason)));
    }
    found
}
