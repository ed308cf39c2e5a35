//! Retrieval in one call, in SQLite: words and meaning in parallel, then the neighbours of the best.

use crate::record::{Hit, StoredRecord};
use crate::store::api::{Links, Store, VisitHit};
use crate::store::error::{Result, StoreError};
use crate::store::evidence::{Around, Evidence, Plan};
use crate::store::question::Question;
use crate::store::select::Select;
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::surroundings::Surroundings;
use crate::store::sqlite::vectors::embedding;
use crate::store::sqlite::vectors::measure::ModelVector;
use crate::store::sqlite::vectors::nearest::Nearest;
use crate::store::sqlite::words::keyword::KeywordSearch;
use crate::text::terms::{Occur, Term};
use crate::vector::QuantizedQuery;

impl Store for Sqlite {
    fn retrieve(
        &mut self,
        question: &Question,
        which: &Select,
        plan: &Plan,
        earlier: Evidence,
    ) -> Result<Evidence> {
        let mut evidence = Evidence::after(earlier, plan);
        let vector = question.vector.as_ref();
        let vector = vector.map(|vector| ModelVector { model: &vector.model, numbers: &vector.numbers });
        let limit = plan.candidates;
        let search = KeywordSearch { terms: &question.terms, occur: Occur::Any, which, limit };
        let (by_words, by_meaning) = match vector {
            Some(ModelVector { model, numbers }) => self.in_parallel(
                |store| store.find_by_words(&search, vector),
                |store| store.nearest(model, numbers, which, limit),
            )?,
            None => (self.find_by_words(&search, None)?, Vec::new()),
        };
        let seeds = evidence.add_found(question, by_words, by_meaning);
        let surroundings = Surroundings { which, reach: plan.reach, vector };
        let (around, cosines) = self.neighbours(&surroundings, &evidence.records(&seeds))?;
        evidence.add_around(&seeds, around, cosines);
        let ids = evidence.unlinked(plan.links);
        let links = self.links(&ids.iter().map(String::as_str).collect::<Vec<_>>(), None)?;
        evidence.add_links(ids, links);
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
        self.visit_by_words(&KeywordSearch { terms, occur, which, limit }, None, visit).map(drop)
    }

    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let stored_model = self.map().and_then(|()| embedding::model(&self.connection, model));
        let Some((n, dim)) = stored_model.map_err(|e| self.failed("search", e))? else {
            return Ok(Vec::new());
        };
        if dim != vector.len() as i64 {
            return Err(StoreError::dimension_mismatch(model, vector.len(), dim.unsigned_abs() as usize));
        }
        let search = Nearest { model: n, query: QuantizedQuery::new(vector), which, limit };
        let found = search.find(&mut self.connection, &mut self.cache.borrow_mut(), self.records.as_deref());
        found.map_err(|e| self.failed("search", e))
    }

    fn around(&mut self, records: &[&StoredRecord], which: &Select, reach: usize) -> Result<Vec<Around>> {
        let surroundings = Surroundings { which, reach, vector: None };
        self.neighbours(&surroundings, records).map(|(around, _)| around)
    }
}
