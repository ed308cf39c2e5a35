//! Keyword search over the word index.

use super::segment::Segment;
use super::word_index;
use crate::ranking::bm25::{self, Corpus, Doc, QueryToken, Scored};
use crate::ranking::window::QuestionWords;
use crate::record::{Hit, Scopes, StoredRecord};
use crate::store::api::VisitHit;
use crate::store::evidence::FoundByWords;
use crate::store::select::Select;
use crate::store::sqlite::collections::Within;
use crate::store::sqlite::error::Stopped;
use crate::store::sqlite::filter::{Admission, Filter};
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::record_columns::{self, COLUMNS, TABLES, record};
use crate::store::sqlite::record_row::DocMeta;
use crate::store::sqlite::snapshot::Snapshot;
use crate::store::sqlite::vectors::measure::{Measure, ModelVector};
use crate::text::terms::{Occur, Piece, Term};
use rusqlite::{Connection, params_from_iter};
use rustc_hash::FxHashMap;
use std::mem::take;

/// A token that occurs in more words of a segment than this is not selective: it is checked in the records themselves,
/// and does not count.
const MAX_WORDS: usize = 1000;

/// The words of each segment that may hold a token.
type SegmentWords = Vec<Vec<Box<[u8]>>>;

/// A search for the records of a selection in which terms occur.
pub(crate) struct KeywordSearch<'a> {
    pub(crate) terms: &'a [Term],
    pub(crate) occur: Occur,
    pub(crate) which: &'a Select,
    pub(crate) limit: usize,
}

