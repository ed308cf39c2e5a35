//! Finds what supersedes records: the newest statements that correct them, along links from a correction to
//! what it corrects; and of messages of the user that nothing corrects, later ones that a rule (`rule.rs`)
//! finds.

mod rule;

use crate::error::Result;
use crate::record::{CORRECTS, MESSAGE, NewerStatement, Role, StoredRecord};
use crate::store::{Select, Store};
use crate::text::{Clause, Languages, Occur, Term, beginning, statements, topic_words};
use rule::Statements;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// The greatest number of corrections that follow each other.
const MAX_CHAIN: usize = 64;

/// The greatest number of messages for which the rule looks, and of later messages that it reads beside them.
const MAX_OLDER: usize = 20;
const MAX_LATER: usize = 6;
/// The most pairs of clauses that are compared.
const MAX_COMPARISONS: usize = 20_000;
/// The words by which later messages are looked up: of one message, and of all.
const WORDS_OF_ONE: usize = 6;
const MAX_WORDS: usize = 12;

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
    /// Finds what supersedes records of some ids. Of the selection, only its scopes and the time up to which
    /// it goes count: what is beyond supersedes nothing. Fails if the store cannot be read.
    pub fn find(store: &mut dyn Store, ids: &[&str], which: &Select) -> Result<Newer> {
        let mut newer = Newer::default();
        newer.find_corrections(store, ids, which)?;
        Ok(newer)
    }

    fn find_corrections(&mut self, store: &mut dyn Store, ids: &[&str], which: &Select) -> Result<()> {
        let admitted = Select { until: which.until, ..Select::records(vec![&MESSAGE], which.scopes.clone()) };
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
            self.records.extend(found.into_iter().map(|record| (record.id.clone(), record)));
            links.retain(|link| self.records.contains_key(&link.from));
            next = links.iter().map(|link| link.from.clone()).collect();
            for link in links {
                self.corrections.entry(link.to).or_default().push(link.from);
            }
        }
        Ok(())
    }

    /// The same, and what the rule finds for the first of the user's messages among some records.
    pub fn find_by_rule(store: &mut dyn Store, records: &[&StoredRecord], which: &Select) -> Result<Newer> {
        let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
        let mut newer = Newer::find(store, &ids, which)?;
        newer.add_by_rule(store, records, which)?;
        Ok(newer)
    }

    /// Adds what the rule finds for the first of the user's messages among some records, whose corrections
    /// are known. It reads these themselves, and the later ones that a search for their words finds.
    pub fn add_by_rule(
        &mut self,
        store: &mut dyn Store,
        records: &[&StoredRecord],
        which: &Select,
    ) -> Result<()> {
        let is_of_user = |record: &&&StoredRecord| record.kind == &MESSAGE && record.role == Some(Role::User);
        let older: Vec<&StoredRecord> = records.iter().filter(is_of_user).take(MAX_OLDER).copied().collect();
        let Some(since) = older.iter().map(|record| record.timestamp).min() else { return Ok(()) };
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
            let is_new = |record: &StoredRecord| records.iter().all(|known| known.id != record.id);
            pool.extend(found.into_iter().map(|hit| hit.record).filter(is_new));
        }
        let until = which.until.unwrap_or(i64::MAX);
        pool.retain(|record| record.timestamp <= until);
        let mut found = Vec::new();
        for (older, newest, reason) in pairs(&pool) {
            if !self.corrections.contains_key(&older.id) {
                self.records.entry(newest.id.clone()).or_insert_with(|| newest.clone());
                self.by_rule.insert(older.id.clone(), (newest.id.clone(), reason));
                found.push(newest.id.as_str());
            }
        }
        found.retain(|id| records.iter().all(|known| known.id != *id));
        self.find_corrections(store, &found, which)
    }

    /// The statements that supersede the record of an id and that nothing supersedes, newest first.
    pub fn of(&self, id: &str) -> Vec<&StoredRecord> {
        let (mut seen, mut ends) = (FxHashSet::from_iter([id]), Vec::new());
        let mut next = self.next(id);
        while let Some(id) = next.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.next(id) {
                further if further.is_empty() => ends.extend(self.records.get(id)),
                further => next.extend(further),
            }
        }
        ends.sort_by_key(|record| Reverse(record.sort_key()));
        ends
    }

    /// The ids of the corrections of a record; if there is none, of what the rule has found for it.
    fn next(&self, id: &str) -> Vec<&str> {
        match (self.corrections.get(id), self.by_rule.get(id)) {
            (Some(corrections), _) => corrections.iter().map(String::as_str).collect(),
            (None, by_rule) => by_rule.iter().map(|(newest, _)| newest.as_str()).collect(),
        }
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

/// The terms of the words that some messages are about, taken from each in turn.
fn terms(messages: &[&StoredRecord], languages: Languages) -> Vec<Term> {
    let of_each =
        |message: &&StoredRecord| topic_words(beginning(&message.text)).into_iter().map(|word| word.word);
    let mut of_messages: Vec<_> = messages.iter().map(of_each).collect();
    let mut words: Vec<String> = Vec::new();
    for _ in 0..WORDS_OF_ONE {
        for of_one in &mut of_messages {
            words.extend(of_one.find(|word| !words.contains(word)));
        }
    }
    words.truncate(MAX_WORDS);
    Term::content(&words.join(" "), languages)
}

/// The messages of a pool that later ones of it in the same partition supersede, each with the newest of
/// these and the reason.
fn pairs(pool: &[StoredRecord]) -> Vec<(&StoredRecord, &StoredRecord, &'static str)> {
    let mut records: Vec<&StoredRecord> = pool.iter().collect();
    records.sort_by_key(|record| record.sort_key());
    let read: Vec<Vec<Clause>> = records.iter().map(|record| statements(&record.text)).collect();
    let weight = rule::weights(read.iter().map(Vec::as_slice));
    let all: Vec<(&StoredRecord, Statements)> =
        records.into_iter().zip(read.iter().map(|clauses| Statements::of(clauses))).collect();
    let (mut found, mut left) = (Vec::new(), MAX_COMPARISONS);
    for (at, (older, stated)) in all.iter().enumerate() {
        let is_later = |newer: &StoredRecord| {
            newer.timestamp > older.timestamp
                && newer.text != older.text
                && newer.scope.partition == older.scope.partition
        };
        let mut later = all[at + 1..].iter().rev().filter(|(newer, _)| is_later(newer));
        let newest = later
            .find_map(|(newer, said)| Some((*newer, rule::superseded(stated, said, &weight, &mut left)?)));
        found.extend(newest.map(|(newer, reason)| (*older, newer, reason)));
    }
    found
}
