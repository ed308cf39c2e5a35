//! Keyword search: the server's full-text index tells which messages hold a word; they are ranked here.
//!
//! The index has of each message its scope, each of its words, and the stem of each, so that what it finds is what
//! counts. Of very many only those are read that may be among the best: what the index itself takes for the likeliest
//! tells what the best score at least, and that, which words a better one must hold.

use super::Neo4j;
use super::fault::{Answer, Fault};
use super::read::{number, scope_params};
use super::server::FETCHED;
use super::statements::{self, scoped};
use super::values::{Params, Row};
use crate::record::{Hit, Message, Scopes};
use crate::store::ranking::{self, Corpus, KEYWORD, Run, Scored};
use crate::store::words::{self, Term};
use crate::store::{Cosines, Occur, Select};
use neo4rs::{BoltNull, BoltType};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// So many messages are read at once where no index says which.
const READ: usize = 500;

/// So many of the likeliest are read for each that is wanted, and so many at least.
const LIKELY: usize = 2;
const LIKELY_AT_LEAST: usize = 100;

/// In a question to the index so many words stand within one another at most, and so many in all: it takes 1024
/// (Lucene's `maxClauseCount`), and a word and its stem are two.
const DEEP: usize = 3;
const ASKED: usize = 400;

/// With more scopes than this, what is of them is told by the messages and not by the index.
const NAMED: usize = 100;

/// The stems of words, as far as the words begin as they do.
pub(super) fn stems<'a>(words: &[&'a str]) -> BTreeSet<Cow<'a, str>> {
    let stems = words.iter().map(|word| (word, words::stem(word)));
    stems.filter(|(word, stem)| word.starts_with(words::beginning(stem))).map(|(_, stem)| stem).collect()
}

/// What the index has of a message: `@` and the number of its scope, its words, and after `_` their stems.
pub(super) fn indexed(scope: i64, stems: &BTreeSet<Cow<str>>, words: &[&str]) -> String {
    let words: BTreeSet<&str> = words.iter().copied().collect();
    let stems = stems.iter().map(|stem| format!("_{stem}"));
    let all: Vec<String> =
        [format!("@{scope}")].into_iter().chain(stems).chain(words.into_iter().map(str::to_owned)).collect();
    all.join(" ")
}

/// The stem of a run that is a word of its stem: whoever has the run has that.
fn whole<'a>(run: &'a Run) -> Option<&'a str> {
    run.stem.as_deref().filter(|stem| run.text.starts_with(words::beginning(stem)))
}

/// A run as the index is asked for it. Runs are of letters and digits, which mean nothing else there.
fn asked(run: &Run) -> String {
    match &run.stem {
        Some(stem) if whole(run).is_some() => format!("_{stem}"),
        Some(stem) => format!("({} _{stem})", run.text),
        None => format!("*{}*", run.text),
    }
}

/// The runs as the index is asked for all of them, or any.
fn asked_together(runs: &[Run], occur: Occur) -> String {
    let joint = if occur == Occur::All { " AND " } else { " OR " };
    runs.iter().map(asked).collect::<Vec<_>>().join(joint)
}

/// A question for the messages whose runs are together at least that rare, or for some more where to tell them would
/// take too many words.
fn as_rare(runs: &[Run], corpus: &Corpus, least: f64) -> String {
    let held = runs.iter().filter(|run| run.held > 0);
    let told: Vec<(String, f64)> = held.map(|run| (asked(run), corpus.rarity(run.held))).collect();
    // What is within a word is looked for in all that there are: once is enough.
    let deep = if runs.iter().all(|run| run.stem.is_some()) { DEEP } else { 0 };
    let question = |deep| as_rare_within(&told, least, deep, &mut ASKED.clone());
    let question = (0..=deep).rev().find_map(question).filter(|question| !question.is_empty());
    question.unwrap_or_else(|| asked_together(runs, Occur::Any))
}