impl KeywordSearch<'_> {
    /// Visits the hits, best first. Returns the cosines of the records that were read with a vector of a
    /// model, and the words of the question; all from one snapshot. Fails if `visit` does.
    pub(crate) fn visit(
        &self,
        connection: &Connection,
        kept: Option<&RecordCache>,
        vector: Option<ModelVector>,
        visit: &mut VisitHit,
    ) -> Result<FoundByWords, Stopped> {
        let mut visit = |hit| visit(hit).map_err(Stopped::Visitor);
        let snapshot = Snapshot::begin(connection)?;
        let mut measure = Measure::by(connection, kept, vector)?;
        let segments = Segment::of_selection(connection, self.which)?;
        let (tokens, words_of_tokens) = self.query_tokens(connection, &segments)?;
        let are_current = segments.iter().all(Segment::is_current);
        let proves = |term: &Term| term.is_plain() && (are_current || term.are_earlier_exact);
        let has_token = |term: &Term| proves(term) && tokens.iter().any(|token| token.text == term.text);
        let unsure: Vec<&Term> = match self.occur {
            Occur::All => self.terms.iter().filter(|term| !has_token(term)).collect(),
            Occur::Any => Vec::new(),
        };
        let mut words = QuestionWords::default();
        if self.limit == 0 || tokens.is_empty() && unsure.is_empty() {
            // Nothing can be found.
        } else if tokens.is_empty() {
            let newest = self.newest(connection, &unsure)?;
            let read = |n| Ok(measure.nth(connection, n)?);
            bm25::visit_best(newest, self.limit, (&[], &Corpus::default()), read, visit)?;
        } else {
            let mut lookup =
                Lookup::begin(connection, kept, &segments, self.which, (tokens, words_of_tokens))?;
            let admitted =
                |record: &StoredRecord| self.which.admits(record) && bm25::holds_all(&unsure, record);
            let read = |n| Ok(measure.nth(connection, n)?.filter(admitted));
            lookup.visit(self.occur, self.limit, read, &mut visit)?;
            words = QuestionWords::new(lookup.tokens, &lookup.corpus);
        }
        snapshot.finish()?;
        Ok(FoundByWords { hits: Vec::new(), cosines: measure.cosines, words })
    }

    /// The newest records that hold terms that are in no word (`++`, an emoji) or in very many: at least `limit` of
    /// one scope, if there are that many, with all that tie with the last one in time.
    fn newest(&self, connection: &Connection, terms: &[&Term]) -> rusqlite::Result<Vec<Scored>> {
        let mut found = Vec::new();
        let kinds = self.which.kinds.iter().copied().filter(|kind| kind.indexed.is_some()).collect();
        let which = Select { kinds, ..self.which.clone() };
        let parts = match Within::resolve(connection, &which)? {
            // Of several scopes, the records of all are read in the order of time.
            Within::Listed(numbers) if matches!(which.scopes, Scopes::One(_)) => {
                numbers.into_iter().map(|n| Within::Listed(vec![n])).collect()
            }
            whole => vec![whole],
        };
        for part in parts {
            let mut filter = Filter::new(&which);
            filter.within("record", &part);
            let sql = format!(
                "SELECT {COLUMNS}, record.n FROM {TABLES} WHERE 1{} ORDER BY record.timestamp DESC",
                filter.sql
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(filter.values))?;
            let (mut count, mut last) = (0, None);
            while let Some(row) = rows.next()? {
                let timestamp = row.get(record_columns::TIME)?;
                if count >= self.limit && last != Some(timestamp) {
                    break;
                }
                let record = record(row)?;
                if which.admits(&record) && bm25::holds_all(terms, &record) {
                    found.push(Scored::by_time(row.get(record_columns::AFTER)?, timestamp));
                    (count, last) = (count + 1, Some(timestamp));
                }
            }
        }
        Ok(found)
    }

    /// The selective tokens of the terms, and for each the words that may hold it.
    fn query_tokens(
        &self,
        connection: &Connection,
        segments: &[Segment],
    ) -> rusqlite::Result<(Vec<QueryToken>, Vec<SegmentWords>)> {
        let mut all = Vec::new();
        let tokens = bm25::query_tokens(
            self.terms,
            self.occur,
            &self.which.kinds,
            |token| -> rusqlite::Result<bool> {
                let mut words: SegmentWords = vec![Vec::new(); segments.len()];
                for (segment, words) in segments.iter().zip(&mut words) {
                    let token = token.folded_as(segment.folding);
                    for Piece { text: piece, .. } in &token.pieces {
                        words.append(&mut if token.is_prefixed() {
                            segment.words_from(connection, piece, MAX_WORDS)?
                        } else {
                            segment.words_with(connection, piece, MAX_WORDS)?
                        });
                    }
                    // A word may have several pieces.
                    if !token.is_prefixed() && token.pieces.len() > 1 {
                        words.sort_unstable();
                        words.dedup();
                    }
                }
                let too_many = words.iter().any(|words| words.len() > MAX_WORDS);
                if too_many && self.occur == Occur::Any {
                    let whole = |segment: &Segment| token.folded_as(segment.folding).text.as_bytes().into();
                    words = segments.iter().map(|segment| vec![whole(segment)]).collect();
                }
                let tells = !too_many || self.occur == Occur::Any;
                if tells {
                    all.push(words);
                }
                Ok(tells)
            },
        )?;
        Ok((tokens, all))
    }
}

/// The number of postings up to which tokens are read first; the rarest token is always read.
const FIRST_RECORDS: usize = 1000;

/// The records that hold some tokens. Of a frequent token only the postings of records that may be among the best are
/// read: a record without any of the rarer tokens seldom is.
struct Lookup<'a> {
    connection: &'a Connection,
    segments: &'a [Segment],
    admission: Admission,
    corpus: Corpus,
    /// The rarest first.
    tokens: Vec<QueryToken>,
    /// The occurrences of each token.
    occurrences: Vec<Occurrences>,
    /// The documents of each segment that hold one of the tokens that were read.
    seen: Vec<SeenDocs>,
    counter: TermCounter,
}

/// Documents of a segment: a bit for each slot, and the metadata of those that were seen.
#[derive(Default)]
struct SeenDocs {
    bits: Vec<u64>,
    docs: FxHashMap<u32, DocMeta>,
}

/// The slots of a segment's documents that hold a token, in order, with its frequency.
type Holders = Vec<(u32, f32)>;

/// The occurrences of a token.
struct Occurrences {
    /// The words of each segment that count, with their weights.
    words: Vec<Vec<(Box<[u8]>, f32)>>,
    /// The documents that hold it in each segment, once they are known and until it is `whole`.
    holders: Vec<Option<Holders>>,
    /// The number of unindexed records that hold it; they come first.
    unindexed: usize,
    /// Whether all documents that hold it are gathered.
    whole: bool,
}

