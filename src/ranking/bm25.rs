//! Ranks documents by their words, in any store: BM25 within the selection, among records of a conversation
//! times the share of the question that one holds. The store finds the documents that hold a token, and their
//! number.

use super::query_token::{Doc, QueryToken, are_documents};
use super::weights::{self, Weighting};
use crate::record::{Hit, RecordKind, StoredRecord};
use crate::text::fold::fold;
use crate::text::terms::{Occur, Term};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The number of documents, the number of their words, and what ranks them.
#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) docs: f64,
    pub(crate) words: f64,
    weighting: Weighting,
}

impl Corpus {
    /// A corpus of records of some kinds.
    pub(crate) fn new(kinds: &[&RecordKind], docs: f64, words: f64) -> Corpus {
        Corpus {
            docs,
            words,
            weighting: if are_documents(kinds) { weights::DOCUMENTS } else { weights::MESSAGES },
        }
    }

    /// The inverse document frequency of a token that `docs` documents hold.
    pub(crate) fn idf(&self, docs: usize) -> f64 {
        let docs = docs as f64;
        (1.0 + (self.docs - docs + 0.5) / (docs + 0.5)).ln()
    }

    /// The sum of the inverse document frequencies of the tokens that any document holds.
    pub(crate) fn idf_of(&self, tokens: &[QueryToken]) -> f64 {
        tokens.iter().filter(|token| token.doc_freq > 0).map(|token| self.idf(token.doc_freq)).sum()
    }

    /// The BM25 of a token that `docs` documents hold, as a function of one of them.
    fn bm25(&self, docs: usize) -> impl Fn(&Doc) -> f64 {
        let average = (self.words / self.docs.max(1.0)).max(1.0);
        let idf = self.idf(docs);
        let Weighting { k1, b, .. } = self.weighting;
        move |doc| {
            let norm = k1 * (1.0 - b + b * f64::from(doc.length) / average);
            let times = f64::from(doc.times);
            idf * times * (k1 + 1.0) / (times + norm)
        }
    }

    /// The upper bound of the score of a document whose tokens have this idf together, if those of the
    /// question have `all`: BM25 gives a token less than `k1 + 1` times its idf.
    pub(crate) fn max_score(&self, idf: f64, all: f64) -> f64 {
        let bm25 = (self.weighting.k1 + 1.0) * idf;
        if self.weighting.counts_share { bm25 * idf / all.max(f64::MIN_POSITIVE) } else { bm25 }
    }

    /// The lower bound of the idf of a document with this score: a little less than exact, so that rounding
    /// cannot exclude one.
    pub(crate) fn min_idf(&self, score: f64, all: f64) -> f64 {
        let idf = score / (self.weighting.k1 + 1.0);
        let exact = if self.weighting.counts_share { (idf * all).sqrt() } else { idf };
        exact * (1.0 - 1e-9)
    }
}

/// Takes the best of the scored documents that `read` returns, with all that tie with the last one in score
/// and time; and the position of each number among them. A heap yields the few best of very many without
/// sorting all. Fails if `read` does.
pub(crate) fn best<E>(
    scored: &mut BinaryHeap<Scored>,
    limit: usize,
    mut read: impl FnMut(i64) -> Result<Option<StoredRecord>, E>,
) -> Result<(Vec<Hit>, FxHashMap<i64, usize>), E> {
    let mut hits: Vec<Hit> = Vec::new();
    let mut positions = FxHashMap::default();
    while let Some(&Scored { n, timestamp, score, share }) = scored.peek() {
        let better = |worst: &Hit| (worst.score, worst.record.timestamp) != (score, timestamp);
        if hits.len() >= limit && hits.last().is_some_and(better) {
            break;
        }
        scored.pop();
        if let Some(document) = read(n)? {
            positions.insert(n, hits.len());
            hits.push(Hit::by_words(document, score, share));
        }
    }
    Ok((hits, positions))
}

/// The number of hits that are read, explained and visited together.
pub(crate) const PAGE: usize = 4096;

