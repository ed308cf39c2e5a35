//! Keyword search over the word index, ranked by BM25 within what was asked for.

use super::super::words::{self, Term};
use super::super::{Occur, Select};
use super::Sqlite;
use super::index::{self, Part, Place};
use super::read::{COLUMNS, TABLES, message};
use crate::record::{Hit, Message};
use rusqlite::OptionalExtension;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// How much a word counts that only contains what was asked for.
const PIECE: f64 = 0.5;

/// Okapi BM25's constants, as Anserini has them (Yang, Fang and Lin 2017): messages are short, and their
/// length says little.
const K1: f64 = 0.9;
const B: f64 = 0.4;

/// The name of the score among what speaks for a hit.
const KEYWORD: &str = "keyword";

/// The name of how much a message holds of what is asked for: the rarity of the words that it holds, as a part of
/// that of all and of one more that nobody said, so that a single word is not all there is to ask for.
const SHARE: &str = "share";

/// A run that lies in more words of one part than this tells nothing: it is looked for in the messages
/// themselves, and does not count.
const MANY: usize = 1000;

/// So many runs are looked up at most. Of a longer question the rest is looked for in the messages themselves,
/// or does not count.
const LOOKED_UP: usize = 128;

/// A run of letters and digits of the question, and where it occurs.
struct Run<'a> {
    text: &'a str,
    /// Where words of the same stem count, that stem.
    stem: Option<Cow<'a, str>>,
    /// The words that hold it, for each part.
    words: Vec<Vec<&'a [u8]>>,
    docs: Vec<Doc>,
}

impl Run<'_> {
    /// What is in every word that counts.
    fn piece(&self) -> &str {
        self.stem.as_deref().map_or(self.text, words::beginning)
    }

    /// How much a word counts that has the piece in it.
    fn weight(&self, word: &str) -> f64 {
        match &self.stem {
            _ if word == self.text => 1.0,
            Some(stem) if word.starts_with(self.piece()) && words::stem(word) == *stem => 1.0,
            Some(_) => 0.0,
            None if word.contains(self.text) => PIECE,
            None => 0.0,
        }
    }
}

/// A message, how often it holds the run, and its length in words.
struct Doc {
    n: i64,
    times: f64,
    length: u32,
}

/// How many messages were looked at, and their words.
#[derive(Default)]
struct Corpus {
    docs: f64,
    words: f64,
}

impl Corpus {
    /// How much a run says that so many messages hold: its inverse document frequency.
    fn rarity(&self, docs: usize) -> f64 {
        let docs = docs as f64;
        (1.0 + (self.docs - docs + 0.5) / (docs + 0.5)).ln()
    }

    /// What a run that so many messages hold gives to the score of each: its BM25.
    fn bm25(&self, docs: usize) -> impl Fn(&Doc) -> f64 {
        let average = (self.words / self.docs.max(1.0)).max(1.0);
        let rarity = self.rarity(docs);
        move |doc| {
            let norm = K1 * (1.0 - B + B * f64::from(doc.length) / average);
            rarity * doc.times * (K1 + 1.0) / (doc.times + norm)
        }
    }
}

impl Sqlite {
    pub(super) fn find_terms(
        &mut self,
        terms: &[Term],
        occur: Occur,
        which: &Select,
        limit: usize,
    ) -> rusqlite::Result<Vec<Hit>> {
        let snapshot = self.connection.unchecked_transaction()?;
        let scopes = match self.scope_numbers(&which.scopes)? {
            Some(scopes) => scopes,
            None => self
                .connection
                .prepare_cached("SELECT n FROM scope")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?,
        };
        let mut parts = Vec::new();
        for scope in &scopes {
            parts.append(&mut Part::of_scope(&self.connection, *scope)?);
        }
        let mut runs: Vec<Run> = telling(terms, occur, &parts);
        let unsure: Vec<&Term> = terms
            .iter()
            .filter(|term| !(term.is_plain() && runs.iter().any(|run| run.text == term.text)))
            .collect();
        let unsure = if occur == Occur::All { unsure } else { Vec::new() };
        let hits = if limit == 0 || runs.is_empty() && unsure.is_empty() {
            Vec::new()
        } else if runs.is_empty() {
            self.newest(&unsure, &scopes, which, limit)?
        } else {
            let corpus = self.gather(&mut runs, &scopes, &parts)?;
            // The rarest first: the others can then only lose messages.
            runs.sort_by_key(|run| run.docs.len());
            let (mut hits, places) = self.best(combine(&runs, occur, &corpus), &unsure, which, limit)?;
            if occur == Occur::All {
                explain(&mut hits, &places, &runs, &corpus);
            }
            Hit::best(hits, limit)
        };
        snapshot.finish()?;
        Ok(hits)
    }