/// The same with words within one another so deep; empty if there can be none, and `None` if it takes more words than
/// are left.
fn as_rare_within(runs: &[(String, f64)], least: f64, deep: usize, left: &mut usize) -> Option<String> {
    let mut rest: f64 = runs.iter().map(|(_, rarity)| rarity).sum();
    let mut any = Vec::new();
    for (at, (asked, rarity)) in runs.iter().enumerate() {
        if rest < least {
            break;
        }
        rest -= rarity;
        *left = left.checked_sub(1)?;
        if *rarity >= least || deep == 0 {
            any.push(asked.clone());
            continue;
        }
        let beside = as_rare_within(&runs[at + 1..], least - rarity, deep - 1, left)?;
        if !beside.is_empty() {
            any.push(format!("({asked} AND ({beside}))"));
        }
    }
    Some(any.join(" OR "))
}

/// How much there is in some scopes, as far as rsv wrote it.
#[derive(Default)]
pub(super) struct Sizes {
    pub(super) corpus: Corpus,
    /// What a question to the index begins with if it is about these scopes; empty if it cannot tell them.
    scopes: String,
    /// Whether the store has messages that are not in the index, since rsv did not write them.
    pub(super) strangers: bool,
}

impl Sizes {
    fn of(row: &Row) -> Answer<Sizes> {
        let [docs, words] = [row.get::<i64>("messages")?, row.get("words")?].map(|count| count as f64);
        let corpus = Corpus { docs, words };
        Ok(Sizes { corpus, scopes: row.get("scopes")?, strangers: row.get::<i64>("strangers")? > 0 })
    }
}

/// A model and a vector that messages are measured by where they are read, once it is there.
pub(super) type Measure = OnceLock<(String, Vec<f32>)>;

/// What words found.
#[derive(Default)]
pub(super) struct Worded {
    pub(super) hits: Vec<Hit>,
    /// Which messages were measured, and what came of it.
    pub(super) measured: HashSet<String>,
    pub(super) cosines: Cosines,
    /// How many messages the scopes hold, where that had to be known.
    pub(super) messages: Option<usize>,
}

/// Scopes as a statement is asked about their sizes.
fn naming(scopes: &Scopes) -> Params {
    scope_params(scopes).with("everywhere", *scopes == Scopes::All).with("named", number(NAMED))
}

/// A message as it is ranked: id, number, time, text.
type Ranked = (String, i64, i64, Option<String>);

/// The messages that were looked at, by their numbers.
#[derive(Default)]
struct Looked {
    ids: HashMap<i64, String>,
    /// Those that were read: one that the selection does not admit is none.
    read: HashMap<i64, Option<Message>>,
    /// Those without a number get one below all others.
    strangers: i64,
    measured: HashSet<String>,
    cosines: Cosines,
}

impl Neo4j {
    pub(super) fn find_terms(
        &self,
        terms: &[Term],
        occur: Occur,
        which: &Select,
        limit: usize,
        measure: &Measure,
    ) -> Answer<Worded> {
        let mut runs = ranking::telling(terms, occur, |_| Ok::<_, Fault>(true))?;
        let unsure = |term: &&Term| !(term.is_plain() && runs.iter().any(|run| run.text == term.text));
        let unsure: Vec<&Term> = terms.iter().filter(|_| occur == Occur::All).filter(unsure).collect();
        if limit == 0 || runs.is_empty() && unsure.is_empty() {
            return Ok(Worded::default());
        }
        if runs.is_empty() {
            return Ok(Worded { hits: self.newest(&unsure, which, limit)?, ..Worded::default() });
        }
        let most = match occur {
            Occur::All => FETCHED,
            Occur::Any => limit.saturating_mul(LIKELY).clamp(LIKELY_AT_LEAST, FETCHED),
        };
        let (Sizes { mut corpus, scopes, strangers }, likely) =
            self.count(&mut runs, occur, &which.scopes, most)?;
        // If the index does not know the scopes, there may be more after what is of others.
        let told = !scopes.is_empty() || which.scopes == Scopes::All;
        let all_read = told && likely.len() < most;
        let mut looked_at = Looked::default();
        if strangers {
            let statement = scoped(statements::STRANGE_MESSAGES, &which.scopes);
            for row in self.server.rows(&statement, scope_params(&which.scopes))? {
                corpus.words += looked_at.stranger(row.message()?, which, &mut runs) as f64;
                corpus.docs += 1.0;
            }
        }
        // As yet only strangers were looked at.
        runs.iter_mut().for_each(|run| run.held += run.docs.len());
        looked_at.add(likely, &mut runs);
        runs.sort_by_key(|run| run.held);
        let all = corpus.rarity_of(&runs);
        // The runs of a message that was not read are together less rare than that.
        let mut unread = if all_read || all == 0.0 { 0.0 } else { f64::INFINITY };
        loop {
            let scored = ranking::combine(&runs, occur, &corpus);
            let most = ranking::most(unread, all);
            let reached = ranking::reached(&scored, limit);
            if unread == 0.0 || reached.is_some_and(|score| score > most) {
                let (mut hits, places) =
                    looked_at.best(self, scored, limit, &unsure, which, measure.get())?;
                if unread == 0.0 || hits.get(limit - 1).is_some_and(|worst| worst.score > most) {
                    if occur == Occur::All {
                        ranking::explain(&mut hits, &places, &runs, &corpus);
                    }
                    let messages = Some(corpus.docs as usize);
                    let Looked { measured, cosines, .. } = looked_at;
                    return Ok(Worded { hits: Hit::best(hits, limit), measured, cosines, messages });
                }
            }
            unread = match reached {
                _ if occur == Occur::All => 0.0,
                Some(score) if unread.is_infinite() => ranking::least(score, all),
                _ => unread.min(all) / 2.0,
            };
            // Who holds any of it holds as much as the run that is the least rare.
            if !runs.last().is_some_and(|run| unread > corpus.rarity(run.held)) {
                unread = 0.0;
            }
            let question = match occur {
                Occur::All => asked_together(&runs, occur),
                Occur::Any => as_rare(&runs, &corpus, unread),
            };
            looked_at.add(self.holding(&format!("{scopes}({question})"), &which.scopes, told)?, &mut runs);
        }
    }

