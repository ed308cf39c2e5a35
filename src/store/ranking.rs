//! How messages are ranked by their words, in any store: BM25 within what was asked for, times the part of it that
//! a message holds. A store finds which messages hold a run, and how many there are.

use super::Occur;
use super::words::{self, Term};
use crate::record::{Hit, Message};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// How much a word counts that only contains what was asked for.
const PIECE: f32 = 0.5;

/// Okapi BM25's constants, as Anserini has them (Yang, Fang and Lin 2017): messages are short, and their
/// length says little.
const K1: f64 = 0.9;
const B: f64 = 0.4;

/// The name of the score among what speaks for a hit.
pub(super) const KEYWORD: &str = "keyword";

/// The name of how much a message holds of what is asked for: the rarity of the words that it holds, as a part of
/// that of all and of one more that nobody said, so that a single word is not all there is to ask for.
const SHARE: &str = "share";

/// So many runs are looked up at most. Of a longer question the rest is looked for in the messages themselves,
/// or does not count.
const LOOKED_UP: usize = 128;

/// A run of letters and digits of the question, and where it occurs.
pub(super) struct Run<'a> {
    pub(super) text: &'a str,
    /// Where words of the same stem count, that stem.
    pub(super) stem: Option<Cow<'a, str>>,
    /// Messages that hold it: all of them, or those that may be among the best.
    pub(super) docs: Vec<Doc>,
    /// How many hold it in all.
    pub(super) held: usize,
}

impl Run<'_> {
    /// Of these one is in every word that counts; where words of the same stem count, it is what they begin with.
    /// A word may not begin as its stem does (`dying`, `die`).
    pub(super) fn pieces(&self) -> impl Iterator<Item = &str> {
        let piece = self.stem.as_deref().map_or(self.text, words::beginning);
        std::iter::once(piece).chain((!self.text.contains(piece)).then_some(self.text))
    }

    /// How much a word counts that has the piece in it.
    pub(super) fn weight(&self, word: &str) -> f32 {
        match &self.stem {
            _ if word == self.text => 1.0,
            Some(stem) if word.starts_with(words::beginning(stem)) && words::stem(word) == *stem => 1.0,
            Some(_) => 0.0,
            None if word.contains(self.text) => PIECE,
            None => 0.0,
        }
    }
}

/// A message, its time, how often it holds the run, and its length in words.
pub(super) struct Doc {
    pub(super) n: i64,
    pub(super) timestamp: i64,
    pub(super) times: f32,
    pub(super) length: u32,
}

/// How many messages were looked at, and their words.
#[derive(Default)]
pub(super) struct Corpus {
    pub(super) docs: f64,
    pub(super) words: f64,
}

impl Corpus {
    /// How much a run says that so many messages hold: its inverse document frequency.
    pub(super) fn rarity(&self, docs: usize) -> f64 {
        let docs = docs as f64;
        (1.0 + (self.docs - docs + 0.5) / (docs + 0.5)).ln()
    }

    /// How rare runs are together, as far as any message holds them.
    pub(super) fn rarity_of(&self, runs: &[Run]) -> f64 {
        runs.iter().filter(|run| run.held > 0).map(|run| self.rarity(run.held)).sum()
    }

    /// What a run that so many messages hold gives to the score of each: its BM25.
    fn bm25(&self, docs: usize) -> impl Fn(&Doc) -> f64 {
        let average = (self.words / self.docs.max(1.0)).max(1.0);
        let rarity = self.rarity(docs);
        move |doc| {
            let norm = K1 * (1.0 - B + B * f64::from(doc.length) / average);
            let times = f64::from(doc.times);
            rarity * times * (K1 + 1.0) / (times + norm)
        }
    }
}

