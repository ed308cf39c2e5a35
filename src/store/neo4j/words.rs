//! Search by words: the server's full-text index finds the records that hold a word; they are ranked here.
//!
//! Of many matches only those that may be among the best are read: the records that the index ranks first
//! give a least score of the best, and that score gives the words that a better record must hold.

use super::error::{DbError, DbResult};
use super::fulltext::{joined, pattern, whole_stem, with_min_idf};
use super::graph::Neo4j;
use super::read::{Sizes, sizes_params};
use super::record_node::{self, ListedRecord};
use super::selection::number;
use super::selection::scopes_params;
use super::server::FETCH_SIZE;
use super::statements::{self, for_scopes, for_words, fulltext_index};
use super::values::{self, Params};
use crate::ranking::bm25::{self, Corpus, Scored};
use crate::ranking::query_token::{self, QueryToken};
use crate::ranking::window::QuestionWords;
use crate::record::{Hit, RecordKind, Scopes, StoredRecord};
use crate::store::evidence::{Cosines, FoundByWords};
use crate::store::select::Select;
use crate::text::terms::{FoldedText, Occur, Term};
use neo4rs::{BoltNull, BoltType};
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// The number of records that are read at a time if no index narrows the search.
const SCAN_BATCH: usize = 500;

/// The number of records of the index's own ranking that are read for each wanted one, and the least number.
const OVERFETCH: usize = 2;
const MIN_FETCHED: usize = 100;

/// The model and the vector, of any length (norm), with which records are compared as they are read.
pub(super) type MeasuringVector<'a> = Option<(&'a str, &'a [f32])>;

/// A record as it is ranked: id, number, time; and its text, or the whole record if the indexed text is
/// composed.
type Document = (String, i64, i64, Option<String>, Option<ListedRecord>);

/// A search by words.
#[derive(Clone, Copy)]
struct Search<'a> {
    which: &'a Select,
    limit: usize,
    /// The terms whose occurrence the index alone cannot confirm.
    unverified: &'a [&'a Term],
    measure: MeasuringVector<'a>,
}

/// The result of the first pass.
struct FirstPass {
    corpus: Corpus,
    /// The beginning of a query to the index.
    prefix: String,
    /// Whether the index finds only records of the selected collections.
    exact: bool,
    /// Whether all records that hold any of the tokens were examined.
    all_read: bool,
}

/// The records that were examined, by their numbers.
#[derive(Default)]
struct SeenRecords {
    ids: HashMap<i64, String>,
    /// The records that were read; `None` for one that the selection does not admit.
    read: HashMap<i64, Option<StoredRecord>>,
    /// The number for the next record without one, below all others.
    unadopted: i64,
    cosines: Cosines,
}

impl Neo4j {
    /// Finds the best records in which the terms occur. Fails if the server does.
    pub(super) fn find_words(
        &self,
        terms: &[Term],
        occur: Occur,
        which: &Select,
        limit: usize,
        measure: MeasuringVector,
    ) -> DbResult<FoundByWords> {
        let mut tokens = query_token::query_tokens(terms, occur, &which.kinds, |_| Ok::<_, DbError>(true))?;
        for token in &mut tokens {
            token.set_outdated(self.is_outdated);
        }
        let unverified =
            |term: &&Term| !(term.is_plain() && tokens.iter().any(|token| token.text == term.text));
        let unverified: Vec<&Term> =
            terms.iter().filter(|_| occur == Occur::All).filter(unverified).collect();
        let mut which = which.clone();
        which.kinds.retain(|kind| kind.indexed.is_some());
        if limit == 0 || which.kinds.is_empty() || tokens.is_empty() && unverified.is_empty() {
            return Ok(Default::default());
        }
        if tokens.is_empty() {
            let hits = self.newest_with(&unverified, &which, limit)?;
            return Ok(FoundByWords { hits, ..FoundByWords::default() });
        }
        let search = Search { which: &which, limit, unverified: &unverified, measure };
        self.rank(tokens, occur, search)
    }

