//! Ranks documents by their words, in any store: BM25 within the selection, among records of a conversation times the
//! share of the question that one holds. The store finds the documents that hold a token, and their number.

use super::weights::{self, Weighting};
use crate::record::{DOCUMENT, Hit, RecordKind, StoredRecord};
use crate::text::fold::{FOLDING, fold};
use crate::text::languages::Stem;
use crate::text::terms::{self, Occur, Piece, ScannedText, Term};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The greatest number of tokens that are looked up. The rest of a longer question is searched in the documents
/// themselves, or does not count.
const MAX_TOKENS: usize = 128;

/// A run of letters and digits of the question, and the documents in which it occurs.
pub(crate) struct QueryToken {
    pub(crate) text: String,
    /// Its stems, one in each language of the question that it may be in; none if every word that contains it counts.
    pub(crate) stems: Vec<Stem>,
    /// Every word that counts contains one of these: what all words of a stem have, and the token itself if it lacks
    /// that (`dying`, `die`).
    pub(crate) pieces: Vec<Piece>,
    /// The same word in an index of the folding before, where that is another.
    pub(crate) earlier: Option<Box<QueryToken>>,
    /// Documents that hold it: all of them, or those that may be among the best.
    pub(crate) docs: Vec<Doc>,
    /// The number of documents that hold it.
    pub(crate) doc_freq: usize,
}

impl QueryToken {
    fn new(text: &str, stems: Vec<Stem>) -> QueryToken {
        let mut texts: Vec<&str> = Vec::new();
        for piece in stems.iter().map(Stem::piece).chain([text]) {
            // All words with a longer piece have the shorter one.
            if !texts.iter().any(|other| piece.starts_with(other)) {
                texts.retain(|other| !other.starts_with(piece));
                texts.push(piece);
            }
        }
        let pieces = texts.into_iter().map(Piece::new).collect();
        QueryToken { text: text.to_owned(), stems, pieces, earlier: None, docs: Vec::new(), doc_freq: 0 }
    }

    /// Has every token an earlier form, for an index of which that is not known by its folding alone; or none.
    pub(crate) fn set_outdated(&mut self, is_outdated: bool) {
        if !is_outdated {
            self.earlier = None;
        } else if self.earlier.is_none() {
            self.earlier = Some(Box::new(QueryToken::new(&self.text, self.stems.clone())));
        }
    }

    /// The token as an index has it whose words are of a version of the folding.
    pub(crate) fn folded_as(&self, folding: i64) -> &QueryToken {
        self.earlier.as_deref().filter(|_| folding < FOLDING).unwrap_or(self)
    }

    /// Whether the pieces of all words that count are at their beginnings.
    pub(crate) fn is_prefixed(&self) -> bool {
        !self.stems.is_empty() && !self.stems.iter().any(Stem::is_anywhere)
    }

    /// The weight of a word that contains the piece.
    pub(crate) fn weight(&self, word: &str) -> f32 {
        match &self.stems[..] {
            _ if word == self.text => 1.0,
            [] if word.contains(&self.text) => weights::SUBSTRING,
            stems if stems.iter().any(|stem| stem.is_of(word)) => 1.0,
            _ => 0.0,
        }
    }

    /// Visits the places where it occurs in a folded text, with the weights of its words. In a script without spaces a
    /// word is no unit: every occurrence counts whole.
    pub(crate) fn visit_occurrences(&self, folded: &str, mut visit: impl FnMut(usize, f32)) {
        if self.text.contains(terms::is_unspaced) {
            self.pieces.iter().flat_map(|piece| piece.starts_in(folded)).for_each(|at| visit(at, 1.0));
            return;
        }
        let mut look = |word: &str| {
            let weight = self.weight(word);
            if weight > 0.0 {
                visit(word.as_ptr() as usize - folded.as_ptr() as usize, weight);
            }
        };
        match &self.pieces[..] {
            [piece] => piece.words_in(folded).for_each(&mut look),
            _ => terms::words(folded).for_each(&mut look),
        }
    }

    /// How often a text holds it, by the weights of its words.
    fn times_in(&self, text: &dyn ScannedText) -> f32 {
        let mut pieces = self.pieces.iter().filter(|piece| text.may_hold(&piece.text));
        let Some(piece) = pieces.next() else { return 0.0 };
        let folded = &text.folded().text;
        match pieces.next() {
            None => piece.words_in(folded).map(|word| self.weight(word)).sum(),
            Some(_) => terms::words(folded).map(|word| self.weight(word)).sum(),
        }
    }
}