/// Visits the best `limit` of the scored documents that `read` returns, best first, with the parts of their
/// scores. Of the others only numbers and scores are held. Fails if `read` or `visit` does.
pub(crate) fn visit_best<E>(
    scored: Vec<Scored>,
    limit: usize,
    tokens: &[QueryToken],
    corpus: &Corpus,
    mut read: impl FnMut(i64) -> Result<Option<StoredRecord>, E>,
    mut visit: impl FnMut(Hit) -> Result<(), E>,
) -> Result<(), E> {
    let mut scored = BinaryHeap::from(scored);
    let mut left = limit;
    while left > 0 && !scored.is_empty() {
        let (mut hits, positions) = best(&mut scored, left.min(PAGE), &mut read)?;
        explain(&mut hits, &positions, tokens, corpus);
        let page = Hit::best(hits, left);
        left -= page.len();
        page.into_iter().try_for_each(&mut visit)?;
    }
    Ok(())
}

/// A document and its score, ordered by score; of equals the newest is the greatest.
pub(crate) struct Scored {
    n: i64,
    timestamp: i64,
    score: f64,
    /// With `Occur::Any`: the idf of the tokens that it holds, divided by that of all tokens and of one more
    /// that no document holds, so that the share of a single word is below 1.
    share: Option<f64>,
}

impl Scored {
    /// A document that matches, but is not scored: the newest is the best.
    pub(crate) fn by_time(n: i64, timestamp: i64) -> Scored {
        Scored { n, timestamp, score: 0.0, share: None }
    }
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

/// The tokens that were found in a document.
#[derive(Clone, Default)]
struct Matches {
    tokens: usize,
    timestamp: i64,
    score: f64,
    /// The sum of their idf.
    idf: f64,
}

/// The matches of each document: an array if the numbers of the documents are dense, as those of a collection
/// mostly are; else a map.
enum Accumulators {
    Dense(i64, Vec<Matches>),
    Sparse(FxHashMap<i64, Matches>),
}

impl Accumulators {
    /// For documents from `first` to `last`, with `count` postings.
    fn new(first: i64, last: i64, count: usize) -> Accumulators {
        match usize::try_from(last - first) {
            Ok(width) if width < count.saturating_mul(MAX_SPARSENESS) => {
                Accumulators::Dense(first, vec![Matches::default(); width + 1])
            }
            _ => Accumulators::Sparse(FxHashMap::default()),
        }
    }

    fn entry(&mut self, n: i64) -> &mut Matches {
        match self {
            Accumulators::Dense(first, all) => &mut all[(n - *first) as usize],
            Accumulators::Sparse(all) => all.entry(n).or_default(),
        }
    }

