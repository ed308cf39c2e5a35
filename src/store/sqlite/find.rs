//! Keyword search over the word index.

use super::super::ranking::{self, Corpus, Doc, KEYWORD, Run, combine, explain, further, holds, look_at};
use super::super::words::Term;
use super::super::{Cosines, Occur, Select};
use super::Sqlite;
use super::coding::Place;
use super::index::{self, Part};
use super::nearest::{Measure, VECTOR};
use super::read::{COLUMNS, TABLES, message};
use super::select::Wanted;
use crate::record::{Hit, Message};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;
use std::mem::take;

/// A run that lies in more words of one part than this tells nothing: it is looked for in the messages
/// themselves, and does not count.
const MANY: usize = 1000;

/// The words of each part that may hold a run.
type Words = Vec<Vec<Box<[u8]>>>;

impl Sqlite {
    /// The hits, and the cosines of what was read for them with a vector of a model.
    pub(super) fn find_terms(
        &mut self,
        terms: &[Term],
        occur: Occur,
        which: &Select,
        limit: usize,
        meant: Option<(&str, &[f32])>,
    ) -> rusqlite::Result<(Vec<Hit>, Cosines)> {
        // Whoever writes does not map the file by itself.
        self.connection.pragma_update(None, "mmap_size", super::MAPPED)?;
        let snapshot = self.connection.unchecked_transaction()?;
        let scopes = match self.scope_numbers(&which.scopes)? {
            Some(scopes) => scopes,
            None => self
                .connection
                .prepare_cached("SELECT n FROM scope")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?,
        };
        let mut measure = Measure::by(&self.connection, meant)?;
        let mut parts = Vec::new();
        for scope in &scopes {
            parts.append(&mut Part::of_scope(&self.connection, *scope)?);
        }
        let (runs, words) = telling(&self.connection, terms, occur, &parts)?;
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
            let mut lookup = Lookup::begin(&self.connection, &parts, &scopes, which, (runs, words))?;
            let admitted = |message: &Message| which.admits(message) && holds(&unsure, message);
            let read = |n| self.nth(n, &mut measure).map(|message| message.filter(admitted));
            lookup.best(occur, limit, read)?
        };
        snapshot.finish()?;
        Ok((hits, measure.cosines))
    }

    /// The message that has a number.
    pub(super) fn nth(&self, n: i64, measure: &mut Measure) -> rusqlite::Result<Option<Message>> {
        let sql = format!("SELECT {COLUMNS}, {VECTOR} FROM {TABLES} WHERE record.n = ?");
        let which = params![measure.model(), n];
        self.connection.prepare_cached(&sql)?.query_row(which, |row| measure.message(row)).optional()
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

/// So many messages hold the runs that are looked at first, or the rarest of them does.
const FIRST: usize = 1000;

/// Which messages hold some runs. Of a run that very many hold, only those are gathered that may be among the best:
/// who holds none of the rarer ones seldom is.
struct Lookup<'a> {
    connection: &'a Connection,
    parts: &'a [Part],
    wanted: Wanted,
    corpus: Corpus,
    /// The rarest first.
    runs: Vec<Run<'a>>,
    /// Where each of them is found.
    places: Vec<Places>,
    /// The messages of each part that hold one of the runs that were looked at.
    seen: Vec<Seen>,
    tally: Tally,
}

/// Messages of a part, by where they stand in it: a bit for each of the part, and what is known of those that are
/// seen.
#[derive(Default)]
struct Seen {
    bits: Vec<u64>,
    known: FxHashMap<u32, Place>,
}

/// The messages of a part that hold something, in their order, and how often.
type Holders = Vec<(u32, f32)>;

/// Where a run is found.
struct Places {
    /// The words of each part that count, and how much.
    words: Vec<Vec<(Box<[u8]>, f32)>>,
    /// Who holds it in each part, once that is known and as long as it is not `whole`.
    holders: Vec<Option<Holders>>,
    /// How many messages that are in no part hold it: they come first.
    tail: usize,
    /// Whether all that hold it are gathered.
    whole: bool,
}

