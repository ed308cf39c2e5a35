//! Retrieval in one call, in SQLite: words and meaning in parallel, then the neighbours of the best.

use super::super::api::{Links, Store, Vectors};
use super::super::error::Result;
use super::super::evidence::{Evidence, Plan};
use super::super::question::Question;
use super::super::select::Select;
use super::database::Sqlite;
use super::keyword::KeywordSearch;
use super::measure::ModelVector;
use super::surroundings::Surroundings;
use crate::text::terms::Occur;

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
        let ((by_words, cosines), by_meaning) = match vector {
            Some(ModelVector { model, numbers }) => self.in_parallel(
                |store| store.find_by_words(&search, vector),
                |store| store.nearest(model, numbers, which, limit),
            )?,
            None => (self.find_by_words(&search, None)?, Vec::new()),
        };
        evidence.add_found(by_words, by_meaning, &cosines);
        let seeds = evidence.choose_seeds(question, plan);
        let surroundings = Surroundings { which, reach: plan.reach, vector, measured: plan.measured };
        let (around, cosines) = self.look_around(&surroundings, &evidence.records(&seeds))?;
        evidence.add_around(&seeds, around, cosines);
        let ids = evidence.unlinked(plan.links);
        let links = self.links(&ids.iter().map(String::as_str).collect::<Vec<_>>(), None)?;
        evidence.add_links(ids, links);
        Ok(evidence)
    }
}
