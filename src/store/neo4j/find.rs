//! Keyword search: the server's full-text index tells which messages hold a word; they are ranked here.
//!
//! The index has of each message its scope, each of its words, and the stem of each, so that what it finds is what
//! counts. Of very many only those are read that may be among the best: the rarest words first, until what the
//! others could give is too little.

use super::Neo4j;
use super::fault::{Answer, Fault};
use super::read::{number, scope_params};
use super::statements::{self, scoped};
use super::values::{Params, Row};
use crate::record::{Hit, Message, Scopes};
use crate::store::ranking::{self, Corpus, KEYWORD, Run};
use crate::store::words::{self, Term};
use crate::store::{Cosines, Occur, Select};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// So many messages are read at first.
const READ: usize = 500;

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
        let Sizes { mut corpus, scopes, strangers } = self.count(&mut runs, &which.scopes)?;
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
        runs.sort_by_key(|run| run.held);
        let mut looked = 0;
        loop {
            let before = looked;
            looked = match occur {
                Occur::All => runs.len(),
                Occur::Any => ranking::further(&runs, looked, READ),
            };
            let joint = if occur == Occur::All { " AND " } else { " OR " };
            let all = |runs: &[Run]| runs.iter().map(asked).collect::<Vec<_>>().join(joint);
            let mut question = format!("{scopes}({})", all(&runs[before..looked]));
            if before > 0 {
                // What was read before.
                question += &format!(" -({})", all(&runs[..before]));
            }
            let told = if scopes.is_empty() { &which.scopes } else { &Scopes::All };
            let statement = scoped(statements::HOLDING, told);
            let params = scope_params(&which.scopes).with("question", question);
            let most = runs[before..looked].iter().map(|run| run.held).sum();
            for (id, n, timestamp, text) in self.server.lists::<Ranked>(&statement, params, most)? {
                look_at((n, timestamp), &text.unwrap_or_default(), &mut runs);
                looked_at.ids.insert(n, id);
            }
            let scored = ranking::combine(&runs, occur, &corpus);
            let most = ranking::most(&runs, looked, &corpus);
            if looked < runs.len() && !ranking::may_do(&scored, limit, most) {
                continue;
            }
            let mut order = ranking::in_order(&scored).into_iter();
            let message = |n| {
                while !looked_at.read.contains_key(&n) && order.len() > 0 {
                    let some: Vec<i64> = order.by_ref().take(limit).collect();
                    looked_at.read(self, &some, which, measure.get())?;
                }
                let message = looked_at.read.get(&n).and_then(Option::as_ref);
                Answer::Ok(message.filter(|message| ranking::holds(&unsure, message)).cloned())
            };
            let (mut hits, places) = ranking::best(scored, limit, message)?;
            let enough = hits.get(limit - 1).is_some_and(|worst| worst.score > most);
            if looked == runs.len() || enough {
                if occur == Occur::All {
                    ranking::explain(&mut hits, &places, &runs, &corpus);
                }
                let messages = Some(corpus.docs as usize);
                let Looked { measured, cosines, .. } = looked_at;
                return Ok(Worded { hits: Hit::best(hits, limit), measured, cosines, messages });
            }
        }
    }

    /// How much there is in some scopes.
    pub(super) fn sizes(&self, scopes: &Scopes) -> Answer<Sizes> {
        let row = self.server.row(&scoped(statements::SIZES, scopes), naming(scopes))?;
        row.map_or_else(|| Ok(Sizes::default()), |row| Sizes::of(&row))
    }

    /// The same, and how many messages hold each run.
    fn count(&self, runs: &mut [Run], scopes: &Scopes) -> Answer<Sizes> {
        // What is counted already is told before what is looked up.
        runs.sort_by_key(|run| whole(run).is_none());
        let questions: Vec<String> = runs.iter().filter(|run| whole(run).is_none()).map(asked).collect();
        let params = naming(scopes)
            .with_texts("stems", runs.iter().filter_map(whole))
            .with_texts("questions", questions.iter().map(String::as_str));
        let Some(row) = self.server.row(&scoped(statements::HELD, scopes), params)? else {
            return Ok(Sizes::default());
        };
        for (run, held) in runs.iter_mut().zip(row.get::<Vec<usize>>("held")?) {
            run.held = held;
        }
        Sizes::of(&row)
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