impl<'a> Lookup<'a> {
    /// Counts the records that hold each token.
    fn begin(
        connection: &'a Connection,
        kept: Option<&RecordCache>,
        segments: &'a [Segment],
        which: &Select,
        (mut tokens, words): (Vec<QueryToken>, Vec<SegmentWords>),
    ) -> rusqlite::Result<Lookup<'a>> {
        let mut corpus = Corpus::new(&which.kinds, 0.0, 0.0);
        for segment in segments {
            corpus.docs += segment.docs as f64;
            corpus.words += segment.length as f64;
        }
        let admission = Admission::resolve(connection, which)?;
        for unindexed_part in word_index::unindexed(connection, &which.kinds, &which.scopes)? {
            unindexed_part.visit(connection, kept, |DocMeta { n, timestamp, role, length }, text| {
                let admitted = admission.admits(n, timestamp, role);
                corpus.docs += 1.0;
                bm25::scan_document((n, timestamp), text, &mut tokens, |token, doc| {
                    token.doc_freq += 1;
                    token.docs.extend(admitted.then_some(doc));
                });
                corpus.words += f64::from(length);
            })?;
        }
        let seen = |segment: &Segment| SeenDocs {
            bits: vec![0; segment.slots.div_ceil(64)],
            docs: FxHashMap::default(),
        };
        let mut lookup = Lookup {
            connection,
            segments,
            admission,
            corpus,
            tokens: Vec::new(),
            occurrences: Vec::new(),
            seen: segments.iter().map(seen).collect(),
            counter: TermCounter::default(),
        };
        let mut found = Vec::new();
        for (token, words) in tokens.into_iter().zip(words) {
            found.push(lookup.count(token, words)?);
        }
        found.sort_by_key(|(token, _)| token.doc_freq);
        (lookup.tokens, lookup.occurrences) = found.into_iter().unzip();
        Ok(lookup)
    }

    /// Counts the documents that hold a token.
    fn count(
        &mut self,
        mut token: QueryToken,
        words: SegmentWords,
    ) -> rusqlite::Result<(QueryToken, Occurrences)> {
        let counts = |(segment, words): (&Segment, Vec<Box<[u8]>>)| {
            let token = token.folded_as(segment.folding);
            let weighted = words.into_iter().map(|word| {
                let weight = token.weight(std::str::from_utf8(&word).unwrap_or_default());
                (word, weight)
            });
            weighted.filter(|(_, weight)| *weight > 0.0).collect()
        };
        let words: Vec<Vec<_>> = self.segments.iter().zip(words).map(counts).collect();
        let mut holders = Vec::new();
        for (segment, words) in self.segments.iter().zip(&words) {
            if let [(word, _)] = &words[..] {
                token.doc_freq += segment.doc_freq(self.connection, word)?;
                holders.push(None);
            } else {
                let all = self.counter.count(self.connection, segment, words)?;
                token.doc_freq += all.len();
                holders.push(Some(all));
            }
        }
        let unindexed = token.docs.len();
        Ok((token, Occurrences { words, holders, unindexed, whole: false }))
    }

    /// Visits the best hits.
    fn visit(
        &mut self,
        occur: Occur,
        limit: usize,
        mut read: impl FnMut(i64) -> Result<Option<StoredRecord>, Stopped>,
        visit: impl FnMut(Hit) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let mut looked = 0;
        loop {
            looked = match occur {
                // A record with all tokens holds the rarest one.
                Occur::All => 1,
                Occur::Any => bm25::next_tokens(&self.tokens, looked, FIRST_RECORDS),
            };
            let count = self.tokens.len();
            let (mut tokens, mut occurrences) = (take(&mut self.tokens), take(&mut self.occurrences));
            for (at, (token, occurrences)) in tokens.iter_mut().zip(&mut occurrences).enumerate() {
                self.gather(token, occurrences, at < looked, looked < count)?;
            }
            (self.tokens, self.occurrences) = (tokens, occurrences);
            let scored = bm25::combine(&self.tokens, occur, &self.corpus);
            if occur == Occur::All {
                return bm25::visit_best(scored, limit, (&self.tokens, &self.corpus), read, visit);
            }
            let idf = |tokens: &[QueryToken]| self.corpus.idf_of(tokens);
            let max_score = self.corpus.max_score(idf(&self.tokens[looked..]), idf(&self.tokens));
            let last = looked == self.tokens.len();
            if !last && !bm25::can_stop(&scored, limit, max_score) {
                continue;
            }
            let (hits, _) = bm25::best(&mut scored.into(), limit, &mut read)?;
            let enough = hits.get(limit - 1).is_some_and(|worst| worst.score > max_score);
            if last || enough {
                return Hit::best(hits, limit).into_iter().try_for_each(visit);
            }
        }
    }

    /// Gathers the admitted documents that hold a token: all, or only those that were seen before. With `note`, all
    /// are noted as seen.
    fn gather(
        &mut self,
        token: &mut QueryToken,
        occurrences: &mut Occurrences,
        whole: bool,
        note: bool,
    ) -> rusqlite::Result<()> {
        if occurrences.whole {
            return Ok(());
        }
        token.docs.truncate(occurrences.unindexed);
        if whole {
            token.docs.reserve_exact(token.doc_freq.saturating_sub(token.docs.len()));
        }
        for (at, (segment, seen)) in self.segments.iter().zip(&mut self.seen).enumerate() {
            let holders = match &mut occurrences.holders[at] {
                Some(holders) => holders,
                none => none.insert(self.counter.count(self.connection, segment, &occurrences.words[at])?),
            };
            let mut add = |DocMeta { n, timestamp, length, .. }, times| {
                token.docs.push(Doc { n, timestamp, times, length });
            };
            if !whole {
                for (slot, times) in holders.iter().filter(|(slot, _)| seen.holds(*slot)) {
                    add(seen.docs[slot], *times);
                }
                continue;
            }
            segment.docs(self.connection, holders, |slot, times, doc| {
                if self.admission.admits(doc.n, doc.timestamp, doc.role) {
                    if note {
                        seen.add(slot, doc);
                    }
                    add(doc, times);
                }
            })?;
        }
        occurrences.whole = whole;
        if whole {
            occurrences.holders = Vec::new();
        }
        Ok(())
    }
}