/// The runs of the terms that can tell messages apart, as far as `tells` does not say otherwise; each once.
pub(super) fn telling<'a, E>(
    terms: &'a [Term],
    occur: Occur,
    mut tells: impl FnMut(&Run<'a>) -> Result<bool, E>,
) -> Result<Vec<Run<'a>>, E> {
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
        let run = Run { text, stem, docs: Vec::new(), held: 0 };
        if tells(&run)? {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Looks for the runs in a message that no index has, and calls `visit` for each that it holds. Gives its length in
/// words.
pub(super) fn look_at(
    (n, timestamp): (i64, i64),
    folded: &str,
    runs: &mut [Run],
    mut visit: impl FnMut(&mut Run, Doc),
) -> usize {
    let words: Vec<&str> = words::words(folded).collect();
    for run in runs {
        if !run.pieces().any(|piece| memchr::memmem::find(folded.as_bytes(), piece.as_bytes()).is_some()) {
            continue;
        }
        let times: f32 = words.iter().map(|word| run.weight(word)).sum();
        if times > 0.0 {
            visit(run, Doc { n, timestamp, times, length: words.len() as u32 });
        }
    }
    words.len()
}

/// The best of the scored messages that `read` gives, with all that are equal to the last, of the same time too; and
/// which number is where among them.
pub(super) fn best<E>(
    scored: Vec<Scored>,
    limit: usize,
    mut read: impl FnMut(i64) -> Result<Option<Message>, E>,
) -> Result<(Vec<Hit>, FxHashMap<i64, usize>), E> {
    // Few of very many are wanted: a heap gives them without putting all in order.
    let mut scored = BinaryHeap::from(scored);
    let mut hits: Vec<Hit> = Vec::new();
    let mut places = FxHashMap::default();
    while let Some(Scored { n, timestamp, score, share }) = scored.pop() {
        let better = |worst: &Hit| (worst.score, worst.message.timestamp) != (score, timestamp);
        if hits.len() >= limit && hits.last().is_some_and(better) {
            break;
        }
        if let Some(message) = read(n)? {
            places.insert(n, hits.len());
            let mut hit = Hit::by(KEYWORD, message, score);
            share.into_iter().for_each(|share| hit.why.set(SHARE, share.to_string()));
            hits.push(hit);
        }
    }
    Ok((hits, places))
}

/// A message and its score: the greatest is the best, of equals the newest.
pub(super) struct Scored {
    n: i64,
    timestamp: i64,
    score: f64,
    /// How much it holds of what is asked for, if that is any of it.
    share: Option<f64>,
}

impl Ord for Scored {
    fn cmp(&self, other: &Scored) -> Ordering {
        let latest = self.timestamp.cmp(&other.timestamp).then(self.n.cmp(&other.n));
        self.score.total_cmp(&other.score).then(latest)
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
    timestamp: i64,
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

    /// Those in which at least so many runs were found.
    fn with(self, wanted: usize) -> Vec<(i64, Found)> {
        let holds = |(_, held): &(i64, Found)| held.runs >= wanted;
        match self {
            Tally::Close(first, all) => (first..).zip(all).filter(holds).collect(),
            Tally::Far(all) => all.into_iter().filter(holds).collect(),
        }
    }
}

/// A tally with so many places for each that is taken costs no more than a map.
const SPARSE: usize = 4;

/// BM25 of every message that holds all runs, or any; times the part that it holds of what is asked for, each
/// run counting as much as it is rare: a message that holds half of it says less than half.
pub(super) fn combine(runs: &[Run], occur: Occur, corpus: &Corpus) -> Vec<Scored> {
    let wanted = if occur == Occur::All { runs.len() } else { 1 };
    let numbers = || runs.iter().flat_map(|run| &run.docs).map(|doc| doc.n);
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else { return Vec::new() };
    let mut found = Tally::of(first, last, runs.iter().map(|run| run.docs.len()).sum());
    // What nobody said cannot be found, and still was asked for.
    let (mut asked, mut unknown) = (0.0, corpus.rarity(0));
    for (at, run) in runs.iter().enumerate() {
        let (rarity, bm25) = (corpus.rarity(run.held), corpus.bm25(run.held));
        *if run.held == 0 { &mut unknown } else { &mut asked } += rarity;
        for doc in &run.docs {
            let held = found.of_message(doc.n);
            if occur == Occur::All && held.runs < at {
                continue;
            }
            held.timestamp = doc.timestamp;
            held.score += bm25(doc);
            held.rarity += rarity;
            held.runs += 1;
        }
    }
    let all = found.with(wanted).into_iter();
    let share = |held: &Found| (occur == Occur::Any).then_some(held.rarity / (asked + unknown));
    let scored = |(n, held): (i64, Found)| Scored {
        n,
        timestamp: held.timestamp,
        score: held.score * held.rarity / asked,
        share: share(&held),
    };
    all.map(scored).collect()
}

/// How many of the runs, the rarest first, are looked at next: as many as hold twice as many messages as before,
/// and `least` at least.
pub(super) fn further(runs: &[Run], looked: usize, least: usize) -> usize {
    let mut messages: usize = 2 * runs[..looked].iter().map(|run| run.held).sum::<usize>();
    messages = messages.max(least);
    let mut sum = 0;
    let within = runs.iter().take_while(|run| {
        sum += run.held;
        sum <= messages
    });
    within.count().max(looked + 1).min(runs.len())
}

/// The most that a message can score whose runs are together that rare, of `all` that is asked for: BM25 gives a run
/// less than `K1 + 1` times its rarity.
pub(super) fn most(rarity: f64, all: f64) -> f64 {
    (K1 + 1.0) * rarity * rarity / all.max(f64::MIN_POSITIVE)
}

/// How rare the runs are together at least of a message that scores so much: a little less, so that what is less rare
/// scores less, however it is rounded.
pub(super) fn least(score: f64, all: f64) -> f64 {
    (score * all / (K1 + 1.0)).sqrt() * (1.0 - 1e-9)
}

/// The numbers of the scored messages, the best first.
pub(super) fn in_order(scored: &[Scored]) -> Vec<i64> {
    let mut order: Vec<&Scored> = scored.iter().collect();
    order.sort_unstable_by(|one, other| other.cmp(one));
    order.into_iter().map(|one| one.n).collect()
}

/// What the best `limit` of the scored messages score at least, if there are so many.
pub(super) fn reached(scored: &[Scored], limit: usize) -> Option<f64> {
    let mut scores: Vec<f64> = scored.iter().map(|one| one.score).collect();
    let nth = limit.checked_sub(1).filter(|nth| *nth < scores.len())?;
    Some(*scores.select_nth_unstable_by(nth, |one, other| other.total_cmp(one)).1)
}

/// Whether the best `limit` of the scored messages, if all of them are wanted, score more than any other can.
pub(super) fn may_do(scored: &[Scored], limit: usize, most: f64) -> bool {
    scored.iter().filter(|one| one.score > most).take(limit).count() == limit
}

/// Tells of each hit what each run gave to its score.
pub(super) fn explain(hits: &mut [Hit], places: &FxHashMap<i64, usize>, runs: &[Run], corpus: &Corpus) {
    hits.iter_mut().for_each(|hit| hit.parts.clear());
    for run in runs {
        let bm25 = corpus.bm25(run.held);
        for doc in &run.docs {
            if let Some(at) = places.get(&doc.n) {
                hits[*at].parts.push((run.text.to_owned(), bm25(doc)));
            }
        }
    }
}

pub(super) fn holds(terms: &[&Term], message: &Message) -> bool {
    if terms.is_empty() {
        return true;
    }
    let folded = words::fold(&message.content.text());
    terms.iter().all(|term| term.occurs_in(&folded))
}