    /// Finds the messages that hold each run.
    fn gather(&self, runs: &mut [Run], scopes: &[i64], parts: &[Part]) -> rusqlite::Result<Corpus> {
        let mut corpus = Corpus::default();
        for (at, part) in parts.iter().enumerate() {
            if runs.len() > 1 {
                part.spread();
            }
            corpus.docs += part.docs as f64;
            corpus.words += part.places().map(|place| f64::from(place.length)).sum::<f64>();
            for run in runs.iter_mut() {
                self.look_up(part, at, run)?;
            }
        }
        for scope in scopes {
            index::tail(&self.connection, *scope, |n, folded| look_at(n, folded, runs, &mut corpus))?;
        }
        Ok(corpus)
    }

    fn look_up(&self, part: &Part, at: usize, run: &mut Run) -> rusqlite::Result<()> {
        let weighed: Vec<(&[u8], f64)> = run.words[at]
            .iter()
            .map(|word| (*word, run.weight(std::str::from_utf8(word).unwrap_or_default())))
            .filter(|(_, weight)| *weight > 0.0)
            .collect();
        if let [(word, weight)] = weighed[..] {
            return part.postings(&self.connection, word, |_, Place { n, length }, times| {
                run.docs.push(Doc { n, times: times as f64 * weight, length });
            });
        }
        let mut times_of = vec![0.0; if weighed.is_empty() { 0 } else { part.docs }];
        for (word, weight) in weighed {
            part.postings(&self.connection, word, |at, _, times| times_of[at] += times as f64 * weight)?;
        }
        let held = times_of.iter().zip(part.places()).filter(|(times, _)| **times > 0.0);
        run.docs.extend(held.map(|(times, place)| Doc { n: place.n, times: *times, length: place.length }));
        Ok(())
    }

    /// The best of the scored messages that meet every condition, with all that are equal to the last, and
    /// which number is where among them.
    fn best(
        &self,
        scored: Vec<Scored>,
        unsure: &[&Term],
        which: &Select,
        limit: usize,
    ) -> rusqlite::Result<(Vec<Hit>, FxHashMap<i64, usize>)> {
        // Few of very many are wanted: a heap gives them without putting all in order.
        let mut scored = BinaryHeap::from(scored);
        let mut hits: Vec<Hit> = Vec::new();
        let mut places = FxHashMap::default();
        while let Some(Scored { n, score, share }) = scored.pop() {
            if hits.len() >= limit && hits.last().is_some_and(|worst| worst.score > score) {
                break;
            }
            if let Some(message) = self.nth(n)?.filter(|m| which.admits(m) && holds(unsure, m)) {
                places.insert(n, hits.len());
                let mut hit = Hit::by(KEYWORD, message, score);
                share.into_iter().for_each(|share| hit.why.set(SHARE, share.to_string()));
                hits.push(hit);
            }
        }
        Ok((hits, places))
    }

    /// The message that has a number.
    pub(super) fn nth(&self, n: i64) -> rusqlite::Result<Option<Message>> {
        let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE record.n = ?");
        self.connection.prepare_cached(&sql)?.query_row([n], message).optional()
    }

    /// The newest messages that hold what is in no word (`++`, an emoji) or in very many.
    fn newest(
        &self,
        terms: &[&Term],
        scopes: &[i64],
        which: &Select,
        limit: usize,
    ) -> rusqlite::Result<Vec<Hit>> {
        let mut hits = Vec::new();
        for scope in scopes {
            let sql = format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE record.kind = 'message' AND record.scope = ? \
                 ORDER BY record.timestamp DESC, record.seq DESC, record.id DESC"
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            let messages = statement.query_map([scope], message)?;
            let held = messages.filter(|m| m.as_ref().map_or(true, |m| which.admits(m) && holds(terms, m)));
            for message in held.take(limit) {
                hits.push(Hit { parts: Vec::new(), ..Hit::by(KEYWORD, message?, 0.0) });
            }
        }
        Ok(Hit::best(hits, limit))
    }
}

/// The runs of the terms that can tell messages apart, with the words of each part that may hold them.
fn telling<'a>(terms: &'a [Term], occur: Occur, parts: &'a [Part]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run> = Vec::new();
    for (text, within) in terms.iter().flat_map(|term| term.runs.iter().map(|run| (run, term.within))) {
        if runs.len() == LOOKED_UP {
            break;
        }
        let stem = (!within).then(|| words::stem(text));
        let known = |run: &Run| run.text == text || stem.is_some() && run.stem == stem;
        // What an apostrophe cut off is in every other message.
        let scrap = occur == Occur::Any && text.len() == 1;
        if scrap || runs.iter().any(known) {
            continue;
        }
        let mut run = Run { text, stem, words: Vec::new(), docs: Vec::new() };
        run.words = parts.iter().map(|part| part.words_with(run.piece(), MANY)).collect();
        let many = run.words.iter().any(|words| words.len() > MANY);
        if many && occur == Occur::Any {
            run.words = parts.iter().map(|_| vec![text.as_bytes()]).collect();
        }
        if !many || occur == Occur::Any {
            runs.push(run);
        }
    }
    runs
}