impl SeenDocs {
    fn holds(&self, slot: u32) -> bool {
        self.bits[slot as usize / 64] & 1 << (slot % 64) != 0
    }

    fn add(&mut self, slot: u32, doc: DocMeta) {
        self.bits[slot as usize / 64] |= 1 << (slot % 64);
        self.docs.insert(slot, doc);
    }
}

/// Adds up the frequencies of some words in each document of a segment.
#[derive(Default)]
struct TermCounter {
    /// The sum for each slot; all 0 between two uses.
    times: Vec<f32>,
    /// A bit for each slot whose sum is not 0.
    counted: Vec<u64>,
}

impl TermCounter {
    fn count(
        &mut self,
        connection: &Connection,
        segment: &Segment,
        words: &[(Box<[u8]>, f32)],
    ) -> rusqlite::Result<Holders> {
        let mut holders = Holders::new();
        if let [(word, weight)] = words {
            let add = |slot: usize, times: u64| holders.push((slot as u32, times as f32 * weight));
            segment.postings(connection, word, add)?;
            return Ok(holders);
        }
        if self.times.len() < segment.slots {
            self.times.resize(segment.slots, 0.0);
            self.counted.resize(segment.slots.div_ceil(64), 0);
        }
        for (word, weight) in words {
            segment.postings(connection, word, |slot, times| {
                self.times[slot] += times as f32 * weight;
                self.counted[slot / 64] |= 1 << (slot % 64);
            })?;
        }
        for (place, bits) in self.counted.iter_mut().enumerate() {
            while *bits != 0 {
                let slot = place * 64 + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                holders.push((slot as u32, take(&mut self.times[slot])));
            }
        }
        Ok(holders)
    }
}