impl<'a> Lookup<'a> {
    /// Counts the messages that hold each run.
    fn begin(
        connection: &'a Connection,
        parts: &'a [Part],
        scopes: &[i64],
        which: &Select,
        (mut runs, words): (Vec<Run<'a>>, Vec<Words>),
    ) -> rusqlite::Result<Lookup<'a>> {
        let mut corpus = Corpus::default();
        for part in parts {
            corpus.docs += part.docs as f64;
            corpus.words += part.length as f64;
        }
        let wanted = Wanted::of(connection, which)?;
        for scope in scopes {
            index::tail(connection, *scope, |Place { n, timestamp, role, .. }, folded| {
                let admitted = wanted.admits(n, timestamp, role);
                corpus.docs += 1.0;
                corpus.words += look_at((n, timestamp), folded, &mut runs, |run, doc| {
                    run.held += 1;
                    run.docs.extend(admitted.then_some(doc));
                }) as f64;
            })?;
        }
        let seen = |part: &Part| Seen { bits: vec![0; part.docs.div_ceil(64)], known: FxHashMap::default() };
        let seen = parts.iter().map(seen).collect();
        let tally = Tally::default();
        let mut lookup =
            Lookup { connection, parts, wanted, corpus, runs: Vec::new(), places: Vec::new(), seen, tally };
        let mut found = Vec::new();
        for (run, words) in runs.into_iter().zip(words) {
            found.push(lookup.count(run, words)?);
        }
        found.sort_by_key(|(run, _)| run.held);
        (lookup.runs, lookup.places) = found.into_iter().unzip();
        Ok(lookup)
    }

    /// Counts who holds a run.
    fn count(&mut self, mut run: Run<'a>, words: Words) -> rusqlite::Result<(Run<'a>, Places)> {
        let counts = |word: Box<[u8]>| {
            let weight = run.weight(std::str::from_utf8(&word).unwrap_or_default());
            (weight > 0.0).then_some((word, weight))
        };
        let words: Vec<Vec<_>> =
            words.into_iter().map(|words| words.into_iter().filter_map(counts).collect()).collect();
        let mut holders = Vec::new();
        for (part, words) in self.parts.iter().zip(&words) {
            if let [(word, _)] = &words[..] {
                run.held += part.holders(self.connection, word)?;
                holders.push(None);
            } else {
                let all = self.tally.of(self.connection, part, words)?;
                run.held += all.len();
                holders.push(Some(all));
            }
        }
        let tail = run.docs.len();
        Ok((run, Places { words, holders, tail, whole: false }))
    }

    /// The best hits.
    fn best(
        &mut self,
        occur: Occur,
        limit: usize,
        mut read: impl FnMut(i64) -> rusqlite::Result<Option<Message>>,
    ) -> rusqlite::Result<Vec<Hit>> {
        let mut looked = 0;
        loop {
            looked = match occur {
                // Who holds all of them holds the rarest.
                Occur::All => 1,
                Occur::Any => further(&self.runs, looked, FIRST),
            };
            let (mut runs, mut places) = (take(&mut self.runs), take(&mut self.places));
            for (at, (run, places)) in runs.iter_mut().zip(&mut places).enumerate() {
                self.gather(run, places, at < looked)?;
            }
            (self.runs, self.places) = (runs, places);
            let scored = combine(&self.runs, occur, &self.corpus);
            let rarity = |runs: &[Run]| self.corpus.rarity_of(runs);
            let most = ranking::most(rarity(&self.runs[looked..]), rarity(&self.runs));
            let last = occur == Occur::All || looked == self.runs.len();
            if !last && !ranking::may_do(&scored, limit, most) {
                continue;
            }
            let (mut hits, places) = ranking::best(scored, limit, &mut read)?;
            let enough = hits.get(limit - 1).is_some_and(|worst| worst.score > most);
            if last || enough {
                if occur == Occur::All {
                    explain(&mut hits, &places, &self.runs, &self.corpus);
                }
                return Ok(Hit::best(hits, limit));
            }
        }
    }