    /// Examines more and more records until all others score less than the best.
    fn rank(&self, mut all_tokens: Vec<QueryToken>, occur: Occur, search: Search) -> DbResult<FoundByWords> {
        let tokens = &mut all_tokens[..];
        let Search { which, limit, .. } = search;
        let (mut looked_at, FirstPass { corpus, prefix, exact, all_read }) =
            self.first_pass(tokens, occur, search)?;
        let all = corpus.idf_of(tokens);
        // The tokens of a record that was not examined have less than this idf together.
        let mut unread_idf = if all_read || all == 0.0 { 0.0 } else { f64::INFINITY };
        loop {
            let scored = bm25::combine(tokens, occur, &corpus);
            let max_score = corpus.max_score(unread_idf, all);
            let reached = bm25::reached(&scored, limit);
            if unread_idf == 0.0 || reached.is_some_and(|score| score > max_score) {
                let (mut hits, positions) = looked_at.best(self, scored, search)?;
                if unread_idf == 0.0 || hits.get(limit - 1).is_some_and(|worst| worst.score > max_score) {
                    if occur == Occur::All {
                        bm25::explain(&mut hits, &positions, tokens, &corpus);
                    }
                    let words = QuestionWords::new(all_tokens, &corpus);
                    return Ok(FoundByWords {
                        hits: Hit::best(hits, limit),
                        cosines: looked_at.cosines,
                        words,
                    });
                }
            }
            unread_idf = match reached {
                _ if occur == Occur::All => 0.0,
                Some(score) if unread_idf.is_infinite() => corpus.min_idf(score, all),
                _ => unread_idf.min(all) / 2.0,
            };
            // A record that holds any token holds at least the idf of the most frequent one.
            if !tokens.last().is_some_and(|token| unread_idf > corpus.idf(token.doc_freq)) {
                unread_idf = 0.0;
            }
            let question = match occur {
                Occur::All => joined(tokens, occur),
                Occur::Any => with_min_idf(tokens, &corpus, unread_idf),
            };
            let documents = self.holding(&format!("{prefix}({question})"), which, exact)?;
            looked_at.add(documents, &which.kinds, tokens)?;
        }
    }

    /// Counts the records that hold each token, rarest first, and examines the records that the index ranks
    /// first and those that no index has.
    fn first_pass(
        &self,
        tokens: &mut [QueryToken],
        occur: Occur,
        search: Search,
    ) -> DbResult<(SeenRecords, FirstPass)> {
        let which = search.which;
        let most = match occur {
            Occur::All => FETCH_SIZE,
            Occur::Any => search.limit.saturating_mul(OVERFETCH).clamp(MIN_FETCHED, FETCH_SIZE),
        };
        let (Sizes { mut corpus, prefix, unadopted }, likely) =
            self.frequencies(tokens, occur, which, most)?;
        // If the query does not name the collections, records of others may displace some.
        let exact = !prefix.is_empty() || which.scopes == Scopes::All;
        let all_read = exact && likely.len() < most;
        let mut looked_at = SeenRecords::default();
        if unadopted {
            let statement = for_scopes(statements::UNADOPTED_MESSAGES, &which.scopes);
            for row in self.server.rows(&statement, scopes_params(&which.scopes))? {
                let Ok(message) = values::unadopted(row.get("message")?) else { continue };
                corpus.words += looked_at.add_unadopted(message, which, tokens) as f64;
                corpus.docs += 1.0;
            }
        }
        // Only messages that rsv did not write have been examined so far.
        for token in tokens.iter_mut() {
            token.doc_freq += token.docs.len();
        }
        looked_at.add(likely, &which.kinds, tokens)?;
        tokens.sort_by_key(|token| token.doc_freq);
        Ok((looked_at, FirstPass { corpus, prefix, exact, all_read }))
    }

    /// The records that the index finds; `exact` tells that it finds only records of the selected
    /// collections.
    fn holding(&self, question: &str, which: &Select, exact: bool) -> DbResult<Vec<Document>> {
        let scopes = if exact { &Scopes::All } else { &which.scopes };
        let statement = for_words(statements::FULLTEXT, &which.kinds, scopes);
        let params = || {
            let params = scopes_params(&which.scopes).with("question", question);
            with_indexes(params, &which.kinds)
        };
        if exact {
            let params = params().with("most", number(FETCH_SIZE));
            let all: Vec<Document> = self.server.lists(&statement, params, FETCH_SIZE)?;
            if all.len() < FETCH_SIZE {
                return Ok(all);
            }
        }
        self.server.lists(&statement, params().with("most", BoltType::Null(BoltNull)), usize::MAX)
    }

    /// Reads the sizes of a selection's collections, the document frequency of each token, and the records
    /// that the index ranks first.
    fn frequencies(
        &self,
        tokens: &mut [QueryToken],
        occur: Occur,
        which: &Select,
        most: usize,
    ) -> DbResult<(Sizes, Vec<Document>)> {
        let (kinds, scopes) = (&which.kinds, &which.scopes);
        // The counts come before the rows that are looked up.
        tokens.sort_by_key(|token| whole_stem(token).is_none());
        let patterns = tokens.iter().filter(|token| whole_stem(token).is_none());
        let patterns: Vec<String> = patterns.map(pattern).collect();
        let params = with_indexes(sizes_params(kinds, scopes), kinds)
            .with_texts("stems", tokens.iter().filter_map(whole_stem))
            .with_texts("patterns", patterns.iter().map(String::as_str))
            .with("likely", format!("({})", joined(tokens, occur)))
            .with("most", number(most));
        let statement = for_words(statements::DOCUMENT_FREQUENCIES, kinds, scopes);
        let Some(row) = self.server.row(&statement, params)? else { return Ok(Default::default()) };
        for (token, doc_freq) in tokens.iter_mut().zip(row.get::<Vec<usize>>("doc_freqs")?) {
            token.doc_freq = doc_freq;
        }
        Ok((Sizes::from_row(&row, kinds)?, row.get("likely")?))
    }