/// Looks for the runs in a message that is in no part yet.
fn look_at(n: i64, folded: &str, runs: &mut [Run], corpus: &mut Corpus) {
    let words: Vec<&str> = words::words(folded).collect();
    corpus.docs += 1.0;
    corpus.words += words.len() as f64;
    for run in runs {
        if memchr::memmem::find(folded.as_bytes(), run.piece().as_bytes()).is_none() {
            continue;
        }
        let times: f64 = words.iter().map(|word| run.weight(word)).sum();
        if times > 0.0 {
            run.docs.push(Doc { n, times, length: words.len() as u32 });
        }
    }
}

/// A message and its score: the greatest is the best, of equals the newest.
struct Scored {
    n: i64,
    score: f64,
    /// How much it holds of what is asked for, if that is any of it.
    share: Option<f64>,
}

impl Ord for Scored {
    fn cmp(&self, other: &Scored) -> Ordering {
        self.score.total_cmp(&other.score).then(self.n.cmp(&other.n))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Scored) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Scored) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scored {}

/// A message in which runs were found.
#[derive(Clone, Default)]
struct Found {
    runs: usize,
    score: f64,
    /// The rarity of the runs together.
    rarity: f64,
}

/// What was found in each message: side by side where the numbers of the messages lie close, as those of a scope
/// mostly do.
enum Tally {
    Close(i64, Vec<Found>),
    Far(FxHashMap<i64, Found>),
}

impl Tally {
    /// For messages from one number to another, in which `count` runs were found.
    fn of(first: i64, last: i64, count: usize) -> Tally {
        match usize::try_from(last - first) {
            Ok(width) if width < count.saturating_mul(SPARSE) => {
                Tally::Close(first, vec![Found::default(); width + 1])
            }
            _ => Tally::Far(FxHashMap::default()),
        }
    }

    fn of_message(&mut self, n: i64) -> &mut Found {
        match self {
            Tally::Close(first, all) => &mut all[(n - *first) as usize],
            Tally::Far(all) => all.entry(n).or_default(),
        }
    }

    fn into_all(self) -> Vec<(i64, Found)> {
        match self {
            Tally::Close(first, all) => (first..).zip(all).collect(),
            Tally::Far(all) => all.into_iter().collect(),
        }
    }
}

/// A tally with so many places for each that is taken costs no more than a map.
const SPARSE: usize = 16;

/// BM25 of every message that holds all runs, or any; times the part that it holds of what is asked for, each
/// run counting as much as it is rare: a message that holds half of it says less than half.
fn combine(runs: &[Run], occur: Occur, corpus: &Corpus) -> Vec<Scored> {
    let wanted = if occur == Occur::All { runs.len() } else { 1 };
    let numbers = || runs.iter().flat_map(|run| &run.docs).map(|doc| doc.n);
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else { return Vec::new() };
    let mut found = Tally::of(first, last, runs.iter().map(|run| run.docs.len()).sum());
    // What nobody said cannot be found, and still was asked for.
    let (mut asked, mut unknown) = (0.0, corpus.rarity(0));
    for (at, run) in runs.iter().enumerate() {
        let (rarity, bm25) = (corpus.rarity(run.docs.len()), corpus.bm25(run.docs.len()));
        *if run.docs.is_empty() { &mut unknown } else { &mut asked } += rarity;
        for doc in &run.docs {
            let held = found.of_message(doc.n);
            if occur == Occur::All && held.runs < at {
                continue;
            }
            held.score += bm25(doc);
            held.rarity += rarity;
            held.runs += 1;
        }
    }
    let all = found.into_all().into_iter().filter(|(_, held)| held.runs >= wanted);
    let share = |held: &Found| (occur == Occur::Any).then_some(held.rarity / (asked + unknown));
    all.map(|(n, held)| Scored { n, score: held.score * held.rarity / asked, share: share(&held) }).collect()
}

/// Tells of each hit what each run gave to its score.
fn explain(hits: &mut [Hit], places: &FxHashMap<i64, usize>, runs: &[Run], corpus: &Corpus) {
    hits.iter_mut().for_each(|hit| hit.parts.clear());
    for run in runs {
        let bm25 = corpus.bm25(run.docs.len());
        for doc in &run.docs {
            if let Some(at) = places.get(&doc.n) {
                hits[*at].parts.push((run.text.to_owned(), bm25(doc)));
            }
        }
    }
}

fn holds(terms: &[&Term], message: &Message) -> bool {
    if terms.is_empty() {
        return true;
    }
    let folded = words::fold(&message.content.text());
    terms.iter().all(|term| term.occurs_in(&folded))
}