    /// The messages that the index finds.
    fn holding(&self, question: &str, scopes: &Scopes, told: bool) -> Answer<Vec<Ranked>> {
        let statement = scoped(statements::HOLDING, if told { &Scopes::All } else { scopes });
        let params = || scope_params(scopes).with("question", question);
        if told {
            let params = params().with("most", number(FETCHED));
            let all: Vec<Ranked> = self.server.lists(&statement, params, FETCHED)?;
            if all.len() < FETCHED {
                return Ok(all);
            }
        }
        self.server.lists(&statement, params().with("most", BoltType::Null(BoltNull)), usize::MAX)
    }

    /// How much there is in some scopes.
    pub(super) fn sizes(&self, scopes: &Scopes) -> Answer<Sizes> {
        let row = self.server.row(&scoped(statements::SIZES, scopes), naming(scopes))?;
        row.map_or_else(|| Ok(Sizes::default()), |row| Sizes::of(&row))
    }

    /// The same, how many messages hold each run, and so many of those that the index takes for the likeliest.
    fn count(
        &self,
        runs: &mut [Run],
        occur: Occur,
        scopes: &Scopes,
        most: usize,
    ) -> Answer<(Sizes, Vec<Ranked>)> {
        // What is counted already is told before what is looked up.
        runs.sort_by_key(|run| whole(run).is_none());
        let questions: Vec<String> = runs.iter().filter(|run| whole(run).is_none()).map(asked).collect();
        let params = naming(scopes)
            .with_texts("stems", runs.iter().filter_map(whole))
            .with_texts("questions", questions.iter().map(String::as_str))
            .with("likely", format!("({})", asked_together(runs, occur)))
            .with("most", number(most));
        let Some(row) = self.server.row(&scoped(statements::HELD, scopes), params)? else {
            return Ok(Default::default());
        };
        for (run, held) in runs.iter_mut().zip(row.get::<Vec<usize>>("held")?) {
            run.held = held;
        }
        Ok((Sizes::of(&row)?, row.get("likely")?))
    }

    /// The newest messages that hold what is in no word (`++`, an emoji).
    fn newest(&self, terms: &[&Term], which: &Select, limit: usize) -> Answer<Vec<Hit>> {
        let mut hits = Vec::new();
        let mut which = which.clone();
        loop {
            let some = self.read_last(&which, READ)?;
            let held = some.iter().rev().filter(|message| ranking::holds(terms, message));
            hits.extend(
                held.cloned().map(|message| Hit { parts: Vec::new(), ..Hit::by(KEYWORD, message, 0.0) }),
            );
            match some.first() {
                Some(first) if some.len() == READ && hits.len() < limit => {
                    which.before = Some(first.position())
                }
                _ => return Ok(Hit::best(hits, limit)),
            }
        }
    }
}

