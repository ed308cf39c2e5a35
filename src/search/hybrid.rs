//! Words and meaning together, and what stands around a hit in its conversation.
//!
//! A message's own score is its BM25 as a part of the best one's, and MEANING times its place between the
//! lowest cosine of all candidates and the best, if its cosine reaches the model's floor: models differ in where
//! their cosines lie. Without a vector its words count for both. If the question names a month or a year, what
//! was said then counts DATED times as much.
//!
//! To that comes what its neighbours in the conversation lend it: of the two at one step the better one's own
//! score, and of the two at two steps, since what answers a question often stands beside what resembles it. A
//! message that asks something itself seldom answers: it lends more to the next, and counts less.
//!
//! `scripts/bench recall` measures what each of these is worth, and what was tried and left out.

use super::beside::Beside;
use super::dates::Dates;
use super::telling;
use crate::embed::Embedder;
use crate::error::Result;
use crate::record::{Hit, Message, Object};
use crate::store::{Around, Cosines, Occur, Related, Select, Store};
use std::collections::HashMap;

/// What a cosine counts beside a word's score.
const MEANING: f64 = 0.7;
/// What a neighbour lends, at one step and at two.
const LENT: [f64; REACH] = [0.5, 0.3];
/// How many steps that are.
pub(super) const REACH: usize = 2;
/// What a message that asks something lends to the next, and what its own score counts for itself.
const ASKED: f64 = 0.8;
/// What a message counts that was said when the question says.
const DATED: f64 = 1.5;
/// What a score is made of: words, meaning, and what neighbours lend.
const PARTS: [&str; 4] = ["keyword", "similarity", "around_1", "around_2"];
/// How many messages are looked at of either kind, at least, and for each that is wanted.
const CANDIDATES: usize = 40;
/// How many of the best are looked around at least: the others have next to nothing to lend.
const LENDERS: usize = 60;
/// What stands around so many of the best may be there for what it means itself.
const MEASURED: usize = 20;
const PER_HIT: usize = 2;

/// What a question means to a model.
#[derive(Clone, Copy)]
pub(super) struct Meant<'a> {
    model: &'a str,
    vector: &'a [f32],
    /// The cosine from which on a message may have to do with it.
    floor: f64,
}

impl<'a> Meant<'a> {
    /// Of the vector that an embedder gave.
    pub(super) fn of(embedder: &'a Embedder, vector: &'a [f32]) -> Meant<'a> {
        Meant { model: embedder.model(), vector, floor: f64::from(embedder.floor()) }
    }
}

/// A message and what speaks for it.
struct Candidate {
    message: Message,
    keyword: f64,
    /// How much of the question's words it holds, weighed by their rarity.
    share: f64,
    similarity: Option<f64>,
}

/// The candidates, each once, in the order in which they were found.
#[derive(Default)]
struct Pool {
    all: Vec<Candidate>,
    places: HashMap<String, usize>,
}

impl Pool {
    fn add(&mut self, message: Message) -> &mut Candidate {
        let place = *self.places.entry(message.id.clone()).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(Candidate { message, keyword: 0.0, share: 0.0, similarity: None });
        }
        &mut self.all[place]
    }

    /// Tells cosines of candidates where none are known.
    fn measure(&mut self, cosines: &Cosines) {
        for (id, cosine) in cosines {
            if let Some(at) = self.places.get(id) {
                self.all[*at].similarity.get_or_insert(*cosine);
            }
        }
    }
}

/// How many messages are looked at of either kind for so many hits.
fn candidates(limit: usize) -> usize {
    CANDIDATES.max(limit.saturating_mul(PER_HIT))
}

/// Tells the store what `ranked` will ask it for, so that it may begin.
pub(super) fn prefetch(store: &mut dyn Store, question: &str, which: &Select, limit: usize) {
    if limit > 0 {
        store.prefetch(&telling(question), which, candidates(limit));
    }
}

/// The same, when it is known what the question means: what gets a vector meanwhile is found as well.
pub(super) fn begin(store: &mut dyn Store, question: &str, meant: Meant, which: &Select, limit: usize) {
    if limit > 0 {
        store.begin(&telling(question), (meant.model, meant.vector), which, candidates(limit));
    }
}