    /// The newest records that hold terms without a word (`++`, an emoji).
    fn newest_with(&self, terms: &[&Term], which: &Select, limit: usize) -> DbResult<Vec<Hit>> {
        let mut hits = Vec::new();
        let mut which = which.clone();
        loop {
            let some = self.read_last(&which, SCAN_BATCH)?;
            let matching = some.iter().rev().filter(|record| bm25::holds_all(terms, record));
            hits.extend(
                matching.map(|record| Hit { parts: Vec::new(), ..Hit::by_words(record.clone(), 0.0, None) }),
            );
            match some.first() {
                Some(first) if some.len() == SCAN_BATCH && hits.len() < limit => {
                    which.before = Some(first.position());
                }
                _ => return Ok(Hit::best(hits, limit)),
            }
        }
    }
}

/// The names of the indexes of some kinds as a parameter.
fn with_indexes(params: Params, kinds: &[&RecordKind]) -> Params {
    let names: Vec<String> = kinds.iter().map(|kind| fulltext_index(kind)).collect();
    params.with_texts("indexes", names.iter().map(String::as_str))
}

impl SeenRecords {
    /// Looks for the tokens in records that were not examined yet.
    fn add(
        &mut self,
        documents: Vec<Document>,
        kinds: &[&'static RecordKind],
        tokens: &mut [QueryToken],
    ) -> DbResult<()> {
        for (id, n, timestamp, text, listed) in documents {
            if self.ids.contains_key(&n) {
                continue;
            }
            match listed {
                Some(listed) => {
                    let record = record_node::record(listed, kinds)?;
                    scan(n, timestamp, &record.indexed_text().unwrap_or_default(), tokens);
                }
                None => drop(scan(n, timestamp, &text.unwrap_or_default(), tokens)),
            }
            self.ids.insert(n, id);
        }
        Ok(())
    }

    /// Adds a message without a number; returns its length in words.
    fn add_unadopted(&mut self, message: StoredRecord, which: &Select, tokens: &mut [QueryToken]) -> usize {
        self.unadopted -= 1;
        let words = scan(self.unadopted, message.timestamp, &message.text, tokens);
        self.read.insert(self.unadopted, Some(message).filter(|message| which.admits(message)));
        words
    }

    /// The best of the scored records that the selection admits and that hold the unverified terms.
    fn best(
        &mut self,
        store: &Neo4j,
        scored: Vec<Scored>,
        search: Search,
    ) -> DbResult<(Vec<Hit>, FxHashMap<i64, usize>)> {
        let mut order = bm25::in_order(&scored).into_iter();
        bm25::best(&mut scored.into(), search.limit, |n| {
            while !self.read.contains_key(&n) && order.len() > 0 {
                let some: Vec<i64> = order.by_ref().take(search.limit).collect();
                self.read(store, &some, search)?;
            }
            let record = self.read.get(&n).and_then(Option::as_ref);
            Ok(record.filter(|record| bm25::holds_all(search.unverified, record)).cloned())
        })
    }

    /// Reads the records that are not read yet, and compares them.
    fn read(&mut self, store: &Neo4j, numbers: &[i64], search: Search) -> DbResult<()> {
        let requested = numbers.iter().filter(|n| !self.read.contains_key(n));
        let ids: Vec<(i64, &str)> = requested.filter_map(|n| Some((*n, self.ids.get(n)?.as_str()))).collect();
        let requested: Vec<&str> = ids.iter().map(|(_, id)| *id).collect();
        let (records, cosines) = match search.measure {
            Some(measure) => store.read_measured(&requested, search.which, measure)?,
            None => (store.read_by_id(&requested, search.which)?, Cosines::new()),
        };
        self.cosines.extend(cosines);
        let mut records: HashMap<String, StoredRecord> =
            records.into_iter().map(|record| (record.id.clone(), record)).collect();
        let read: Vec<(i64, Option<StoredRecord>)> =
            ids.into_iter().map(|(n, id)| (n, records.remove(id))).collect();
        self.read.extend(read);
        Ok(())
    }
}

/// Looks for the tokens in a text; returns its length in words.
fn scan(n: i64, timestamp: i64, text: &str, tokens: &mut [QueryToken]) -> usize {
    let text = FoldedText::of(text);
    query_token::scan_document(n, timestamp, &text, tokens, |token, doc| token.docs.push(doc));
    text.length
}