impl Looked {
    /// Looks for the runs in messages, as far as they were not looked at yet.
    fn add(&mut self, messages: Vec<Ranked>, runs: &mut [Run]) {
        for (id, n, timestamp, text) in messages {
            self.ids.entry(n).or_insert_with(|| {
                look_at((n, timestamp), &text.unwrap_or_default(), runs);
                id
            });
        }
    }

    /// The best of the scored messages that the selection admits and that hold what is in no word.
    fn best(
        &mut self,
        store: &Neo4j,
        scored: Vec<Scored>,
        limit: usize,
        unsure: &[&Term],
        which: &Select,
        measure: Option<&(String, Vec<f32>)>,
    ) -> Answer<(Vec<Hit>, FxHashMap<i64, usize>)> {
        let mut order = ranking::in_order(&scored).into_iter();
        ranking::best(scored, limit, |n| {
            while !self.read.contains_key(&n) && order.len() > 0 {
                let some: Vec<i64> = order.by_ref().take(limit).collect();
                self.read(store, &some, which, measure)?;
            }
            let message = self.read.get(&n).and_then(Option::as_ref);
            Ok(message.filter(|message| ranking::holds(unsure, message)).cloned())
        })
    }

    /// A message that has no number; gives its length in words.
    fn stranger(&mut self, message: Message, which: &Select, runs: &mut [Run]) -> usize {
        self.strangers -= 1;
        let place = (self.strangers, message.timestamp);
        let words = look_at(place, &message.content.text(), runs);
        self.read.insert(self.strangers, Some(message).filter(|message| which.admits(message)));
        words
    }

    /// Reads messages, as far as they are not read yet, and measures them.
    fn read(
        &mut self,
        store: &Neo4j,
        numbers: &[i64],
        which: &Select,
        measure: Option<&(String, Vec<f32>)>,
    ) -> Answer<()> {
        let wanted = numbers.iter().filter(|n| !self.read.contains_key(n));
        let ids: Vec<(i64, &str)> = wanted.filter_map(|n| Some((*n, self.ids.get(n)?.as_str()))).collect();
        let wanted: Vec<&str> = ids.iter().map(|(_, id)| *id).collect();
        let messages = match measure {
            Some((model, vector)) => {
                let (messages, cosines) = store.read_measured(&wanted, which, (model, vector))?;
                self.measured.extend(wanted.iter().map(|id| (*id).to_owned()));
                self.cosines.extend(cosines);
                messages
            }
            None => store.read_messages(&wanted, which)?,
        };
        let mut messages: HashMap<String, Message> =
            messages.into_iter().map(|message| (message.id.clone(), message)).collect();
        let read: Vec<(i64, Option<Message>)> =
            ids.into_iter().map(|(n, id)| (n, messages.remove(id))).collect();
        self.read.extend(read);
        Ok(())
    }
}

/// Looks for the runs in a message; gives its length in words.
fn look_at(place: (i64, i64), text: &str, runs: &mut [Run]) -> usize {
    ranking::look_at(place, &words::fold(text), runs, |run, doc| run.docs.push(doc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_are_asked_for_that_hold_enough() {
        let runs =
            [("rare", 5.0), ("some", 3.0), ("many", 1.0)].map(|(text, rarity)| (text.to_owned(), rarity));
        let asked = |least, deep, mut left| as_rare_within(&runs, least, deep, &mut left);
        let told = |question: &str| Some(question.to_owned());
        assert_eq!(asked(0.0, DEEP, 9), told("rare OR some OR many"));
        assert_eq!(asked(4.0, DEEP, 9), told("rare OR (some AND (many))"));
        assert_eq!(asked(4.5, DEEP, 9), told("rare"));
        assert_eq!(asked(8.5, DEEP, 9), told("(rare AND ((some AND (many))))"));
        assert_eq!(asked(8.5, 1, 9), told("(rare AND (some))"));
        assert_eq!(asked(8.5, 0, 9), told("rare"));
        assert_eq!(asked(9.5, DEEP, 9), told(""));
        assert_eq!(asked(0.0, DEEP, 2), None);
    }
}