/// The candidates by words and, if a model can tell, by meaning, in their order; what was seen beside them goes to
/// `beside`.
pub(super) fn ranked(
    store: &mut dyn Store,
    question: &str,
    meant: Option<Meant>,
    which: &Select,
    limit: usize,
    beside: &mut Beside,
) -> Result<Vec<Hit>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let wanted = candidates(limit);
    let terms = telling(question);
    let Related { worded, near, cosines } = match meant {
        Some(Meant { model, vector, .. }) => store.related(&terms, (model, vector), which, wanted)?,
        None => Related { worded: store.find(&terms, Occur::Any, which, wanted)?, ..Related::default() },
    };
    let mut pool = Pool::default();
    for hit in worded {
        let share = hit.why.number("share")?.unwrap_or_default();
        let candidate = pool.add(hit.message);
        (candidate.keyword, candidate.share) = (hit.score, share);
    }
    for hit in near {
        pool.add(hit.message).similarity = Some(hit.score);
    }
    pool.measure(&cosines);
    let dates = Dates::named(question);
    let floor = meant.map_or(f64::INFINITY, |meant| meant.floor);
    let own = own(&pool, &dates, floor);
    let around = around(store, &mut pool, &own, (which, limit), meant, beside)?;
    Ok(order(pool, &around, &dates, floor, limit))
}

/// What stands around the best candidates, by their places; it becomes candidates too, with its cosines.
fn around<'a>(
    store: &mut dyn Store,
    pool: &mut Pool,
    own: &[[f64; 2]],
    (which, limit): (&Select, usize),
    meant: Option<Meant>,
    beside: &'a mut Beside,
) -> Result<Vec<(usize, &'a Around)>> {
    let sum = |at: &usize| own[*at].iter().sum::<f64>();
    let mut best: Vec<usize> = (0..pool.all.len()).collect();
    best.sort_by(|a, b| sum(b).total_cmp(&sum(a)).then(a.cmp(b)));
    best.truncate(LENDERS.max(limit.saturating_mul(PER_HIT)));
    let unseen = best.iter().map(|at| &pool.all[*at].message);
    let unseen: Vec<&Message> = unseen.filter(|message| beside.around(&message.id).is_none()).collect();
    let (around, cosines) = match meant {
        Some(Meant { model, vector, .. }) => {
            store.around_measured(&unseen, which, REACH, (model, vector, MEASURED.max(limit)))?
        }
        None => (store.around(&unseen, which, REACH)?, Vec::new()),
    };
    beside.see(&unseen, around, cosines);
    let beside = &*beside;
    let seen = |at: usize| Some((at, beside.around(&pool.all[at].message.id)?));
    let around: Vec<(usize, &Around)> = best.into_iter().filter_map(seen).collect();
    for message in around.iter().flat_map(|(_, around)| around.all()) {
        pool.add(message.clone());
    }
    pool.measure(&beside.cosines);
    Ok(around)
}

/// The own scores of the candidates by their words and by their meaning, 0 where neither speaks for one.
fn own(pool: &Pool, dates: &Dates, floor: f64) -> Vec<[f64; 2]> {
    let keyword = pool.all.iter().map(|one| one.keyword).fold(f64::MIN_POSITIVE, f64::max);
    let cosines = || pool.all.iter().filter_map(|one| one.similarity);
    let (lowest, best) =
        (cosines().fold(f64::INFINITY, f64::min), cosines().fold(f64::NEG_INFINITY, f64::max));
    let meaning = |cosine: f64| match best - lowest {
        _ if cosine < floor => 0.0,
        width if width > 0.0 => (cosine - lowest) / width,
        _ => 1.0,
    };
    let score = |one: &Candidate| {
        let dated = if dates.hold(one.message.timestamp) { DATED } else { 1.0 };
        let words = one.keyword / keyword;
        match one.similarity {
            Some(cosine) => [dated * words, dated * MEANING * meaning(cosine)],
            // It has no vector yet: its words stand for its meaning.
            None => [dated * (1.0 + MEANING) * words, 0.0],
        }
    };
    pool.all.iter().map(score).collect()
}

