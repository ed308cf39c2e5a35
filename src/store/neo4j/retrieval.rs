//! Retrieval by words, meaning, neighbours and links. Independent queries run in parallel, each on its own
//! connection.

use super::error::DbResult;
use super::graph::{Neo4j, in_parallel};
use super::words::MeasuringVector;
use crate::record::{Hit, Link, StoredRecord};
use crate::store::api::{Store, VisitHit};
use crate::store::error::{Result, StoreError};
use crate::store::evidence::{Around, Cosines, Evidence, FoundByWords, Plan};
use crate::store::question::{Question, QuestionVector};
use crate::store::select::Select;
use crate::text::terms::{Occur, Term};

impl Store for Neo4j {
    fn retrieve(
        &mut self,
        question: &Question,
        which: &Select,
        plan: &Plan,
        earlier: Evidence,
    ) -> Result<Evidence> {
        let mut evidence = Evidence::after(earlier, plan);
        let found = self.find_candidates(question, which, plan.candidates);
        let (by_words, by_meaning) = self.or_error("search", found)?;
        let positions = evidence.add_found(question, by_words, by_meaning);
        let unlinked = evidence.unlinked(plan.links);
        let records = evidence.records(&positions);
        let read = in_parallel(
            || self.links_of(&unlinked),
            || self.surroundings(&records, question, which, plan.reach),
        );
        let (around, cosines) = self.or_error("read", read.1)?;
        let links = self.or_error("read", read.0)?;
        evidence.add_around(&positions, around, cosines);
        evidence.add_links(unlinked, links);
        Ok(evidence)
    }

    fn visit_found(
        &mut self,
        terms: &[Term],
        occur: Occur,
        which: &Select,
        limit: usize,
        visit: &mut VisitHit,
    ) -> Result<()> {
        let found = self.find_words(terms, occur, which, limit, None);
        let found = self.or_error("search", found)?;
        found.hits.into_iter().try_for_each(visit).map_err(StoreError::from)
    }

    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>> {
        self.or_error("search", self.find_nearest(model, vector, which, limit))
    }

    fn around(&mut self, records: &[&StoredRecord], which: &Select, reach: usize) -> Result<Vec<Around>> {
        let read = self.read_around(records, which, reach, None);
        self.or_error("read", read.map(|(around, _)| around))
    }
}

impl Neo4j {
    /// The hits by words and by meaning.
    fn find_candidates(
        &self,
        question: &Question,
        which: &Select,
        limit: usize,
    ) -> DbResult<(FoundByWords, Vec<Hit>)> {
        let by_words = |measure| self.find_words(&question.terms, Occur::Any, which, limit, measure);
        let Some(vector) = measuring(question) else {
            return by_words(None).map(|by_words| (by_words, Vec::new()));
        };
        let (by_meaning, by_words) =
            in_parallel(|| self.find_nearest(vector.0, vector.1, which, limit), || by_words(Some(vector)));
        Ok((by_words?, by_meaning?))
    }

    fn links_of(&self, ids: &[String]) -> DbResult<Vec<Link>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.read_links(&ids, None)
    }

    /// The neighbours of records, read in two halves, and their cosines.
    fn surroundings(
        &self,
        records: &[&StoredRecord],
        question: &Question,
        which: &Select,
        reach: usize,
    ) -> DbResult<(Vec<Around>, Cosines)> {
        // The halves are interleaved, so that both take equally long.
        let half =
            |from: usize| -> Vec<&StoredRecord> { records.iter().skip(from).step_by(2).copied().collect() };
        let read = |from: usize| self.read_around(&half(from), which, reach, measuring(question));
        if records.len() < 2 {
            return read(0);
        }
        let (one, other) = in_parallel(|| read(0), || read(1));
        let (some, mut cosines) = one?;
        let (others, more) = other?;
        cosines.extend(more);
        let (mut some, mut others) = (some.into_iter(), others.into_iter());
        let around =
            (0..records.len()).filter_map(|at| if at % 2 == 0 { some.next() } else { others.next() });
        Ok((around.collect(), cosines))
    }
}

/// The model and the vector of a question, if it has one.
fn measuring(question: &Question) -> MeasuringVector<'_> {
    let QuestionVector { model, numbers, .. } = question.vector.as_ref()?;
    Some((model, numbers))
}