    /// The documents in which at least `wanted` tokens were found.
    fn with(self, wanted: usize) -> Vec<(i64, Matches)> {
        let holds = |(_, matches): &(i64, Matches)| matches.tokens >= wanted;
        match self {
            Accumulators::Dense(first, all) => (first..).zip(all).filter(holds).collect(),
            Accumulators::Sparse(all) => all.into_iter().filter(holds).collect(),
        }
    }
}

/// The greatest number of array slots for each one in use: such an array costs no more than a map.
const MAX_SPARSENESS: usize = 4;

/// The score of every document that holds all tokens, or any: its BM25, times the share of the question that
/// it holds, weighted by idf, if that counts.
pub(crate) fn combine(tokens: &[QueryToken], occur: Occur, corpus: &Corpus) -> Vec<Scored> {
    // A token that no document holds is still part of the question.
    let (mut found_idf, mut missing_idf) = (0.0, corpus.idf(0));
    for token in tokens {
        *if token.doc_freq == 0 { &mut missing_idf } else { &mut found_idf } += corpus.idf(token.doc_freq);
    }
    let scored = |(n, matches): (i64, Matches)| Scored {
        n,
        timestamp: matches.timestamp,
        score: if corpus.weighting.counts_share {
            matches.score * matches.idf / found_idf
        } else {
            matches.score
        },
        share: (occur == Occur::Any).then_some(matches.idf / (found_idf + missing_idf)),
    };
    // A token lists a document once, so there is nothing to add up, and the most frequent token is in almost
    // all.
    if let [token] = tokens {
        let (idf, bm25) = (corpus.idf(token.doc_freq), corpus.bm25(token.doc_freq));
        let matches = |doc: &Doc| Matches { tokens: 1, timestamp: doc.timestamp, score: bm25(doc), idf };
        return token.docs.iter().map(|doc| scored((doc.n, matches(doc)))).collect();
    }
    accumulate(tokens, occur, corpus).into_iter().map(scored).collect()
}

/// The documents that hold all tokens, or any, each with the sum of its tokens' contributions.
fn accumulate(tokens: &[QueryToken], occur: Occur, corpus: &Corpus) -> Vec<(i64, Matches)> {
    let wanted = if occur == Occur::All { tokens.len() } else { 1 };
    let numbers = || tokens.iter().flat_map(|token| &token.docs).map(|doc| doc.n);
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else { return Vec::new() };
    let mut found = Accumulators::new(first, last, tokens.iter().map(|token| token.docs.len()).sum());
    for (at, token) in tokens.iter().enumerate() {
        let (idf, bm25) = (corpus.idf(token.doc_freq), corpus.bm25(token.doc_freq));
        for doc in &token.docs {
            let matches = found.entry(doc.n);
            if occur == Occur::All && matches.tokens < at {
                continue;
            }
            matches.timestamp = doc.timestamp;
            matches.score += bm25(doc);
            matches.idf += idf;
            matches.tokens += 1;
        }
    }
    found.with(wanted)
}

/// The number of tokens, rarest first, whose postings are read next: at least one more than before, and as
/// many as have together at most twice the postings of those before, or `least`.
pub(crate) fn next_tokens(tokens: &[QueryToken], looked: usize, least: usize) -> usize {
    let mut documents: usize = 2 * tokens[..looked].iter().map(|token| token.doc_freq).sum::<usize>();
    documents = documents.max(least);
    let mut sum = 0;
    let within = tokens.iter().take_while(|token| {
        sum += token.doc_freq;
        sum <= documents
    });
    within.count().max(looked + 1).min(tokens.len())
}

/// The numbers of the scored documents, best first.
pub(crate) fn in_order(scored: &[Scored]) -> Vec<i64> {
    let mut order: Vec<&Scored> = scored.iter().collect();
    order.sort_unstable_by(|one, other| other.cmp(one));
    order.into_iter().map(|one| one.n).collect()
}

/// The score of the last of the best `limit` documents, if there are that many.
pub(crate) fn reached(scored: &[Scored], limit: usize) -> Option<f64> {
    let mut scores: Vec<f64> = scored.iter().map(|one| one.score).collect();
    let nth = limit.checked_sub(1).filter(|nth| *nth < scores.len())?;
    Some(*scores.select_nth_unstable_by(nth, |one, other| other.total_cmp(one)).1)
}

/// Whether `limit` of the scored documents score more than `most`, the upper bound of all others.
pub(crate) fn can_stop(scored: &[Scored], limit: usize, most: f64) -> bool {
    scored.iter().filter(|one| one.score > most).take(limit).count() == limit
}

/// Sets the parts of each hit's score: the contribution of each token.
pub(crate) fn explain(
    hits: &mut [Hit],
    positions: &FxHashMap<i64, usize>,
    tokens: &[QueryToken],
    corpus: &Corpus,
) {
    for hit in hits.iter_mut() {
        hit.parts.clear();
    }
    for token in tokens {
        let bm25 = corpus.bm25(token.doc_freq);
        for doc in &token.docs {
            if let Some(at) = positions.get(&doc.n) {
                hits[*at].parts.push((token.text.clone(), bm25(doc)));
            }
        }
    }
}

/// Whether a document holds all of some terms.
pub(crate) fn holds_all(wanted: &[&Term], document: &StoredRecord) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let folded = fold(&document.indexed_text().unwrap_or_default());
    wanted.iter().all(|term| term.occurs_in(&folded))
}