/// A document, its time, how often it holds the token, and its length in words.
pub(crate) struct Doc {
    pub(crate) n: i64,
    pub(crate) timestamp: i64,
    pub(crate) times: f32,
    pub(crate) length: u32,
}

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

    /// The upper bound of the score of a document whose tokens have this idf together, if those of the question have
    /// `all`: BM25 gives a token less than `k1 + 1` times its idf.
    pub(crate) fn max_score(&self, idf: f64, all: f64) -> f64 {
        let bm25 = (self.weighting.k1 + 1.0) * idf;
        if self.weighting.counts_share { bm25 * idf / all.max(f64::MIN_POSITIVE) } else { bm25 }
    }

    /// The lower bound of the idf of a document with this score: a little less than exact, so that rounding cannot
    /// exclude one.
    pub(crate) fn min_idf(&self, score: f64, all: f64) -> f64 {
        let idf = score / (self.weighting.k1 + 1.0);
        let exact = if self.weighting.counts_share { (idf * all).sqrt() } else { idf };
        exact * (1.0 - 1e-9)
    }
}

/// Whether the texts of some kinds are sections of documents.
fn are_documents(kinds: &[&RecordKind]) -> bool {
    !kinds.is_empty() && kinds.iter().all(|kind| *kind == &DOCUMENT)
}

/// The selective tokens of the terms for a search of some kinds, each once; `tells` is whether one is
/// selective. Fails if `tells` does.
pub(crate) fn query_tokens<E>(
    terms: &[Term],
    occur: Occur,
    kinds: &[&RecordKind],
    mut tells: impl FnMut(&QueryToken) -> Result<bool, E>,
) -> Result<Vec<QueryToken>, E> {
    let mut tokens: Vec<QueryToken> = Vec::new();
    let all = terms.iter().flat_map(|term| {
        let texts = term.tokens.iter().zip(&term.earlier_tokens);
        texts.map(move |(text, earlier)| (text, earlier, term))
    });
    for (text, earlier, term) in all {
        if tokens.len() == MAX_TOKENS {
            break;
        }
        let stems = term.stems.map(|languages| languages.stems(text)).unwrap_or_default();
        let is_token =
            |token: &QueryToken| token.text == *text || stems.iter().any(|stem| token.stems.contains(stem));
        // The part after an apostrophe is in every other document. Alone, a letter names an option or a thing in a
        // section (`-q`), and means nothing in a conversation.
        let is_named = are_documents(kinds) && term.tokens.len() == 1;
        let scrap = occur == Occur::Any && text.len() == 1 && !is_named;
        if scrap || tokens.iter().any(is_token) {
            continue;
        }
        let mut token = QueryToken::new(text, stems);
        if earlier != text {
            let stems = term.stems.map(|languages| languages.stems(earlier)).unwrap_or_default();
            token.earlier = Some(Box::new(QueryToken::new(earlier, stems)));
        }
        if tells(&token)? {
            tokens.push(token);
        }
    }
    Ok(tokens)
}

/// Looks for the tokens in a document that is not indexed, and calls `visit` for each that it holds.
pub(crate) fn scan_document(
    (n, timestamp): (i64, i64),
    text: &dyn ScannedText,
    tokens: &mut [QueryToken],
    mut visit: impl FnMut(&mut QueryToken, Doc),
) {
    for token in tokens {
        let times = token.times_in(text);
        if times > 0.0 {
            let length = text.folded().length as u32;
            visit(token, Doc { n, timestamp, times, length });
        }
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
    (tokens, corpus): (&[QueryToken], &Corpus),
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
    /// With `Occur::Any`: the idf of the tokens that it holds, divided by that of all tokens and of one more that no
    /// document holds, so that the share of a single word is below 1.
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

/// The matches of each document: an array if the numbers of the documents are dense, as those of a collection mostly
/// are; else a map.
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

/// The score of every document that holds all tokens, or any: its BM25, times the share of the question that it holds,
/// weighted by idf, if that counts.
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
    // A token lists a document once, so there is nothing to add up, and the most frequent token is in almost all.
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

/// The number of tokens, rarest first, whose postings are read next: at least one more than before, and as many as have
/// together at most twice the postings of those before, or `least`.
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
