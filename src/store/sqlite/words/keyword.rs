//! Keyword search over the word index.

use super::lookup::{Lookup, SegmentWords};
use super::segment::Segment;
use crate::ranking::bm25::{self, Corpus, Scored};
use crate::ranking::query_token::{self, QueryToken};
use crate::ranking::window::QuestionWords;
use crate::record::{Scopes, StoredRecord};
use crate::store::api::VisitHit;
use crate::store::evidence::FoundByWords;
use crate::store::select::Select;
use crate::store::sqlite::collections::Within;
use crate::store::sqlite::error::Stopped;
use crate::store::sqlite::filter::Filter;
use crate::store::sqlite::record_cache::RecordCache;
use crate::store::sqlite::record_columns::{self, COLUMNS, TABLES, record};
use crate::store::sqlite::snapshot::Snapshot;
use crate::store::sqlite::vectors::measure::{Measure, ModelVector};
use crate::text::terms::{Occur, Piece, Term};
use rusqlite::{Connection, params_from_iter};

/// A token that occurs in more words of a segment than this is not selective: it is checked in the records
/// themselves, and does not count.
const MAX_WORDS: usize = 1000;

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
            bm25::visit_best(newest, self.limit, &[], &Corpus::default(), read, visit)?;
        } else {
            let mut lookup = Lookup::begin(connection, kept, &segments, self.which, tokens, words_of_tokens)?;
            let admitted =
                |record: &StoredRecord| self.which.admits(record) && bm25::holds_all(&unsure, record);
            let read = |n| Ok(measure.nth(connection, n)?.filter(admitted));
            lookup.visit(self.occur, self.limit, read, &mut visit)?;
            words = QuestionWords::new(lookup.tokens, &lookup.corpus);
        }
        snapshot.finish()?;
        Ok(FoundByWords { hits: Vec::new(), cosines: measure.cosines, words })
    }

    /// The newest records that hold terms that are in no word (`++`, an emoji) or in very many: at least
    /// `limit` of one scope, if there are that many, with all that tie with the last one in time.
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
        let tokens = query_token::query_tokens(
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