    /// Gathers all that hold a run and are wanted, or those that are seen already.
    fn gather(&mut self, run: &mut Run, places: &mut Places, whole: bool) -> rusqlite::Result<()> {
        if places.whole {
            return Ok(());
        }
        run.docs.truncate(places.tail);
        for (at, (part, seen)) in self.parts.iter().zip(&mut self.seen).enumerate() {
            let holders = match &mut places.holders[at] {
                Some(holders) => holders,
                none => none.insert(self.tally.of(self.connection, part, &places.words[at])?),
            };
            let mut add = |Place { n, timestamp, length, .. }, times| {
                run.docs.push(Doc { n, timestamp, times, length });
            };
            if !whole {
                let held = holders.iter().filter(|(at, _)| seen.holds(*at));
                held.for_each(|(at, times)| add(seen.known[at], *times));
                continue;
            }
            part.places(self.connection, holders, |at, times, place| {
                if self.wanted.admits(place.n, place.timestamp, place.role) {
                    seen.add(at, place);
                    add(place, times);
                }
            })?;
        }
        places.whole = whole;
        if whole {
            places.holders = Vec::new();
        }
        Ok(())
    }
}

impl Seen {
    fn holds(&self, at: u32) -> bool {
        self.bits[at as usize / 64] & 1 << (at % 64) != 0
    }

    fn add(&mut self, at: u32, place: Place) {
        self.bits[at as usize / 64] |= 1 << (at % 64);
        self.known.insert(at, place);
    }
}

/// Adds up how often each message of a part holds one of some words.
#[derive(Default)]
struct Tally {
    /// Of each message; all 0 between two uses.
    times: Vec<f32>,
    /// Which of them are not, a bit each.
    held: Vec<u64>,
}

impl Tally {
    fn of(
        &mut self,
        connection: &Connection,
        part: &Part,
        words: &[(Box<[u8]>, f32)],
    ) -> rusqlite::Result<Holders> {
        let mut holders = Holders::new();
        if let [(word, weight)] = words {
            let add = |at: usize, times: u64| holders.push((at as u32, times as f32 * weight));
            part.postings(connection, word, add)?;
            return Ok(holders);
        }
        if self.times.len() < part.docs {
            self.times.resize(part.docs, 0.0);
            self.held.resize(part.docs.div_ceil(64), 0);
        }
        for (word, weight) in words {
            part.postings(connection, word, |at, times| {
                self.times[at] += times as f32 * weight;
                self.held[at / 64] |= 1 << (at % 64);
            })?;
        }
        for (place, bits) in self.held.iter_mut().enumerate() {
            while *bits != 0 {
                let at = place * 64 + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                holders.push((at as u32, take(&mut self.times[at])));
            }
        }
        Ok(holders)
    }
}

/// The runs of the terms that can tell messages apart, and for each the words that may hold it.
fn telling<'a>(
    connection: &Connection,
    terms: &'a [Term],
    occur: Occur,
    parts: &[Part],
) -> rusqlite::Result<(Vec<Run<'a>>, Vec<Words>)> {
    let mut all = Vec::new();
    let runs = ranking::telling(terms, occur, |run| -> rusqlite::Result<bool> {
        let mut words: Words = vec![Vec::new(); parts.len()];
        for (part, words) in parts.iter().zip(&mut words) {
            for piece in run.pieces() {
                words.append(&mut match run.stem {
                    Some(_) => part.words_from(connection, piece, MANY)?,
                    None => part.words_with(connection, piece, MANY)?,
                });
            }
        }
        let many = words.iter().any(|words| words.len() > MANY);
        if many && occur == Occur::Any {
            words = parts.iter().map(|_| vec![run.text.as_bytes().into()]).collect();
        }
        let tells = !many || occur == Occur::Any;
        if tells {
            all.push(words);
        }
        Ok(tells)
    })?;
    Ok((runs, all))
}