/// The best candidates for which anything speaks, in their order; ties by time, newest first, then by id.
fn order(pool: Pool, around: &[(usize, &Around)], dates: &Dates, floor: f64, limit: usize) -> Vec<Hit> {
    let own = own(&pool, dates, floor);
    let sums: Vec<f64> = own.iter().map(|own| own.iter().sum()).collect();
    let asks: Vec<bool> = pool.all.iter().map(|one| asks(&one.message)).collect();
    let lent = lent(&pool, around, &sums, &asks);
    let relevance = relevance(&pool, around, floor);
    let own = |at: usize| own[at].map(|part| if asks[at] { part * ASKED } else { part });
    let borrowed = |at: usize| lent[at].iter().sum::<f64>();
    let Pool { all, places } = pool;
    let told: Vec<_> = all.iter().map(|one| (one.keyword, one.similarity)).collect();
    let hit = |(at, candidate): (usize, Candidate)| {
        let score = own(at).iter().sum::<f64>() + borrowed(at);
        Hit { message: candidate.message, score, why: Object::default(), parts: Vec::new() }
    };
    let hits = all.into_iter().enumerate().map(hit).filter(|hit| hit.score > 0.0);
    let mut hits = Hit::best(hits.collect(), limit);
    for hit in &mut hits {
        let at = places[&hit.message.id];
        let (keyword, similarity) = told[at];
        let mut why = |name, value: Option<f64>| value.map(|value| hit.why.set(name, value.to_string()));
        why("keyword", Some(keyword).filter(|keyword| *keyword > 0.0));
        why("similarity", similarity);
        why("around", Some(borrowed(at)).filter(|around| *around > 0.0));
        why("relevance", Some(relevance[at]));
        let parts = PARTS.into_iter().zip(own(at).into_iter().chain(lent[at]));
        let parts = parts.filter(|(_, part)| *part != 0.0).map(|(name, part)| (name.to_owned(), part));
        hit.parts = parts.collect();
    }
    hits
}

/// How much of its question's words a message holds counts so much beside its place between the floor and 1.
const WORDS: f64 = 0.5;

/// How likely each candidate has to do with the question at all, which its score, as a part of the best one's,
/// does not tell: its cosine's place between the floor (0) and 1, and half of the share of the question's words
/// that it holds; without a vector that share alone. What stands beside a message has as much to do with the
/// question as that.
fn relevance(pool: &Pool, around: &[(usize, &Around)], floor: f64) -> Vec<f64> {
    let own = |one: &Candidate| match one.similarity {
        Some(cosine) => (cosine - floor) / (1.0 - floor) + WORDS * one.share,
        None => one.share,
    };
    let own: Vec<f64> = pool.all.iter().map(own).collect();
    let mut best = own.clone();
    for (at, around) in around {
        for message in around.all() {
            let other = pool.places[&message.id];
            best[*at] = best[*at].max(own[other]);
            best[other] = best[other].max(own[*at]);
        }
    }
    best
}

/// Whether a message ends in a question.
fn asks(message: &Message) -> bool {
    message.content.text().trim_end().ends_with(['?', '？', '؟'])
}

/// What the neighbours of each candidate lend it, at each step. Who stands around whom is known of those that
/// were found; it holds the other way round too.
fn lent(pool: &Pool, around: &[(usize, &Around)], own: &[f64], asks: &[bool]) -> Vec<[f64; LENT.len()]> {
    let mut best = vec![[0.0_f64; LENT.len()]; own.len()];
    let mut lend = |from: usize, to: usize, step: usize, onward: bool| {
        let part = if onward && step == 0 && asks[from] { ASKED } else { LENT[step] };
        best[to][step] = best[to][step].max(own[from] * part);
    };
    for (at, around) in around {
        for (side, earlier) in [(&around.before, true), (&around.after, false)] {
            for (step, message) in side.iter().enumerate() {
                let other = pool.places[&message.id];
                lend(other, *at, step, earlier);
                lend(*at, other, step, !earlier);
            }
        }
    }
    best
}
