//! Looks up the records that hold the tokens of a question, the rarest token first.

use super::segment::Segment;
use super::unindexed::unindexed;
use crate::ranking::bm25::{self, Corpus};
use crate::ranking::query_token::{Doc, QueryToken, scan_document};
use crate::record::{Hit, StoredRecord};
use crate::store::select::Select;
use crate::store::sqlite::error::Stopped;
use crate::store::sqlite::filter::Admission;
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::record_row::DocMeta;
use crate::text::terms::Occur;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::mem::take;

/// The words of each segment that may hold a token.
pub(super) type SegmentWords = Vec<Vec<Box<[u8]>>>;

/// The number of postings up to which tokens are read first; the rarest token is always read.
const FIRST_RECORDS: usize = 1000;

/// The records that hold some tokens. Of a frequent token only the postings of records that may be among the
/// best are read: a record without any of the rarer tokens seldom is.
pub(super) struct Lookup<'a> {
    connection: &'a Connection,
    segments: &'a [Segment],
    admission: Admission,
    pub(super) corpus: Corpus,
    /// The rarest first.
    pub(super) tokens: Vec<QueryToken>,
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
    pub(super) fn begin(
        connection: &'a Connection,
        kept: Option<&RecordCache>,
        segments: &'a [Segment],
        which: &Select,
        mut tokens: Vec<QueryToken>,
        words: Vec<SegmentWords>,
    ) -> rusqlite::Result<Lookup<'a>> {
        let mut corpus = Corpus::new(&which.kinds, 0.0, 0.0);
        for segment in segments {
            corpus.docs += segment.docs as f64;
            corpus.words += segment.length as f64;
        }
        let admission = Admission::resolve(connection, which)?;
        for unindexed_part in unindexed(connection, &which.kinds, &which.scopes)? {
            unindexed_part.visit(connection, kept, |DocMeta { n, timestamp, role, length }, text| {
                let admitted = admission.admits(n, timestamp, role);
                corpus.docs += 1.0;
                scan_document(n, timestamp, text, &mut tokens, |token, doc| {
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
            // Words are UTF-8; on a damaged page, another word weighs nothing.
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
    pub(super) fn visit(
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
                return bm25::visit_best(scored, limit, &self.tokens, &self.corpus, read, visit);
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

    /// Gathers the admitted documents that hold a token: all, or only those that were seen before. With
    /// `note`, all are noted as seen.
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
