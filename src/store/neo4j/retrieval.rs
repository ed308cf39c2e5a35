//! Retrieval by words, meaning, neighbours and links. Independent queries run in parallel, each on its own connection.

use super::around::MeasureFirst;
use super::error::DbResult;
use super::graph::{Neo4j, in_parallel};
use crate::record::{Hit, Link, StoredRecord};
use crate::store::api::{Store, VisitHit};
use crate::store::error::{Result, StoreError};
use crate::store::evidence::{Around, Cosines, Evidence, Plan};
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
        let (by_words, by_meaning, cosines) = self.or_error("search", found)?;
        evidence.add_found(by_words, by_meaning, &cosines);
        let positions = evidence.choose_seeds(question, plan);
        let unlinked = evidence.unlinked(plan.links);
        let records = evidence.records(&positions);
        let read =
            in_parallel(|| self.links_of(&unlinked), || self.surroundings(&records, question, which, plan));
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
        let (hits, _) = self.or_error("search", found)?;
        hits.into_iter().try_for_each(visit).map_err(StoreError::from)
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
    /// The hits by words and by meaning, and the cosines of the hits by words.
    fn find_candidates(
        &self,
        question: &Question,
        which: &Select,
        limit: usize,
    ) -> DbResult<(Vec<Hit>, Vec<Hit>, Cosines)> {
        let by_words = |measure| self.find_words(&question.terms, Occur::Any, which, limit, measure);
        let Some(QuestionVector { model, numbers, .. }) = &question.vector else {
            return by_words(None).map(|(by_words, cosines)| (by_words, Vec::new(), cosines));
        };
        let (by_meaning, by_words) = in_parallel(
            || self.find_nearest(model, numbers, which, limit),
            || by_words(Some((model.as_str(), numbers.as_slice()))),
        );
        let (by_words, cosines) = by_words?;
        Ok((by_words, by_meaning?, cosines))
    }

    fn links_of(&self, ids: &[String]) -> DbResult<Vec<Link>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.read_links(&ids, None)
    }

    /// The neighbours of records, read in two halves, and the cosines of the neighbours of the first records.
    fn surroundings(
        &self,
        records: &[&StoredRecord],
        question: &Question,
        which: &Select,
        plan: &Plan,
    ) -> DbResult<(Vec<Around>, Cosines)> {
        // The halves are interleaved, so that both take equally long.
        let half =
            |from: usize| -> Vec<&StoredRecord> { records.iter().skip(from).step_by(2).copied().collect() };
        let read = |from: usize| {
            let measure = question.vector.as_ref().map(|vector| MeasureFirst {
                model: &vector.model,
                vector: &vector.numbers,
                count: plan.measured.saturating_sub(from).div_ceil(2),
            });
            self.read_around(&half(from), which, plan.reach, measure)
        };
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
