//! Keyword search over the word index.

use super::super::ranking::{self, Corpus, Doc, KEYWORD, Run, combine, explain, holds, look_at};
use super::super::words::Term;
use super::super::{Occur, Select};
use super::Sqlite;
use super::index::{self, Part, Place};
use super::read::{COLUMNS, TABLES, message};
use crate::record::{Hit, Message};
use rusqlite::OptionalExtension;

/// A run that lies in more words of one part than this tells nothing: it is looked for in the messages
/// themselves, and does not count.
const MANY: usize = 1000;

/// The words of each part that may hold a run.
type Words<'a> = Vec<Vec<&'a [u8]>>;

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
        let (mut runs, words) = telling(terms, occur, &parts);
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
            let corpus = self.gather(&mut runs, &words, &scopes, &parts)?;
            // The rarest first: the others can then only lose messages.
            runs.sort_by_key(|run| run.docs.len());
            let admitted = |message: &Message| which.admits(message) && holds(&unsure, message);
            let read = |n| self.nth(n).map(|message| message.filter(admitted));
            let (mut hits, places) = ranking::best(combine(&runs, occur, &corpus), limit, read)?;
            if occur == Occur::All {
                explain(&mut hits, &places, &runs, &corpus);
            }
            Hit::best(hits, limit)
        };
        snapshot.finish()?;
        Ok(hits)
    }

    /// Finds the messages that hold each run.
    fn gather(
        &self,
        runs: &mut [Run],
        words: &[Words],
        scopes: &[i64],
        parts: &[Part],
    ) -> rusqlite::Result<Corpus> {
        let mut corpus = Corpus::default();
        for (at, part) in parts.iter().enumerate() {
            if runs.len() > 1 {
                part.spread();
            }
            corpus.docs += part.docs as f64;
            corpus.words += part.places().map(|place| f64::from(place.length)).sum::<f64>();
            for (run, words) in runs.iter_mut().zip(words) {
                self.look_up(part, &words[at], run)?;
            }
        }
        for scope in scopes {
            index::tail(&self.connection, *scope, |n, folded| look_at(n, folded, runs, &mut corpus))?;
        }
        runs.iter_mut().for_each(|run| run.held = run.docs.len());
        Ok(corpus)
    }

    fn look_up(&self, part: &Part, words: &[&[u8]], run: &mut Run) -> rusqlite::Result<()> {
        let weighed: Vec<(&[u8], f64)> = words
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

/// The runs of the terms that can tell messages apart, and for each the words that may hold it.
fn telling<'a>(terms: &'a [Term], occur: Occur, parts: &'a [Part]) -> (Vec<Run<'a>>, Vec<Words<'a>>) {
    let mut all = Vec::new();
    let runs = ranking::telling(terms, occur, |run| {
        let mut words: Words = parts.iter().map(|part| part.words_with(run.piece(), MANY)).collect();
        let many = words.iter().any(|words| words.len() > MANY);
        if many && occur == Occur::Any {
            words = parts.iter().map(|_| vec![run.text.as_bytes()]).collect();
        }
        let tells = !many || occur == Occur::Any;
        if tells {
            all.push(words);
        }
        tells
    });
    (runs, all)
}
